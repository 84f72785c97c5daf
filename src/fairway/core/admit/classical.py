"""Victims by priority and place in the tree: within the queue, reclaiming what is lent, and while borrowing.

Whoever is nearer to the quota in question has an advantage: it may take back what others use of its subtree whatever
their priority, as far as the queue's policy allows. Of the rest, priority decides. Candidates are not collected first:
the search reads them in order, from queues that use more than their own, and stops as soon as there is room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from fairway.core.admit.contest import Cause, Contest, Victim, fill_back
from fairway.core.model import Cell, PreemptionPolicy, Workload
from fairway.core.quota.node import Node


@dataclass(slots=True)
class _Candidate:
    workload: Workload
    cause: Cause
    node: Node
    lowest_common: Node | None = None


@dataclass(slots=True)
class _Others:
    """Queues beyond their quota, with the lowest cohort that has both them and the preemptor."""

    nodes: list[Node]
    lowest_common: dict[str, Node]

    def add(self, node: Node, root: Node) -> None:
        self.nodes.append(node)
        self.lowest_common[node.name] = root


def classical_victims(contest: Contest) -> list[Victim]:
    may_borrow = contest.queue.preemption.borrow_lower_priority
    contest_others = may_borrow or _strictly_under_nominal(contest)
    reclaimable, contested = _others(contest, contest_others)
    if not _could_be_enough(contest, reclaimable.nodes, contested.nodes):
        return []
    for borrowing in _attempts(contest, reclaimable, contested, contest_others):
        victims = _attempt(contest, reclaimable, contested, borrowing)
        if victims:
            return victims
    return []


def _attempt(contest: Contest, reclaimable: _Others, contested: _Others, borrowing: bool) -> list[Victim]:
    victims: list[Victim] = []
    for candidate in _in_order(contest, reclaimable, contested, borrowing):
        if not _still_valid(contest, candidate):
            continue
        contest.take_out(candidate.workload)
        victims.append(Victim(candidate.workload, candidate.cause))
        if contest.fits(borrowing):
            fill_back(contest, victims, borrowing)
            contest.put_all_back(victims)
            return victims
    contest.put_all_back(victims)
    return []


def _attempts(contest: Contest, reclaimable: _Others, contested: _Others, contest_others: bool) -> tuple[bool, ...]:
    """With borrowing there are fewer candidates, without it less room: sometimes both have to be tried."""
    if not contest_others:
        return (True,)
    has_reclaimable = _any(_workloads(contest, reclaimable.nodes, own=False))
    if not has_reclaimable and not _any(_workloads(contest, contested.nodes, own=False)):
        return (True,)
    if not contest.queue.preemption.borrow_lower_priority and not has_reclaimable:
        return (False, True)
    return (True, False)


def _strictly_under_nominal(contest: Contest) -> bool:
    node = contest.node
    return all(node.usage.get(cell, 0) < node.nominal(cell) for cell in contest.cells)


def _others(contest: Contest, contest_others: bool) -> tuple[_Others, _Others]:
    """Queues whose excess the preemptor's side has a claim to, and those over which only priority decides.

    The latter are of no use to a queue that may neither borrow while preempting nor is below its nominal quota.
    """
    reclaimable, contested = _Others([], {}), _Others([], {})
    if contest.node.parent is None or contest.queue.preemption.reclaim is PreemptionPolicy.NEVER:
        return reclaimable, contested
    advantage, rest = contest.node.fit_in_quota(contest.usage)
    below: Node | None = None
    for root in contest.node.path():
        if advantage or contest_others:
            _collect(contest, root, root, below, reclaimable if advantage else contested)
        fits, rest = root.fit_in_quota(rest)
        advantage = advantage or fits
        below = root
    return reclaimable, contested


def _collect(contest: Contest, cohort: Node, root: Node, skip: Node | None, into: _Others) -> None:
    for child in cohort.over_on(contest.cells):
        if child is skip or child is contest.node:
            continue
        if child.is_queue:
            into.add(child, root)
        else:
            _collect(contest, child, root, skip, into)


def _in_order(contest: Contest, reclaimable: _Others, contested: _Others, borrowing: bool) -> Iterator[_Candidate]:
    """Whoever was told to go already first; of each kind those with a weaker claim before the own queue's."""
    own = [contest.node] if contest.queue.preemption.within_queue is not PreemptionPolicy.NEVER else []
    for evicted in (True, False):
        for workload in _workloads(contest, reclaimable.nodes, False, evicted):
            yield _candidate(contest, workload, Cause.RECLAIM, reclaimable)
        for workload in _workloads(contest, contested.nodes, False, evicted):
            protected = _is_protected(contest, workload)
            if not (protected and borrowing):
                cause = Cause.RECLAIM if protected else Cause.RECLAIM_WHILE_BORROWING
                yield _candidate(contest, workload, cause, contested)
        for workload in _workloads(contest, own, True, evicted):
            yield _Candidate(workload, Cause.IN_QUEUE, contest.node)


