"""The queue of a fresh space: there at the first start, sized to the machine, and gone for good once it was removed."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import JOBS, Cluster, cluster

from fairway.api.client import Deletion
from fairway.control import default_queue
from fairway.control.resources import CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES


async def _nominal(here: Cluster) -> dict[str, str]:
    queue = await here.get(CLUSTER_QUEUES, "default", "")
    return {
        each["name"]: each["nominalQuota"] for each in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    }


def test_a_first_job_runs_through_the_default_queue() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await default_queue.ensure(here.space, {"cpu": "4", "memory": "8Gi"})
            await here.settle()
            await here.submit("hello", queue="")
            job = await here.get(JOBS, "hello")
            assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
            assert job["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_it_follows_the_machine_until_somebody_changes_it() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await default_queue.ensure(here.space, {"cpu": "4"})
            await default_queue.ensure(here.space, {"cpu": "8", "memory": "1Gi"})
            assert await _nominal(here) == {"cpu": "8", "memory": "1Gi"}
            queue = await here.get(CLUSTER_QUEUES, "default", "")
            queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "5"
            await here.client.update(CLUSTER_QUEUES, queue)
            await default_queue.ensure(here.space, {"cpu": "16", "memory": "1Gi"})
            assert (await _nominal(here))["cpu"] == "5"

    asyncio.run(scenario())


def test_once_removed_it_does_not_come_back_and_where_queues_are_it_is_not_made() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await default_queue.ensure(here.space)
            for resource, name, namespace in (
                (LOCAL_QUEUES, "default", "default"),
                (CLUSTER_QUEUES, "default", ""),
                (FLAVORS, "machine", ""),
            ):
                await here.client.delete(resource, name, namespace, Deletion())
            await default_queue.ensure(here.space)
            assert await here.all(LOCAL_QUEUES) == []
        async with cluster() as other:
            await other.queue("mine")
            await default_queue.ensure(other.space)
            assert len(await other.all(CLUSTER_QUEUES)) == 1

    asyncio.run(scenario())
