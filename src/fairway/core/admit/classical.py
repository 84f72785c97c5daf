"""Victims by priority and place in the tree: within the queue, reclaiming what is lent, and while borrowing.

Whoever is nearer to the quota in question has an advantage: it may take back what others use of its subtree whatever
their priority, as far as the queue's policy allows. Of the rest, priority decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairway.core.admit.contest import Cause, Contest, Victim, fill_back
from fairway.core.model import PreemptionPolicy, Workload
from fairway.core.quota.node import Node


@dataclass(slots=True)
class _Candidate:
    workload: Workload
    cause: Cause
    lowest_common: Node | None = None
    only_without_borrowing: bool = False


def classical_victims(contest: Contest) -> list[Victim]:
    own = _own_candidates(contest)
    reclaimable, contested = _other_candidates(contest)
    candidates = _in_order(contest, reclaimable, contested, own)
    for borrowing in _attempts(contest, has_others=bool(reclaimable or contested), has_reclaimable=bool(reclaimable)):
        victims = _attempt(contest, candidates, borrowing)
        if victims:
            return victims
    return []


def _attempt(contest: Contest, candidates: list[_Candidate], borrowing: bool) -> list[Victim]:
    victims: list[Victim] = []
    for candidate in candidates:
        if not _still_valid(contest, candidate, borrowing):
            continue
        contest.take_out(candidate.workload)
        victims.append(Victim(candidate.workload, candidate.cause))
        if contest.fits(borrowing):
            fill_back(contest, victims, borrowing, legal=lambda rest: True)
            contest.put_all_back(victims)
            return victims
    contest.put_all_back(victims)
    return []


def _attempts(contest: Contest, has_others: bool, has_reclaimable: bool) -> tuple[bool, ...]:
    """With borrowing there are fewer candidates, without it less room: sometimes both have to be tried."""
    may_not_borrow = not contest.queue.preemption.borrow_lower_priority
    if not has_others or (may_not_borrow and not _strictly_under_nominal(contest)):
        return (True,)
    if may_not_borrow and not has_reclaimable:
        return (False, True)
    return (True, False)


def _strictly_under_nominal(contest: Contest) -> bool:
    node = contest.node
    return all(node.usage.get(cell, 0) < node.nominal(cell) for cell in contest.cells)


def _own_candidates(contest: Contest) -> list[_Candidate]:
    policy = contest.queue.preemption.within_queue
    if policy is PreemptionPolicy.NEVER:
        return []
    return [
        _Candidate(workload, Cause.IN_QUEUE)
        for workload in contest.held_in(contest.node).values()
        if contest.could_be_victim(workload, policy)
    ]


def _other_candidates(contest: Contest) -> tuple[list[_Candidate], list[_Candidate]]:
    """Those whose place the preemptor's side has a claim to, and those over whom only priority decides."""
    reclaimable: list[_Candidate] = []
    contested: list[_Candidate] = []
    if contest.node.parent is None or contest.queue.preemption.reclaim is PreemptionPolicy.NEVER:
        return reclaimable, contested
    advantage, rest = contest.node.fit_in_quota(contest.usage)
    below: Node | None = None
    for root in contest.node.path():
        _collect(contest, root, root, below, advantage, reclaimable if advantage else contested)
        fits, rest = root.fit_in_quota(rest)
        advantage = advantage or fits
        below = root
    return reclaimable, contested


def _collect(
    contest: Contest, cohort: Node, root: Node, skip: Node | None, advantage: bool, into: list[_Candidate]
) -> None:
    for child in cohort.children:
        if child is not skip and not child.within_quota(contest.cells):
            _collect(contest, child, root, skip, advantage, into)
    for queue in cohort.queues:
        if queue is contest.node or queue.within_quota(contest.cells):
            continue
        for workload in contest.held_in(queue).values():
            if contest.could_be_victim(workload, contest.queue.preemption.reclaim):
                into.append(_classify(contest, workload, root, advantage))


def _classify(contest: Contest, workload: Workload, root: Node, advantage: bool) -> _Candidate:
    if advantage:
        return _Candidate(workload, Cause.RECLAIM, root)
    rules = contest.queue.preemption
    threshold = rules.borrow_priority_threshold
    protected = (
        not rules.borrow_lower_priority
        or workload.priority >= contest.workload.priority
        or (threshold is not None and workload.priority > threshold)
    )
    if protected:
        return _Candidate(workload, Cause.RECLAIM, root, only_without_borrowing=True)
    return _Candidate(workload, Cause.RECLAIM_WHILE_BORROWING, root)


def _in_order(contest: Contest, *lists: list[_Candidate]) -> list[_Candidate]:
    evicted: list[_Candidate] = []
    running: list[_Candidate] = []
    for candidates in lists:
        by_key = {candidate.workload.key: candidate for candidate in candidates}
        workloads = [candidate.workload for candidate in candidates]
        contest.sort(workloads)
        for workload in workloads:
            (evicted if workload.evicted else running).append(by_key[workload.key])
    return evicted + running


def _still_valid(contest: Contest, candidate: _Candidate, borrowing: bool) -> bool:
    """What was taken out before may have brought the candidate's side back within its quota."""
    if candidate.cause is Cause.IN_QUEUE:
        return True
    if borrowing and candidate.only_without_borrowing:
        return False
    reservation = candidate.workload.reservation
    assert reservation is not None
    node = contest.field.tree.queues[reservation.queue]
    if node.within_quota(contest.cells):
        return False
    for above in node.path():
        if above is candidate.lowest_common:
            break
        if above.within_quota(contest.cells):
            return False
    return True
