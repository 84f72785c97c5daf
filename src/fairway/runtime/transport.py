"""The network between nodes: real HTTP (`http_transport`), or calls in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol


class TransportError(Exception):
    """The other side could not be reached, or the connection broke; whether a write happened is unknown."""


class Reply(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


class Transport(Protocol):
    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        stream: bool = False,
        patience: float | None = None,
    ) -> Reply:
        """Raises TransportError. A streamed reply has no time limit of its own, but for the seconds of silence after which patience ends."""
        ...

    async def close(self) -> None: ...
