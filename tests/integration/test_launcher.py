"""The launcher with nodes that die, hang, babble and fail as the tests tell them to."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.support import PATIENCE_S, asynchronous, node_program

from fairway.runtime.datadir import AlreadyRunning, DataDir
from fairway.runtime.launcher import LaunchConfig, Launcher
from fairway.runtime.status import Event, Notice, Problem, Ready


class Running:
    """A launcher in this process, with its node in another."""

    def __init__(self, data: Path, body: str, **options: object) -> None:
        self.data = DataDir(data)
        self.events: list[Event] = []
        config = LaunchConfig(
            data=self.data,
            node_command=node_program(data, body),
            **{"port": 0, "backoff_first_s": 0.001, **options},  # type: ignore[arg-type]
        )
        self.launcher = Launcher(config, self.events.append)
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Running:
        self.task = asyncio.create_task(self.launcher.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        if not self.task.done():
            self.launcher.stop()
            await asyncio.wait_for(asyncio.shield(self.task), PATIENCE_S)

    async def outcome(self) -> None:
        assert self.task is not None
        await asyncio.wait_for(asyncio.shield(self.task), PATIENCE_S)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                assert self.task is not None
                assert not self.task.done(), f"the launcher ended before {what}"
                await asyncio.sleep(0.005)

    async def ready(self, times: int = 1) -> None:
        await self.until(
            lambda: sum(isinstance(event, Ready) for event in self.events) >= times, f"{times} nodes were ready"
        )

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Notice)]

    @property
    def starts(self) -> int:
        return len((self.data.path / "starts").read_text())

    async def ask(self) -> str:
        state = self.data.read_state()
        assert state is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", state.port)
        writer.write(b"hello")
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        return answer.decode()


@asynchronous
async def test_a_connection_that_arrives_while_no_node_runs_waits_for_the_next_one(tmp_path: Path) -> None:
    body = 'if start > 1: await_file("go")\nready()\nserve()\n'
    async with Running(tmp_path, body) as running:
        await running.ready()
        assert await running.ask() == "start 1"
        state = running.data.read_state()
        assert state is not None
        os.kill(state.node_pid, 9)
        await running.until(lambda: running.starts == 2, "the second node started")
        reader, writer = await asyncio.open_connection("127.0.0.1", state.port)
        writer.write(b"hello")
        await writer.drain()
        (tmp_path / "go").touch()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b"start 2"
        writer.close()
        await running.ready(2)
        after = running.data.read_state()
        assert after is not None
        assert (after.port, after.restarts, after.phase) == (state.port, 1, "serving")
        assert after.node_pid != state.node_pid
        assert running.notices == ["the node ended (was killed by SIGKILL); starting it again"]


@asynchronous
async def test_a_first_start_that_says_why_it_fails_ends_the_launcher_with_those_words(tmp_path: Path) -> None:
    body = 'say(event="fatal", message="the database is broken", remedy="mend it")\nsys.exit(1)\n'
    async with Running(tmp_path, body) as running:
        with pytest.raises(Problem) as caught:
            await running.outcome()
    assert (caught.value.message, caught.value.remedy) == ("the database is broken", "mend it")
    assert running.starts == 1
    state = running.data.read_state()
    assert state is not None
    assert state.phase == "stopped"


@asynchronous
async def test_a_node_that_dies_silently_before_it_serves_is_tried_five_times(tmp_path: Path) -> None:
    async with Running(tmp_path, "sys.exit(7)\n") as running:
        with pytest.raises(Problem, match="ended 5 times before it could serve; the last time it exited with code 7"):
            await running.outcome()
    assert running.starts == 5


@asynchronous
async def test_a_node_that_served_and_cannot_start_again_is_tried_until_it_can(tmp_path: Path) -> None:
    body = (
        "if start == 1:\n  ready()\n  sys.exit(1)\n"
        'if start < 12:\n  say(event="fatal", message="no disk")\n  sys.exit(1)\nready()\nserve()\n'
    )
    async with Running(tmp_path, body, backoff_max_s=0.01) as running:
        await running.ready(2)
        assert await running.ask() == "start 12"


@asynchronous
async def test_a_node_that_dies_again_and_again_after_it_served_is_always_started_anew(tmp_path: Path) -> None:
    async with Running(tmp_path, "ready()\nif start < 9: sys.exit(1)\nserve()\n", backoff_max_s=0.01) as running:
        await running.ready(9)
        assert await running.ask() == "start 9"


@asynchronous
async def test_a_node_that_ignores_the_request_to_stop_is_killed(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\nserve()\n"
    async with Running(tmp_path, body, grace_s=0.05) as running:
        await running.ready()
        running.launcher.stop()
        await running.outcome()
    assert running.notices == ["the node did not stop in time; killing it"]


@asynchronous
async def test_asked_to_stop_twice_the_launcher_does_not_wait_for_the_node(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\nserve()\n"
    async with Running(tmp_path, body, grace_s=3600.0) as running:
        await running.ready()
        running.launcher.stop()
        running.launcher.stop()
        await running.outcome()


@asynchronous
async def test_stopping_during_the_pause_before_a_restart_starts_nothing_more(tmp_path: Path) -> None:
    body = "ready()\nsys.exit(1)\n"
    async with Running(tmp_path, body, backoff_first_s=3600.0, backoff_max_s=3600.0) as running:
        await running.until(lambda: len(running.notices) == 2, "the second death was noticed")
        running.launcher.stop()
        await running.outcome()
    assert running.starts == 2


@asynchronous
async def test_nonsense_on_the_status_pipe_is_ignored(tmp_path: Path) -> None:
    body = 'os.write(args.status_fd, b"\\xff{nonsense\\n[]\\n" + b"x" * 3000000 + b"\\n")\nready()\nserve()\n'
    async with Running(tmp_path, body) as running:
        await running.ready()
        assert await running.ask() == "start 1"


@asynchronous
async def test_what_the_node_prints_is_in_the_log_even_if_a_child_keeps_the_pipe_open(tmp_path: Path) -> None:
    body = (
        'print("to stdout", flush=True)\nprint("to stderr", file=sys.stderr, flush=True)\n'
        'if start == 1:\n  if os.fork() == 0:\n    await_file("enough")\n    os._exit(0)\n  ready()\n  sys.exit(1)\n'
        "ready()\nserve()\n"
    )
    async with Running(tmp_path, body, log_to_file=True) as running:
        await running.ready(2)
        (tmp_path / "enough").touch()
    log = (tmp_path / "node.log").read_text()
    assert log.count("to stdout") == log.count("to stderr") == 2
    assert "launcher: the node ended (exited with code 1)" in log


@asynchronous
async def test_a_state_file_that_cannot_be_written_does_not_stop_the_node(tmp_path: Path) -> None:
    async with Running(tmp_path, 'await_file("go")\nready()\nserve()\n') as running:
        await running.until(lambda: running.data.read_state(), "the launcher wrote its state")
        state = running.data.read_state()
        assert state is not None
        running.data.state_file.unlink()
        (running.data.state_file / "in the way").mkdir(parents=True)
        (tmp_path / "go").touch()
        await running.ready()
        assert any("cannot write" in notice for notice in running.notices)
        with socket.create_connection(("127.0.0.1", state.port), timeout=PATIENCE_S) as connection:
            connection.sendall(b"hello")
            assert connection.recv(100) == b"start 1"


@asynchronous
async def test_the_node_holds_the_folder_too_so_that_no_second_node_opens_its_store(tmp_path: Path) -> None:
    async with Running(tmp_path, "ready()\nserve()\n") as running:
        await running.ready()
        with pytest.raises(AlreadyRunning, match=f"already runs on {tmp_path} \\(pid {os.getpid()}"):
            await Launcher(running.launcher._config, lambda _: None).run()
