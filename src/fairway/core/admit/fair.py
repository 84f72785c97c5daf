"""Victims where sharing is fair: whoever has the highest dominant share gives first.

A queue within its nominal quota takes what is its own. Beyond that, a workload may only displace another if its side's
share does not come out above the other side's. That is what makes preemption end: no workload can be displaced by one
that it could displace in turn. Sparing victims afterwards changes shares, so what is left is checked once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from fairway.core.admit.contest import Cause, Contest, Victim, fill_back
from fairway.core.model import Cell, PreemptionPolicy, ShareStrategy, Workload
from fairway.core.quota.node import Node
from fairway.core.quota.share import LOWEST, Share, dominant_share

Rank = tuple[float, float]


def fair_victims(contest: Contest) -> list[Victim]:
    candidates = _candidates(contest)
    if not candidates:
        return []
    strategies = contest.field.settings.share_strategies
    contest.node.add_all(contest.usage)
    fits, victims, retry = _first_round(contest, candidates, strategies[0])
    if not fits and len(strategies) > 1:
        fits = _second_round(contest, retry, victims)
    contest.node.remove_all(contest.usage)
    if not fits:
        contest.put_all_back(victims)
        return []
    recheck = contest.field.settings.recheck_spared
    fill_back(contest, victims, True, legal=(lambda rest: _legal(contest, rest)) if recheck else None)
    contest.put_all_back(victims)
    return victims


def _candidates(contest: Contest) -> list[Workload]:
    """Queue by queue, each in the order in which its workloads would be asked to go."""
    rules = contest.queue.preemption
    found: list[Workload] = []
    if rules.within_queue is not PreemptionPolicy.NEVER:
        found += _of_queue(contest, contest.node, rules.within_queue)
    if contest.node.parent is None or rules.reclaim is PreemptionPolicy.NEVER:
        return found
    for node in _beyond_quota(contest.node.root, contest.cells):
        if node is not contest.node:
            found += _of_queue(contest, node, rules.reclaim)
    return found


def _of_queue(contest: Contest, node: Node, policy: PreemptionPolicy) -> list[Workload]:
    if node.name in contest.field.inactive:
        return []
    ledger = contest.field.ledger
    told = [w for w in ledger.evicted.get(node.name, {}).values() if contest.could_be_victim(w, policy)]
    contest.sort(told)
    running = [e[-1] for e in ledger.ranked.get(node.name, ()) if contest.could_be_victim(e[-1], policy)]
    if contest.field.tenant_rank is not None:
        contest.sort(running)
    return told + running


def _beyond_quota(cohort: Node, cells: frozenset[Cell]) -> Iterator[Node]:
    for child in cohort.over_on(cells):
        if child.is_queue:
            yield child
    for child in cohort.children:
        yield from _beyond_quota(child, cells)


def _first_round(
    contest: Contest, candidates: list[Workload], strategy: ShareStrategy
) -> tuple[bool, list[Victim], list[Workload]]:
    line = FairLine(contest, candidates)
    victims: list[Victim] = []
    retry: list[Workload] = []
    entitled = contest.field.settings.preempt_within_nominal and not any(
        contest.node.borrows_with(cell, 0) for cell in contest.cells
    )
    for node in line:
        if node is contest.node or entitled:
            cause = Cause.IN_QUEUE if node is contest.node else Cause.RECLAIM
            if _take(contest, victims, line.pop(node), cause):
                return True, victims, retry
            continue
        ours, theirs = line.sides(node)
        share = dominant_share(ours).rank
        before = dominant_share(theirs).rank
        while line.has(node):
            candidate = line.pop(node)
            if _passes(strategy, share, before, _share_without(contest, candidate, theirs)):
                if _take(contest, victims, candidate, Cause.FAIR_SHARING):
                    return True, victims, retry
                break
            retry.append(candidate)
    return False, victims, retry


def _second_round(contest: Contest, retry: list[Workload], victims: list[Victim]) -> bool:
    line = FairLine(contest, retry)
    for node in line:
        candidate = line.pop(node)
        if node is not contest.node:
            ours, theirs = line.sides(node)
            if dominant_share(ours).rank < dominant_share(theirs).rank and _take(
                contest, victims, candidate, Cause.FAIR_SHARING
            ):
                return True
        line.drop(node)
    return False


def _take(contest: Contest, victims: list[Victim], workload: Workload, cause: Cause) -> bool:
    """Take a victim out; says whether there is room now. The incoming usage is in the tree, so it is set aside."""
    contest.take_out(workload)
    victims.append(Victim(workload, cause))
    contest.node.remove_all(contest.usage)
    fits = contest.fits()
    contest.node.add_all(contest.usage)
    return fits


def _passes(strategy: ShareStrategy, ours: Rank, before: Rank, after: Rank) -> bool:
    return ours <= after if strategy is ShareStrategy.FINAL_SHARE else ours < before


def _share_without(contest: Contest, candidate: Workload, theirs: Node) -> Rank:
    contest.take_out(candidate)
    rank = dominant_share(theirs).rank
    contest.put_back(candidate)
    return rank


def _legal(contest: Contest, victims: list[Victim]) -> bool:
    """Whether every victim of fairness still may be displaced, now that somebody else was spared."""
    fair = [victim.workload for victim in victims if victim.cause is Cause.FAIR_SHARING]
    if not fair:
        return True
    line = FairLine(contest, [])
    contest.node.add_all(contest.usage)
    legal = all(_may_displace(contest, line, workload) for workload in fair)
    contest.node.remove_all(contest.usage)
    return legal


def _may_displace(contest: Contest, line: FairLine, workload: Workload) -> bool:
    assert workload.reservation is not None
    ours, theirs = line.sides(contest.field.tree.queues[workload.reservation.queue])
    share, after = dominant_share(ours).rank, dominant_share(theirs).rank
    contest.put_back(workload)
    before = dominant_share(theirs).rank
    contest.take_out(workload)
    return any(_passes(strategy, share, before, after) for strategy in contest.field.settings.share_strategies)


class FairLine:
    """Queues to take victims from, highest share first, walked from the root anew after every victim."""

    __slots__ = ("_children", "_contest", "_mine", "_path", "_pruned", "_queues", "_shares")

    def __init__(self, contest: Contest, candidates: list[Workload]) -> None:
        self._contest = contest
        self._path = {id(node) for node in contest.node.path()}
        self._mine: dict[str, deque[Workload]] = {}
        self._pruned: set[int] = set()
        self._shares: dict[int, Share] = {}
        self._queues: dict[int, list[Node]] = {}
        self._children: dict[int, dict[int, Node]] = {}
        for candidate in candidates:
            assert candidate.reservation is not None
            name = candidate.reservation.queue
            if name not in self._mine:
                self._mine[name] = deque()
                self._enter(contest.field.tree.queues[name])
            self._mine[name].append(candidate)

    def _enter(self, queue: Node) -> None:
        """Only branches that lead to a candidate are ever walked."""
        if queue.parent is not None:
            self._queues.setdefault(id(queue.parent), []).append(queue)
        for cohort in queue.path():
            if cohort.parent is not None:
                self._children.setdefault(id(cohort.parent), {})[id(cohort)] = cohort

    def __iter__(self) -> Iterator[Node]:
        own = self._contest.node
        if own.parent is None:
            while id(own) not in self._pruned and self.has(own):
                yield own
            return
        root = own.root
        while id(root) not in self._pruned:
            node = self._next(root)
            if node is not None:
                yield node
                self._forget_shares(node)

    def _forget_shares(self, node: Node) -> None:
        for changed in (node, *node.path()):
            self._shares.pop(id(changed), None)

    def _share(self, node: Node) -> Share:
        share = self._shares.get(id(node))
        if share is None:
            share = self._shares[id(node)] = dominant_share(node)
        return share

    def has(self, node: Node) -> bool:
        return bool(self._mine.get(node.name))

    def pop(self, node: Node) -> Workload:
        return self._mine[node.name].popleft()

    def drop(self, node: Node) -> None:
        self._pruned.add(id(node))

    def sides(self, target: Node) -> tuple[Node, Node]:
        """The preemptor's and the target's subtree right below the lowest cohort that has both."""
        theirs = target
        for above in target.path():
            if id(above) in self._path:
                break
            theirs = above
        meeting = theirs.parent
        ours = self._contest.node
        while ours.parent is not meeting:
            assert ours.parent is not None
            ours = ours.parent
        return ours, theirs

    def _next(self, cohort: Node) -> Node | None:
        queue, queue_share = self._highest_queue(cohort)
        child, child_share = self._highest_child(cohort)
        if queue is None and child is None:
            self._pruned.add(id(cohort))
            return None
        if child is not None and child_share >= queue_share:
            return self._next(child)
        return queue

    def _highest_queue(self, cohort: Node) -> tuple[Node | None, Rank]:
        best: Node | None = None
        highest: Rank = LOWEST
        for node in self._queues.get(id(cohort), ()):
            if id(node) in self._pruned:
                continue
            share = self._share(node)
            if (not share.borrowing and node is not self._contest.node) or not self.has(node):
                self._pruned.add(id(node))
                continue
            rank = share.rank
            if best is None or rank > highest:
                best, highest = node, rank
            elif rank == highest and self._goes_first(node, best):
                best = node
        return best, highest

    def _highest_child(self, cohort: Node) -> tuple[Node | None, Rank]:
        best: Node | None = None
        highest: Rank = LOWEST
        for node in self._children.get(id(cohort), {}).values():
            if id(node) in self._pruned:
                continue
            share = self._share(node)
            if not share.borrowing and id(node) not in self._path:
                self._pruned.add(id(node))
                continue
            rank = share.rank
            if best is None or rank > highest or (rank == highest and node.name < best.name):
                best, highest = node, rank
        return best, highest

    def _goes_first(self, a: Node, b: Node) -> bool:
        return self._contest.rank(self._mine[a.name][0]) < self._contest.rank(self._mine[b.name][0])
