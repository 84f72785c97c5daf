"""Waiting workloads of one shape from one tenant queue, in order.

A sorted list with a moving head: the usual events (join at the end, leave from the front, return to the front) cost
nothing that grows with the lane, and a workload's place is a binary search away. Whoever leaves from the middle leaves a
mark behind, which is cleared away when there are many. Whoever joins in the middle waits beside the lane until somebody
asks for the order: a restart brings a hundred thousand in any order, and they are sorted once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from fairway.core.model import Shape, Time, Workload

_order = attrgetter("queued", "uid", "key")
_COMPACT_FROM = 64
_NEAR = 64
_FEW = 64
"""One in so many who join is put in place alone; more are sorted in together."""


class _Gone:
    """Keeps the place of one who left, so that the others need not move up."""

    __slots__ = ("key", "queued", "uid")

    def __init__(self, workload: Workload) -> None:
        self.queued: Time = workload.queued
        self.uid = workload.uid
        self.key = workload.key

    @property
    def order(self) -> tuple[Time, str, str]:
        return (self.queued, self.uid, self.key)


class Lane:
    __slots__ = ("_gone", "_items", "_late", "_start", "listed", "parked", "shape", "tenant")

    def __init__(self, tenant: str, shape: Shape) -> None:
        self.tenant = tenant
        self.shape = shape
        self.parked = False
        self.listed: Workload | None = None
        self._items: list[Workload | _Gone] = []
        self._late: list[Workload] = []
        """Joined behind the head, and not yet in place."""
        self._start = 0
        self._gone = 0

    def __len__(self) -> int:
        return len(self._items) - self._start - self._gone + len(self._late)

    def __iter__(self) -> Iterator[Workload]:
        self._settle()
        items = self._items
        for at in range(self._start, len(items)):
            item = items[at]
            if isinstance(item, Workload):
                yield item

    @property
    def head(self) -> Workload | None:
        """Marks of those who left never stand at the front: `_tidy` sees to it."""
        if self._start == len(self._items):
            return None
        return self._items[self._start]  # type: ignore[return-value]

    def add(self, workload: Workload) -> None:
        items, start = self._items, self._start
        order = workload.order
        if start == len(items) or items[-1].order < order:
            items.append(workload)
        elif order < items[start].order:
            if start:
                self._start = start - 1
                items[start - 1] = workload
            else:
                items.insert(0, workload)
        else:
            self._late.append(workload)

    def pop(self) -> Workload:
        self._settle()
        workload = self.head
        assert workload is not None, "an empty lane has no head"
        self._start += 1
        self._tidy()
        return workload

    def remove(self, workload: Workload) -> bool:
        self._settle()
        at = self._find(workload)
        if at < 0:
            return False
        items, start = self._items, self._start
        if at - start < _NEAR:
            items[start + 1 : at + 1] = items[start:at]
            self._start = start + 1
        else:
            items[at] = _Gone(workload)
            self._gone += 1
        self._tidy()
        return True

    def before(self, workload: Workload) -> int:
        """How many of this lane go before the workload, which need not be in it."""
        self._settle()
        at = bisect_left(self._items, workload.order, lo=self._start, key=_order)
        if not self._gone:
            return at - self._start
        return sum(1 for index in range(self._start, at) if isinstance(self._items[index], Workload))

    def __contains__(self, workload: Workload) -> bool:
        self._settle()
        return self._find(workload) >= 0

    def absorb(self, other: Lane) -> None:
        self._settle()
        other._settle()
        if len(other) > len(self):
            self._items, other._items = other._items, self._items
            self._start, other._start = other._start, self._start
            self._gone, other._gone = other._gone, self._gone
        for workload in other:
            self.add(workload)

    def _settle(self) -> None:
        if not self._late:
            return
        late, self._late = self._late, []
        items, start = self._items, self._start
        if len(late) * _FEW > len(items):
            self._items = sorted([*items[start:], *late], key=_order)
            self._start = 0
            return
        for workload in late:
            items.insert(bisect_left(items, workload.order, lo=start, key=_order), workload)

    def _tidy(self) -> None:
        items = self._items
        while self._gone and self._start < len(items) and isinstance(items[self._start], _Gone):
            self._start += 1
            self._gone -= 1
        if self._start >= _COMPACT_FROM and self._start * 2 > len(items):
            del items[: self._start]
            self._start = 0
        if self._gone >= _COMPACT_FROM and self._gone * 2 > len(items):
            self._items = [*self]
            self._start = self._gone = 0

    def _find(self, workload: Workload) -> int:
        at = bisect_left(self._items, workload.order, lo=self._start, key=_order)
        if at < len(self._items) and self._items[at] is workload:
            return at
        # A mark of an earlier stay has the same order and may stand right before it.
        after = at + 1
        return after if after < len(self._items) and self._items[after] is workload else -1
