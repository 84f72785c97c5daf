"""The network between a hub and one cluster, as bad as a test wants it.

It reads what passes as HTTP, so that it can lose, delay, repeat and reorder whole messages: TCP does none of that to a request, but clients that
try again, and networks that come back to life, do. Three kinds of messages pass: requests of the hub, answers of the cluster, and the events
of watches, line by line.

    deaf    requests do not arrive; answers and events do
    mute    requests arrive and are carried out; answers and events do not come back
    hole    neither way
    cut     connections break, new ones are refused at once
    forget  connections go silent for good and nobody is told, as when a firewall forgot them; new ones work

What is held up is not gone: as with TCP, it may arrive when the network is healed, be it that whoever sent it has long given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from tests.chaos import wire
from tests.chaos.wire import Broken, Message

Way = Literal["request", "answer", "event"]
LINE_BYTES_MAX = 1 << 24


class Lost(Exception):
    """Raised by a tap: the message is lost, and its connection with it."""


@dataclass(slots=True)
class Passing:
    """A message on its way through the proxy of a cluster."""

    cluster: str
    way: Way
    request: Message
    """The one itself, or what is answered."""
    data: bytes
    """The body: of the request, of the answer, or the line of the event."""
    status: int = 0

    def is_to(self, method: str, plural: str) -> bool:
        path = self.request.path.partition("?")[0]
        return self.request.method == method and (path.endswith(f"/{plural}") or f"/{plural}/" in path)

    def has(self, *texts: str) -> bool:
        return all(text.encode() in self.data for text in texts)


Tap = Callable[[Passing], Awaitable[None]]


class _Gate:
    """Open, or shut: whoever waits at it when it opens passes, or is turned away."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._late = True

    def shut(self) -> None:
        self._open.clear()

    def open(self, *, late: bool) -> None:
        self._late = late
        self._open.set()

    async def pass_through(self) -> None:
        if self._open.is_set():
            return
        await self._open.wait()
        if not self._late:
            raise Lost


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """`start` it in the loop that it is to live in; the rest may be set at any time."""

    def __init__(self, cluster: str, port: int) -> None:
        """port: of the cluster, on this machine."""
        self.cluster = cluster
        self.target = port
        self.delay: Callable[[], float] = lambda: 0.0
        """Seconds that the next message takes."""
        self.twice: Literal["", "first", "second"] = ""
        """Every write arrives twice; which answer the hub gets."""
        self.counts: Counter[str] = Counter()
        self.requests: list[Message] = []
        """Every write that was passed on, in the order in which it was."""
        self.taps: list[Tap] = []
        self.is_cut = False
        self._requests, self._answers = _Gate(), _Gate()
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], _Connection] = {}
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LINE_BYTES_MAX)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._connections)
        self._break_all()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            _reset(writer)
            return
        connection = _Connection(self, (reader, writer), self._requests, self._answers)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(lambda done: self._connections.pop(done, None))

    def tap(self, tap: Tap) -> Callable[[], None]:
        """It sees every message before it passes, and holds it for as long as it takes. Returns what ends it."""
        self.taps.append(tap)
        return lambda: self.taps.remove(tap) if tap in self.taps else None

    async def send_again(self, request: Message) -> Message:
        """A request from before, as when it was held up somewhere on the way."""
        upstream = await asyncio.open_connection("127.0.0.1", self.target, limit=LINE_BYTES_MAX)
        try:
            await _write(upstream[1], request.raw)
            answer = await wire.read(upstream[0])
            assert answer is not None
            return answer
        finally:
            _reset(upstream[1])

    # --- faults -----------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        self.counts["cut"] += 1
        self.is_cut = True
        self._break_all()

    def hole(self) -> None:
        self.counts["hole"] += 1
        self._requests.shut()
        self._answers.shut()

    def deaf(self) -> None:
        self.counts["deaf"] += 1
        self._requests.shut()

    def mute(self) -> None:
        self.counts["mute"] += 1
        self._answers.shut()

    def forget(self) -> None:
        self.counts["forget"] += 1
        self._requests.shut()
        self._answers.shut()
        self._requests, self._answers = _Gate(), _Gate()

    def heal(self, *, late: bool = True) -> None:
        """late: what was held up arrives now; if not, it is gone, and its connections with it."""
        self.is_cut = False
        self._requests.open(late=late)
        self._answers.open(late=late)

    def _break_all(self) -> None:
        for connection in self._connections.values():
            connection.reset()


