"""Keeps the output of pods that are over, before what is left of them on their cluster is deleted.

The end of each container's output is read once and made durable. Only then may the pod go: a hub that dies in between reads it again. What
cannot be read (the cluster has lost it, or does not let us) is kept as the sentence that says so, so that nobody waits for ever, and nobody
is left without an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Protocol, runtime_checkable

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.logs import LogOptions
from fairway.control.adapters import Json
from fairway.fleet.link.link import Link
from fairway.fleet.pods.mirrored import containers
from fairway.fleet.resources import PODS
from fairway.runtime.archive import Archive, ArchiveError

log = logging.getLogger("fairway.fleet")
KEPT_BYTES = 1 << 20
"""Of each container, the last so many."""
_TAIL_LINES = 50_000
_AT_ONCE = 8
_TRIES = 5
_AGAIN_S = 1.0
CUT = b"[... the beginning is not kept: this is the last 1 MiB ...]\n"


@runtime_checkable
class Streams(Protocol):
    """A client that can read what comes bit by bit."""

    async def open(self, path: str, parameters: dict[str, str] | None = None) -> AsyncIterator[bytes]: ...


def streams(client: Client | None) -> Streams | None:
    return client if isinstance(client, Streams) else None


class Saver:
    """`saved` says whether all of a pod is kept, and sees to it if not. Whoever waits is told by `done` with the uid of the hub's job."""

    def __init__(self, archive: Archive, done: Callable[[str], None]) -> None:
        self._archive = archive
        self._done = done
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def kept(self, uid: str) -> bool:
        """Whether anything is kept of a pod."""
        return bool(self._archive.names(uid))

    def saved(self, link: Link, pod: Json, uid: str, job: str) -> bool:
        """uid: under which it is kept, that of the pod as the hub has it. job: the uid of the hub's job."""
        missing = [name for name in containers(pod) if name not in self._archive.names(uid)]
        if missing and uid not in self._tasks and link.connected:
            work = self._save(link, pod, uid, missing, job)
            self._tasks[uid] = asyncio.get_running_loop().create_task(work, name=f"save-{uid}")
        return not missing

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _save(self, link: Link, pod: Json, uid: str, names: list[str], job: str) -> None:
        try:
            async with self._slots.setdefault(link.name, asyncio.Semaphore(_AT_ONCE)):
                for name in names:
                    await self._archive.keep(uid, name, await self._read(link, pod, name))
        except ArchiveError as error:
            log.warning("the output of pod %s on %s cannot be kept: %s", pod["metadata"]["name"], link.name, error)
            await asyncio.sleep(_AGAIN_S)
        except ApiError as error:
            log.info("the output of pod %s is not read yet: %s", pod["metadata"]["name"], error.message)
            await asyncio.sleep(_AGAIN_S)
        finally:
            del self._tasks[uid]
            self._done(job)

    async def _read(self, link: Link, pod: Json, container: str) -> bytes:
        """Raises ApiError while the cluster is out of reach."""
        metadata = pod["metadata"]
        path = PODS.path(metadata.get("namespace", ""), metadata["name"], "log")
        parameters = LogOptions(tail_lines=_TAIL_LINES).parameters(container)
        for attempt in range(_TRIES):
            client = streams(link.client)
            if client is None:
                raise ApiError(503, "ServiceUnavailable", f"cluster {link.name} cannot be reached")
            try:
                return await end_of(await client.open(path, parameters), KEPT_BYTES)
            except ApiError as error:
                if not link.connected:
                    raise
                last = attempt == _TRIES - 1 or (400 <= error.code < 500 and error.code != 429)
                if last:
                    return f"[the output was not kept: cluster {link.name} said: {error.message}]\n".encode()
            await asyncio.sleep(_AGAIN_S)
        raise AssertionError("the last try returns")


async def end_of(output: AsyncIterator[bytes], most: int) -> bytes:
    """The last bytes of it, from the beginning of a line on."""
    pieces: list[bytes] = []
    size, cut = 0, False
    async for piece in output:
        pieces.append(piece)
        size += len(piece)
        while size - len(pieces[0]) >= most:
            size -= len(pieces.pop(0))
            cut = True
    text = b"".join(pieces)
    if len(text) > most:
        text, cut = text[-most:], True
    if not cut:
        return text
    return CUT + text[text.find(b"\n") + 1 :]
