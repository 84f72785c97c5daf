"""Clients that send too much, too slowly, or leave in the middle: over real sockets, under the server that nodes use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.integration.inprocess import CONFIGMAPS, PATIENCE_S, Running, configmap, listening, running

from fairway.cli import serving


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running() as node:
        node.call("POST", CONFIGMAPS, configmap("kept", a="b")).ok
        yield node


@pytest.fixture(autouse=True)
def no_surprises(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


class Connection:
    def __init__(self, node: Running, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.token = node.admin.token

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def request(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        lines = [f"{method} {path} HTTP/1.1", "host: here", f"authorization: Bearer {self.token}", *headers]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(PATIENCE_S):
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = text.strip().split("\r\n")
        return int(first.split(" ")[1]), {
            name.lower(): value.strip() for name, _colon, value in (line.partition(":") for line in rest)
        }

    async def answer(self) -> tuple[int, bytes]:
        status, headers = await self.head()
        async with asyncio.timeout(PATIENCE_S):
            return status, await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def chunk(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            size = int(await self.reader.readline(), 16)
            data = await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        return data

    async def closed(self) -> bytes:
        """The rest, once the server has closed."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()


@asynccontextmanager
async def connected(node: Running, port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Connection(node, reader, writer)
    finally:
        writer.transport.abort()


def over_a_socket(node: Running, body: Callable[[int], Awaitable[None]]) -> None:
    async def run() -> None:
        async with listening(node.app) as port:
            await body(port)
            async with connected(node, port) as after:
                await after.request("GET", f"{CONFIGMAPS}/kept")
                status, data = await after.answer()
                assert (status, msgspec.json.decode(data)["data"]) == (200, {"a": "b"}), "the node keeps serving"

    node.run(run())


async def eventually(node: Running, line: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while line not in (await node.admin.request("GET", "/metrics")).text:  # noqa: ASYNC110 - a gauge tells nobody
            await asyncio.sleep(0.01)


def status_of(data: bytes) -> str:
    status = msgspec.json.decode(data)
    assert status["kind"] == "Status"
    message: str = status["message"]
    return message


def test_ten_megabytes_are_refused_by_their_announced_length(node: Running) -> None:
    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.request("POST", CONFIGMAPS, "content-type: application/json", "content-length: 10000000")
            status, data = await client.answer()
            assert (status, "larger than 3 MiB" in status_of(data)) == (413, True)

    over_a_socket(node, body)


def test_ten_megabytes_in_chunks_are_refused_before_they_are_all_sent(node: Running) -> None:
    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.request("POST", CONFIGMAPS, "content-type: application/json", "transfer-encoding: chunked")
            piece = b"10000\r\n" + b"a" * 65536 + b"\r\n"
            sender = asyncio.ensure_future(client.send(piece * 160))
            status, data = await client.answer()
            sender.cancel()
            assert (status, "larger than 3 MiB" in status_of(data)) == (413, True)

    over_a_socket(node, body)


def test_a_client_that_leaves_in_the_middle_of_its_body_writes_nothing(node: Running) -> None:
    async def body(port: int) -> None:
        whole = msgspec.json.encode(configmap("half"))
        async with connected(node, port) as client:
            length = f"content-length: {len(whole)}"
            await client.request("POST", CONFIGMAPS, "content-type: application/json", length, body=whole[:-5])
            await eventually(node, "apiserver_current_inflight_requests 1.0")
        await eventually(node, "apiserver_current_inflight_requests 0.0")

    over_a_socket(node, body)
    node.get(f"{CONFIGMAPS}/half").refused(404)


def test_a_client_that_leaves_in_the_middle_of_a_watch_leaves_nothing_behind(node: Running) -> None:
    async def body(port: int) -> None:
        tasks = len(asyncio.all_tasks())
        for _ in range(5):
            async with connected(node, port) as client:
                await client.request("GET", f"{CONFIGMAPS}?watch=true")
                assert (await client.head())[0] == 200
                assert b'"ADDED"' in await client.chunk()
                await eventually(node, "apiserver_longrunning_requests 1.0")
            await eventually(node, "apiserver_longrunning_requests 0.0")
        await eventually(node, "apiserver_longrunning_requests 0.0")
        async with asyncio.timeout(PATIENCE_S):
            while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110 - the end of a task of others tells nobody
                await asyncio.sleep(0.01)

    over_a_socket(node, body)


def test_a_watcher_that_does_not_read_is_let_go_and_slows_nobody(node: Running) -> None:
    """The stream is full after some megabytes; writers go on, and the watch is gone when its client is."""

    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.request("GET", f"{CONFIGMAPS}?watch=true")
            assert (await client.head())[0] == 200
            large = configmap("large", x="y" * 500_000)
            await node.admin.request("POST", CONFIGMAPS, large)
            for number in range(40):
                large["data"]["n"] = str(number)
                answer = await node.admin.request("PUT", f"{CONFIGMAPS}/large", large)
                assert answer.status == 200
        await eventually(node, "apiserver_longrunning_requests 0.0")

    over_a_socket(node, body)
    node.call("DELETE", f"{CONFIGMAPS}/large").ok


def test_a_head_that_comes_too_slowly_is_hung_up_on(node: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_TIMEOUT_S", 0.2)

    async def body(port: int) -> None:
        async with connected(node, port) as silent, connected(node, port) as slow:
            await slow.send(b"GET /api HTTP/1.1\r\nhost: here\r\nx-slow: ")
            assert await silent.closed() == b""
            assert await slow.closed() == b""

    over_a_socket(node, body)


def test_a_head_that_is_too_long_is_refused(node: Running) -> None:
    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.send(b"GET /api HTTP/1.1\r\nhost: here\r\n")
            for _ in range(1 + serving.HEAD_BYTES_MAX // 4000):
                await client.send(b"x-long: " + b"a" * 4000 + b"\r\n")
                await asyncio.sleep(0)
            assert (await client.head())[0] == 431

    over_a_socket(node, body)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/namespaces/default/configmaps/kept%2Fstatus", 404),
        ("/api/v1/namespaces/default%2Fconfigmaps%2Fkept", 200),
        ("/api/v1/namespaces/default/configmaps/%2e%2e", 404),
        ("/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets", 404),
        ("/api/v1/namespaces/default/configmaps/%ff%00", 404),
        ("/api/v1/namespaces/default/configmaps/%zz", 404),
        ("/spaces/%2e%2e/api", 404),
        ("/api/v1/namespaces/default/configmaps/" + "z" * 20_000, 404),
        ("/api/v1/namespaces/default/configmaps?labelSelector=" + "a," * 10_000 + "a", 200),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_encoded_path_means_what_it_decodes_to_and_nothing_more(node: Running, path: str, status: int) -> None:
    """As in a real API server: slashes that were encoded divide the path like any other."""

    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.request("GET", path)
            assert (await client.answer())[0] == status

    over_a_socket(node, body)


@pytest.mark.parametrize(
    "text",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"garbage\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_hung_up_on(node: Running, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_TIMEOUT_S", 0.3)

    async def body(port: int) -> None:
        async with connected(node, port) as client:
            await client.send(text)
            rest = await client.closed()
            assert rest == b"" or rest.split(b" ")[1] in (b"400", b"401", b"403", b"404", b"405")
            assert b"Traceback" not in rest

    over_a_socket(node, body)
