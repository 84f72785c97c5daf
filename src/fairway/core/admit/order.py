"""In which order a cycle looks at its heads: who would not borrow first, then priority, then age; or fair shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from fairway.core.model import Amounts, Queue, Settings, Workload
from fairway.core.quota.node import Node
from fairway.core.quota.share import Share, dominant_share


class Candidate(Protocol):
    """What the order needs to know about a head."""

    workload: Workload
    queue: Queue
    node: Node
    is_preemptor: bool

    @property
    def borrowing(self) -> int: ...

    @property
    def net_usage(self) -> Amounts: ...


ClassicalKey = tuple[bool, bool, int, int, int, int, str, str]
FairKey = tuple[bool, int, bool, tuple[float, float], int, int, str, str]


def classical_key(candidate: Candidate, settings: Settings) -> ClassicalKey:
    workload = candidate.workload
    return (
        workload.reservation is None,
        settings.preemptors_first and not candidate.is_preemptor,
        -candidate.queue.priority,
        candidate.borrowing,
        -workload.shape.priority if settings.priority_across_queues else 0,
        workload.queued,
        workload.uid,
        workload.key,
    )


def fair_key(candidate: Candidate, share: Share, settings: Settings) -> FairKey:
    workload = candidate.workload
    return (
        settings.preemptors_first and not candidate.is_preemptor,
        -candidate.queue.priority,
        settings.non_borrowing_first and share.borrows_on(candidate.net_usage),
        share.rank,
        -workload.shape.priority if settings.priority_across_queues else 0,
        workload.queued,
        workload.uid,
        workload.key,
    )


def fair_order(candidates: list[Candidate], settings: Settings) -> Iterator[Candidate]:
    """One winner after the other; shares are taken anew, as each winner may have changed them."""
    by_root: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_root.setdefault(id(candidate.node.root), []).append(candidate)
    for group in by_root.values():
        if all(c.node.parent is None or c.node.parent is c.node.root for c in group):
            yield from sorted(group, key=lambda c: fair_key(c, share_with(c, c.node), settings))
        else:
            yield from _tournaments(group, settings)


def share_with(candidate: Candidate, node: Node) -> Share:
    """The share of a node on the candidate's path, as if the candidate ran."""
    candidate.node.add_all(candidate.net_usage)
    share = dominant_share(node)
    candidate.node.remove_all(candidate.net_usage)
    return share


def _tournaments(group: list[Candidate], settings: Settings) -> Iterator[Candidate]:
    by_queue = {id(candidate.node): candidate for candidate in group}
    while by_queue:
        root = next(iter(by_queue.values())).node.root
        winner = _winner(root, by_queue, settings)
        assert winner is not None
        del by_queue[id(winner.node)]
        yield winner


def _winner(cohort: Node, by_queue: dict[int, Candidate], settings: Settings) -> Candidate | None:
    """Every child puts up one candidate; the one whose child would have the lowest share wins."""
    best: Candidate | None = None
    best_key: FairKey | None = None
    for child in (*cohort.children, *cohort.queues):
        candidate = by_queue.get(id(child)) if child.is_queue else _winner(child, by_queue, settings)
        if candidate is None:
            continue
        key = fair_key(candidate, share_with(candidate, child), settings)
        if best_key is None or key < best_key:
            best, best_key = candidate, key
    return best
