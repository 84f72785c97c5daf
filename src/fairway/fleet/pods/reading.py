"""Reads the end of what containers have written on clusters: of many in one call where a cluster offers that, otherwise one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.logs import LogOptions, Written, end_of
from fairway.control.adapters import Json
from fairway.fleet.link.link import Link
from fairway.fleet.resources import PODS

KEPT_BYTES = 1 << 20
"""Of each container, the last so many."""
_TAIL_LINES = 50_000
_AT_ONCE = 8
_TOGETHER = 100
_GATHER_S = 0.02
TOO_LARGE = 413


@runtime_checkable
class Streams(Protocol):
    """A client that can read what comes bit by bit."""

    async def open(self, path: str, parameters: Mapping[str, str] | None = None) -> AsyncIterator[bytes]: ...


@runtime_checkable
class ReadsMany(Protocol):
    """A client that knows a call for many, though its server may not."""

    async def outputs(
        self, items: Sequence[Written], *, tail_lines: int, limit_bytes: int
    ) -> list[bytes | ApiError] | None: ...


def streams(client: Client | None) -> Streams | None:
    return client if isinstance(client, Streams) else None


@dataclass(slots=True)
class _Wish:
    what: Written
    answer: asyncio.Future[bytes]


class Reader:
    """Of one cluster. What is asked for at about the same time is read together."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._wishes: list[_Wish] = []
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._task: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def read(self, pod: Json, container: str) -> bytes:
        """Raises ApiError for what the cluster refuses, or while it is out of reach."""
        metadata = pod["metadata"]
        loop = asyncio.get_running_loop()
        wish = _Wish(Written(metadata.get("namespace", ""), metadata["name"], container), loop.create_future())
        self._wishes.append(wish)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run(), name=f"outputs-{self.link.name}")
        return await wish.answer

    async def _run(self) -> None:
        while self._wishes:
            await asyncio.sleep(_GATHER_S)
            batch, self._wishes = self._wishes[:_TOGETHER], self._wishes[_TOGETHER:]
            try:
                answers = await self._many([wish.what for wish in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for wish, answer in zip(batch, answers, strict=True):
                if wish.answer.done():
                    continue
                if isinstance(answer, Exception):
                    wish.answer.set_exception(answer)
                else:
                    wish.answer.set_result(answer)

    async def _many(self, items: Sequence[Written]) -> Sequence[bytes | Exception]:
        client = self.link.client
        found: Sequence[bytes | ApiError] | None = None
        if len(items) > 1 and isinstance(client, ReadsMany):
            found = await client.outputs(items, tail_lines=_TAIL_LINES, limit_bytes=KEPT_BYTES)
        if found is None:
            return await asyncio.gather(*(self._one(item) for item in items), return_exceptions=True)  # type: ignore[return-value]
        alone = [item for item, answer in zip(items, found, strict=True) if _too_large(answer)]
        rest = iter(await asyncio.gather(*(self._one(item) for item in alone), return_exceptions=True))
        return [next(rest) if _too_large(answer) else answer for answer in found]  # type: ignore[misc]

    async def _one(self, item: Written) -> bytes:
        client = streams(self.link.client)
        if client is None:
            raise ApiError(503, "ServiceUnavailable", f"cluster {self.link.name} cannot be reached")
        path = PODS.path(item.namespace, item.name, "log")
        async with self._slots:
            output = await client.open(path, LogOptions(tail_lines=_TAIL_LINES).parameters(item.container))
            return await end_of(output, KEPT_BYTES)


def _too_large(answer: bytes | ApiError) -> bool:
    return isinstance(answer, ApiError) and answer.code == TOO_LARGE
