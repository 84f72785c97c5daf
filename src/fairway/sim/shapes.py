"""The two shapes of Kueue's own scheduler benchmark, as scenarios.

One flavor, one resource; every queue has nominal 20 and may borrow 100, reclaims from anybody in its cohort and preempts
lower priorities within itself. Each class of work is generated per queue at its own interval, the first after one interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairway.core.labels import Selector
from fairway.core.model import (
    Flavor,
    Preemption,
    PreemptionPolicy,
    Queue,
    Quota,
    ResourceGroup,
    Settings,
    TenantQueue,
    cell,
)
from fairway.sim.scenario import Job, Scenario

MILLISECOND = 1_000_000
_FLAVOR, _CPU = "rf", "cpu"


@dataclass(slots=True, frozen=True)
class WorkClass:
    name: str
    count: int
    interval_ms: int
    runtime_ms: int
    priority: int
    cpu: int


@dataclass(slots=True, frozen=True)
class KueueShape:
    cohorts: int
    queues_per_cohort: int
    classes: tuple[WorkClass, ...]
    floor_s: float


BASELINE = KueueShape(
    5,
    6,
    (
        WorkClass("small", 350, 100, 200, 50, 1),
        WorkClass("medium", 100, 500, 500, 100, 5),
        WorkClass("large", 50, 1200, 1000, 200, 20),
    ),
    66.8,
)
LARGE = KueueShape(
    10,
    100,
    (
        WorkClass("small", 35, 60, 150, 50, 1),
        WorkClass("medium", 11, 300, 350, 100, 5),
        WorkClass("large", 4, 700, 700, 200, 20),
    ),
    4.47,
)
SHAPES = {"baseline": BASELINE, "large": LARGE}


def kueue_scenario(name: str, settings: Settings | None = None) -> Scenario:
    return shape_scenario(name, SHAPES[name], settings or Settings())


def shape_scenario(name: str, shape: KueueShape, settings: Settings) -> Scenario:
    queues: list[Queue] = []
    tenants: list[TenantQueue] = []
    jobs: list[Job] = []
    for cohort in range(shape.cohorts):
        for index in range(shape.queues_per_cohort):
            queue = f"cq-{cohort}-{index}"
            queues.append(_queue(queue, f"cohort-{cohort}"))
            tenants.append(TenantQueue(f"ns-{queue}/lq", queue))
            for work in shape.classes:
                jobs += [
                    Job(
                        key=f"ns-{queue}/{work.name}-{at}",
                        tenant_queue=f"ns-{queue}/lq",
                        arrival=(at + 1) * work.interval_ms * MILLISECOND,
                        runtime=work.runtime_ms * MILLISECOND,
                        requests={_CPU: work.cpu * 1000},
                        priority=work.priority,
                        kind=work.name,
                    )
                    for at in range(work.count)
                ]
    return Scenario(name, queues, tenants, jobs, [Flavor(_FLAVOR)], [], settings)


def _queue(name: str, cohort: str) -> Queue:
    return Queue(
        name=name,
        cohort=cohort,
        groups=(ResourceGroup((_CPU,), (_FLAVOR,)),),
        quotas={cell(_FLAVOR, _CPU): Quota(20_000, 100_000)},
        preemption=Preemption(within_queue=PreemptionPolicy.LOWER_PRIORITY, reclaim=PreemptionPolicy.ANY),
        namespaces=Selector(),
    )
