"""Keeps the output of pods that are over, before what is left of them on their cluster is deleted.

The end of each container's output is read once and made durable. Only then may the pod go: a hub that dies in between reads it again. What
cannot be read (the cluster has lost it, or does not let us) is kept as the sentence that says so, so that nobody waits for ever, and nobody
is left without an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.fleet.link.link import Link
from fairway.fleet.pods.mirrored import containers
from fairway.fleet.pods.reading import Reader
from fairway.runtime.archive import Archive, ArchiveError

log = logging.getLogger("fairway.fleet")
_TRIES = 5
_BUSY = 429
_AGAIN_S = 1.0


class Saver:
    """`saved` says whether all of a pod is kept, and sees to it if not. Whoever waits is told by `done` with the uid of the hub's job."""

    def __init__(self, archive: Archive, done: Callable[[str], None]) -> None:
        self._archive = archive
        self._done = done
        self._readers: dict[str, Reader] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def kept(self, uid: str) -> bool:
        """Whether anything is kept of a pod."""
        return bool(self._archive.names(uid))

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

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
        for reader in self._readers.values():
            await reader.stop()

    async def _save(self, link: Link, pod: Json, uid: str, names: list[str], job: str) -> None:
        try:
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
        reader = self._readers.get(link.name)
        if reader is None or reader.link is not link:
            reader = self._readers[link.name] = Reader(link)
        for attempt in range(_TRIES):
            try:
                return await reader.read(pod, container)
            except ApiError as error:
                if not link.connected:
                    raise
                refused = 400 <= error.code < 500 and error.code != _BUSY
                if refused or attempt == _TRIES - 1:
                    return f"[the output was not kept: cluster {link.name} said: {error.message}]\n".encode()
            await asyncio.sleep(_AGAIN_S)
        raise AssertionError("the last try returns")
