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
from typing import Any

import yaml

from fairway.control import compile as compiler
from fairway.control.times import parse_duration
from fairway.core.labels import Selector
from fairway.core.model import Flavor, Queue, Quota, ResourceGroup, Settings, Strategy, TenantQueue, cell
from fairway.sim.scenario import Job, Scenario
from fairway.sim.shapes import KueueShape, WorkClass, shape_scenario

Document = Mapping[str, Any]
_FLAVOR = "default"


class DescriptionError(ValueError):
    """The description cannot be run; the message says what to write."""


def described_scenario(name: str, text: str, part: str = "", settings: Settings | None = None) -> Scenario:
    document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise DescriptionError(f"{name} describes nothing: write `queues` and `jobs`, or `cohorts` and `sets`")
    if part:
        if part not in document:
            raise DescriptionError(f"{name} has no part {part!r}; it has {', '.join(map(str, document))}")
        document = document[part]
    elif "queues" not in document and "sets" not in document:
        parts = ", ".join(str(key) for key in document)
        raise DescriptionError(f"{name} has several parts ({parts}): name one, as in {name}#{next(iter(document))}")
    chosen = settings or Settings(fair_sharing=bool(document.get("fairSharing")))
    if "sets" in document:
        return shape_scenario(part or name, _shape(document), chosen)
    return _explicit(part or name, document, chosen)


def _shape(document: Document) -> KueueShape:
    classes = tuple(
        WorkClass(
            entry["class"],
            int(entry["count"]),
            int(entry["interval_ms"]),
            int(entry["runtime_ms"]),
            int(entry.get("priority", 0)),
            int(entry["cpu"]),
        )
        for entry in document["sets"]
    )
    return KueueShape(int(document["cohorts"]), int(document["queues_per_cohort"]), classes, 0.0)


def _explicit(name: str, document: Document, settings: Settings) -> Scenario:
    queues = [_queue(entry) for entry in document.get("queues") or ()]
    known = {queue.name for queue in queues}
    tenants = [TenantQueue(f"{queue.name}/lq", queue.name) for queue in queues]
    jobs: list[Job] = []
    for index, entry in enumerate(document.get("jobs") or ()):
        if entry.get("queue") not in known:
            raise DescriptionError(f"jobs[{index}] goes to queue {entry.get('queue')!r}; there are {sorted(known)}")
        jobs += _jobs(index, entry)
    if not jobs:
        raise DescriptionError(f"{name} has no jobs: write at least one set under `jobs`")
    return Scenario(name, queues, tenants, jobs, [Flavor(_FLAVOR)], [], settings)


def _queue(entry: Document) -> Queue:
    quota: Document = entry.get("quota") or {}
    base = compiler.queue({"metadata": {"name": str(entry["name"])}, "spec": {"preemption": entry.get("preemption")}})
    return Queue(
        name=base.name,
        cohort=entry.get("cohort"),
        groups=(ResourceGroup(tuple(quota), (_FLAVOR,)),),
        quotas={
            cell(_FLAVOR, resource): Quota(
                compiler.amount(resource, nominal),
                _limit(entry.get("borrowingLimit"), resource),
                _limit(entry.get("lendingLimit"), resource),
            )
            for resource, nominal in quota.items()
        },
        strategy=Strategy(entry.get("strategy", "BestEffortFIFO")),
        preemption=base.preemption,
        weight=float(entry.get("weight", 1)),
        namespaces=Selector(),
        priority=int(entry.get("priority", 0)),
    )


def _limit(limits: Document | None, resource: str) -> int | None:
    return compiler.amount(resource, limits[resource]) if limits and resource in limits else None


def _jobs(index: int, entry: Document) -> list[Job]:
    start, every = parse_duration(str(entry.get("start", "0s"))), parse_duration(str(entry.get("every", "0s")))
    requests = {name: compiler.amount(name, text) for name, text in (entry.get("requests") or {}).items()}
    return [
        Job(
            key=f"{entry['queue']}/{index}-{at}",
            tenant_queue=f"{entry['queue']}/lq",
            arrival=start + at * every,
            runtime=parse_duration(str(entry["runtime"])),
            requests=requests,
            count=int(entry.get("pods", 1)),
            priority=int(entry.get("priority", 0)),
            kind=str(entry.get("kind", "")),
        )
        for at in range(int(entry.get("count", 1)))
    ]
