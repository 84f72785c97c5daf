"""What both ways of choosing victims share: who wants what, who could make room, and trying it out on the tree.

Nothing is copied: victims are taken out of the live tree one by one and put back before anybody else looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cmp_to_key

from fairway.core.admit.ledger import Ledger
from fairway.core.model import Amounts, Cell, PreemptionPolicy, Queue, Settings, Time, Workload
from fairway.core.quota.node import Node
from fairway.core.quota.tree import QuotaTree


class Cause(Enum):
    """Why a workload was chosen to make room."""

    IN_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    FAIR_SHARING = "InCohortFairSharing"
    REPLACED = ""


@dataclass(slots=True, frozen=True)
class Victim:
    workload: Workload
    cause: Cause


@dataclass(slots=True)
class Field:
    """Where contests take place: the tree, who holds what in it, and the rules."""

    tree: QuotaTree
    ledger: Ledger
    queues: Mapping[str, Queue]
    settings: Settings
    tenant_rank: Callable[[str], float] | None = None
    inactive: frozenset[str] | set[str] = frozenset()
    now: Time = 0
    gone: frozenset[str] = frozenset()


@dataclass(slots=True)
class Contest:
    """One workload that wants amounts of cells, some of which only by preempting."""

    field: Field
    workload: Workload
    queue: Queue
    node: Node
    cells: frozenset[Cell]
    usage: Amounts

    def fits(self, borrowing: bool = True) -> bool:
        node = self.node
        for cell, amount in self.usage.items():
            if not borrowing and node.borrows_with(cell, amount):
                return False
            if amount > node.available(cell) and amount > 0:
                return False
        return True

    def take_out(self, workload: Workload) -> None:
        reservation = workload.reservation
        if reservation is not None:
            self.field.tree.queues[reservation.queue].remove_all(reservation.usage)

    def put_back(self, workload: Workload) -> None:
        reservation = workload.reservation
        if reservation is not None:
            self.field.tree.queues[reservation.queue].add_all(reservation.usage)

    def put_all_back(self, victims: list[Victim]) -> None:
        for victim in victims:
            self.put_back(victim.workload)

    def could_be_victim(self, candidate: Workload, policy: PreemptionPolicy) -> bool:
        reservation = candidate.reservation
        if reservation is None or self.cells.isdisjoint(reservation.cells) or candidate.key in self.field.gone:
            return False
        # Not less than nothing: the clock may have been set back since.
        ran = max(0, self.field.now - reservation.since)
        runs_short = candidate.traits is not None and ran < candidate.traits.min_runtime
        if runs_short and not candidate.evicted:
            return False
        return satisfies(self.workload, candidate, policy)

    def held_in(self, node: Node) -> Mapping[str, Workload]:
        """Reservations of a queue that takes part; one that is stopped or broken keeps what it has."""
        return {} if node.name in self.field.inactive else self.field.ledger.of_queue(node.name)

    def sort(self, candidates: list[Workload]) -> None:
        rank = self.field.tenant_rank
        if rank is None:
            candidates.sort(key=self.rank)
        else:
            candidates.sort(key=cmp_to_key(self._compare))

    def rank(self, candidate: Workload) -> tuple[bool, bool, int, Time, str, str]:
        """Evicted already first, then other queues', low priority, and the youngest."""
        return (
            not candidate.evicted,
            _queue_of(candidate) == self.node.name,
            candidate.shape.priority,
            -self._since(candidate),
            candidate.uid,
            candidate.key,
        )

    def _since(self, candidate: Workload) -> Time:
        reservation = candidate.reservation
        return self.field.now if reservation is None or reservation.since < 0 else reservation.since

    def _compare(self, a: Workload, b: Workload) -> int:
        """Within a queue ordered by past usage, the tenant that used more makes room first."""
        first, second = self.rank(a), self.rank(b)
        if first[:2] == second[:2] and _queue_of(a) == _queue_of(b) and a.tenant_queue != b.tenant_queue:
            queue = self.field.queues.get(_queue_of(a))
            if queue is not None and queue.usage_based_order and self.field.tenant_rank is not None:
                used_a, used_b = self.field.tenant_rank(a.tenant_queue), self.field.tenant_rank(b.tenant_queue)
                if used_a != used_b:
                    return -1 if used_a > used_b else 1
        return -1 if first < second else 1 if first > second else 0


def satisfies(preemptor: Workload, candidate: Workload, policy: PreemptionPolicy) -> bool:
    if policy is PreemptionPolicy.ANY:
        return True
    if policy is PreemptionPolicy.NEVER or policy is PreemptionPolicy.UNSET:
        return False
    ours, theirs = preemptor.shape.priority, candidate.shape.priority
    if ours != theirs:
        return ours > theirs
    return policy is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY and preemptor.queued < candidate.queued


def _queue_of(workload: Workload) -> str:
    return workload.reservation.queue if workload.reservation is not None else workload.queue


def fill_back(
    contest: Contest, victims: list[Victim], borrowing: bool, legal: Callable[[list[Victim]], bool] | None = None
) -> None:
    """Spare whoever turns out not to be needed, the last chosen first; `legal` may veto what changes the terms."""
    for at in range(len(victims) - 2, -1, -1):
        spared = victims[at]
        contest.put_back(spared.workload)
        if contest.fits(borrowing) and (legal is None or legal(victims[:at] + victims[at + 1 :])):
            victims[at] = victims[-1]
            victims.pop()
        else:
            contest.take_out(spared.workload)
