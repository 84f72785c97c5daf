"""Whatever is killed, at whatever moment: each run runs once or is known to be lost, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.engine_support import (
    PATIENCE_S,
    alive,
    cgroups_of,
    end_zygote,
    engine_in,
    final,
    output,
    processes_of,
    reached,
    record_of,
    recorded,
    seen,
    shim_of,
)
from tests.integration.support import ROOT, asynchronous

from fairway.engines import lease, shim, zygotes
from fairway.engines.engine import Limits, RunSpec, RunState
from fairway.engines.machine import read_small
from fairway.engines.process import ProcessEngine
from fairway.runtime import process

ENGINE_POINTS = (
    "engine-made-book",
    "engine-wrote-slots",
    "engine-wrote-spec",
    "engine-asked",
    "engine-wished-stop",
    "engine-forgetting",
)
ZYGOTE_POINTS = ("zygote-asked", "zygote-forked", "zygote-handed")
SHIM_POINTS_BEFORE_THE_CLAIM = ("shim-locked",)
SHIM_POINTS_OF_NO_RETURN = ("shim-claimed", "shim-started", "shim-recording")
SHIM_POINTS_AFTER_THE_RECORD = ("shim-wrote", "shim-recorded", "shim-told")


class Node:
    """An engine in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "engine"
        self.ran = folder / "ran"
        self.ran.mkdir()
        self._runs = folder / "runs.jsonl"
        self._fault = folder / "fault"

    def wants(self, *runs: dict[str, object]) -> None:
        self._runs.write_text("".join(json.dumps(run) + "\n" for run in runs))

    def job(self, run_id: str, exit_code: int = 0, then: str = "", **more: object) -> dict[str, object]:
        script = f"echo x >> {self.ran}/{run_id}; {then} exit {exit_code}"
        return {"id": run_id, "argv": ["/bin/sh", "-c", script], **more}

    def start(self, fault: str = "", open_files: int = 0) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        if fault:
            environment["FAIRWAY_FAULT"] = f"{fault}:{self._fault}"
        command = [sys.executable, "-m", "tests.integration.engine_node", str(self.folder), str(self._runs)]
        if open_files:
            command = ["/bin/sh", "-c", f'ulimit -S -n {open_files}; exec "$@"', "sh", *command]
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def run(self, fault: str = "") -> tuple[int, list[list[object]]]:
        node = self.start(fault)
        printed, _ = node.communicate(timeout=PATIENCE_S * 2)
        lines: list[list[object]] = [json.loads(line) for line in printed.splitlines()]
        end_zygote(self.folder)
        return node.returncode, lines

    def shims(self) -> list[int]:
        """Those that wait, too. Their zygote may be gone."""
        found = []
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                ours = name.isdigit() and os.fsencode(self.folder) in read_small(f"/proc/{name}/cmdline").split(b"\0")
                if ours and read_small(f"/proc/{name}/comm") == f"{shim.NAME}\n".encode():
                    found.append(int(name))
        return found

    @property
    def fault_happened(self) -> bool:
        return self._fault.exists()

    def times(self, run_id: str) -> int:
        path = self.ran / run_id
        return len(path.read_text().split()) if path.exists() else 0


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    end_zygote(node.folder)
    assert processes_of(node.folder) == []
    engine = ProcessEngine(node.folder)
    assert cgroups_of(engine) == []


@pytest.mark.parametrize("point", ENGINE_POINTS)
def test_an_engine_that_is_killed_goes_on_where_it_was(node: Node, point: str) -> None:
    node.wants(
        node.job("a", 5, forget=True), node.job("b", 6, memory=64 << 20), node.job("c", 0, "sleep 1000;", stop=True)
    )
    code, before = node.run(fault=point)
    assert code == -signal.SIGKILL
    assert node.fault_happened
    code, after = node.run()
    assert code == 0
    ends = {line[0]: line[1:] for line in after}
    assert ends["b"] == ["exited", 6, "Error"]
    assert node.times("b") == 1
    if point == "engine-forgetting":
        # Forgotten before it was killed, so this is another run of that name, asked for anew.
        assert ["a", "exited", 5, "Error"] in before
        assert node.times("a") == 2
    else:
        assert ends["a"] == ["exited", 5, "Error"]
        assert node.times("a") == 1
    assert ends["c"][1] in (137, 143)
    assert node.times("c") <= 1


