"""Checkers of what must always hold of the objects of a space, by name. Each takes objects as they are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairway.control import compile as compiler
from fairway.control.conditions import is_true
from fairway.core.admit.state import AdmitState
from fairway.core.model import Amounts, Workload
from fairway.core.shapes import Shapes

Json = dict[str, Any]


def holders(workloads: Iterable[Json]) -> list[Workload]:
    """Workloads that hold quota, as their objects say."""
    shapes, settings = Shapes(), AdmitState().settings
    return [
        compiler.workload(obj, shapes, settings)
        for obj in workloads
        if is_true(obj, "QuotaReserved") and not is_true(obj, "Finished") and (obj["status"] or {}).get("admission")
    ]


def quota_held(queues: Iterable[Json], cohorts: Iterable[Json], workloads: Iterable[Json], live: AdmitState) -> None:
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
        assert usage == {cell: amount for cell, amount in total.get(name, {}).items() if amount}, name
        ours = {cell: amount for cell, amount in live.tree.queues[name].usage.items() if amount}
        assert ours == usage, f"quota-held: {name} counts {ours}, its workloads hold {usage}"
        for cell in usage:
            assert node.available(cell) >= 0, f"quota-held: {name} is {-node.available(cell)} over in {cell}"


def admitted_once(workloads: Iterable[Json], live: AdmitState) -> None:
    """At most one reservation for each workload, and the same ones in the objects and in the core's state."""
    keys = [workload.key for workload in holders(workloads)]
    assert len(keys) == len(set(keys))
    assert sorted(live.ledger.by_key) == sorted(keys)
    assert not set(live.ledger.by_key) & set(live.lines.waiting), "admitted-once: a workload waits and holds quota"


def runs_only_admitted(jobs: Iterable[Json], workloads: Iterable[Json]) -> None:
    """A job that may run has a workload that is admitted and not told to go."""
    by_job: dict[str, list[Json]] = {}
    for workload in workloads:
        for owner in workload["metadata"].get("ownerReferences") or ():
            by_job.setdefault(owner["uid"], []).append(workload)
    for job in jobs:
        if job["spec"].get("suspend") or is_true(job, "Complete") or is_true(job, "Failed"):
            continue
        mine = by_job.get(job["metadata"]["uid"], [])
        assert len(mine) == 1, f"job {job['metadata']['name']} runs with {len(mine)} workloads"
        assert is_true(mine[0], "Admitted") or is_true(mine[0], "Finished"), job["metadata"]["name"]
