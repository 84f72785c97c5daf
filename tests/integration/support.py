"""Real launchers and nodes for tests, and a way to be sure that none is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import json
import os
import shlex
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from fairway.cli.main import app
from fairway.runtime import process
from fairway.runtime.datadir import DataDir

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0

NODE_PRELUDE = """
import argparse, json, os, pathlib, signal, socket, sys, time
parser = argparse.ArgumentParser()
for name in ("--data", "--host"):
    parser.add_argument(name)
for name in ("--fd", "--status-fd", "--life-fd", "--lock-fd"):
    parser.add_argument(name, type=int)
parser.add_argument("--no-tls", action="store_true")
args = parser.parse_args()
data = pathlib.Path(args.data)
listener = socket.socket(fileno=args.fd)
starts = data / "starts"
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
start = len(starts.read_text())

def say(**event):
    os.write(args.status_fd, json.dumps(event).encode() + b"\\n")

def ready():
    say(event="ready", port=listener.getsockname()[1], spaces=[{"name": "default", "context": "here"}])

def await_file(name):
    while not (data / name).exists():
        time.sleep(0.005)

def serve():
    while True:
        connection, _ = listener.accept()
        connection.recv(100)
        connection.sendall(f"start {start}".encode())
        connection.close()
"""


LIGHT_NODE = """
import selectors
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ready()
with selectors.DefaultSelector() as selector:
    selector.register(listener, selectors.EVENT_READ)
    selector.register(args.life_fd, selectors.EVENT_READ)
    while True:
        if any(key.fd == args.life_fd for key, _ in selector.select()):
            sys.exit(0)
        connection, _ = listener.accept()
        request = connection.recv(4096).decode(errors="replace").split()
        body = "v1.0.0+fairway" if request[1:2] == ["/version"] else "ok"
        if request:
            connection.sendall(f"HTTP/1.1 200 OK\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n{body}".encode())
        connection.close()
"""


def node_program(folder: Path, body: str) -> list[str]:
    """A node that does as the test says; it starts in a fraction of the real one's time."""
    script = folder / "node.py"
    script.write_text(NODE_PRELUDE + body)
    return [sys.executable, "-I", "-S", str(script)]


def asynchronous(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def eventually(condition: Callable[[], Any], what: str) -> None:
    assert process.wait_until(lambda: bool(condition()), PATIENCE_S), f"waited in vain until {what}"


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Fairway:
    """`fairway ...` as a person types it, with FAIRWAY_DATA set; with the real node, or one that starts faster."""

    def __init__(self, data: Path, *, node: list[str] | None = None) -> None:
        self.data = DataDir(data)
        self.tls = node is None
        self.env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FAIRWAY_DATA": str(data)}
        self.env.pop("FAIRWAY_DEBUG", None)
        if node is not None:
            self.env["FAIRWAY_NODE_COMMAND"] = shlex.join(node)

    def arguments(self, *arguments: str) -> list[str]:
        return [*arguments, "--no-tls"] if arguments[0] == "up" and not self.tls else list(arguments)

    def run(self, *arguments: str) -> Result:
        """In this process, for speed; what it starts are processes of their own all the same."""
        out, errors = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, self.env, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(errors),
        ):
            code = app(self.arguments(*arguments))
        return Result(code, out.getvalue(), errors.getvalue())

    @contextlib.contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """In a process of its own, that does not outlive the test, nor does what it started."""
        started = subprocess.Popen(
            [sys.executable, "-m", "fairway", *self.arguments(*arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.env,
        )
        try:
            yield started
        finally:
            if started.poll() is None:
                self.clean_up()
                started.kill()
            started.communicate()

    def up(self, *arguments: str) -> None:
        done = self.run("up", "--detach", "--port", "0", *arguments)
        assert done.returncode == 0, done.stderr

    def status(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.run("status", "-o", "json").stdout)
        return result

    @property
    def state(self) -> Any:
        state = self.data.read_state()
        assert state is not None
        return state

    def get(self, path: str, token: str = "") -> str:
        with self.connect() as connection:
            connection.sendall(request(path, token))
            return read_all(connection)

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.state.port), timeout=PATIENCE_S)
        if not self.tls:
            return plain
        authority = ssl.create_default_context(cafile=self.data.tls / "ca.crt")
        return authority.wrap_socket(plain, server_hostname="127.0.0.1")

    def clean_up(self) -> None:
        state = self.data.read_state()
        running = self.data.running()
        for found in filter(None, (running, state)):
            process.send(found.pid, found.identity, signal.SIGKILL)
            process.send(found.node_pid, found.node_identity, signal.SIGKILL)


def request(path: str, token: str = "") -> bytes:
    credentials = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{credentials}\r\n".encode()


def read_all(connection: socket.socket) -> str:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts).decode()
