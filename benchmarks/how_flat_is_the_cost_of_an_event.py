"""What does an event cost the core, and what does a waiting workload weigh, with a thousand and with a million waiting?

Six queues that share a cohort, eight shapes of work, everything full. An event is told and then decided upon. Each size
in a fresh process; processor time.
"""

from __future__ import annotations

import gc
import time

import msgspec

from benchmarks.fresh import in_fresh_process, resident_bytes
from benchmarks.result import Result
from fairway.core.admit.cycle import settle
from fairway.core.admit.state import AdmitState
from fairway.core.labels import Selector
from fairway.core.model import (
    Flavor,
    PodSet,
    Preemption,
    PreemptionPolicy,
    Queue,
    Quota,
    ResourceGroup,
    Shape,
    TenantQueue,
    Workload,
)
from fairway.core.shapes import Shapes

QUEUES = 6
EVENTS = 300
SIZES = (1_000, 10_000, 100_000, 1_000_000)


class Costs(msgspec.Struct):
    finish_us: float
    submit_us: float
    cancel_us: float
    bytes_each: float


def run(quick: bool) -> list[Result]:
    sizes = SIZES[:3] if quick else SIZES
    costs = {size: in_fresh_process(_measure, size) for size in sizes}
    results = [
        Result(name=f"{kind} with {size:,} waiting", value=getattr(costs[size], f"{kind}_us"), unit="µs")
        for kind in ("finish", "submit", "cancel")
        for size in sizes
    ]
    for kind in ("finish", "submit", "cancel"):
        values = [getattr(costs[size], f"{kind}_us") for size in sizes]
        results.append(
            Result(
                name=f"{kind}, {sizes[-1]:,} against {sizes[1]:,}",
                value=values[-1] / values[1],
                unit="×",
                more_is_better=False,
                aim=2.0,
            )
        )
    results.append(
        Result(
            name=f"memory of each of {sizes[-1]:,} waiting workloads",
            value=costs[sizes[-1]].bytes_each,
            unit="bytes",
            more_is_better=False,
            aim=600,
        )
    )
    return results


def _measure(size: int) -> Costs:
    state, shapes = _state()
    gc.collect()
    before = resident_bytes()
    for index in range(size):
        state.submit(_workload(index, shapes), 0)
    gc.collect()
    bytes_each = (resident_bytes() - before) / size
    now = size * 1000
    settle(state, now)
    _finish(state, now, 50)
    return Costs(
        _timed(lambda: _finish(state, now, EVENTS)),
        _timed(lambda: _submit(state, shapes, size, now)),
        _timed(lambda: _cancel(state, size, now)),
        bytes_each,
    )


def _timed(work: object) -> float:
    assert callable(work)
    start = time.process_time()
    work()
    return (time.process_time() - start) / EVENTS * 1e6


def _finish(state: AdmitState, now: int, count: int) -> None:
    for index in range(count):
        state.release(next(iter(state.ledger.by_key)), now + index)
        plan = settle(state, now + index)
        for eviction in plan.evictions():
            state.requeue(eviction.victim.key, now + index)


def _submit(state: AdmitState, shapes: list[Shape], size: int, now: int) -> None:
    for index in range(size, size + EVENTS):
        state.submit(_workload(index, shapes), now)
        settle(state, now)


def _cancel(state: AdmitState, size: int, now: int) -> None:
    step = max(1, size // EVENTS)
    for index in range(0, step * EVENTS, step):
        state.remove(_key(index), now)
        settle(state, now)


def _key(index: int) -> str:
    return f"ns{index % QUEUES}/workload-{index:07d}"


def _workload(index: int, shapes: list[Shape]) -> Workload:
    queue = index % QUEUES
    uid = f"0a1b2c3d-0000-0000-0000-{index:012d}"
    at = index * 1000
    return Workload(_key(index), uid, TENANTS[queue], NAMES[queue], shapes[index % len(shapes)], at, at)


NAMES = [f"q{index}" for index in range(QUEUES)]
TENANTS = [f"ns{index}/lq" for index in range(QUEUES)]


def _state() -> tuple[AdmitState, list[Shape]]:
    state, known = AdmitState(), Shapes()
    kinds = ((50, 1), (100, 5), (200, 20), (50, 2), (50, 3), (10, 7), (10, 9), (0, 4))
    shapes = [known.intern(priority, (PodSet("main", 1, {"cpu": cpu * 1000}),)) for priority, cpu in kinds]
    state.put_flavor(Flavor("f"), 0)
    rules = Preemption(PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY)
    for name, tenant in zip(NAMES, TENANTS, strict=True):
        group = ResourceGroup(("cpu",), ("f",))
        queue = Queue(name, "c", (group,), {"f/cpu": Quota(20_000, 100_000)}, preemption=rules, namespaces=Selector())
        state.put_queue(queue, 0)
        state.put_namespace(tenant.partition("/")[0], {}, 0)
        state.put_tenant(TenantQueue(tenant, name), 0)
    return state, shapes
