"""Events are kept for an hour, as Kubernetes does: they tell what happened, the objects tell what is.

There can be very many of them, so their times are read off their bytes, and others get their turn while that goes on. Where short jobs come by the
hundred a second, an hour of them would fill the memory: of more than so many the eldest go, however young.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from fairway.api.space import Space
from fairway.api.worker import Worker, give_way
from fairway.kinds.types import format_time
from fairway.store import Delete

EVENT_SECONDS = 3600.0
EVENTS_MAX = 100_000
"""Once a minute: between two looks there may be more."""
_EVERY_SECONDS = 60.0
_STEP = 1000
_TURN = 100
_LAST = b'"lastTimestamp":"'


class _Meta(msgspec.Struct, rename="camel", gc=False):
    creation_timestamp: str | None = None


class _Seen(msgspec.Struct, rename="camel", gc=False):
    metadata: _Meta
    event_time: str | None = None


_decode = msgspec.json.Decoder(_Seen).decode


class EventExpiry:
    def __init__(self, space: Space, seconds: float = EVENT_SECONDS, most: int = EVENTS_MAX) -> None:
        self._space = space
        self._seconds = seconds
        self._most = most
        self._worker = Worker("event-expiry", self._step, _EVERY_SECONDS)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    async def _step(self) -> bool:
        oldest = format_time(datetime.fromtimestamp(int(self._space.clock.now - self._seconds), UTC)).encode()
        gone = 0
        records = list(self._space.store.bucket("events").records.values())
        too_many = len(records) - self._most
        for index, record in enumerate(records):
            if index % _TURN == _TURN - 1:
                await give_way()
            over = index < too_many or _last(record.value) < oldest
            if over and self._space.store.latest("events", record.path) is record:
                self._space.store.stage([Delete("events", record.path, record.revision, volatile=True)])
                gone += 1
            if gone >= _STEP:
                break
        return gone >= _STEP


def _last(value: bytes) -> bytes:
    """When it last happened. Times of this form compare as texts; in a text of somebody's, the quotes would have a backslash."""
    at = value.find(_LAST) + len(_LAST)
    if at >= len(_LAST):
        return value[at : value.index(b'"', at)]
    seen = _decode(value)
    return (seen.event_time or seen.metadata.creation_timestamp or "").encode()
