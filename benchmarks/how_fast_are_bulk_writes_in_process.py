"""How fast are bulk writes through the API in process, with every check, until they are durable?

As a controller writes what it has decided: a thousand objects per call, a result for each. Beside it: raw SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from benchmarks import probes, sample, stores
from benchmarks.result import Result, Rounds, Sample, Stopwatch
from fairway.api import bootstrap
from fairway.api.client import BulkItem, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SystemIds
from fairway.server.access import SpaceAccess

RAW = "rows/s, raw SQLite batch"
PER_CALL = 1000
CONFIG_MAPS = Resource("", "v1", "configmaps")
JOBS = Resource("batch", "v1", "jobs")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")

Verb = Literal["create", "update", "updateStatus"]


def run(quick: bool) -> list[Result]:
    count = 2_000 if quick else 10_000
    measures: dict[str, Callable[[], float | Sample]] = {
        RAW: lambda: probes.sqlite_rows_per_second(count),
        "ConfigMaps created": lambda: stores.run(lambda: _written(CONFIG_MAPS, "create", config_map, count)),
        "Jobs created": lambda: stores.run(lambda: _written(JOBS, "create", job, count)),
        "Workloads created": lambda: stores.run(lambda: _written(WORKLOADS, "create", workload, count)),
        "statuses of Workloads": lambda: stores.run(lambda: _written(WORKLOADS, "updateStatus", workload, count)),
    }
    rounds = Rounds(measures, quick=quick, count=3)
    return [rounds.result(name, "objects/s", beside=RAW, aim=20_000) for name in list(measures)[1:]]


def _metadata(prefix: str, number: int) -> dict[str, Any]:
    return {"name": f"{prefix}-{number}", "namespace": "default", "labels": sample.labels(number)}


def config_map(number: int) -> dict[str, Any]:
    data = {"settings": "x" * 700}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata("settings", number), "data": data}


def job(number: int) -> dict[str, Any]:
    metadata = _metadata("job", number)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": sample.job_spec()}


def workload(number: int) -> dict[str, Any]:
    pods = {"name": "main", "count": 3, "template": {"spec": sample.pod_spec()}}
    spec = {"queueName": "team-queue", "priority": 100, "podSets": [pods]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": _metadata("workload", number),
        "spec": spec,
    }


def reserved(stored: dict[str, Any]) -> dict[str, Any]:
    """As the scheduler writes it when there is room."""
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "Quota reserved in ClusterQueue team",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assignment = {"name": "main", "count": 3, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}}
    admission = {"clusterQueue": "team", "podSetAssignments": [assignment]}
    return {**stored, "status": {"conditions": [condition], "admission": admission}}


async def _written(resource: Resource, verb: Verb, make: Callable[[int], dict[str, Any]], count: int) -> Sample:
    with probes.folder() as folder:
        async with stores.durable_store(folder) as store:
            # A space with its admission, without the controllers that would add writes of their own.
            space = Space("default", store, KINDS, SystemClock(), SystemIds())
            SpaceAccess(space)
            await bootstrap.ensure(space, bootstrap.namespaces())
            client = LocalClient(space, "benchmark")
            if verb == "updateStatus":
                await _write(client, [BulkItem("create", resource, make(number)) for number in range(count)])
                listed = await client.list(resource)
                items = [BulkItem(verb, resource, reserved(item.json())) for item in listed.items]
            else:
                items = [BulkItem(verb, resource, make(number)) for number in range(count)]
            bodies = [BulkItem(item.verb, item.resource, msgspec.json.encode(item.body)) for item in items]
            await _write(client, bodies[:1])  # the first of a kind prepares how it is read
            watch = Stopwatch()
            await _write(client, bodies[1:])
            return watch.per_second(count - 1)


async def _write(client: LocalClient, items: Sequence[BulkItem]) -> None:
    for first in range(0, len(items), PER_CALL):
        for result in await client.bulk(items[first : first + PER_CALL]):
            if isinstance(result, ApiError):
                raise result