@pytest.fixture
def fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> Path:
    """Kills the zygote or the shim that comes to the point first; the engine is this process, and has no such point."""
    marker = tmp_path / "fault"
    monkeypatch.setenv("FAIRWAY_FAULT", f"{point}:{marker}")
    return marker


@pytest.mark.parametrize("point", ZYGOTE_POINTS + SHIM_POINTS_BEFORE_THE_CLAIM + SHIM_POINTS_AFTER_THE_RECORD)
@asynchronous
async def test_a_zygote_or_shim_that_is_killed_when_nothing_depends_on_it_changes_nothing(
    tmp_path: Path, fault: Path
) -> None:
    ids = [f"r{number}" for number in range(5)]
    async with engine_in(tmp_path / "engine") as engine:
        for number, run_id in enumerate(ids):
            await engine.start(RunSpec(run_id, ("/bin/sh", "-c", f"echo x >> {tmp_path}/{run_id}; exit {number}")))
        ends = await final(engine, *ids)
    assert "fault" in os.listdir(tmp_path)
    assert [(status.state, status.exit_code) for status in ends] == [(RunState.EXITED, number) for number in range(5)]
    assert [(tmp_path / run_id).read_text() for run_id in ids] == ["x\n"] * 5


@pytest.mark.parametrize("limits", [Limits(), Limits(memory_bytes=64 << 20)], ids=["free", "limited"])
@pytest.mark.parametrize("point", SHIM_POINTS_OF_NO_RETURN)
@asynchronous
async def test_a_run_whose_shim_is_killed_is_lost_for_good_and_its_processes_with_it(
    tmp_path: Path, fault: Path, point: str, limits: Limits
) -> None:
    then = "" if point == "shim-recording" else "setsid sleep 1000 & sleep 1000"
    run = RunSpec("a", ("/bin/sh", "-c", f"echo x >> {tmp_path}/ran; {then}"), limits=limits)
    async with engine_in(tmp_path / "engine") as engine:
        await engine.start(run)
        [status] = await final(engine, "a")
        assert (status.state, status.exit_code, status.reason) == (RunState.LOST, None, "Lost")
    assert "fault" in os.listdir(tmp_path)
    async with engine_in(tmp_path / "engine") as again:
        await again.start(run)
        assert await again.list() == [status]
    if "ran" in os.listdir(tmp_path):
        assert (tmp_path / "ran").read_text() in ("", "x\n")


def test_an_engine_that_is_killed_while_it_settles_a_lost_run_settles_it_later(node: Node) -> None:
    node.wants(node.job("a", 0, "sleep 1000;"))
    first = node.start()
    assert process.wait_until(lambda: node.times("a") == 1, PATIENCE_S)
    first.kill()
    first.communicate()
    its_shim = shim_of(node.folder, "a")
    os.kill(its_shim, signal.SIGKILL)
    assert process.wait_until(lambda: not alive(its_shim), PATIENCE_S)
    assert node.run(fault="engine-settling")[0] == -signal.SIGKILL
    assert node.run()[1] == [["a", "lost", None, "Lost"]]


def test_more_runs_go_on_at_once_than_a_process_may_have_files_and_none_may_have_more(node: Node) -> None:
    count, few = 80, 60
    wait = f"ulimit -n > {node.ran}/limit; while [ $(ls {node.ran} | wc -l) -le {count} ]; do sleep 0.1; done;"
    node.wants(*(node.job(f"r{number}", 0, wait) for number in range(count)))
    printed, _ = node.start(open_files=few).communicate(timeout=PATIENCE_S * 2)
    assert sorted(json.loads(line)[2] for line in printed.splitlines()) == [0] * count
    assert (node.ran / "limit").read_text() == f"{few}\n"


