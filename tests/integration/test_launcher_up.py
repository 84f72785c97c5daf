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
from tests.integration.support import (
    LIGHT_NODE,
    PATIENCE_S,
    Fairway,
    eventually,
    node_program,
    read_all,
    request,
)

from fairway.cli.kubeconfig import access
from fairway.runtime import process
from fairway.runtime.datadir import LauncherState


@pytest.fixture(scope="module")
def light_node(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return node_program(tmp_path_factory.mktemp("node"), LIGHT_NODE)


@pytest.fixture
def fairway(tmp_path: Path, light_node: list[str]) -> Iterator[Fairway]:
    made = Fairway(tmp_path / "data", node=light_node)
    yield made
    made.clean_up()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Fairway]:
    made = Fairway(tmp_path / "data")
    yield made
    made.clean_up()


def test_the_real_node_from_up_to_down(real: Fairway) -> None:
    """One start for many questions: the real node takes its time."""
    done = real.run("up", "--detach", "--port", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"export KUBECONFIG={real.data.kubeconfig}" in done.stdout
    assert f"https://127.0.0.1:{real.state.port}" in done.stdout
    assert "fairway down stops it" in done.stdout

    status = real.status()
    assert (status["running"], status["phase"]) == (True, "serving")
    assert status["address"] == f"https://127.0.0.1:{status['port']}"
    assert status["spaces"] == [{"name": "default", "context": "fairway"}]
    assert process.identity(status["pid"])
    assert process.identity(status["nodePid"])

    second = real.run("up", "--detach", "--port", "0")
    assert second.returncode == 1
    assert second.stderr.startswith(f"error: Fairway already runs on {real.data.path} (pid {status['pid']}, https:")
    other = real.run("up", "--data", f"{real.data.path}-2", "--port", str(status["port"]))
    assert f"error: port {status['port']} on 127.0.0.1 is in use by another Fairway" in other.stderr

    _tokens_let_in_and_no_further(real)
    _a_killed_node_is_replaced(real)
    _a_node_follows_its_killed_launcher_and_the_next_up_works(real)

    last = real.state
    with real.connect() as stream:
        stream.sendall(request("/api/v1/namespaces?watch=1", access(real.data, None).token))
        seen = b""
        while b'"default"' not in seen:
            seen += stream.recv(65536)
        down = real.run("down")
        assert read_all(stream).endswith("0\r\n\r\n"), "the open watch was not ended properly"
    assert down.stdout == f"stopped (pid {last.pid}, data in {real.data.path})\n"
    assert not last.node_alive
    assert "ERROR" not in real.data.log_file.read_text()
    assert "Traceback" not in real.data.log_file.read_text()


def _tokens_let_in_and_no_further(real: Fairway) -> None:
    made = json.loads(real.run("token", "create", "ann", "-n", "default", "--role", "view", "-o", "json").stdout)
    pods = "/api/v1/namespaces/{}/pods"
    assert real.get(pods.format("default"), made["token"]).startswith("HTTP/1.1 200")
    assert real.get(pods.format("kube-system"), made["token"]).startswith("HTTP/1.1 403")
    assert made["name"] in real.run("token", "list").stdout
    assert real.run("token", "revoke", made["name"]).returncode == 0
    assert real.get(pods.format("default"), made["token"]).startswith("HTTP/1.1 401")
    assert real.run("token", "create", "ann", "-n", "nowhere").stderr.startswith("error: ")
    assert made["name"] not in real.run("token", "list").stdout


def _a_killed_node_is_replaced(real: Fairway) -> None:
    before = real.state
    os.kill(before.node_pid, signal.SIGKILL)
    eventually(lambda: not before.node_alive, "the node was gone")
    assert real.get("/healthz").startswith("HTTP/1.1 200"), "a connection that came meanwhile was dropped"
    eventually(lambda: real.state.phase == "serving", "the next node said that it serves")
    after = real.status()
    assert (after["port"], after["pid"], after["restarts"]) == (before.port, before.pid, 1)
    assert after["nodePid"] != before.node_pid


def _a_node_follows_its_killed_launcher_and_the_next_up_works(real: Fairway) -> None:
    before = real.state
    os.kill(before.pid, signal.SIGKILL)
    real.up()
    assert not before.alive
    assert not before.node_alive
    assert real.state.port == before.port, "the folder keeps its port"
    assert real.get("/healthz").startswith("HTTP/1.1 200")


def test_a_corrupt_database_is_told_to_the_terminal_and_nothing_is_left_running(real: Fairway) -> None:
    store = real.data.store("default")
    store.parent.mkdir(parents=True)
    store.write_bytes(b"this is no database " * 1000)
    done = real.run("up", "--detach", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert str(store) in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert real.run("status").returncode == 3


def test_down_and_status_say_that_nothing_is_running(fairway: Fairway) -> None:
    down = fairway.run("down")
    assert (down.returncode, down.stdout) == (0, f"nothing is running in {fairway.data.path}\n")
    status = fairway.run("status", "-o", "json")
    assert (status.returncode, json.loads(status.stdout)) == (3, {"running": False, "data": str(fairway.data.path)})


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


def test_in_the_foreground_a_start_that_fails_is_an_error_with_the_nodes_own_words(tmp_path: Path) -> None:
    body = 'say(event="fatal", message="written by a newer Fairway", remedy="upgrade")\nsys.exit(1)\n'
    with Fairway(tmp_path / "data", node=node_program(tmp_path, body)).start("up", "--port", "0") as foreground:
        out, errors = foreground.communicate(timeout=PATIENCE_S)
    assert (foreground.returncode, out) == (1, "")
    assert errors.splitlines()[1:] == ["error: written by a newer Fairway", "upgrade"]


def test_of_two_that_start_at_once_one_serves_and_the_other_says_so(fairway: Fairway) -> None:
    command = ("up", "--detach", "--port", "0")
    with fairway.start(*command) as one, fairway.start(*command) as other:
        ends = [(*each.communicate(timeout=PATIENCE_S), each.returncode) for each in (one, other)]
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


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        done = Fairway(folder).run("up")
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
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
        assert done.stderr.splitlines() == [
            f"error: cannot use {folder}: permission denied",
            "make it yours (chown, chmod u+rwx), or give another folder with --data DIR",
        ]
        folder.chmod(0o700)
