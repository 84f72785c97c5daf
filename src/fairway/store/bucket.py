"""The records of one kind, in memory, with their recent history."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right

from fairway.store.record import Event, Record


class Bucket:
    """Records by path, and the last events about them. Watchers are cursors into that history: a slow one costs nothing."""

    __slots__ = ("_added", "_removed", "_sorted", "events", "floor", "name", "popped", "records", "waiters")

    def __init__(self, name: str, floor: int) -> None:
        self.name = name
        self.records: dict[str, Record] = {}
        self.events: list[Event] = []
        self.popped = 0
        """How many events have left the history; an event's position counts from the first ever."""
        self.floor = floor
        """History is complete after this revision."""
        self.waiters: list[asyncio.Future[None]] = []
        self._sorted: list[str] = []
        self._added: list[str] = []
        self._removed = False

    def put(self, record: Record) -> None:
        if record.path not in self.records:
            self._added.append(record.path)
        self.records[record.path] = record

    def drop(self, path: str) -> None:
        if self.records.pop(path, None) is not None:
            self._removed = True

    def forget_oldest(self, count: int) -> list[Event]:
        gone = self.events[:count]
        del self.events[:count]
        self.popped += count
        self.floor = max(self.floor, gone[-1].revision)
        return gone

    def position_after(self, revision: int) -> int:
        return self.popped + bisect_right(self.events, revision, key=lambda event: event.revision)

    def wake(self) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def paths(self) -> list[str]:
        """All paths in order. Sorted when asked for, and then only what is new: appending to a sorted list sorts fast."""
        if self._removed:
            self._sorted = [path for path in self._sorted if path in self.records]
            self._added = list(dict.fromkeys(path for path in self._added if path in self.records))
            self._removed = False
            if self._added:
                known = set(self._sorted)
                self._added = [path for path in self._added if path not in known]
        if self._added:
            self._sorted += self._added
            self._sorted.sort()
            self._added = []
        return self._sorted

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
