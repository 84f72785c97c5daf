"""Deletes the jobs of a hub that say how long they stay after their end (ttlSecondsAfterFinished).

Where jobs run, their controllers do that. Here they only mirror what ran elsewhere, and the copies have no such time: the hub says when they go.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Sequence

import msgspec

from fairway.api.client import Client, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.mirror import Mirror
from fairway.control.times import parse_time
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.core.model import SECOND, Time
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.fleet")
_FIELD = b'"ttlSecondsAfterFinished"'
_ENDS = ("Complete", "Completed", "Failed")
_LONGEST_NAP_S = 300.0
_TICK_S = 0.001
"""Beyond what a moment is rounded by."""
_AGAIN: Time = 5 * SECOND


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str
    status: str = ""
    last_transition_time: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] = []


class _Spec(msgspec.Struct, rename="camel", gc=False):
    ttl_seconds_after_finished: int | None = None
    managed_by: str = ""


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    deletion_timestamp: str = ""


class _Job(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Job).decode


class Expiry:
    """`start` it when the hub's mirror is true."""

    def __init__(self, client: Client, hub: Mirror, kinds: Sequence[Resource], clock: Clock) -> None:
        self._client = client
        self._hub = hub
        self._kinds = [kind for kind in kinds if kind in hub]
        self._clock = clock
        self._due: list[tuple[Time, int, str]] = []
        """When, which kind, whose."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        for index, kind in enumerate(self._kinds):
            hub[kind].on_change(lambda key, _before, after, kind=index: self._on_job(kind, key, after))  # type: ignore[misc]

    def start(self) -> None:
        for index, kind in enumerate(self._kinds):
            for key in self._hub[kind]:
                self._on_job(index, key, self._hub[kind].item(key))
        self._task = asyncio.get_running_loop().create_task(self._run(), name="expiry")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        self._wake.set()

    def _on_job(self, kind: int, key: str, item: Item | None) -> None:
        at = expires(item)
        if at is not None:
            heapq.heappush(self._due, (at, kind, key))
            self._wake.set()

    def _now(self) -> Time:
        return int(self._clock.now * SECOND)

    async def _run(self) -> None:
        while True:
            now = self._now()
            while self._due and self._due[0][0] <= now:
                _at, kind, key = heapq.heappop(self._due)
                await self._delete(kind, key, now)
            nap = min(_LONGEST_NAP_S, (self._due[0][0] - now) / SECOND + _TICK_S) if self._due else _LONGEST_NAP_S
            self._wake.clear()
            try:
                async with asyncio.timeout(nap):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _delete(self, kind: int, key: str, now: Time) -> None:
        resource = self._kinds[kind]
        item = self._hub[resource].item(key)
        at = expires(item)
        if item is None or at is None or at > now:
            return
        namespace, _, name = key.partition("/")
        try:
            await self._client.delete(
                resource, name, namespace, Deletion("Foreground", uid=_decode(item.value).metadata.uid)
            )
        except ApiError as error:
            if error.code not in (404, 409):
                log.warning("%s %s is over and cannot be deleted yet: %s", resource.plural, key, error.message)
                heapq.heappush(self._due, (now + _AGAIN, kind, key))


def expires(item: Item | None) -> Time | None:
    """When a job of the hub that ran elsewhere is to be deleted; None while that is not certain."""
    if item is None or _FIELD not in item.value:
        return None
    job = _decode(item.value)
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None or job.spec.managed_by != MULTIKUEUE or job.metadata.deletion_timestamp:
        return None
    ends = [each.last_transition_time for each in job.status.conditions if each.type in _ENDS and each.status == "True"]
    return parse_time(ends[0]) + seconds * SECOND if ends else None
