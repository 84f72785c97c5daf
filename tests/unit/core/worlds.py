"""Random worlds for properties of the core: trees of cohorts and queues, work that comes and goes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from fairway.core.admit.cycle import settle
from fairway.core.admit.plan import Admit, Evict, Migrate, Plan
from fairway.core.admit.state import AdmitState
from fairway.core.labels import Selector
from fairway.core.model import (
    Cohort,
    Flavor,
    Fungibility,
    PodSet,
    Preemption,
    PreemptionPolicy,
    Queue,
    Quota,
    ResourceGroup,
    Settings,
    Strategy,
    TenantQueue,
    Workload,
    cell,
)
from fairway.core.shapes import Shapes

RESOURCES = ("cpu", "gpu")


@dataclass
class Layout:
    """Queues and cohorts, without any work."""

    settings: Settings
    flavors: list[Flavor]
    cohorts: list[Cohort]
    queues: list[Queue]

    def state(self, order: random.Random | None = None) -> AdmitState:
        state = AdmitState(self.settings)
        state.put_namespace("ns", {}, 0)
        cohorts, queues = list(self.cohorts), list(self.queues)
        if order is not None:
            order.shuffle(cohorts)
            order.shuffle(queues)
        for flavor in self.flavors:
            state.put_flavor(flavor, 0)
        for cohort in cohorts:
            state.put_cohort(cohort, 0)
        for queue in queues:
            state.put_queue(queue, 0)
            state.put_tenant(TenantQueue(f"ns/{queue.name}", queue.name), 0)
        return state


def layout(rng: random.Random, fair: bool | None = None, strict: bool | None = None) -> Layout:
    flavors = [Flavor(name) for name in ("a", "b")[: rng.randint(1, 2)]]
    resources = RESOURCES[: rng.randint(1, 2)]
    cohorts = [Cohort("root", None, _quotas(rng, flavors, resources, zero=True))]
    for index in range(rng.randint(0, 3)):
        parent = rng.choice(cohorts).name
        cohorts.append(Cohort(f"c{index}", parent, _quotas(rng, flavors, resources, zero=True), _weight(rng)))
    queues = [
        Queue(
            name=f"q{index}",
            cohort=rng.choice([None, *(c.name for c in cohorts)]) if rng.random() < 0.9 else None,
            groups=(ResourceGroup(tuple(resources), tuple(f.name for f in flavors)),),
            quotas=_quotas(rng, flavors, resources, zero=False),
            strategy=_strategy(rng, strict),
            preemption=_preemption(rng),
            fungibility=Fungibility(rng.random() < 0.5, rng.random() < 0.5),
            weight=_weight(rng),
            namespaces=Selector(),
        )
        for index in range(rng.randint(1, 5))
    ]
    settings = Settings(fair_sharing=rng.random() < 0.5 if fair is None else fair)
    return Layout(settings, flavors, cohorts, queues)


def _strategy(rng: random.Random, strict: bool | None) -> Strategy:
    if strict is None:
        strict = rng.random() < 0.3
    return Strategy.STRICT_FIFO if strict else Strategy.BEST_EFFORT_FIFO


def _weight(rng: random.Random) -> float:
    return rng.choice([1.0, 1.0, 2.0, 0.5, 0.0])


def _quotas(rng: random.Random, flavors: list[Flavor], resources: tuple[str, ...], zero: bool) -> dict[str, Quota]:
    quotas: dict[str, Quota] = {}
    for flavor in flavors:
        for resource in resources:
            nominal = rng.choice([0, 0, 4]) if zero else rng.choice([0, 2, 4, 8])
            borrowing = rng.choice([None, None, 0, 3, 6])
            lending = rng.choice([None, None, 0, 2]) if nominal else None
            quotas[cell(flavor.name, resource)] = Quota(nominal, borrowing, lending)
    return quotas


def _preemption(rng: random.Random) -> Preemption:
    reclaim = rng.choice([PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY])
    return Preemption(
        within_queue=rng.choice(
            [
                PreemptionPolicy.NEVER,
                PreemptionPolicy.LOWER_PRIORITY,
                PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
            ]
        ),
        reclaim=reclaim,
        borrow_lower_priority=reclaim is not PreemptionPolicy.NEVER and rng.random() < 0.4,
        borrow_priority_threshold=rng.choice([None, 0, 1]),
    )


@dataclass
class World:
    """A state with work in it, and what was ever submitted to it."""

    layout: Layout
    state: AdmitState
    shapes: Shapes = field(default_factory=Shapes)
    submitted: dict[str, Workload] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    now: int = 0

    def submit(self, rng: random.Random) -> Workload:
        index = len(self.submitted)
        resources = {name: rng.randint(1, 5) for name in self.resources()}
        count = rng.choice([1, 1, 1, 2])
        minimum = rng.choice([None, 1]) if count > 1 else None
        shape = self.shapes.intern(rng.randint(0, 3), (PodSet("main", count, resources, minimum),))
        queue = rng.choice(self.layout.queues).name
        key = f"ns/w{index:03d}"
        workload = Workload(key, key, f"ns/{queue}", queue, shape, self.now, self.now)
        self.submitted[key] = workload
        self.state.submit(workload, self.now)
        return workload

    def resources(self) -> list[str]:
        return sorted({name for queue in self.layout.queues for group in queue.groups for name in group.resources})

    def finish_one(self, rng: random.Random) -> None:
        running = sorted(self.state.ledger.by_key)
        if running:
            key = rng.choice(running)
            self.state.release(key, self.now)
            self.finished.add(key)

    def stop(self, key: str) -> None:
        """An evicted workload is gone from where it ran: it waits again."""
        self.state.requeue(key, self.now)

    def settle(self) -> Plan:
        self.now += 1
        return settle(self.state, self.now)

    def run_to_rest(self, limit: int = 400) -> int:
        """Decide and let victims stop until nobody is told to go any more; says how many rounds that took."""
        for round_number in range(limit):
            plan = self.settle()
            victims = [a.victim.key for a in plan.actions if isinstance(a, Evict | Migrate)]
            if not victims:
                return round_number
            for key in victims:
                self.stop(key)
        raise AssertionError(f"preemption did not come to rest within {limit} rounds")


def world(rng: random.Random, fair: bool | None = None, strict: bool | None = None) -> World:
    made = layout(rng, fair, strict)
    return World(made, made.state())


def admitted(plan: Plan) -> list[str]:
    return [action.workload.key for action in plan.actions if isinstance(action, Admit)]


def evicted(plan: Plan) -> list[str]:
    return [action.victim.key for action in plan.actions if isinstance(action, Evict)]
