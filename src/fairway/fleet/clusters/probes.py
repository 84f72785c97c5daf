"""Asks clusters, every few seconds, what no watch tells: what their data plane is, which version they run, and whether they answer at all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.core.model import SECOND, Time
from fairway.fleet.clusters import pools
from fairway.fleet.clusters.health import NO_ANSWER, Answer
from fairway.fleet.clusters.ports import Links
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.fleet")
CONFIG_MAPS = Resource("", "v1", "configmaps")
PROBE_SECONDS = 10.0
_PATIENCE_SECONDS = 5.0


@runtime_checkable
class Documents(Protocol):
    """A client that can ask for what is no object."""

    async def document(self, path: str) -> dict[str, Any]: ...


class Probes:
    """`answers` has what each cluster said last; the listener is told of every new answer."""

    def __init__(self, links: Links, namespace: str, clock: Clock, on_answer: Callable[[str], None]) -> None:
        self.answers: dict[str, Answer] = {}
        self._links = links
        self._namespace = namespace
        self._clock = clock
        self._on_answer = on_answer
        self._due: dict[str, float] = {}
        self._clients: dict[str, Client] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        links.on_change(self._on_link)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="probes")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def get(self, name: str) -> Answer:
        return self.answers.get(name, NO_ANSWER)

    def _on_link(self, name: str) -> None:
        """A cluster that is just reached is asked at once."""
        link = self._links.get(name)
        if link is None:
            self.answers.pop(name, None)
            self._due.pop(name, None)
            self._clients.pop(name, None)
        elif link.connected:
            self._due[name] = self._clock.monotonic
            self._wake.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now = self._clock.monotonic
            due = [name for name in self._links.names() if self._due.get(name, now) <= now]
            for name in due:
                self._due[name] = now + PROBE_SECONDS
            await asyncio.gather(*(self._ask(name) for name in due))
            nap = min((at - self._clock.monotonic for at in self._due.values()), default=PROBE_SECONDS)
            try:
                async with asyncio.timeout(min(max(nap, 0.01), PROBE_SECONDS)):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _ask(self, name: str) -> None:
        link = self._links.get(name)
        if link is None or not link.connected or link.client is None:
            return
        client, before = link.client, self.get(name)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                plane = await self._plane(client)
                version = await self._version(name, client, before.version)
        except TimeoutError:
            answer = _silent(before, self._now(), f"no answer within {_PATIENCE_SECONDS:.0f} s")
        except ApiError as error:
            answer = _silent(before, self._now(), error.message)
        except Exception as error:  # whatever a foreign server sends must not end the asking of all others
            log.exception("cluster %s: its answer cannot be used", name)
            answer = _silent(before, self._now(), str(error))
        else:
            answer = Answer(self._now(), None, "", pools.reported_plane(plane), version)
        if self._links.get(name) is link:
            self.answers[name] = answer
            self._on_answer(name)

    async def _plane(self, client: Client) -> Json | None:
        try:
            return (await client.get(CONFIG_MAPS, pools.DATA_PLANE, self._namespace)).json()
        except ApiError as error:
            if _is_answer(error):
                return None
            raise

    async def _version(self, name: str, client: Client, known: str) -> str:
        """Once for every connection."""
        if (known and self._clients.get(name) is client) or not isinstance(client, Documents):
            return known
        try:
            found = await client.document("/version")
        except ApiError as error:
            if _is_answer(error):
                return known
            raise
        self._clients[name] = client
        return str(found.get("gitVersion") or known)

    def _now(self) -> Time:
        return int(self._clock.now * SECOND)


def _is_answer(error: ApiError) -> bool:
    """A refusal is an answer too: there is no such map, or it is not for us to read."""
    return error.code in (401, 403, 404)


def _silent(before: Answer, now: Time, why: str) -> Answer:
    return replace(before, silent_since=now if before.silent_since is None else before.silent_since, silence=why)
