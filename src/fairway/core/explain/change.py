"""The smallest single changes that would let a workload in now, as it stands in the tree and were it next in line.

Found by trying: the quota or the request is changed in the live tree, looked at, and put back. More of one number never
makes it worse, so a binary search finds the least that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fairway.core.admit.assign import Assigner
from fairway.core.admit.assignment import Assignment, Possibility
from fairway.core.admit.reasons import OverCapacity, QuotaInUse
from fairway.core.admit.state import AdmitState
from fairway.core.explain.facts import Change, ChangeKind
from fairway.core.model import Cell, Mode, PodSet, Queue, Quota, Shape, Workload, split_cell
from fairway.core.quota.node import Node


def changes_that_admit(
    state: AdmitState, workload: Workload, queue: Queue, node: Node, assignment: Assignment
) -> list[Change]:
    """Smallest first; empty if no change of one number alone would do."""
    found = [
        *_lower_requests(state, workload.shape, queue, node),
        *_more_quota(state, workload.shape, queue, node, assignment),
    ]
    return sorted(
        found, key=lambda change: (change.fraction, change.kind.value, change.what, change.resource, change.flavor)
    )


def fits_now(state: AdmitState, shape: Shape, queue: Queue, node: Node) -> bool:
    assigner = Assigner(shape, queue, node, state.flavors, state.settings, _nobody_leaves)
    return assigner.assign().mode is Mode.FIT


def _nobody_leaves(cell: Cell, amount: int) -> tuple[Possibility, int]:
    return Possibility.NO_CANDIDATES, 0


def _lower_requests(state: AdmitState, shape: Shape, queue: Queue, node: Node) -> Iterator[Change]:
    for index, pod_set in enumerate(shape.pod_sets):
        for resource, amount in sorted(pod_set.requests.items()):

            def fits(less: int, index: int = index, resource: str = resource) -> bool:
                changed = replace(
                    shape.pod_sets[index],
                    requests={
                        **shape.pod_sets[index].requests,
                        resource: shape.pod_sets[index].requests[resource] - less,
                    },
                )
                return fits_now(state, _with(shape, index, changed), queue, node)

            less = _least(fits, amount)
            # Of what the queue does not offer, nothing at all can be wanted.
            if less is not None and (less < amount or queue.group_of(resource) is None):
                yield Change(ChangeKind.LOWER_REQUEST, pod_set.name, resource, amount, amount - less)
        if pod_set.count > 1:

            def fits_fewer(less: int, index: int = index) -> bool:
                fewer = replace(shape.pod_sets[index], count=shape.pod_sets[index].count - less)
                return fits_now(state, _with(shape, index, fewer), queue, node)

            fewer = _least(fits_fewer, pod_set.count - 1)
            if fewer is not None:
                yield Change(ChangeKind.FEWER_PODS, pod_set.name, "pods", pod_set.count, pod_set.count - fewer)


def _more_quota(state: AdmitState, shape: Shape, queue: Queue, node: Node, assignment: Assignment) -> Iterator[Change]:
    short: dict[Cell, int] = {}
    for pod_set in assignment.pod_sets:
        for attempt in pod_set.attempts:
            for reason in attempt.reasons:
                if isinstance(reason, QuotaInUse):
                    short[reason.cell] = max(short.get(reason.cell, 0), reason.missing)
                elif isinstance(reason, OverCapacity):
                    need = reason.before + reason.request
                    short[reason.cell] = max(short.get(reason.cell, 0), need - min(0, node.available(reason.cell)))
    for cell, missing in sorted(short.items()):
        flavor, resource = split_cell(cell)
        for holder in (node, *node.path()):
            if cell not in holder.own and holder is not node:
                continue
            quota = holder.quota(cell)
            most = 2 * (missing + max(0, node.usage.get(cell, 0)) + sum(abs(v) for v in quota if v)) + 1
            trial = _Trial(state, shape, queue, node, holder, cell)
            more = _least(trial.with_nominal, most) if holder is node else None
            if more is not None:
                yield Change(ChangeKind.RAISE_QUOTA, holder.name, resource, quota.nominal, quota.nominal + more, flavor)
            limit = quota.borrowing_limit
            more = _least(trial.with_borrowing, most) if limit is not None and holder.parent is not None else None
            if more is not None and limit is not None:
                yield Change(ChangeKind.RAISE_BORROWING_LIMIT, holder.name, resource, limit, limit + more, flavor)


class _Trial:
    """One cell of one node, changed for a look."""

    __slots__ = ("_cell", "_holder", "_node", "_queue", "_shape", "_state")

    def __init__(self, state: AdmitState, shape: Shape, queue: Queue, node: Node, holder: Node, cell: Cell) -> None:
        self._state, self._shape, self._queue = state, shape, queue
        self._node, self._holder, self._cell = node, holder, cell

    def with_nominal(self, more: int) -> bool:
        quota = self._holder.quota(self._cell)
        return self._fits(quota._replace(nominal=quota.nominal + more))

    def with_borrowing(self, more: int) -> bool:
        quota = self._holder.quota(self._cell)
        return self._fits(quota._replace(borrowing_limit=(quota.borrowing_limit or 0) + more))

    def _fits(self, quota: Quota) -> bool:
        kept = self._holder.own
        self._state.tree.set_quotas(self._holder, {**kept, self._cell: quota})
        try:
            return fits_now(self._state, self._shape, self._queue, self._node)
        finally:
            self._state.tree.set_quotas(self._holder, kept)


def _with(shape: Shape, index: int, pod_set: PodSet) -> Shape:
    pod_sets = (*shape.pod_sets[:index], pod_set, *shape.pod_sets[index + 1 :])
    return Shape(None, shape.priority, pod_sets, shape.allowed_flavors)


def _least(fits: Callable[[int], bool], most: int) -> int | None:
    """The least amount that fits, up to `most`; the question must go from no to yes only once."""
    if most < 1 or not fits(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    return low