class _Connection:
    """One of the hub's, and the one to the cluster that belongs to it. The gates are its own for life."""

    def __init__(self, proxy: Proxy, hub: Stream, requests: _Gate, answers: _Gate) -> None:
        self._proxy = proxy
        self._hub = hub
        self._cluster: Stream | None = None
        self._requests = requests
        self._answers = answers

    def reset(self) -> None:
        for stream in filter(None, (self._hub, self._cluster)):
            _reset(stream[1])

    async def serve(self) -> None:
        try:
            while (request := await wire.read(self._hub[0])) is not None:
                await self._pass("request", request, request.body)
                if self._proxy.twice and request.writes:
                    await self._exchange_twice(request)
                else:
                    await self._exchange(request)
        except (Broken, Lost, OSError):
            pass
        finally:
            self.reset()

    async def _exchange(self, request: Message) -> None:
        answer = await self._ask(request)
        if not answer.streamed:
            await self._pass("answer", request, answer.body, answer.status)
            await _write(self._hub[1], answer.raw)
            return
        await _write(self._hub[1], answer.raw)
        leaves = asyncio.ensure_future(self._hub[0].read(1))
        stream = asyncio.ensure_future(self._stream(request))
        try:
            await asyncio.wait({leaves, stream}, return_when=asyncio.FIRST_COMPLETED)
            if not stream.done():
                raise Broken("the hub does not watch any more")
            await stream
        finally:
            for each in (leaves, stream):
                each.cancel()
            await asyncio.gather(leaves, stream, return_exceptions=True)

    async def _exchange_twice(self, request: Message) -> None:
        self._proxy.counts["twice"] += 1
        first = await self._ask(request)
        self._forget_cluster()
        second = await self._ask(request)
        answer = first if self._proxy.twice == "first" else second
        await self._pass("answer", request, answer.body, answer.status)
        await _write(self._hub[1], answer.raw)

    def _forget_cluster(self) -> None:
        if self._cluster is not None:
            _reset(self._cluster[1])
            self._cluster = None

    async def _stream(self, request: Message) -> None:
        assert self._cluster is not None
        rest = b""
        try:
            while data := await wire.piece(self._cluster[0]):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    await self._pass("event", request, line)
                    await _write(self._hub[1], wire.chunk(line + b"\n"))
        except Broken:
            await self._answers.pass_through()  # that the other side is gone is news, too
            raise
        await self._answers.pass_through()
        await _write(self._hub[1], wire.chunk(rest) + wire.LAST if rest else wire.LAST)

    async def _ask(self, request: Message) -> Message:
        if self._cluster is None:
            self._cluster = await asyncio.open_connection("127.0.0.1", self._proxy.target, limit=LINE_BYTES_MAX)
        if request.writes:
            self._proxy.requests.append(request)
        await _write(self._cluster[1], request.raw)
        try:
            answer = await wire.read(self._cluster[0])
        except Broken:
            answer = None
        if answer is None:
            await self._answers.pass_through()
            raise Broken("the cluster is gone")
        return answer

    async def _pass(self, way: Way, request: Message, data: bytes, status: int = 0) -> None:
        gate = self._requests if way == "request" else self._answers
        await gate.pass_through()
        delay = self._proxy.delay()
        if delay:
            await asyncio.sleep(delay)
        for tap in list(self._proxy.taps):
            await tap(Passing(self._proxy.cluster, way, request, data, status))
        await gate.pass_through()
        if self._proxy.is_cut:
            raise Lost


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    with contextlib.suppress(ConnectionResetError):
        await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """RST, not FIN: nothing that waits to be sent is sent."""
    connection: socket.socket | None = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
