"""How fast do the workloads of Kueue's own scheduler benchmark finish, end to end on a durable store, against our own virtual time?

Workloads arrive as the shapes say; queueing admits and preempts on a store on disk; an executor that only waits finishes each when its time
is over, and starts over those that were evicted. Beside it: the same decisions in virtual time, where nothing costs any, and what real Kueue
needed. Generator and executor share the node's processor, so they write JSON text and read no more of a workload than they have to.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import msgspec
import yaml

from benchmarks import probes, stores
from benchmarks.result import Result, Skipped
from fairway.api.client import BulkItem, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.core.model import Settings
from fairway.node import Node
from fairway.runtime.memory import keep_what_is_loaded
from fairway.sim.engine import Engine
from fairway.sim.scenario import Job, Scenario
from fairway.sim.shapes import KueueShape, WorkClass, shape_scenario

Json = dict[str, Any]
KUEUE = "kueue.x-k8s.io"
WORKLOADS = Resource(KUEUE, "v1beta2", "workloads")
AIMS = {"baseline": 1.05, "large": 15.0}
"""For baseline against virtual time, where arrivals set the pace; for large in seconds."""
_SECOND = 1e9
_BULK = 250
_AGAIN_SECONDS = 0.01
"""After a workload has changed when it was to be finished."""


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] = []


class _Seen(msgspec.Struct, gc=False):
    """Of a Workload, what its executor asks."""

    status: _Status = msgspec.field(default_factory=_Status)


class _Ending(msgspec.Struct, gc=False):
    """Of a Workload, what its executor writes again."""

    status: msgspec.Raw


_seen = msgspec.json.Decoder(_Seen).decode
_ending = msgspec.json.Decoder(_Ending).decode


def run(quick: bool) -> list[Result]:
    results = []
    for name, facts in _shapes().items():
        shape = _shape(facts)
        if quick:
            shape = _smaller(shape)
        results += _measure(name, shape, facts, quick)
    return results


def _shapes() -> dict[str, Json]:
    shared = os.environ.get("FAIRWAY_SHARED") or Path(__file__).resolve().parents[2] / "shared"
    path = Path(shared) / "bench" / "kueue-shapes.yaml"
    if not path.exists():
        raise Skipped(f"{path} is not there; FAIRWAY_SHARED says which folder has bench/kueue-shapes.yaml")
    shapes: dict[str, Json] = yaml.safe_load(path.read_text())
    return shapes


def _shape(facts: Json) -> KueueShape:
    names = {"class": "name"}
    classes = tuple(WorkClass(**{names.get(key, key): value for key, value in each.items()}) for each in facts["sets"])
    return KueueShape(facts["cohorts"], facts["queues_per_cohort"], classes, facts["floor_s"])


def _smaller(shape: KueueShape) -> KueueShape:
    classes = tuple(replace(work, count=max(2, work.count // 5)) for work in shape.classes)
    return replace(shape, cohorts=1, queues_per_cohort=min(shape.queues_per_cohort, 20), classes=classes)


def _measure(name: str, shape: KueueShape, facts: Json, quick: bool) -> list[Result]:
    scenario = shape_scenario(name, shape, Settings())
    virtual = Engine(scenario).run()
    virtual_s = virtual.makespan / _SECOND
    live = stores.run(lambda: _live(scenario))
    ratio, cpu_us = live.seconds / virtual_s, live.cpu_seconds / len(scenario.jobs) * 1e6
    against_virtual = name == "baseline"
    note = (
        f"{len(scenario.jobs):,} workloads, {live.admissions:,} admissions, {live.evictions:,} evictions live; "
        f"{virtual.admissions:,} and {virtual.evictions:,} in virtual time"
    )
    result = Result(
        name=f"{name}, makespan",
        value=live.seconds,
        unit="s",
        more_is_better=False,
        probe="s in virtual time",
        probe_value=virtual_s,
        ratio=ratio,
        cpu_us=cpu_us,
        aim=None if quick and not against_virtual else AIMS[name],
        aim_for="ratio" if against_virtual else "value",
        note=note,
    )
    if quick:
        return [result]
    kueue = float(facts.get("measured_s") or facts["published_s"])
    whose = "s, real Kueue on two cores" if facts.get("measured_s") else "s, Kueue in its own CI"
    return [
        result,
        msgspec.structs.replace(
            result, probe=whose, probe_value=kueue, ratio=live.seconds / kueue, aim=None, cpu_us=None
        ),
    ]


class Live:
    """One run in real time: what arrives, what runs, what ended."""

    def __init__(self, client: LocalClient, executor: LocalClient, scenario: Scenario) -> None:
        self._client = client
        self._executor = executor
        self._jobs = {job.key: job for job in scenario.jobs}
        self._arriving = deque(sorted(scenario.jobs, key=lambda job: job.arrival))
        self._running: dict[str, int] = {}
        """Workloads by which admission of all they run."""
        self._ends: list[tuple[float, str, int]] = []
        self._sooner = asyncio.Event()
        self._latest: dict[str, Item] = {}
        self._unfinished = set(self._jobs)
        self.admissions = self.evictions = 0
        self.seconds = self.cpu_seconds = 0.0

    async def run(self) -> None:
        start, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(work) for work in (self._generate(start), self._finish_those_due())]
            await self._follow()
            for task in others:
                task.cancel()
        self.seconds, self.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu

    async def _generate(self, start: float) -> None:
        while self._arriving:
            now = (time.perf_counter() - start) * _SECOND
            due: list[Job] = []
            while self._arriving and self._arriving[0].arrival <= now and len(due) < _BULK:
                due.append(self._arriving.popleft())
            if due:
                await self._bulk([BulkItem("create", WORKLOADS, _workload(job)) for job in due])
            else:
                await asyncio.sleep(max(0.0, (self._arriving[0].arrival - now) / _SECOND))

    async def _follow(self) -> None:
        async for event in self._client.watch(WORKLOADS):
            item = event.item
            if b'"Admitted"' not in item.value:
                continue
            key, said = item.path, {each.type: each.status for each in _seen(item.value).status.conditions}
            if said.get("Finished") == "True":
                self._unfinished.discard(key)
                self._latest.pop(key, None)
                if not self._unfinished:
                    return
            elif said["Admitted"] == "True" and said.get("Evicted") != "True":
                self._latest[key] = item
                self._begin(key)
            elif key in self._running:
                self.evictions += 1
                del self._running[key], self._latest[key]

    def _begin(self, key: str) -> None:
        if key not in self._running:
            self.admissions += 1
            self._running[key] = self.admissions
            self._end(key, time.perf_counter() + self._jobs[key].runtime / _SECOND)

    def _end(self, key: str, at: float) -> None:
        ends = (at, key, self._running[key])
        heappush(self._ends, ends)
        if self._ends[0] is ends:
            self._sooner.set()

    async def _finish_those_due(self) -> None:
        while True:
            due: list[str] = []
            now = time.perf_counter()
            while self._ends and self._ends[0][0] <= now and len(due) < _BULK:
                _, key, admission = heappop(self._ends)
                if self._running.get(key) == admission:
                    due.append(key)
            if due:
                await self._finish(due)
                continue
            self._sooner.clear()
            try:
                async with asyncio.timeout(self._ends[0][0] - now if self._ends else None):
                    await self._sooner.wait()
            except TimeoutError:
                pass

    async def _finish(self, keys: list[str]) -> None:
        items = [BulkItem("updateStatus", WORKLOADS, _finished(self._latest[key])) for key in keys]
        for key, result in zip(keys, await self._executor.bulk(items), strict=True):
            if isinstance(result, ApiError) and key in self._running:  # it changed meanwhile; the watch says how
                assert result.code == 409, result
                self._end(key, time.perf_counter() + _AGAIN_SECONDS)

    async def _bulk(self, items: list[BulkItem]) -> None:
        for result in await self._client.bulk(items):
            assert not isinstance(result, ApiError), result


async def _live(scenario: Scenario) -> Live:
    with probes.folder() as folder:
        node = Node(folder, with_default_queue=False)
        await node.start()
        try:
            client = LocalClient(node.spaces[0], "benchmark")
            await _set_up(client, scenario)
            await node.queueing[node.spaces[0].name].idle.wait()
            executor = LocalClient(node.spaces[0], "executor", reports=True)
            live = Live(client, executor, scenario)
            keep_what_is_loaded()
            await live.run()
            return live
        finally:
            await node.stop()


async def _set_up(client: LocalClient, scenario: Scenario) -> None:
    objects: list[tuple[Resource, Json]] = [
        (Resource("", "v1", "namespaces", False), _object("v1", "Namespace", tenant.key.partition("/")[0]))
        for tenant in scenario.tenants
    ]
    version = f"{KUEUE}/v1beta2"
    objects += [
        (Resource(KUEUE, "v1beta2", "resourceflavors", False), _object(version, "ResourceFlavor", flavor.name))
        for flavor in scenario.flavors
    ]
    for queue in scenario.queues:
        (cell, quota), *_ = queue.quotas.items()
        flavor, resource = queue.groups[0].flavors[0], queue.groups[0].resources[0]
        assert quota.borrowing_limit is not None, cell
        amounts = {
            "name": resource,
            "nominalQuota": f"{quota.nominal}m",
            "borrowingLimit": f"{quota.borrowing_limit}m",
        }
        group = {"coveredResources": [resource], "flavors": [{"name": flavor, "resources": [amounts]}]}
        spec = {
            "cohortName": queue.cohort,
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [group],
        }
        body = {**_object(version, "ClusterQueue", queue.name), "spec": spec}
        objects.append((Resource(KUEUE, "v1beta2", "clusterqueues", False), body))
    for tenant in scenario.tenants:
        body = {**_object(version, "LocalQueue", *_split(tenant.key)), "spec": {"clusterQueue": tenant.queue}}
        objects.append((Resource(KUEUE, "v1beta2", "localqueues"), body))
    for start in range(0, len(objects), _BULK):
        items = [BulkItem("create", resource, body) for resource, body in objects[start : start + _BULK]]
        for result in await client.bulk(items):
            assert not isinstance(result, ApiError), result


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return name, namespace


def _object(api_version: str, kind: str, name: str, namespace: str = "") -> Json:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _workload(job: Job) -> bytes:
    name, namespace = _split(job.key)
    queue = job.tenant_queue.partition("/")[2]
    pod_sets = _pod_sets(job.count, tuple(job.requests.items()))
    return (
        f'{{"apiVersion":"{KUEUE}/v1beta2","kind":"Workload","metadata":{{"name":"{name}","namespace":"{namespace}"}},'
        f'"spec":{{"queueName":"{queue}","priority":{job.priority},"podSets":{pod_sets}}}}}'
    ).encode()


@lru_cache
def _pod_sets(count: int, requests: tuple[tuple[str, int], ...]) -> str:
    asked = {"requests": {name: f"{amount}m" for name, amount in requests}}
    container = {"name": "main", "image": "none", "resources": asked}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return msgspec.json.encode([{"name": "main", "count": count, "template": template}]).decode()


def _finished(item: Item) -> Json:
    """As a job's controller says it."""
    name, namespace = _split(item.path)
    status = msgspec.json.decode(_ending(item.value).status)
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "its time is over",
        "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    status["conditions"].append(condition)
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(item.revision)}
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Workload", "metadata": metadata, "status": status}
