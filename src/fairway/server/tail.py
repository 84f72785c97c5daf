"""What changed in a few buckets since the last look: for indexes that must be as fresh as what readers see, and may not wait."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.store import Event, Store


class Tail:
    """Cursors at the end of some buckets. Owners compare `revision` with the store's, and poll only when it moved on.

    Make it after the store is open and before reading the records that it keeps fresh.
    """

    __slots__ = ("_buckets", "_positions", "_store", "revision")

    def __init__(self, store: Store, buckets: Sequence[str]) -> None:
        self._store = store
        self._buckets = [store.bucket(name) for name in buckets]
        self._positions = [bucket.popped + len(bucket.events) for bucket in self._buckets]
        self.revision = store.revision
        """Everything published up to here has been told."""

    def poll(self) -> Sequence[Event] | None:
        """Events since the last poll, those of one bucket in order. None: history was cut off, read everything anew."""
        self.revision = self._store.revision
        for position, bucket in zip(self._positions, self._buckets, strict=True):
            if position != bucket.popped + len(bucket.events):
                return self._take()
        return ()

    def _take(self) -> list[Event] | None:
        found: list[Event] = []
        whole = True
        for index, bucket in enumerate(self._buckets):
            position, end = self._positions[index], bucket.popped + len(bucket.events)
            self._positions[index] = end
            if position < bucket.popped:
                whole = False
            else:
                found += bucket.events[position - bucket.popped :]
        return found if whole else None
