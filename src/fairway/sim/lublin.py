"""Parallel batch work as Lublin and Feitelson modelled it: sizes, run times that depend on them, a daily cycle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairway.core.labels import Selector
from fairway.core.model import SECOND, Flavor, Queue, Quota, ResourceGroup, Settings, TenantQueue, cell
from fairway.sim.chance import Chance
from fairway.sim.scenario import Job, Scenario

_SERIAL, _POWER_OF_TWO = 0.2927, 0.6686
_SIZE_LOW, _SIZE_MIDDLE_FROM_HIGH, _SIZE_FIRST = 1.2, 2.5, 0.875
_SHORT, _LONG = (6.57, 0.823), (639.1, 0.0156)
_LONG_BY_SIZE, _LONG_BASE = -0.003, 0.6986
_GAP = (6.0415, 0.8531)
_DAY = (6.1271, 5.2740)
_HALF_HOURS = 48


@dataclass(slots=True, frozen=True)
class LublinModel:
    """`load` speeds arrivals up; work is spread over queues that share one cohort."""

    jobs: int = 1000
    processors: int = 128
    queues: int = 4
    load: float = 20.0
    seed: int = 1
    runtime_max_s: int = 36 * 3600


def lublin_scenario(model: LublinModel, settings: Settings | None = None) -> Scenario:
    chance = Chance(model.seed)
    names = [f"queue-{index}" for index in range(model.queues)]
    jobs: list[Job] = []
    now = 0.0
    for index in range(model.jobs):
        now += _gap(chance, now) / model.load
        size = _size(chance, model.processors)
        queue = names[chance.below(len(names))]
        jobs.append(
            Job(
                key=f"{queue}/job-{index}",
                tenant_queue=f"{queue}/lq",
                arrival=int(now * SECOND),
                runtime=max(1, int(_runtime(chance, size, model.runtime_max_s) * SECOND)),
                requests={"cpu": 1000},
                count=size,
                kind="serial" if size == 1 else "parallel",
            )
        )
    return Scenario(
        f"lublin-{model.seed}",
        [shared_queue(name, "machine", model.processors // model.queues) for name in names],
        [TenantQueue(f"{name}/lq", name) for name in names],
        jobs,
        [Flavor("node")],
        [],
        settings or Settings(),
    )


def shared_queue(name: str, cohort: str, processors: int) -> Queue:
    """A queue with its part of one machine, which may use whatever others leave."""
    return Queue(
        name,
        cohort,
        (ResourceGroup(("cpu",), ("node",)),),
        {cell("node", "cpu"): Quota(processors * 1000)},
        namespaces=Selector(),
    )


def _size(chance: Chance, processors: int) -> int:
    if chance.unit() < _SERIAL:
        return 1
    high = math.log2(processors)
    middle = max(_SIZE_LOW, high - _SIZE_MIDDLE_FROM_HIGH)
    low_half = chance.unit() < _SIZE_FIRST
    power = chance.between(_SIZE_LOW, middle) if low_half else chance.between(middle, high)
    size = 2 ** round(power) if chance.unit() < _POWER_OF_TWO else round(2**power)
    return max(2, min(processors, size))


def _runtime(chance: Chance, size: int, longest: int) -> float:
    is_long = chance.unit() >= _LONG_BY_SIZE * size + _LONG_BASE
    shape, scale = _LONG if is_long else _SHORT
    return min(float(longest), math.exp(chance.gamma(shape, scale)))


def _gap(chance: Chance, now: float) -> float:
    """Seconds to the next arrival: fewer come at night."""
    return math.exp(chance.gamma(*_GAP)) / _busyness(int(now // 1800) % _HALF_HOURS)


def _busyness(half_hour: int) -> float:
    """How busy a half hour of the day is against the average of the day; days start at five in the morning."""
    shape, scale = _DAY
    at = ((half_hour - 10) % _HALF_HOURS) + 0.5
    density = math.exp((shape - 1) * math.log(at) - at / scale - math.lgamma(shape) - shape * math.log(scale))
    return max(0.2, density * _HALF_HOURS)
