"""Servers to measure, as processes of their own: a node without TLS, and the hello-world beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairway.cli import kubeconfig
from fairway.runtime.datadir import DataDir

CONTEXT = "fairway"
_START_SECONDS_MAX = 60
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    pid: int
    token: str = ""

    def cpu_seconds(self) -> float:
        """Processor time so far, all threads (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@contextmanager
def node(folder: Path, *arguments: str) -> Iterator[Server]:
    with _process(["fairway.cli.node", "--data", str(folder), "--no-tls", *arguments]) as server:
        token = kubeconfig.access(DataDir.at(str(folder)), CONTEXT).token
        yield Server(server.port, server.pid, token)


@contextmanager
def hello() -> Iterator[Server]:
    with _process(["benchmarks.hello"]) as server:
        yield server


@contextmanager
def _process(module: list[str]) -> Iterator[Server]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    port = listening.getsockname()[1]
    fd = listening.fileno()
    # As one that is installed: what was compiled once need not be compiled at every start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([sys.executable, "-m", *module, "--fd", str(fd)], pass_fds=[fd], env=environment)
    listening.close()
    try:
        _wait_until_ready(process, port)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode} before it served")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if b" 200 " in connection.recv(4096):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not serve within {_START_SECONDS_MAX} s")
