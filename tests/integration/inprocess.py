"""A whole node in this process, asked over ASGI as a client asks over a socket: no port, no thread, no waiting for either.

`Running` owns an event loop that turns only while a call is awaited, so that a test decides what happens between two calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from fairway.cli import serving
from fairway.node import Node
from fairway.server.app import App

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

T = TypeVar("T")
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATIENCE_S = 20.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def ok(self) -> Any:
        assert self.status < 300, self.body
        return self.json

    def refused(self, status: int, reason: str | None = None) -> str:
        """The message of a Status that is whole: every refusal must be one."""
        assert self.status == status, (self.status, self.body[:2000])
        assert self.header("content-type") == JSON
        assert self.header("cache-control") == "no-cache, private"
        body = self.json
        assert {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status}.items() <= (
            body.items()
        ), body
        assert "Traceback" not in body["message"]
        assert body["message"]
        if reason is not None:
            assert body.get("reason", "") == reason
        message: str = body["message"]
        return message


class Stream:
    """An answer that goes on: a watch."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.ended = False
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        self._lines: list[bytes] = []

    def feed(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = _readable(message["headers"])
        else:
            self._chunks.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                self._chunks.put_nowait(None)

    async def next(self) -> dict[str, Any]:
        """The next event. Raises EOFError when the server ended the stream."""
        while not self._lines:
            async with asyncio.timeout(PATIENCE_S):
                chunk = await self._chunks.get()
            if chunk is None:
                self.ended = True
                raise EOFError(self._rest)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines += lines
        event: dict[str, Any] = msgspec.json.decode(self._lines.pop(0))
        return event


class Client:
    """Requests of one caller."""

    def __init__(self, app: App, token: str = "") -> None:
        self.app = app
        self.token = token

    def with_token(self, token: str) -> Client:
        return Client(self.app, token)

    def _scope(self, method: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
        path, _mark, query = url.partition("?")
        sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        if self.token and "authorization" not in {name.lower() for name in headers}:
            sent.append((b"authorization", f"Bearer {self.token}".encode()))
        return {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": sent}

    async def request(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        content: str = JSON,
        accept: str = "",
        headers: Mapping[str, str] | None = None,
        chunks: Sequence[bytes] | None = None,
    ) -> Answer:
        """body: bytes as they are, anything else as JSON. chunks: a body of unknown length, in pieces; it ends with the client leaving."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        sent = dict(headers or {})
        if data or chunks:
            sent.setdefault("content-type", content)
        if data:
            sent.setdefault("content-length", str(len(data)))
        if accept:
            sent["accept"] = accept
        pieces = list(chunks) if chunks is not None else [data]
        collected = Stream()
        parts: list[bytes] = []

        async def receive() -> dict[str, Any]:
            if not pieces:
                return {"type": "http.disconnect"}
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces) or chunks is not None}

        async def send(message: Any) -> None:
            collected.feed(message)
            parts.append(message.get("body", b""))

        async with asyncio.timeout(PATIENCE_S):
            await self.app(self._scope(method, url, sent), receive, send)
        return Answer(collected.status, collected.headers, b"".join(parts))

    @contextlib.asynccontextmanager
    async def stream(self, url: str, *, accept: str = "", method: str = "GET") -> AsyncIterator[Stream]:
        """A watch; leaving the block is the client's disconnect, and the server must be done with it soon after."""
        stream, left = Stream(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            stream.feed(message)

        headers = {"accept": accept} if accept else {}
        serving = asyncio.ensure_future(self.app(self._scope(method, url, headers), receive, send))
        try:
            yield stream
        finally:
            left.set()
            async with asyncio.timeout(PATIENCE_S):
                await serving


class Running:
    """A node that runs, and an administrator's client of its first space."""

    def __init__(self, data: Path | None = None, names: Sequence[str] = ("default",)) -> None:
        self._runner = asyncio.Runner()
        self._data, self._names = data, names
        self.run(self._start(""))

    async def _start(self, token: str) -> None:
        # Without a queue to go to, Jobs stay as they are written: these tests are about the API.
        self.node = Node(self._data, self._names, with_default_queue=False)
        self.app = await self.node.start()
        self.space = self.node.spaces[0]
        self.admin = Client(self.app, await self.node.admin_token(self.space, token))

    async def restart(self) -> None:
        """The same folder, another node; the administrator's token stays."""
        await self.node.stop()
        await self._start(self.admin.token)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def call(self, method: str, url: str, body: Any = None, **more: Any) -> Answer:
        return self.run(self.admin.request(method, url, body, **more))

    def get(self, url: str, **more: Any) -> Answer:
        return self.call("GET", url, **more)

    def close(self) -> None:
        self.run(self.node.stop())
        self._runner.close()


@contextlib.contextmanager
def running(data: Path | None = None, names: Sequence[str] = ("default",)) -> Iterator[Running]:
    node = Running(data, names)
    try:
        yield node
    finally:
        node.close()


def job(name: str = "", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name} if name else {},
        "spec": {
            **spec,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "compute", "image": "ubuntu:24.04"}]}
            },
        },
    }


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _readable(headers: Any) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


@contextlib.asynccontextmanager
async def listening(app: App, certificate: serving.Certificate | None = None) -> AsyncIterator[int]:
    """The application behind a real socket, under the server that nodes use. Yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    started, stopping = asyncio.Event(), asyncio.Event()
    serving_task = asyncio.ensure_future(
        serving.serve(
            cast("ASGI3Application", app), [listener], certificate=certificate, started=started.set, stopping=stopping
        )
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            await started.wait()
        yield listener.getsockname()[1]
    finally:
        stopping.set()
        await serving_task
