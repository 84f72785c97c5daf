"""`fairway up`, `status` and `down` as a person types them: real launchers, real nodes, real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.support import PATIENCE_S, Fairway, eventually, read_all, write_certificate

from fairway.runtime import process
from fairway.runtime.datadir import LauncherState


@pytest.fixture
def fairway(tmp_path: Path) -> Iterator[Fairway]:
    made = Fairway(tmp_path / "data")
    yield made
    made.clean_up()


def test_up_serves_with_tls_says_what_to_type_next_and_down_ends_it(tmp_path: Path) -> None:
    fairway = Fairway(tmp_path / "data", tls=True)
    authority = write_certificate(fairway.data.path)
    try:
        done = fairway.run("up", "--detach", "--port", "0")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"export KUBECONFIG={fairway.data.kubeconfig}" in done.stdout
        assert f"https://127.0.0.1:{fairway.state.port}" in done.stdout
        assert "fairway down stops it" in done.stdout
        assert fairway.get("/healthz", authority).endswith("ok\r\n0\r\n\r\n")

        status = fairway.status()
        assert status["running"] is True
        assert status["phase"] == "serving"
        assert status["address"] == f"https://127.0.0.1:{status['port']}"
        assert status["spaces"] == [{"name": "default", "context": "fairway"}]
        assert process.identity(status["pid"])
        assert process.identity(status["nodePid"])

        second = fairway.run("up", "--detach", "--port", "0")
        assert second.returncode == 1
        assert second.stderr.startswith(
            f"error: Fairway already runs on {fairway.data.path} (pid {status['pid']}, https:"
        )

        with fairway.connect(authority) as stream:
            stream.sendall(b"GET /stream HTTP/1.1\r\nHost: here\r\n\r\n")
            seen = b""
            while b"open" not in seen:
                seen += stream.recv(4096)
            down = fairway.run("down")
            assert read_all(stream).endswith("0\r\n\r\n"), "the open stream was not ended properly"
        assert down.stdout == f"stopped (pid {status['pid']}, data in {fairway.data.path})\n"
        assert process.identity(status["nodePid"]) is None
        assert "ERROR" not in fairway.data.log_file.read_text()
        assert "Traceback" not in fairway.data.log_file.read_text()
    finally:
        fairway.clean_up()


def test_down_and_status_say_that_nothing_is_running(fairway: Fairway) -> None:
    down = fairway.run("down")
    assert (down.returncode, down.stdout) == (0, f"nothing is running in {fairway.data.path}\n")
    status = fairway.run("status", "-o", "json")
    assert (status.returncode, json.loads(status.stdout)) == (3, {"running": False, "data": str(fairway.data.path)})


def test_a_killed_node_is_replaced_behind_the_same_port_while_connections_wait(fairway: Fairway) -> None:
    fairway.up()
    before = fairway.state
    os.kill(before.node_pid, signal.SIGKILL)
    eventually(lambda: not before.node_alive, "the node was gone")
    assert fairway.get("/healthz").startswith("HTTP/1.1 200")
    eventually(lambda: fairway.state.phase == "serving", "the next node said that it serves")
    after = fairway.status()
    assert (after["port"], after["pid"], after["restarts"]) == (before.port, before.pid, 1)
    assert after["nodePid"] != before.node_pid


def test_a_node_follows_its_killed_launcher_and_the_next_up_works(fairway: Fairway) -> None:
    fairway.up()
    before = fairway.state
    os.kill(before.pid, signal.SIGKILL)
    fairway.up()
    assert not before.alive
    assert not before.node_alive
    assert fairway.state.port == before.port, "the folder keeps its port"
    assert fairway.get("/healthz").startswith("HTTP/1.1 200")


def test_the_folder_remembers_the_port_that_it_picked(fairway: Fairway) -> None:
    fairway.up()
    port = fairway.state.port
    assert fairway.run("down").returncode == 0
    again = fairway.run("up", "--detach", "-o", "json")
    assert json.loads(again.stdout)["port"] == port
    assert fairway.run("down").returncode == 0
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        taken = fairway.run("up", "--detach")
        assert taken.returncode == 1
        assert taken.stderr.splitlines()[1:] == [
            f"error: port {port} on 127.0.0.1 is in use by another program",
            "choose another port with --port N; --port 0 picks a free one",
        ]
        fairway.up()
        assert fairway.state.port != port


def test_a_port_that_another_fairway_has_is_said_to_be_so(fairway: Fairway, tmp_path: Path) -> None:
    fairway.up()
    other = Fairway(tmp_path / "other")
    done = other.run("up", "--port", str(fairway.state.port))
    assert done.returncode == 1
    assert f"error: port {fairway.state.port} on 127.0.0.1 is in use by another Fairway" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_ends_node_and_launcher(fairway: Fairway, number: signal.Signals) -> None:
    with fairway.start("up", "--port", "0") as foreground:
        assert foreground.stdout is not None
        for line in foreground.stdout:
            if "Ctrl-C stops it" in line:
                break
        state = fairway.state
        assert state.pid == foreground.pid
        foreground.send_signal(number)
        _, errors = foreground.communicate(timeout=PATIENCE_S)
    assert foreground.returncode == 0
    assert errors.splitlines()[-1] == "stopped"
    assert not state.node_alive
    assert fairway.run("status").returncode == 3


def test_of_two_that_start_at_once_one_serves_and_the_other_says_so(fairway: Fairway) -> None:
    both = [fairway.start("up", "--detach", "--port", "0") for _ in range(2)]
    ends = [(*each.communicate(timeout=PATIENCE_S), each.returncode) for each in both]
    assert sorted(code for _, _, code in ends) == [0, 1]
    loser = next(errors for _, errors, code in ends if code == 1)
    assert f"error: Fairway already runs on {fairway.data.path} (pid {fairway.state.pid}" in loser
    assert fairway.get("/healthz").startswith("HTTP/1.1 200")


def test_a_corrupt_state_file_is_replaced(fairway: Fairway) -> None:
    fairway.data.create()
    fairway.data.state_file.write_bytes(b'{"pid": "\xff')
    assert fairway.run("status").returncode == 3
    fairway.up()
    fairway.data.state_file.write_text("[]")
    assert fairway.status()["running"] is True, "the lock file knows the launcher too"
    assert fairway.run("down").returncode == 0
    assert fairway.run("status").returncode == 3


def test_a_stale_state_file_with_the_pid_of_another_process_harms_nobody(fairway: Fairway) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        fairway.data.create()
        stale = LauncherState(pid=bystander.pid, identity="an earlier boot:1", phase="serving", port=0)
        stale.node_pid, stale.node_identity = bystander.pid, stale.identity
        fairway.data.write_state(stale)
        assert fairway.run("status").returncode == 3
        assert "nothing is running" in fairway.run("down").stdout
        fairway.up()
        assert bystander.poll() is None
        bystander.communicate(b"\n")
        assert bystander.returncode == 0


@pytest.mark.parametrize("detach", [["--detach"], []])
def test_a_start_that_fails_is_told_to_the_terminal_and_leaves_nothing_running(
    tmp_path: Path, detach: list[str]
) -> None:
    fairway = Fairway(tmp_path / "data", tls=True)
    write_certificate(fairway.data.path).write_text("no certificate")
    with fairway.start("up", "--port", "0", *detach) as starting:
        _, errors = starting.communicate(timeout=PATIENCE_S)
    assert starting.returncode == 1
    first, second = errors.splitlines()
    assert first.startswith("error: the node failed: SSLError")
    assert "log" in second if detach else "FAIRWAY_DEBUG" in second
    assert fairway.run("status").returncode == 3
    assert not detach or "Traceback" in fairway.data.log_file.read_text()


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        done = Fairway(folder).run("up")
        assert done.returncode == 1
        assert done.stderr.splitlines()[1:] == [
            f"error: cannot use {folder}: it, or a folder above it, is a file",
            "give another folder with --data DIR",
        ]


@pytest.fixture
def as_somebody_else() -> Iterator[None]:
    """Root may write everywhere, so root has to be another for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.usefixtures("as_somebody_else")
@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_a_folder_that_may_not_be_written_is_a_clear_error(mode: int) -> None:
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "data"
        folder.mkdir()
        folder.chmod(mode)
        done = Fairway(folder).run("up")
        assert done.returncode == 1
        assert done.stderr.splitlines()[1:] == [
            f"error: cannot use {folder}: permission denied",
            "make it yours (chown, chmod u+rwx), or give another folder with --data DIR",
        ]
        folder.chmod(0o700)