def test_many_runs_through_many_kills_of_engine_and_zygote_each_run_once(node: Node) -> None:
    """Seeded in what it kills and when; what the machine does with that is its own."""
    count, chance = 960, random.Random(7)
    jobs = [
        node.job(f"r{number}", number % 8, memory=(64 << 20) if number % 40 == 0 else None) for number in range(count)
    ]
    node.wants(*jobs)
    ends: dict[object, list[object]] = {}
    kills = 0
    while True:
        running = node.start()
        wanted = chance.uniform(0.25, 0.6)
        try:
            printed, _ = running.communicate(timeout=wanted if kills < 12 else PATIENCE_S * 2)
        except subprocess.TimeoutExpired:
            if chance.random() < 0.4:
                end_zygote(node.folder)
            running.kill()
            printed, _ = running.communicate()
            kills += 1
        for line in map(json.loads, printed.splitlines()):
            assert ends.setdefault(line[0], line[1:]) == line[1:]
        if running.returncode == 0:
            break
    assert kills >= 3
    assert {run_id: (end[0], end[1]) for run_id, end in ends.items()} == {
        f"r{number}": ("exited", number % 8) for number in range(count)
    }
    assert [node.times(f"r{number}") for number in range(count)] == [1] * count


def test_many_runs_through_kills_of_shims_too_run_once_or_are_known_to_be_lost(node: Node) -> None:
    count, chance = 600, random.Random(11)
    node.wants(*(node.job(f"r{number}", number % 8, "sleep 0.05;") for number in range(count)))
    ends: dict[object, list[object]] = {}
    killed: Counter[str] = Counter()
    while True:
        running = node.start()
        until = time.monotonic() + chance.uniform(0.3, 1.0)
        while running.poll() is None and killed["shim"] < 30 and time.monotonic() < until:
            time.sleep(chance.uniform(0.01, 0.1))
            if shims := node.shims():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(shims), signal.SIGKILL)
                    killed["shim"] += 1
        if killed["shim"] < 30 and running.poll() is None:
            if chance.random() < 0.5:
                end_zygote(node.folder)
            running.kill()
            killed["engine"] += 1
        printed, _ = running.communicate(timeout=PATIENCE_S * 2)
        for line in map(json.loads, printed.splitlines()):
            assert ends.setdefault(line[0], line[1:]) == line[1:]
        if running.returncode == 0:
            break
    # What a shim has just forked is called as it is: then it is the payload that was killed, and says so.
    lost = {run_id for run_id, end in ends.items() if end[0] == "lost" or end[1] == 128 + signal.SIGKILL}
    assert killed["engine"]
    assert len(lost) <= killed["shim"]
    assert {run_id: end[:2] for run_id, end in ends.items() if run_id not in lost} == {
        f"r{number}": ["exited", number % 8] for number in range(count) if f"r{number}" not in lost
    }
    for number in range(count):
        assert node.times(f"r{number}") in ((0, 1) if f"r{number}" in lost else (1,))


@asynchronous
async def test_a_restarted_engine_adopts_what_runs_and_hears_of_what_ended_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    script = "echo before; while ! [ -e $0 ]; do sleep 0.01; done; echo after; exit 9"
    async with ProcessEngine(folder) as first:
        for name in ("meanwhile", "later"):
            await first.start(
                RunSpec(name, ("/bin/sh", "-c", script, str(tmp_path / name)), limits=Limits(memory_bytes=64 << 20))
            )
        known = [await reached(first, name, RunState.RUNNING) for name in ("meanwhile", "later")]
    (tmp_path / "meanwhile").touch()
    assert await asyncio.to_thread(process.wait_until, lambda: "state" in recorded(folder, "meanwhile")[-1], PATIENCE_S)
    async with engine_in(folder) as second:
        assert (await second.status("meanwhile")).exit_code == 9
        assert await second.status("later") == known[1]
        (tmp_path / "later").touch()
        assert await output(second, "later", follow=True) == b"before\nafter\n"
        [status] = await final(second, "later")
        assert status.exit_code == 9


@pytest.mark.parametrize("after", [b"", b"\0" * 100, b'{"id": "old", "state": "exi', b'{"id": "ol\0\0'])
@asynchronous
async def test_a_run_of_an_earlier_boot_is_lost_whatever_of_its_end_reached_the_disk(
    tmp_path: Path, after: bytes
) -> None:
    folder = tmp_path / "engine"
    async with engine_in(folder) as engine:
        await engine.start(RunSpec("old", ("true",)))
        await final(engine, "old")
    slot, record = record_of(folder, "old")
    lines = b'\n{"boot": "another", "pid": 1, "start": 1}\n{"pid": 1, "start": 1, "at": 5.0}\n'
    with (folder / "runs" / slot.book).open("r+b") as book:
        book.seek(slot.base)
        book.write((record.spec + lines + after).ljust(slot.size, b"\0"))
    async with engine_in(folder) as engine:
        [status] = await final(engine, "old")
        assert (status.state, status.started_at) == (RunState.LOST, 5.0)
        assert "restarted" in status.message


