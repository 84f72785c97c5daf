"""Variants: copies of one workload, each for one flavor, of which the best that fits runs."""

from __future__ import annotations

from fairway.core.admit.ledger import Ledger
from fairway.core.model import Queue, Workload


def admitted_sibling(ledger: Ledger, workload: Workload, queue: Queue, better: bool) -> Workload | None:
    """A variant of the same parent that runs on a better, or on a worse, flavor of the queue."""
    own = _rank(workload, queue)
    if own is None or workload.traits is None or workload.traits.variant_parent is None:
        return None
    for other in ledger.of_queue(queue.name).values():
        if other is workload or other.traits is None or other.reservation is None or not other.reservation.admitted:
            continue
        if other.traits.variant_parent != workload.traits.variant_parent:
            continue
        rank = _rank(other, queue)
        if rank is not None and (rank < own if better else rank > own):
            return other
    return None


def may_migrate(workload: Workload, queue: Queue) -> bool:
    last, own = queue.last_acceptable_flavor, _rank(workload, queue)
    if last is None:
        return True
    return own is not None and own <= queue.groups[0].flavors.index(last)


def _rank(workload: Workload, queue: Queue) -> int | None:
    flavor = workload.traits.variant_flavor if workload.traits is not None else None
    if flavor is None or not queue.groups or flavor not in queue.groups[0].flavors:
        return None
    return queue.groups[0].flavors.index(flavor)
