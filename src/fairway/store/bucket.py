"""The records of one kind, in memory, with their recent history."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort

from fairway.store.record import Event, Record


class Bucket:
    """Records by path, and the last events about them. Watchers are cursors into that history: a slow one costs nothing."""

    __slots__ = ("_added", "_dropped", "_sorted", "events", "floor", "name", "popped", "records", "waiters")

    def __init__(self, name: str, floor: int) -> None:
        self.name = name
        self.records: dict[str, Record] = {}
        self.events: list[Event] = []
        self.popped = 0
        """How many events have left the history; an event's position counts from the first ever."""
        self.floor = floor
        """History is complete after this revision."""
        self.waiters: dict[asyncio.Future[None], None] = {}
        self._sorted: list[str] = []
        # Since the last time somebody asked for order:
        self._added: set[str] = set()
        self._dropped: set[str] = set()

    def loaded(self) -> None:
        """The records were put in place by a start."""
        self._added = set(self.records)

    def put(self, record: Record) -> None:
        path = record.path
        if path not in self.records:
            if path in self._dropped:
                self._dropped.remove(path)
            else:
                self._added.add(path)
        self.records[path] = record

    def drop(self, path: str) -> None:
        if self.records.pop(path, None) is None:
            return
        if path in self._added:
            self._added.remove(path)
        else:
            self._dropped.add(path)

    def forget_oldest(self, count: int) -> list[Event]:
        gone = self.events[:count]
        del self.events[:count]
        self.popped += count
        self.floor = max(self.floor, gone[-1].revision)
        return gone

    def position_after(self, revision: int) -> int:
        return self.popped + bisect_right(self.events, revision, key=lambda event: event.revision)

    def wake(self) -> None:
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def paths(self) -> list[str]:
        """All paths in order. Sorted when asked for: a few changes are put in their place, many are sorted in at once."""
        ordered, few = self._sorted, len(self._sorted) >> 8
        if self._dropped:
            if len(self._dropped) > few:
                self._sorted = ordered = [path for path in ordered if path not in self._dropped]
            else:
                for path in self._dropped:
                    del ordered[bisect_left(ordered, path)]
            self._dropped.clear()
        if self._added:
            if len(self._added) > few:
                ordered += self._added if ordered else self.records  # in the order of their coming, much is in order
                ordered.sort()
            else:
                for path in self._added:
                    insort(ordered, path)
            self._added.clear()
        return ordered

    def span(self, namespace: str | None, after: str | None = None) -> tuple[list[str], int, int]:
        """The sorted paths and the half-open range of those in a namespace (None: in all), after a path."""
        paths = self.paths()
        start, stop = 0, len(paths)
        if namespace is not None:
            start = bisect_left(paths, f"{namespace}/")
            stop = bisect_left(paths, f"{namespace}0")  # '0' is what comes after '/'
        if after is not None:
            start = max(start, bisect_right(paths, after))
        return paths, start, stop
