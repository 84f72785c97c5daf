"""An ASGI application on an inherited socket, under uvicorn, uvloop and httptools."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from asyncio.events import TimerHandle
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairway.runtime.sockets import BACKLOG

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

HEAD_BYTES_MAX = 64 << 10
"""Of a request line with its headers. Long label selectors and tokens fit many times over."""
HEAD_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 90
"""Longer than the common 60 or 75 s of proxies and clients, so that it is they who close an idle connection."""
ANSWER_GRACE_S = 1.0
"""What a response that still runs gets to end by itself when the node stops; after that it is cut off."""
FLUSH_GRACE_S = 0.5
"""What a client gets to take the rest of its answer and to close; a client that stopped reading must not keep the node."""
_POLL_S = 0.02
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Certificate:
    chain: Path
    key: Path


class BoundedProtocol(HttpToolsProtocol):
    """Bounds the size of a request's head and the time it may take, which httptools leaves open."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Only a head that came in pieces is looked at: one that came whole is bounded by the size of a read.
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """Leaves signals to its caller, says when it serves, and waits for nobody for long when it stops."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for closing in (*self.servers, *(sockets or ())):
            closing.close()
        state = self.server_state
        for connection in tuple(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(tuple(state.tasks), timeout=ANSWER_GRACE_S)
        for task in tuple(state.tasks):
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_GRACE_S):
                while state.connections:  # noqa: ASYNC110 - they leave the set one by one, and nobody tells
                    await asyncio.sleep(_POLL_S)
        for connection in tuple(state.connections):
            connection.transport.abort()


async def serve(
    app: ASGI3Application,
    sockets: Sequence[socket.socket],
    *,
    certificate: Certificate | None,
    started: Callable[[], None],
    stopping: asyncio.Event,
) -> None:
    """Serves until `stopping` is set. Long streams should end themselves then; those that do not are cut off."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )
    server = _Server(config, started)

    async def stop_when_asked() -> None:
        await stopping.wait()
        server.should_exit = True

    stopper = asyncio.ensure_future(stop_when_asked())
    try:
        await server.serve(sockets=list(sockets))
    finally:
        stopper.cancel()
