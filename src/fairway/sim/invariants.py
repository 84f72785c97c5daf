"""Checkers of what must always hold of the objects of a space, by name. Each takes objects as they are stored, and raises Broken.

Tests use them, and the simulation does: there is one checker for each promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairway.control import compile as compiler
from fairway.control.conditions import find_condition, is_true
from fairway.core.admit.state import AdmitState
from fairway.core.model import Amounts, Workload
from fairway.core.shapes import Shapes

Json = dict[str, Any]


class Broken(AssertionError):
    """A promise is broken; its name comes first."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant
        self.what = what


def holds_quota(workload: Json) -> bool:
    status = workload.get("status") or {}
    return is_true(workload, "QuotaReserved") and not is_true(workload, "Finished") and bool(status.get("admission"))


def holders(workloads: Iterable[Json]) -> list[Workload]:
    """Workloads that hold quota, as their objects say."""
    shapes, settings = Shapes(), AdmitState().settings
    return [compiler.workload(obj, shapes, settings) for obj in workloads if holds_quota(obj)]


def quota_held(
    queues: Iterable[Json], cohorts: Iterable[Json], workloads: Iterable[Json], live: AdmitState | None = None
) -> None:
    """Usage is the sum of the reservations, in the core's state as in the objects, and nowhere beyond what may be used."""
    state = AdmitState()
    for obj in cohorts:
        state.put_cohort(compiler.cohort(obj), 0)
    for obj in queues:
        state.put_queue(compiler.queue(obj), 0)
    held = holders(workloads)
    for workload in held:
        state.ledger.add(workload)
    total: dict[str, Amounts] = {}
    for workload in held:
        assert workload.reservation is not None
        sums = total.setdefault(workload.reservation.queue, {})
        for cell, amount in workload.reservation.usage.items():
            sums[cell] = sums.get(cell, 0) + amount
    for name, node in state.tree.queues.items():
        usage = {cell: amount for cell, amount in node.usage.items() if amount}
        summed = {cell: amount for cell, amount in total.get(name, {}).items() if amount}
        if usage != summed:
            raise Broken("quota-held", f"{name} counts {usage}, and the sum of its workloads is {summed}")
        if live is not None:
            ours = {cell: amount for cell, amount in live.tree.queues[name].usage.items() if amount}
            if ours != usage:
                raise Broken("quota-held", f"{name} counts {ours}, its workloads hold {usage}")
        for cell in usage:
            if node.available(cell) < 0:
                raise Broken("quota-held", f"{name} is {-node.available(cell)} over in {cell}")


def admitted_once(workloads: Iterable[Json], live: AdmitState) -> None:
    """At most one reservation for each workload, and the same ones in the objects and in the core's state."""
    keys = sorted(workload.key for workload in holders(workloads))
    if len(keys) != len(set(keys)):
        raise Broken("admitted-once", f"some hold quota twice: {keys}")
    known = sorted(live.ledger.by_key)
    if known != keys:
        raise Broken("admitted-once", f"the core counts {known}, the objects say {keys}")
    both = sorted(set(live.ledger.by_key) & set(live.lines.waiting))
    if both:
        raise Broken("admitted-once", f"waiting while they hold quota: {both}")


def runs_only_admitted(jobs: Iterable[Json], workloads: Iterable[Json]) -> None:
    """A job that may run has a workload that is admitted and not told to go."""
    by_job: dict[str, list[Json]] = {}
    for workload in workloads:
        for owner in workload["metadata"].get("ownerReferences") or ():
            by_job.setdefault(owner["uid"], []).append(workload)
    for job in jobs:
        if job["spec"].get("suspend") or is_true(job, "Complete") or is_true(job, "Failed"):
            continue
        name, mine = job["metadata"]["name"], by_job.get(job["metadata"]["uid"], [])
        if len(mine) != 1:
            raise Broken("runs-only-admitted", f"job {name} runs with {len(mine)} workloads")
        if not is_true(mine[0], "Admitted") and not is_true(mine[0], "Finished"):
            raise Broken("runs-only-admitted", f"job {name} runs and its workload is not admitted")


def cluster_final(before: Json, after: Json) -> None:
    """Within one admission a workload's cluster is set once; an eviction takes it away, and none is set before that is over."""
    had, has = _cluster(before), _cluster(after)
    name = after["metadata"]["name"]
    if had == has or before["metadata"]["uid"] != after["metadata"]["uid"]:
        return
    if has and is_true(after, "Evicted"):
        raise Broken("cluster-final", f"{name} is on {has} while it is evicted")
    same = _admission(before) is not None and _admission(before) == _admission(after)
    if had and same and (has or not is_true(after, "Evicted")):
        raise Broken("cluster-final", f"{name} was on {had} and is on {has or 'none'} within one admission")


def nothing_lost(acknowledged: Iterable[str], there: Mapping[str, object]) -> None:
    """Everything that was acknowledged is there."""
    lost = [name for name in acknowledged if name not in there]
    if lost:
        raise Broken("nothing-lost", f"acknowledged and gone: {lost}")


def _cluster(workload: Json) -> str:
    return str((workload.get("status") or {}).get("clusterName") or "")


def _admission(workload: Json) -> str | None:
    """When quota was reserved, which tells one admission from the next."""
    condition = find_condition(workload, "QuotaReserved")
    if condition is None or condition.get("status") != "True":
        return None
    return str(condition.get("lastTransitionTime"))
