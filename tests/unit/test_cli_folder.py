"""The data folder and the small parts below the launcher."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.runtime import process, sockets
from fairway.runtime.datadir import AlreadyRunning, DataDir, LauncherState, default_path
from fairway.runtime.logfile import RotatingFile
from fairway.runtime.status import Fatal, Notice, Problem, Progress, Ready, Reporter, SpaceInfo, decode


def test_the_folder_is_what_the_environment_says_else_the_users_own() -> None:
    assert default_path({"FAIRWAY_DATA": "/elsewhere", "XDG_DATA_HOME": "/xdg"}) == Path("/elsewhere")
    if sys.platform == "linux":
        assert default_path({"XDG_DATA_HOME": "/xdg"}) == Path("/xdg/fairway")
        assert default_path({"XDG_DATA_HOME": "relative"}) == Path.home() / ".local/share/fairway"
        assert default_path({}) == Path.home() / ".local/share/fairway"


def test_a_relative_folder_is_meant_from_where_the_command_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert DataDir.at("here").path == tmp_path / "here"
    assert DataDir.at("~/there").path == Path.home() / "there"


def test_a_new_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "a" / "b")
    data.create()
    assert data.path.stat().st_mode & 0o777 == 0o700


def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    assert data.read_state() is None
    state = LauncherState(pid=7, identity="x", port=7443, host="0.0.0.0", spaces=(SpaceInfo("default", "fairway"),))
    data.write_state(state)
    assert data.read_state() == state
    assert state.url == "https://127.0.0.1:7443"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["launcher.json"], "no temporary file stays"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "one"}', b"\xff\xfe", b"null"])
def test_a_state_that_makes_no_sense_is_no_state(tmp_path: Path, content: bytes) -> None:
    data = DataDir(tmp_path)
    data.state_file.write_bytes(content)
    assert data.read_state() is None
    assert data.running() is None


def test_only_the_process_that_wrote_the_state_counts_as_running(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    pid = os.getpid()
    own = process.identity(pid)
    assert own is not None
    for identity, phase, running in [(own, "serving", True), (own, "stopped", False), ("other", "serving", False)]:
        data.write_state(LauncherState(pid=pid, identity=identity, phase=phase))  # type: ignore[arg-type]
        assert (data.running() is not None) is running


def test_the_lock_refuses_while_its_owner_lives_and_is_free_afterwards(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    with data.locked():
        running = data.running()
        assert running is not None
        assert running.pid == os.getpid()
        with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"), data.locked():
            pass
    with data.locked():
        pass


def test_a_lock_file_full_of_nonsense_can_still_be_taken(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    data.lock_file.write_bytes(b"\xffnonsense" * 100)
    with data.locked():
        assert data.running() is not None


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "it is on a read-only file system"),
        (errno.ENOSPC, "no space left"),
        (errno.ENAMETOOLONG, "File name too long"),
    ],
)
def test_what_the_system_refuses_is_said_in_words(tmp_path: Path, number: int, words: str) -> None:
    problem = DataDir(tmp_path)._problem("use", OSError(number, os.strerror(number)))
    assert problem.message == f"cannot use {tmp_path}: {words}"
    assert "--data DIR" in problem.remedy


def test_a_folder_whose_name_is_too_long_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="File name too long"):
        DataDir(tmp_path / ("x" * 300)).create()


def test_a_log_keeps_three_files_and_the_newest_lines_in_the_first(tmp_path: Path) -> None:
    log = RotatingFile(tmp_path / "log", bytes_max=10)
    for number in range(6):
        log.write(b"line %d\n" % number)
    log.close()
    found = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert found == {"log": b"line 5\n", "log.1": b"line 4\n", "log.2": b"line 3\n"}


def test_a_log_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    for _ in range(2):
        log = RotatingFile(tmp_path / "log", bytes_max=10)
        log.write(b"1234567\n")
        log.close()
    assert (tmp_path / "log.1").read_bytes() == (tmp_path / "log").read_bytes() == b"1234567\n"


def test_a_process_is_told_from_another_with_its_pid() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        known = process.identity(child.pid)
        assert known is not None
        assert process.same(child.pid, known)
        assert not process.same(child.pid, "another")
        assert not process.send(child.pid, "another", signal.SIGKILL)
        child.stdin.close()  # type: ignore[union-attr]
        assert process.wait_until(lambda: process.identity(child.pid) is None, 30), "a zombie is gone, too"
        child.wait()
        assert not process.send(child.pid, known, signal.SIGKILL)
    assert process.identity(0) is None


def test_exits_are_described() -> None:
    assert process.describe_exit(3) == "exited with code 3"
    assert process.describe_exit(-9) == "was killed by SIGKILL"
    assert process.describe_exit(-99) == "was killed by signal 99"


def test_addresses_that_cannot_be_had_are_explained() -> None:
    with pytest.raises(Problem, match="no address to listen on"):
        sockets.listen("no.such.host.invalid", 0)
    with pytest.raises(Problem, match=r"this machine has no address 192\.0\.2\.1"):
        sockets.listen("192.0.2.1", 0)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with sockets.listen("127.0.0.1", 0) as first:
        port = sockets.port_of(first)
        with pytest.raises(sockets.PortTaken, match=f"port {port} on 127.0.0.1 is in use by another program"):
            sockets.listen("127.0.0.1", port)


def test_the_socket_is_not_inherited_unless_passed_on() -> None:
    with sockets.listen("127.0.0.1", 0) as listener:
        assert not listener.get_inheritable()


def test_urls_and_loopback() -> None:
    assert sockets.url("0.0.0.0", 1, tls=True) == "https://127.0.0.1:1"
    assert sockets.url("::", 1, tls=False) == "http://[::1]:1"
    assert sockets.url("fairway.example", 1, tls=True) == "https://fairway.example:1"
    assert [sockets.is_loopback(each) for each in ("localhost", "127.0.0.9", "::1")] == [True] * 3
    assert [sockets.is_loopback(each) for each in ("0.0.0.0", "::", "example")] == [False] * 3


def test_a_listener_that_never_answers_is_not_taken_for_fairway() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert not sockets.is_fairway("127.0.0.1", silent.getsockname()[1])


def test_events_pass_through_a_pipe_one_per_line() -> None:
    events = [Progress("half way"), Ready(7443, (SpaceInfo("default", "fairway"),)), Notice("ü\nx"), Fatal("no", "do")]
    read_fd, write_fd = os.pipe()
    reporter = Reporter(write_fd)
    for event in events:
        reporter.send(event)
    reporter.close()
    reporter.send(Notice("to nobody"))
    with os.fdopen(read_fd, "rb") as report:
        assert [decode(line) for line in report] == events


def test_a_report_to_nobody_is_no_error() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    reporter = Reporter(write_fd)
    reporter.send(Notice("is anybody there?"))
    reporter.close()
    Reporter(None).send(Notice("nor here"))


def test_lines_that_are_no_events_are_nothing() -> None:
    for line in (b"", b"x", b"[]", b'{"event":"other"}', b'{"event":"ready"}', b"\xff"):
        assert decode(line) is None
