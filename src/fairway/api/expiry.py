"""Events are kept for an hour, as Kubernetes does: they tell what happened, the objects tell what is."""

from __future__ import annotations

import msgspec

from fairway.api.space import Space
from fairway.api.worker import Worker
from fairway.kinds.types import parse_time
from fairway.store import Delete

EVENT_SECONDS = 3600.0
_EVERY_SECONDS = 60.0
_STEP = 1000


class _Meta(msgspec.Struct, rename="camel", gc=False):
    creation_timestamp: str | None = None


class _Seen(msgspec.Struct, rename="camel", gc=False):
    metadata: _Meta
    last_timestamp: str | None = None
    event_time: str | None = None


_decode = msgspec.json.Decoder(_Seen).decode


class EventExpiry:
    def __init__(self, space: Space, seconds: float = EVENT_SECONDS) -> None:
        self._space = space
        self._seconds = seconds
        self._worker = Worker("event-expiry", self._step, _EVERY_SECONDS)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    async def _step(self) -> bool:
        oldest = self._space.clock.now - self._seconds
        old = []
        for record in self._space.store.records("events"):
            seen = _decode(record.value)
            last = seen.last_timestamp or seen.event_time or seen.metadata.creation_timestamp
            if last is None or parse_time(last).timestamp() < oldest:
                old.append(Delete("events", record.path, record.revision, volatile=True))
            if len(old) >= _STEP:
                break
        for op in old:
            self._space.store.stage([op])
        return len(old) >= _STEP
