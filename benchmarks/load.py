"""A cheap HTTP client: keep-alive connections that send prepared bytes and count answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

import httptools
import msgspec

from benchmarks.result import Sample
from benchmarks.servers import Server


class Counted(msgspec.Struct):
    """What a run of clients saw."""

    answers: int
    seconds: float
    server_cpu: float
    latencies: list[float]

    def sample(self, per_answer: int = 1) -> Sample:
        count = self.answers * per_answer
        return Sample(count / self.seconds, self.server_cpu / count * 1e6)

    def latency_ms(self, quantile: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * quantile))] * 1000


class _Client(asyncio.Protocol):
    """Sends the next request when the last is answered, until there is none left or the time is over."""

    def __init__(self, requests: Iterator[bytes], until: float) -> None:
        self._requests = requests
        self._until = until
        self._parser = httptools.HttpResponseParser(self)
        self._sent = 0.0
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        request = next(self._requests, None) if self._sent < self._until else None
        if request is None:
            self._transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 300:
            self._fail(RuntimeError(f"answered {status}: the benchmark asks for something that is refused"))
            return
        self.latencies.append(time.perf_counter() - self._sent)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionError("the server closed the connection"))

    def _fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


async def run_clients(server: Server, requests: Sequence[Iterator[bytes]], seconds: float) -> Counted:
    loop = asyncio.get_running_loop()
    cpu, start = server.cpu_seconds(), time.perf_counter()
    clients = []
    for of_one in requests:
        client = _Client(of_one, start + seconds)
        await loop.create_connection(partial(_same, client), "127.0.0.1", server.port)
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    elapsed = time.perf_counter() - start
    latencies = [latency for client in clients for latency in client.latencies]
    return Counted(len(latencies), elapsed, server.cpu_seconds() - cpu, latencies)


def _same(client: _Client) -> _Client:
    return client


class Watcher(asyncio.Protocol):
    """Reads a stream and counts what it looks for."""

    def __init__(self, request: bytes, marker: bytes, wanted: int) -> None:
        self._request, self._marker, self._wanted = request, marker, wanted
        self._rest = b""
        self.heard = 0
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.started.done():
            if not data.startswith(b"HTTP/1.1 200"):
                self.done.set_exception(RuntimeError(data[:300].decode("latin-1")))
            self.started.set_result(None)
        data = self._rest + data
        self.heard += data.count(self._marker)
        # The marker may have come in two pieces.
        self._rest = data[-len(self._marker) + 1 :]
        if self.heard >= self._wanted and not self.done.done():
            self.done.set_result(None)
            self.transport.close()


def request(
    method: str, path: str, body: bytes = b"", *, token: str = "", content_type: str = "application/json"
) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    if body:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def forever(make: Callable[[int], bytes], first: int = 0, step: int = 1) -> Iterator[bytes]:
    number = first
    while True:
        yield make(number)
        number += step
