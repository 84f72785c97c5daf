"""Ctrl-C during `fairway run`, in a real terminal: leave the job or cancel it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairway
from fairway.runtime import process
from fairway.sdk.view import State
from tests.acceptance.support import PATIENCE_S, Node, eventually

CTRL_C, CTRL_D = b"\x03", b"\x04"
_IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "fairway", *sys.argv[1:]])
"""


class Terminal:
    """A command in a terminal of its own, so that Ctrl-C reaches it as it does for people."""

    def __init__(self, node: Node, *arguments: str) -> None:
        self._keyboard, screen = pty.openpty()
        self.running = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *arguments],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            env=node.env,
            start_new_session=True,
        )
        os.close(screen)
        self.shown = ""

    def press(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def until(self, text: str) -> None:
        """Until something is on the screen."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.shown and self._read(end):
            pass
        assert text in self.shown, f"waited in vain for {text!r} in {self.shown!r}"

    def ended(self) -> int:
        end = time.monotonic() + PATIENCE_S
        while self._read(end):
            pass
        return self.running.wait(PATIENCE_S)

    def close(self) -> None:
        self.running.kill()
        self.running.wait()
        os.close(self._keyboard)

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._keyboard], [], [], max(0.0, end - time.monotonic()))
        try:
            data = os.read(self._keyboard, 4096) if ready else b""
        except OSError:  # nobody has the terminal open any more
            data = b""
        self.shown += data.decode(errors="replace")
        return bool(data)


@contextlib.contextmanager
def terminal(node: Node, *arguments: str) -> Iterator[Terminal]:
    made = Terminal(node, *arguments)
    try:
        yield made
    finally:
        made.close()


def pid_of(path: Path) -> int:
    assert process.wait_until(lambda: path.exists() and path.read_text().endswith("\n"), PATIENCE_S)
    return int(path.read_text())


def is_alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.fixture
def client(shared_node: Node) -> Iterator[fairway.Client]:
    with fairway.Client(kubeconfig=shared_node.kubeconfig) as made:
        yield made


def is_known(client: fairway.Client, name: str) -> bool:
    return any(job.name == name for job in client.list())


def test_ctrl_c_then_cancel_ends_the_job(shared_node: Node, client: fairway.Client, tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; echo up; sleep 300"
    with terminal(shared_node, "run", "--name", "to-cancel", "--", "sh", "-c", script) as run:
        run.until("up")
        run.press(CTRL_C)
        run.until("(d)etach, or (c)ancel")
        run.press(b"c\n")
        assert run.ended() == 130
        assert "job to-cancel cancelled" in run.shown
    assert not is_known(client, "to-cancel")
    pid = pid_of(tmp_path / "pid")
    eventually(lambda: not is_alive(pid), "its process is gone")


@pytest.mark.parametrize(("name", "keys"), [("by-default", b"\n"), ("by-end", CTRL_D), ("by-ctrl-c", CTRL_C)])
def test_ctrl_c_then_anything_else_leaves_the_job_alone(
    shared_node: Node, client: fairway.Client, tmp_path: Path, name: str, keys: bytes
) -> None:
    os.mkfifo(tmp_path / "gate")
    with terminal(shared_node, "run", "--name", name, "--", "sh", "-c", f"echo up; cat {tmp_path}/gate") as run:
        run.until("up")
        run.press(CTRL_C)
        run.until("(d)etach, or (c)ancel")
        run.press(keys)
        assert run.ended() == 130
        assert f"job {name} goes on" in run.shown
    job = client.job(name)
    assert job.view().state is State.RUNNING
    (tmp_path / "gate").write_text("the end\n")
    assert job.wait(seconds=PATIENCE_S).state is State.DONE
    assert b"".join(job.logs()) == b"up\nthe end\n"
    job.cancel()


def test_ctrl_c_while_the_job_waits_can_cancel_it_too(shared_node: Node, client: fairway.Client) -> None:
    with terminal(shared_node, "run", "--name", "waiting", "--cpu", "5000000", "--", "true") as run:
        run.until("queued")
        run.press(CTRL_C)
        run.until("(c)ancel")
        run.press(b"cancel\n")
        assert run.ended() == 130
    assert not is_known(client, "waiting")


def test_an_interrupt_without_a_terminal_leaves_the_job_alone_and_asks_nobody(
    shared_node: Node, client: fairway.Client
) -> None:
    arguments = [sys.executable, "-m", "fairway", "run", "--name", "unasked", "--", "sh", "-c", "echo up; sleep 300"]
    run = subprocess.Popen(
        arguments,
        env=shared_node.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    try:
        assert run.stdout.readline() == "up\n"
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE_S)
    finally:
        run.kill()
    assert run.returncode == 130
    assert "etach" not in said
    assert "job unasked goes on" in said
    assert client.job("unasked").view().state is State.RUNNING
    client.job("unasked").cancel()
