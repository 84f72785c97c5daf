"""A watcher's place in a bucket's history."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fairway.store.bucket import Bucket
from fairway.store.record import Compacted, Event

if TYPE_CHECKING:
    from fairway.store.store import Store


class Watch:
    """A cursor into a bucket's history. `next` waits for events; Compacted says that the cursor fell out of the history."""

    __slots__ = ("_bucket", "_position", "_store", "_waiter", "ended", "revision")

    def __init__(self, store: Store, bucket: Bucket, after: int) -> None:
        if after < bucket.floor:
            raise Compacted(after, bucket.floor)
        self._store = store
        self._bucket = bucket
        self._position = bucket.position_after(after)
        self._waiter: asyncio.Future[None] | None = None
        self.ended = False
        """Whether its watcher wanted no more."""
        self.revision = after
        """All events up to this revision have been handed out."""

    async def next(self, limit: int = 1000) -> list[Event]:
        """At least one event, in order; an empty list when the store closes, or this watch was ended."""
        bucket = self._bucket
        while True:
            events = self.poll(limit)
            if events or self._store.closed or self.ended:
                return events
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            bucket.waiters[waiter] = None
            try:
                await waiter
            finally:
                bucket.waiters.pop(waiter, None)

    def end(self) -> None:
        """Whoever waits for events is told that there are none."""
        self.ended = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def poll(self, limit: int = 1000) -> list[Event]:
        """What is there now, without waiting."""
        bucket = self._bucket
        start = self._position - bucket.popped
        if start < 0:
            raise Compacted(self.revision, bucket.floor)
        events = bucket.events[start : start + limit]
        if events:
            self._position += len(events)
            self.revision = events[-1].revision
        if start + limit >= len(bucket.events):
            self.revision = max(self.revision, self._store.revision)
        return events