@asynchronous
async def test_a_zygote_that_is_killed_is_replaced_and_its_shims_go_on(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine", rescan_s=1000) as engine:
        await engine.start(
            RunSpec("long", ("/bin/sh", "-c", f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 2"))
        )
        await reached(engine, "long", RunState.RUNNING)
        os.kill(engine.zygote_pid, signal.SIGKILL)
        await engine.start(RunSpec("next", ("true",)))
        assert [status.exit_code for status in await final(engine, "next")] == [0]
        assert (await engine.status("long")).state is RunState.RUNNING
        (tmp_path / "go").touch()
        assert [status.exit_code for status in await final(engine, "long")] == [2]


@pytest.mark.parametrize("when", ["while the engine knows it", "before the engine comes"])
@asynchronous
async def test_a_zygote_that_somebody_stopped_is_made_to_go_on_when_runs_wait_for_it(tmp_path: Path, when: str) -> None:
    async with ProcessEngine(tmp_path / "engine", rescan_s=0.2) as first:
        await asyncio.wait_for(first.ready(), PATIENCE_S)
        os.kill(first.zygote_pid, signal.SIGSTOP)
        if when == "while the engine knows it":
            await first.start(RunSpec("a", ("true",)))
            assert [status.exit_code for status in await final(first, "a")] == [0]
    async with ProcessEngine(tmp_path / "engine", rescan_s=0.2) as second:
        await second.start(RunSpec("b", ("true",)))
        assert [status.exit_code for status in await final(second, "b")] == [0]
    end_zygote(tmp_path / "engine")


@asynchronous
async def test_what_a_zygote_heard_and_told_nobody_is_found_when_it_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    async with engine_in(folder, rescan_s=1000) as engine:
        await engine.start(
            RunSpec("a", ("/bin/sh", "-c", f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 2"))
        )
        await reached(engine, "a", RunState.RUNNING)
        os.kill(engine.zygote_pid, signal.SIGSTOP)
        (tmp_path / "go").touch()
        assert await asyncio.to_thread(process.wait_until, lambda: "state" in recorded(folder, "a")[-1], PATIENCE_S)
        os.kill(engine.zygote_pid, signal.SIGKILL)
        assert [status.exit_code for status in await final(engine, "a")] == [2]


@asynchronous
async def test_when_zygote_and_shim_are_both_killed_the_engine_ends_what_is_left(tmp_path: Path) -> None:
    async with engine_in(tmp_path / "engine", use_cgroups=False, rescan_s=0.1) as engine:
        script = f"setsid sleep 1000 & touch {tmp_path}/up; sleep 1000"
        await engine.start(RunSpec("x", ("/bin/sh", "-c", script)))
        await seen(tmp_path / "up")
        status = await reached(engine, "x", RunState.RUNNING)
        for pid in (engine.zygote_pid, shim_of(tmp_path / "engine", "x")):
            os.kill(pid, signal.SIGKILL)
        assert [status.state for status in await final(engine, "x")] == [RunState.LOST]
        assert not alive(status.pid)


@asynchronous
async def test_what_runs_under_a_lease_dies_with_its_shim_when_nobody_else_is_left(tmp_path: Path) -> None:
    folder, paper = tmp_path / "engine", tmp_path / "lease"
    lease.renew(paper, 1000)
    async with ProcessEngine(folder) as engine:
        await engine.start(RunSpec("fenced", ("sleep", "1000"), lease=str(paper)))
        status = await reached(engine, "fenced", RunState.RUNNING)
    end_zygote(folder)
    os.kill(shim_of(folder, "fenced"), signal.SIGKILL)
    assert await asyncio.to_thread(process.wait_until, lambda: not alive(status.pid), PATIENCE_S)
    async with engine_in(folder) as engine:
        assert [status.state for status in await final(engine, "fenced")] == [RunState.LOST]


@asynchronous
async def test_a_shim_has_one_run_after_another_and_hears_nothing_that_is_for_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    async with engine_in(folder) as engine:
        for name, script in (("first", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exit 3"), ("next", "cd /")):
            await engine.start(RunSpec(name, ("/bin/sh", "-c", script)))
            await final(engine, name)
        [first, short] = await final(engine, "first", "next")
        assert (first.exit_code, short.exit_code) == (3, 0)
        assert short.cpu_seconds < first.cpu_seconds
        await engine.start(RunSpec("long", ("sleep", "1000")))
        await reached(engine, "long", RunState.RUNNING)
        assert shim_of(folder, "first") == shim_of(folder, "next") == shim_of(folder, "long")
        await engine.stop("first", 0)
        os.kill(shim_of(folder, "first"), shim.LOOK)
        await engine.start(RunSpec("beside", ("true",)))
        assert [status.exit_code for status in await final(engine, "beside")] == [0]
        assert shim_of(folder, "beside") != shim_of(folder, "long")
        assert (await engine.status("long")).state is RunState.RUNNING
        await engine.stop("long", 10)
        [stopped] = await final(engine, "long")
        assert (stopped.exit_code, stopped.message) == (143, "stopped on request")


@asynchronous
async def test_nothing_of_a_run_is_left_in_a_shim_that_waits_for_the_next(tmp_path: Path) -> None:
    folder, left = tmp_path / "engine", []
    commands = [("true",), ("echo", "said"), ("no-such-command",), ("/bin/sh", "-c", "sleep 1000 & exit 3")] * 2
    async with engine_in(folder) as engine:
        for number, argv in enumerate(commands):
            run = RunSpec(f"r{number}", argv, cwd=str(tmp_path), limits=Limits(open_files=50 if number > 4 else None))
            await engine.start(run)
            await final(engine, run.id)
            waiting = f"/proc/{shim_of(folder, run.id)}"
            assert await asyncio.to_thread(
                process.wait_until, lambda waiting=waiting: os.readlink(f"{waiting}/cwd") == str(folder), PATIENCE_S
            )
            left.append(len(os.listdir(f"{waiting}/fd")))
    assert len(set(left)) == 1, left


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@asynchronous
async def test_a_shim_that_is_killed_while_it_waits_for_a_run_is_not_missed(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "engine"
    async with engine_in(folder) as engine:
        for name in ("first", "next", "last"):
            await engine.start(RunSpec(name, ("true",)))
            assert [status.exit_code for status in await final(engine, name)] == [0]
            os.kill(shim_of(folder, name), number)
        assert len({shim_of(folder, name) for name in ("first", "next", "last")}) == 3


@asynchronous
async def test_shims_that_wait_for_a_run_end_with_their_zygote(tmp_path: Path) -> None:
    folder, names = tmp_path / "engine", [f"r{number}" for number in range(4)]
    async with engine_in(folder) as engine:
        for name in names:
            await engine.start(RunSpec(name, ("sleep", "0.1")))
        await final(engine, *names)
        shims = {shim_of(folder, name) for name in names}
        assert len(shims) > 1
        os.kill(engine.zygote_pid, signal.SIGKILL)
        assert await asyncio.to_thread(process.wait_until, lambda: not any(map(alive, shims)), PATIENCE_S)


@asynchronous
async def test_a_zygote_of_an_older_program_retires_and_its_runs_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "engine"
    async with ProcessEngine(folder) as first:
        await first.start(
            RunSpec("long", ("/bin/sh", "-c", f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 2"))
        )
        await reached(first, "long", RunState.RUNNING)
        old = first.zygote_pid
    real, asked = zygotes.zygote.version, []
    # The first that answers seems to be of another version.
    monkeypatch.setattr(zygotes.zygote, "version", lambda: real() if asked else asked.append(1) or "other")
    async with engine_in(folder, rescan_s=1000) as second:
        assert second.zygote_pid != old
        (tmp_path / "go").touch()
        assert [status.exit_code for status in await final(second, "long")] == [2]
        assert await asyncio.to_thread(process.wait_until, lambda: not alive(old), PATIENCE_S)


@asynchronous
async def test_a_zygote_holds_nothing_of_the_node_and_ends_when_nobody_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)
    async with ProcessEngine(tmp_path / "engine") as engine:
        await engine.ready()
        zygote = engine.zygote_pid
        held = {os.readlink(f"/proc/{zygote}/fd/{name}") for name in os.listdir(f"/proc/{zygote}/fd")}
        assert str(tmp_path / "lock") not in held
        assert os.getsid(zygote) == zygote
        with contextlib.closing(os.fdopen(lock)):
            pass
    await asyncio.to_thread(os.waitpid, zygote, 0)
