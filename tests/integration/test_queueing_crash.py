"""Queueing is killed between any two of its writes, and ends where it would have ended without."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from tests.integration.queueing import JOBS, Cluster, Json, conditions

from fairway.api.client import BulkItem, BulkResults, Client
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PRIORITY_CLASSES, WORKLOADS

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
RUNS = 8
"""Kill points are dealt to so many tests, so that they can be run side by side."""


class Killed(BaseException):
    """Nothing catches this on its way, as nothing survives kill -9."""


class Mortal:
    """A client that writes one thing at a time, and takes its user down before the last."""

    def __init__(self, client: Client, lives: list[int]) -> None:
        self._client = client
        self._lives = lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _count(self) -> None:
        self._lives[0] -= 1
        if self._lives[0] == 0:
            raise Killed

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        results: BulkResults = []
        for item in items:
            if item.resource.plural != "events":
                self._count()
            results += await self._client.bulk([item])
        return results

    async def delete(self, *args: Any, **kwargs: Any) -> None:
        self._count()
        await self._client.delete(*args, **kwargs)


async def scenario(here: Cluster) -> None:
    """Admission, waiting, preemption, a rewrite of a waiting job, deactivation, a drained queue, and the ends of jobs."""
    await here.queue("main", "4", preemption={"withinClusterQueue": "LowerPriority"})
    await here.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
    await here.submit("first", "3")
    await here.move(1)
    await here.submit("second", "2")
    await here.move(1)
    await here.play_jobs()
    await here.submit("urgent", "2", labels={"kueue.x-k8s.io/priority-class": "high"})
    await here.play_jobs()
    await here.patch(JOBS, "first", {"spec": {"parallelism": 1, "suspend": True}})
    await here.complete("urgent")
    await here.play_jobs()
    name = (await here.workload_of("first"))["metadata"]["name"]
    await here.patch(WORKLOADS, name, {"spec": {"active": False}})
    await here.play_jobs()
    await here.patch(CLUSTER_QUEUES, "main", {"spec": {"stopPolicy": "HoldAndDrain"}}, "")
    await here.play_jobs()
    await here.patch(WORKLOADS, name, {"spec": {"active": True}})
    await here.patch(CLUSTER_QUEUES, "main", {"spec": {"stopPolicy": "None"}}, "")
    await here.play_jobs()
    await here.complete("first")
    await here.play_jobs()
    await here.client.delete(JOBS, "first", "default")
    await here.settle()
    await here.play_jobs()


async def _run(kill_at: int) -> tuple[Json, int]:
    lives = [kill_at]
    here = Cluster()
    await here.open(lambda client: Mortal(client, lives))  # type: ignore[arg-type,return-value]
    try:
        await here.settle()
        await scenario(here)
        return await _end(here), -lives[0]
    finally:
        await here.close()


async def _end(here: Cluster) -> Json:
    """What people see at the end, without what differs from run to run."""
    end: Json = {}
    for workload in await here.all(WORKLOADS):
        name = workload["metadata"]["ownerReferences"][0]["name"]
        said = {kind: (v[0], v[1], _UID.sub("U", v[2])) for kind, v in conditions(workload).items()}
        end[f"workload of {name}"] = (said, workload["status"].get("admission"), workload["spec"]["active"])
    for job in await here.all(JOBS):
        labels = job["spec"]["template"]["metadata"]["labels"]
        end[f"job {job['metadata']['name']}"] = (job["spec"]["suspend"], sorted(labels))
    for resource in (CLUSTER_QUEUES, LOCAL_QUEUES):
        for queue in await here.all(resource):
            counts = {key: value for key, value in queue["status"].items() if key != "conditions"}
            end[f"{resource.plural} {queue['metadata']['name']}"] = (conditions(queue), counts)
    return end


@cache
def undisturbed() -> tuple[Json, int]:
    """The end, and how many writes lead to it."""
    return asyncio.run(_run(0))


@pytest.mark.parametrize("part", range(RUNS))
def test_killed_between_any_two_writes_it_ends_where_it_would_have(part: int) -> None:
    wanted, writes = undisturbed()
    assert writes > 30
    for kill_at in range(1 + part, writes + 1, RUNS):
        ended, _ = asyncio.run(_run(kill_at))
        assert ended == wanted, f"killed before write {kill_at} of {writes}"
