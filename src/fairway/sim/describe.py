"""Scenarios written by hand, in YAML: queues with their quotas, and jobs that come in sets.

    fairSharing: false
    queues:
    - {name: research, cohort: all, quota: {cpu: 64}, borrowingLimit: {cpu: 32}, weight: 2, strategy: StrictFIFO}
    jobs:
    - {queue: research, kind: small, count: 100, every: 5s, start: 0s, runtime: 1m, requests: {cpu: 4}, priority: 10}

A set with `cohorts`, `queues_per_cohort` and `sets` instead describes alike queues, as Kueue's own benchmark does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
import yaml

from fairway.control import compile as compiler
from fairway.control.times import parse_duration
from fairway.core.labels import Selector
from fairway.core.model import Flavor, Queue, Quota, ResourceGroup, Settings, Strategy, TenantQueue, cell
from fairway.core.quantity import QuantityError
from fairway.sim.scenario import Job, Scenario
from fairway.sim.shapes import KueueShape, WorkClass, shape_scenario

T = TypeVar("T")
Amounts = dict[str, int | float | str]
_FLAVOR = "default"


class _QueueEntry(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    quota: Amounts = {}
    cohort: str | None = None
    borrowing_limit: Amounts = {}
    lending_limit: Amounts = {}
    strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    preemption: dict[str, Any] | None = None
    weight: float = 1.0
    priority: int = 0


class _JobSet(msgspec.Struct, forbid_unknown_fields=True):
    queue: str
    runtime: str | int
    requests: Amounts = {}
    kind: str = ""
    count: int = 1
    pods: int = 1
    start: str | int = 0
    every: str | int = 0
    priority: int = 0


class _Explicit(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    queues: list[_QueueEntry]
    jobs: list[_JobSet] = []
    fair_sharing: bool = False


class _Class(msgspec.Struct, rename={"name": "class"}):
    name: str
    count: int
    interval_ms: int
    runtime_ms: int
    cpu: int
    priority: int = 0


class _Shape(msgspec.Struct):
    cohorts: int
    queues_per_cohort: int
    sets: list[_Class]


class DescriptionError(ValueError):
    """The description cannot be run; the message says what to write."""


def described_scenario(name: str, text: str, part: str = "", settings: Settings | None = None) -> Scenario:
    document = _document(name, text, part)
    chosen = settings or Settings(fair_sharing=document.get("fairSharing") is True)
    try:
        if "sets" in document:
            return shape_scenario(part or name, _shape(_typed(name, document, _Shape)), chosen)
        return _explicit(part or name, _typed(name, document, _Explicit), chosen)
    except (QuantityError, ValueError) as error:
        raise error if isinstance(error, DescriptionError) else DescriptionError(f"{name}: {error}") from None


def _document(name: str, text: str, part: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DescriptionError(f"{name} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise DescriptionError(f"{name} describes nothing: write `queues` and `jobs`, or `cohorts` and `sets`")
    if not part and "queues" not in document and "sets" not in document:
        parts = ", ".join(str(key) for key in document)
        raise DescriptionError(f"{name} has several parts ({parts}): name one, as in {name}#{next(iter(document))}")
    if part and not isinstance(document.get(part), dict):
        raise DescriptionError(f"{name} has no part {part!r}; it has {', '.join(map(str, document))}")
    found: dict[str, Any] = document[part] if part else document
    return found


def _typed(name: str, document: Mapping[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(document, kind, strict=False)
    except msgspec.ValidationError as error:
        raise DescriptionError(f"{name}: {str(error).replace('`$.', '`')}") from None


def _shape(shape: _Shape) -> KueueShape:
    classes = tuple(
        WorkClass(each.name, each.count, each.interval_ms, each.runtime_ms, each.priority, each.cpu)
        for each in shape.sets
    )
    return KueueShape(shape.cohorts, shape.queues_per_cohort, classes, 0.0)


def _explicit(name: str, document: _Explicit, settings: Settings) -> Scenario:
    queues = [_queue(entry) for entry in document.queues]
    known = {queue.name for queue in queues}
    jobs: list[Job] = []
    for index, entry in enumerate(document.jobs):
        if entry.queue not in known:
            raise DescriptionError(f"jobs[{index}] goes to queue {entry.queue!r}; there are {sorted(known)}")
        jobs += _jobs(index, entry)
    if not jobs:
        raise DescriptionError(f"{name} has no jobs: write at least one set under `jobs`")
    tenants = [TenantQueue(f"{queue.name}/lq", queue.name) for queue in queues]
    return Scenario(name, queues, tenants, jobs, [Flavor(_FLAVOR)], [], settings)


def _queue(entry: _QueueEntry) -> Queue:
    base = compiler.queue({"metadata": {"name": entry.name}, "spec": {"preemption": entry.preemption}})
    return Queue(
        name=base.name,
        cohort=entry.cohort,
        groups=(ResourceGroup(tuple(entry.quota), (_FLAVOR,)),),
        quotas={
            cell(_FLAVOR, resource): Quota(
                compiler.amount(resource, nominal),
                _limit(entry.borrowing_limit, resource),
                _limit(entry.lending_limit, resource),
            )
            for resource, nominal in entry.quota.items()
        },
        strategy=Strategy(entry.strategy),
        preemption=base.preemption,
        weight=entry.weight,
        namespaces=Selector(),
        priority=entry.priority,
    )


def _limit(limits: Amounts, resource: str) -> int | None:
    return compiler.amount(resource, limits[resource]) if resource in limits else None


def _jobs(index: int, entry: _JobSet) -> list[Job]:
    start, every, runtime = _duration(entry.start), _duration(entry.every), _duration(entry.runtime)
    requests = {name: compiler.amount(name, amount) for name, amount in entry.requests.items()}
    return [
        Job(
            key=f"{entry.queue}/{index}-{at}",
            tenant_queue=f"{entry.queue}/lq",
            arrival=start + at * every,
            runtime=runtime,
            requests=requests,
            count=entry.pods,
            priority=entry.priority,
            kind=entry.kind,
        )
        for at in range(entry.count)
    ]


def _duration(text: str | int) -> int:
    """A bare number is seconds."""
    return parse_duration(f"{text}s" if isinstance(text, int) else text)
