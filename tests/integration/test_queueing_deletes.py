"""What a job that is deleted, preempted or stopped used is free once its pods have ended, and not before."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from tests.integration.queueing import JOBS, Cluster, Json, cluster, conditions

from fairway.api.client import Deletion
from fairway.control.resources import CLUSTER_QUEUES, PODS, PRIORITY_CLASSES, WORKLOADS
from fairway.control.workloads.running import STUCK
from fairway.core.model import SECOND


async def running(here: Cluster, job: str) -> Json:
    """A pod of the job as its controller makes one, bound to a node and running there."""
    await here.play_jobs()
    owner = await here.get(JOBS, job)
    template = owner["spec"]["template"]
    metadata = {
        **template["metadata"],
        "name": f"{job}-0",
        "namespace": "default",
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job,
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    made = await here.create(PODS, {"metadata": metadata, "spec": {**template["spec"], "nodeName": "n"}})
    status = {**made["status"], "phase": "Running"}
    return (await here.client.update(PODS, {**made, "status": status}, subresource="status")).json()


async def waits(here: Cluster, job: str) -> bool:
    return bool((await here.get(JOBS, job))["spec"]["suspend"])


async def ends(here: Cluster, pod: str) -> None:
    """What the pod's node does once its process is gone."""
    await here.client.delete(PODS, pod, "default", Deletion(grace_seconds=0))
    await here.settle()


async def settle(here: Cluster) -> None:
    """The garbage collector has work of its own after queueing has come to rest."""
    for _ in range(3):
        await here.settle()
        await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["Background", "Foreground"])
def test_a_deleted_jobs_quota_is_free_once_its_pods_have_ended(how: Literal["Background", "Foreground"]) -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2")
            await here.submit("first", "2")
            await running(here, "first")
            await here.submit("second", "2")
            await here.client.delete(JOBS, "first", "default", Deletion(how))
            await settle(here)
            assert (await here.get(PODS, "first-0"))["metadata"]["deletionTimestamp"]
            (leaving,) = [each for each in await here.all(WORKLOADS) if each["metadata"].get("deletionTimestamp")]
            assert conditions(leaving)["QuotaReserved"][0] == "True"
            assert await waits(here, "second")
            await ends(here, "first-0")
            await settle(here)
            assert not await waits(here, "second")
            assert len(await here.all(WORKLOADS)) == 1

    asyncio.run(scenario())


def test_a_preempted_jobs_quota_is_free_once_its_pods_have_ended() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2", preemption={"withinClusterQueue": "LowerPriority"})
            await here.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
            await here.submit("first", "2")
            await running(here, "first")
            await here.submit("urgent", "2", labels={"kueue.x-k8s.io/priority-class": "high"})
            await here.play_jobs()
            assert await waits(here, "first")
            assert conditions(await here.workload_of("first"))["QuotaReserved"][0] == "True"
            assert await waits(here, "urgent")
            await ends(here, "first-0")
            assert not await waits(here, "urgent")

    asyncio.run(scenario())


def test_a_workload_deleted_under_a_running_job_goes_once_its_pods_have_ended() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2")
            await here.submit("first", "2")
            await running(here, "first")
            before = (await here.workload_of("first"))["metadata"]
            await here.client.delete(WORKLOADS, before["name"], "default")
            await here.settle()
            await here.play_jobs()
            assert (await here.workload_of("first"))["metadata"]["uid"] == before["uid"]
            await here.client.delete(PODS, "first-0", "default")
            await ends(here, "first-0")
            await here.play_jobs()
            after = await here.workload_of("first")
            assert after["metadata"]["uid"] != before["uid"]
            assert conditions(after)["Admitted"][0] == "True"

    asyncio.run(scenario())


def test_a_pod_that_nobody_ends_does_not_hold_quota_for_ever() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2")
            await here.submit("first", "2")
            pod = await running(here, "first")
            await here.submit("second", "2")
            await here.client.delete(JOBS, "first", "default")
            await settle(here)
            grace = pod["spec"]["terminationGracePeriodSeconds"]
            await here.move(grace + STUCK / SECOND - 1)
            assert await waits(here, "second")
            await here.move(60)
            await settle(here)
            assert not await waits(here, "second")

    asyncio.run(scenario())


def test_a_pod_that_waits_for_a_place_holds_nothing() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2")
            await here.submit("first", "2")
            await here.play_jobs()
            metadata = {
                "name": "stray",
                "namespace": "default",
                "annotations": {"kueue.x-k8s.io/workload": (await here.workload_of("first"))["metadata"]["name"]},
            }
            spec = {"containers": [{"name": "c", "image": "i"}]}
            await here.create(PODS, {"metadata": metadata, "spec": spec})
            await here.client.delete(JOBS, "first", "default")
            await settle(here)
            assert await here.all(WORKLOADS) == []
            (queue,) = await here.all(CLUSTER_QUEUES)
            assert queue["status"]["flavorsUsage"][0]["resources"][0]["total"] == "0"

    asyncio.run(scenario())
