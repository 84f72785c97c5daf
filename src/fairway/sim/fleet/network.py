"""The network between nodes: requests and answers called in memory, late, lost, twice, out of order, or cut off.

Requests are independent of each other, so different delays put them in another order. A stream is one connection: its pieces come in order,
late if the way is cut for a while, and not at all once it broke. A request that a cut held back may arrive long after its sender gave up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from fairway.fleet.link.link import ANSWER_S
from fairway.runtime.transport import TransportError
from fairway.runtime.virtual import Process, VirtualLoop, outside
from fairway.server.app import App
from fairway.sim.chance import Chance
from fairway.sim.fleet.chronicle import Chronicle

CONNECT_S = 10.0
SILENT_S = 90.0
Message = MutableMapping[str, Any]


@dataclass(slots=True)
class Weather:
    """How bad the network is: chances out of a thousand, for each message."""

    slow: int = 20
    lost: int = 5
    twice: int = 10


CALM = Weather(0, 0, 0)


@dataclass(slots=True)
class Listener:
    """A node that answers at an address."""

    app: App
    process: Process
    calls: dict[Call, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Call:
    """One request and its answer."""

    source: str
    target: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    stream: bool
    head: asyncio.Future[SimReply]
    gone: asyncio.Future[None]
    """Set when the server learns that the client left."""
    reply: SimReply | None = None
    outbox: list[list[Message]] = field(default_factory=list)
    """Pieces of the answer on their way: whichever is due, the first one sent is the first one to arrive."""

    @property
    def what(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


class SimReply:
    def __init__(self, call: Call, network: Network, status: int, headers: Mapping[str, str]) -> None:
        self._call = call
        self._network = network
        self.status = status
        self.headers = headers
        self._pieces: list[bytes] = []
        self._ended = False
        self._error: TransportError | None = None
        self._news = asyncio.Event()

    def feed(self, piece: bytes, *, more: bool) -> None:
        self._pieces.append(piece)
        self._ended = not more
        self._news.set()

    def fail(self, error: TransportError) -> None:
        self._error = self._error or error
        self._news.set()

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                yield self._pieces.pop(0)
            if self._ended:
                return
            if self._error is not None:
                raise self._error
            self._news.clear()
            try:
                async with asyncio.timeout(SILENT_S):
                    await self._news.wait()
            except TimeoutError:
                self.close()
                raise TransportError("the stream broke off: silence") from None

    def close(self) -> None:
        if not self._ended and self._error is None:
            self._error = TransportError("closed by this side")
            self._network.leave(self._call)


class Network:
    def __init__(self, loop: VirtualLoop, chance: Chance, chronicle: Chronicle) -> None:
        self._loop = loop
        self._chance = chance
        self._chronicle = chronicle
        self.weather = CALM
        self._listeners: dict[str, Listener] = {}
        self._backlog: dict[str, list[Call]] = {}
        """Connections that wait in the launcher's socket for the node's next life."""
        self._cuts: dict[tuple[str, str], float] = {}
        self._addresses: dict[str, str] = {}

    # --- names ------------------------------------------------------------------------------------------------------

    def address(self, name: str) -> str:
        """The URL of a node, as kubeconfigs write it."""
        for url, known in self._addresses.items():
            if known == name:
                return url
        url = f"http://127.0.0.{len(self._addresses) + 1}:8001"
        self._addresses[url] = name
        return url

    def at(self, url: str) -> str:
        return self._addresses[url]

    # --- who is there -----------------------------------------------------------------------------------------------

    def listen(self, name: str, app: App, process: Process) -> None:
        self._listeners[name] = Listener(app, process)
        for call in self._backlog.pop(name, ()):
            self._later(self._delay(), self._arrive, call)

    def down(self, name: str, *, refuses: bool, silent: bool) -> None:
        """A node is gone. refuses: nobody holds its socket; silent: its machine is gone too, so that no connection is even reset."""
        listener = self._listeners.pop(name, None)
        if refuses:
            self._backlog.pop(name, None)
        else:
            self._backlog.setdefault(name, [])
        if listener is not None and not silent:
            for call in listener.calls:
                self._later(self._delay(), self._fail, call, "the connection was reset")
        for other in self._listeners.values():
            for call in other.calls:
                if call.source == name:
                    self._later(self._delay(), _settle, call.gone)

    def cut(self, source: str, target: str, until: float) -> None:
        """Nothing gets through from one to the other, for a while; the other way is another matter."""
        self._cuts[source, target] = until

    def heal(self) -> None:
        self._cuts.clear()

    def is_cut(self, source: str, target: str) -> bool:
        return self._cuts.get((source, target), 0.0) > self._loop.time()

    def transport(self, source: str, target: str) -> SimTransport:
        return SimTransport(self, source, target)

    # --- requests ---------------------------------------------------------------------------------------------------

    async def send(self, call: Call) -> SimReply:
        patience = CONNECT_S if call.stream or self.is_cut(call.source, call.target) else ANSWER_S
        self._post(call)
        if _may_repeat(call) and self._chance.below(1000) < self.weather.twice:
            copy = self._again(call)
            self._later(self._chance.between(0.001, 20.0), self._post, copy)
        try:
            async with asyncio.timeout(patience):
                return await call.head
        except TimeoutError:
            self.leave(call)
            raise TransportError(f"{call.target} cannot be reached: no answer") from None
        except asyncio.CancelledError:
            self.leave(call)
            raise

    def _again(self, call: Call) -> Call:
        self._chronicle.note("network", f"{call.what} from {call.source} to {call.target} will come twice")
        head, gone = self._loop.create_future(), self._loop.create_future()
        return Call(call.source, call.target, call.method, call.path, call.headers, call.body, call.stream, head, gone)

    def _post(self, call: Call) -> None:
        if self._chance.below(1000) < self.weather.lost:
            self._chronicle.note("network", f"{call.what} from {call.source} to {call.target} is lost")
            if self._chance.below(2):
                self._later(self._delay(), self._fail, call, "the connection was reset")
            return
        self._pass(call.source, call.target, self._delay(), self._arrive, call)

    def _arrive(self, call: Call) -> None:
        listener = self._listeners.get(call.target)
        if listener is None:
            if call.target in self._backlog:
                self._backlog[call.target].append(call)
            else:
                self._later(self._delay(), self._fail, call, "connection refused")
            return
        listener.calls[call] = None
        listener.process.spawn(self._serve(listener, call))

    async def _serve(self, listener: Listener, call: Call) -> None:
        path, _mark, query = call.path.partition("?")
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in call.headers.items()]
        if call.body:
            headers.append((b"content-length", b"%d" % len(call.body)))
        scope = {"type": "http", "method": call.method, "path": path, "query_string": query.encode()}
        body: list[bytes] = [call.body]

        async def receive() -> Message:
            if body:
                return {"type": "http.request", "body": body.pop()}
            await asyncio.shield(call.gone)
            return {"type": "http.disconnect"}

        whole: list[Message] = []

        async def send(message: Message) -> None:
            if call.stream:
                self._answer(call, [message])
                return
            whole.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._answer(call, whole)

        try:
            await listener.app({**scope, "headers": headers}, receive, send)
        finally:
            listener.calls.pop(call, None)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _answer(self, call: Call, messages: list[Message]) -> None:
        if not call.stream and self._chance.below(1000) < self.weather.lost:
            self._chronicle.note("network", f"the answer to {call.what} from {call.source} is lost")
            if self._chance.below(2):
                self._later(self._delay(), self._fail, call, "the connection was reset")
            return
        call.outbox.append(messages)
        self._pass(call.target, call.source, self._delay(), self._deliver, call)

    def _deliver(self, call: Call) -> None:
        for message in call.outbox.pop(0):
            if message["type"] == "http.response.start":
                headers = {name.decode().title(): value.decode("latin-1") for name, value in message["headers"]}
                call.reply = SimReply(call, self, message["status"], headers)
                if not call.head.done():
                    self._tell(call, message["status"])
                    call.head.set_result(call.reply)
            elif call.reply is not None:
                call.reply.feed(message.get("body", b""), more=bool(message.get("more_body")))

    def _tell(self, call: Call, status: int) -> None:
        """Writes, in the lines; what goes on all the time, in the digest only."""
        text = f"{call.what} on {call.target}: {status}"
        if call.method == "GET" or "/leases/" in call.path:
            self._chronicle.mix(text.encode())
        else:
            self._chronicle.note(call.source, text)

    def _fail(self, call: Call, why: str) -> None:
        error = TransportError(f"{call.target} cannot be reached: {why}")
        if not call.head.done():
            call.head.set_exception(error)
            call.head.exception()  # the one who asked may be gone
        elif call.reply is not None:
            call.reply.fail(error)

    def leave(self, call: Call) -> None:
        """The client closes the connection; the server learns of it."""
        self._pass(call.source, call.target, self._delay(), _settle, call.gone)

    # --- the way ----------------------------------------------------------------------------------------------------

    def _pass(self, source: str, target: str, delay: float, do: Callable[..., None], *what: object) -> None:
        """After the delay; where the way is cut by then, when it is open again: what was sent is sent again and again."""
        self._later(delay, self._through, source, target, do, what)

    def _through(self, source: str, target: str, do: Callable[..., None], what: tuple[object, ...]) -> None:
        if self.is_cut(source, target):
            left = self._cuts[source, target] - self._loop.time()
            self._later(left + self._delay(), self._through, source, target, do, what)
        else:
            do(*what)

    def _later(self, delay: float, do: Callable[..., None], *what: object) -> None:
        self._loop.call_later(delay, do, *what, context=outside())

    def _delay(self) -> float:
        if self._chance.below(1000) < self.weather.slow:
            return self._chance.between(0.05, 5.0)
        return self._chance.between(0.0002, 0.005)


class SimTransport:
    def __init__(self, network: Network, source: str, target: str) -> None:
        self._network = network
        self._source = source
        self._target = target
        self._closed = False

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        stream: bool = False,
        patience: float | None = None,
    ) -> SimReply:
        """Silence is broken by the network's own faults here, never by patience."""
        if self._closed:
            raise TransportError(f"the connection to {self._target} was closed by this side")
        loop = asyncio.get_running_loop()
        head, gone = loop.create_future(), loop.create_future()
        call = Call(self._source, self._target, method, path, dict(headers), body or b"", stream, head, gone)
        return await self._network.send(call)

    async def close(self) -> None:
        self._closed = True


def _may_repeat(call: Call) -> bool:
    """What nodes send may arrive twice, and much later; so may a job that somebody submits. A change that a person asks for comes once: they
    could not tell either, should it undo what they did since."""
    return not call.stream and (call.source != "user" or call.method == "POST")


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
