"""How a node's HTTP server behaves at the edges: large and slow heads, streams that will not end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.integration.support import PATIENCE_S, asynchronous

from fairway.cli import serving
from fairway.runtime import sockets

App = Callable[[Any, Any, Any], Awaitable[None]]


async def echo(_scope: Any, receive: Any, send: Any) -> None:
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
    await send({"type": "http.response.body", "body": b"%8d" % length})


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[str, str]:
        """The head and the body, of a body that is 8 bytes long."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        return head.decode(), (await asyncio.wait_for(self.reader.readexactly(8), PATIENCE_S)).decode().strip()

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self.reader.read(), PATIENCE_S)


@asynccontextmanager
async def served(app: App) -> AsyncIterator[tuple[Client, asyncio.Event, asyncio.Task[None]]]:
    listener = sockets.listen("127.0.0.1", 0)
    port = sockets.port_of(listener)
    started, stopping = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(
        serving.serve(app, [listener], certificate=None, started=started.set, stopping=stopping)  # type: ignore[arg-type]
    )
    await asyncio.wait_for(started.wait(), PATIENCE_S)
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    yield client, stopping, task
    client.writer.close()
    stopping.set()
    await asyncio.wait_for(task, PATIENCE_S)


@asynchronous
async def test_a_connection_serves_many_requests_whether_they_come_whole_or_in_pieces() -> None:
    async with served(echo) as (client, _, _):
        head = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 200000\r\n\r\n"
        await client.send(head + b"x" * 200_000)
        shown, body = await client.answer()
        assert (shown.splitlines()[0], body) == ("HTTP/1.1 200 OK", "200000")
        assert "server:" not in shown.lower()
        for part in (b"GET / HTTP/1.1\r\n", b"Host: he", b"re\r\n", b"\r\n"):
            await client.send(part)
            await asyncio.sleep(0)
        assert (await client.answer())[1] == "0"
        await client.send(head)
        await client.send(b"x" * 200_000)
        assert (await client.answer())[1] == "200000"


@asynchronous
async def test_a_head_of_ordinary_size_passes_and_an_endless_one_is_refused() -> None:
    async with served(echo) as (client, _, _):
        await client.send(
            b"GET / HTTP/1.1\r\nHost: here\r\nX-Long: " + b"x" * (serving.HEAD_BYTES_MAX // 2) + b"\r\n\r\n"
        )
        assert (await client.answer())[0].startswith("HTTP/1.1 200")
        await client.send(b"GET / HTTP/1.1\r\nX-Long: ".ljust(serving.HEAD_BYTES_MAX, b"x"))
        await client.send(b"x")
        assert (await asyncio.wait_for(client.reader.readline(), PATIENCE_S)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: here\r\nX: "])
@asynchronous
async def test_a_head_that_never_ends_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_TIMEOUT_S", 0.05)
    async with served(echo) as (client, _, _):
        await client.send(sent)
        assert await client.rest() == b""


@asynchronous
async def test_a_request_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_TIMEOUT_S", 0.05)
    go = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asyncio.get_running_loop().call_later(0.1, go.set)
        await go.wait()
        await echo(scope, receive, send)

    async with served(slow) as (client, _, _):
        await client.send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await client.answer())[0].startswith("HTTP/1.1 200")


@asynchronous
async def test_a_stream_that_will_not_end_does_not_keep_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "ANSWER_GRACE_S", 0.05)
    cancelled = asyncio.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with served(endless) as (client, stopping, task):
        await client.send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.wait_for(client.reader.readuntil(b"first"), PATIENCE_S)
        stopping.set()
        await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        assert cancelled.is_set()


@asynchronous
async def test_a_client_that_stopped_reading_does_not_keep_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "ANSWER_GRACE_S", 0.05)
    monkeypatch.setattr(serving, "FLUSH_GRACE_S", 0.05)

    async def flood(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})

    async with served(flood) as (client, stopping, task):
        await client.send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        stopping.set()
        await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)


@asynchronous
async def test_an_idle_connection_is_closed_when_the_server_stops() -> None:
    async with served(echo) as (client, stopping, task):
        await client.send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await client.answer()
        stopping.set()
        assert await client.rest() == b""
        await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
