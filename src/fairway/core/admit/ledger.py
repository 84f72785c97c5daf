"""Who holds quota: every reservation by queue, kept in step with the usage in the quota tree."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from fairway.core.model import Amounts, Cell, Spot, Time, Workload
from fairway.core.quota.node import Node
from fairway.core.quota.tree import QuotaTree

# Lowest priority first, then the youngest: the order in which workloads are asked to make room.
Ranked = tuple[int, Time, str, str, Workload]
_JUST_NOW: Time = -(1 << 62)


class Ledger:
    """A workload has at most one reservation; adding it again replaces what was there."""

    __slots__ = ("_tree", "by_key", "by_queue", "changes", "evicted", "ranked")

    def __init__(self, tree: QuotaTree) -> None:
        self._tree = tree
        self.changes = 0
        self.by_key: dict[str, Workload] = {}
        self.by_queue: dict[str, dict[str, Workload]] = {}
        self.ranked: dict[str, list[Ranked]] = {}
        self.evicted: dict[str, dict[str, Workload]] = {}

    def add(self, workload: Workload) -> None:
        reservation = workload.reservation
        if reservation is None:
            raise ValueError(f"workload {workload.key} holds no quota: give it a reservation before it is entered")
        self.discard(workload.key)
        self.changes += 1
        workload.spot = Spot.RESERVED
        self.by_key[workload.key] = workload
        self.by_queue.setdefault(reservation.queue, {})[workload.key] = workload
        if workload.evicted:
            self.evicted.setdefault(reservation.queue, {})[workload.key] = workload
        else:
            insort(self.ranked.setdefault(reservation.queue, []), rank(workload))
        node = self._tree.queues.get(reservation.queue)
        if node is not None:
            node.add_all(reservation.usage)

    def discard(self, key: str) -> Workload | None:
        workload = self.by_key.pop(key, None)
        if workload is None or workload.reservation is None:
            return workload
        self.changes += 1
        reservation = workload.reservation
        del self.by_queue[reservation.queue][key]
        self._unrank(workload, reservation.queue)
        if workload.spot is Spot.RESERVED:
            workload.spot = Spot.NOWHERE
        node = self._tree.queues.get(reservation.queue)
        if node is not None:
            node.remove_all(reservation.usage)
            node.version += 1
        return workload

    def evict(self, workload: Workload) -> None:
        """Told to go: it holds its quota until it is gone, and is the first to be counted on."""
        if workload.evicted or workload.reservation is None:
            return
        self.changes += 1
        queue = workload.reservation.queue
        self._unrank(workload, queue)
        workload.evicted = True
        self.evicted.setdefault(queue, {})[workload.key] = workload

    def _unrank(self, workload: Workload, queue: str) -> None:
        if self.evicted.get(queue, {}).pop(workload.key, None) is not None:
            return
        ranked = self.ranked[queue]
        at = bisect_left(ranked, rank(workload))
        assert at < len(ranked), f"{workload.key} changed its rank while it held quota: enter it anew instead"
        assert ranked[at][-1] is workload, f"{workload.key} changed its rank while it held quota: enter it anew instead"
        del ranked[at]

    def empty(self, workload: Workload) -> None:
        """A workload that is being replaced holds nothing any more, but is still there until it has finished."""
        reservation = workload.reservation
        if reservation is None or workload.key not in self.by_key:
            return
        self.changes += 1
        node = self._tree.queues.get(reservation.queue)
        if node is not None:
            node.remove_all(reservation.usage)
        reservation.usage = {}

    def of_queue(self, queue: str) -> Mapping[str, Workload]:
        return self.by_queue.get(queue, {})

    def __contains__(self, key: object) -> bool:
        return key in self.by_key

    def __len__(self) -> int:
        return len(self.by_key)

    def usage_of(self, queue: str, admitted_only: bool = False, tenant: str | None = None) -> Amounts:
        total: Amounts = {}
        for workload in self.of_queue(queue).values():
            reservation = workload.reservation
            if reservation is None or (admitted_only and not reservation.admitted):
                continue
            if tenant is not None and workload.tenant_queue != tenant:
                continue
            for cell, amount in reservation.usage.items():
                total[cell] = total.get(cell, 0) + amount
        return total

    def count_of(self, queue: str, admitted_only: bool = False) -> int:
        return sum(
            1
            for workload in self.of_queue(queue).values()
            if workload.reservation is not None and (workload.reservation.admitted or not admitted_only)
        )

    def holders(self, cells: frozenset[Cell], nodes: Iterator[Node]) -> Iterator[Workload]:
        for node in nodes:
            for workload in self.of_queue(node.name).values():
                if workload.reservation is not None and not cells.isdisjoint(workload.reservation.cells):
                    yield workload


def rank(workload: Workload) -> Ranked:
    reservation = workload.reservation
    since = _JUST_NOW if reservation is None or reservation.since < 0 else -reservation.since
    return (workload.shape.priority, since, workload.uid, workload.key, workload)