def _candidate(contest: Contest, workload: Workload, cause: Cause, others: _Others) -> _Candidate:
    assert workload.reservation is not None
    queue = workload.reservation.queue
    return _Candidate(workload, cause, contest.field.tree.queues[queue], others.lowest_common[queue])


def _workloads(contest: Contest, nodes: list[Node], own: bool, evicted: bool | None = None) -> Iterator[Workload]:
    """Those that the policy lets go, in the order in which they are asked."""
    if not nodes:
        return iter(())
    rules = contest.queue.preemption
    policy = rules.within_queue if own else rules.reclaim
    names = [node.name for node in nodes if node.name not in contest.field.inactive]
    found: Iterable[Workload]
    if evicted is None:
        found = (w for name in names for w in contest.field.ledger.of_queue(name).values())
    elif evicted:
        told = [w for name in names for w in contest.field.ledger.evicted.get(name, {}).values()]
        if told:
            contest.sort(told)
        found = told
    else:
        found = _running(contest, names, policy)
    return (workload for workload in found if contest.could_be_victim(workload, policy))


def _running(contest: Contest, names: list[str], policy: PreemptionPolicy) -> Iterable[Workload]:
    ranked = contest.field.ledger.ranked
    lists = [entries for name in names if (entries := ranked.get(name))]
    if contest.field.tenant_rank is not None:
        workloads = [entry[-1] for entries in lists for entry in entries]
        contest.sort(workloads)
        return workloads
    return _while_lower(merge(*lists) if len(lists) > 1 else iter(lists[0] if lists else ()), contest, policy)


def _while_lower(
    entries: Iterable[tuple[int, int, str, str, Workload]], contest: Contest, policy: PreemptionPolicy
) -> Iterator[Workload]:
    highest = None if policy is PreemptionPolicy.ANY else contest.workload.priority
    for entry in entries:
        if highest is not None and entry[0] > highest:
            return
        yield entry[-1]


def _could_be_enough(contest: Contest, *others: list[Node]) -> bool:
    """Whether it would do if everybody who may be asked went: a bound that is cheap to look at before anybody is asked."""
    node = contest.node
    for cell, amount in contest.usage.items():
        short = amount - node.available(cell)
        if short <= 0:
            continue
        short -= sum(other.usage.get(cell, 0) for nodes in others for other in nodes)
        if short > 0 and _own_share(contest, cell, short) < short:
            return False
    return True


def _own_share(contest: Contest, cell: Cell, enough: int) -> int:
    """How much those of the own queue hold who may be asked, as far as it matters."""
    policy = contest.queue.preemption.within_queue
    if policy is PreemptionPolicy.NEVER:
        return 0
    ledger, name = contest.field.ledger, contest.node.name
    # Below the own priority; where the newer of equals may be displaced, up to it.
    equals_too = policy is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
    beyond = math.inf if policy is PreemptionPolicy.ANY else contest.workload.shape.priority + equals_too
    held = 0
    for workload in ledger.evicted.get(name, {}).values():
        held += workload.reservation.usage.get(cell, 0) if workload.reservation is not None else 0
    for entry in ledger.ranked.get(name, ()):
        if entry[0] >= beyond or held >= enough:
            break
        reservation = entry[-1].reservation
        held += reservation.usage.get(cell, 0) if reservation is not None else 0
    return held


def _any(workloads: Iterator[Workload]) -> bool:
    return next(workloads, None) is not None


def _is_protected(contest: Contest, workload: Workload) -> bool:
    """May only be displaced by a queue that stays within its nominal quota."""
    rules = contest.queue.preemption
    threshold = rules.borrow_priority_threshold
    return (
        not rules.borrow_lower_priority
        or workload.priority >= contest.workload.priority
        or (threshold is not None and workload.priority > threshold)
    )


def _still_valid(contest: Contest, candidate: _Candidate) -> bool:
    """What was taken out before may have brought the candidate's side back within its quota."""
    if candidate.cause is Cause.IN_QUEUE:
        return True
    node: Node | None = candidate.node
    while node is not None and node is not candidate.lowest_common:
        if node.within_quota(contest.cells):
            return False
        node = node.parent
    return True
