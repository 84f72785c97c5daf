"""Waiting workloads of one shape from one tenant queue, in order.

A sorted list with a moving head: the usual events (join at the end, leave from the front, return to the front) cost
nothing that grows with the lane, and a workload's place is a binary search away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from fairway.core.model import Shape, Workload

_order = attrgetter("queued", "uid", "key")
_COMPACT_FROM = 64


class Lane:
    __slots__ = ("_items", "_start", "listed", "parked", "shape", "tenant")

    def __init__(self, tenant: str, shape: Shape) -> None:
        self.tenant = tenant
        self.shape = shape
        self.parked = False
        self.listed: Workload | None = None
        self._items: list[Workload] = []
        self._start = 0

    def __len__(self) -> int:
        return len(self._items) - self._start

    def __iter__(self) -> Iterator[Workload]:
        items = self._items
        for at in range(self._start, len(items)):
            yield items[at]

    @property
    def head(self) -> Workload | None:
        return self._items[self._start] if self._start < len(self._items) else None

    def add(self, workload: Workload) -> None:
        items, start = self._items, self._start
        order = workload.order
        if start == len(items) or items[-1].order < order:
            items.append(workload)
        elif start and order < items[start].order:
            self._start = start - 1
            items[start - 1] = workload
        else:
            items.insert(bisect_left(items, order, lo=start, key=_order), workload)

    def pop(self) -> Workload:
        items, start = self._items, self._start
        workload = items[start]
        self._start = start + 1
        if self._start >= _COMPACT_FROM and self._start * 2 > len(items):
            del items[: self._start]
            self._start = 0
        return workload

    def remove(self, workload: Workload) -> bool:
        """Moves whichever side of the gap is shorter, as lines are left most often near the front."""
        at = self._find(workload)
        if at < 0:
            return False
        items, start = self._items, self._start
        if at - start < len(items) - at:
            items[start + 1 : at + 1] = items[start:at]
            self._start = start + 1
        else:
            del items[at]
        return True

    def before(self, workload: Workload) -> int:
        """How many of this lane go before the workload, which need not be in it."""
        return bisect_left(self._items, workload.order, lo=self._start, key=_order) - self._start

    def __contains__(self, workload: Workload) -> bool:
        return self._find(workload) >= 0

    def absorb(self, other: Lane) -> None:
        if len(other) > len(self):
            self._items, other._items = other._items, self._items
            self._start, other._start = other._start, self._start
        for workload in other:
            self.add(workload)

    def _find(self, workload: Workload) -> int:
        at = bisect_left(self._items, workload.order, lo=self._start, key=_order)
        return at if at < len(self._items) and self._items[at] is workload else -1
