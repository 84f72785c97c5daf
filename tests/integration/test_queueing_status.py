"""What queues tell of themselves: soon, not at every change, and in the end what is so."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import JOBS, Cluster, cluster, conditions, job

from fairway.api.client import Query
from fairway.control.admission.queueing import Pace
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS

_JOBS = 5


async def _admitted(here: Cluster, count: int) -> None:
    admitted = set()
    async with asyncio.timeout(30):
        async for event in here.client.watch(WORKLOADS, Query()):
            if "Admitted" in conditions(event.item.json()):
                admitted.add(event.item.path)
            if len(admitted) >= count:
                return


def test_statuses_wait_for_each_other_and_the_last_one_is_true() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", str(_JOBS))
            assert here.queueing is not None
            await here.queueing.stop()
            here.pace = Pace(status_seconds=60.0)
            here.start()
            told = []

            async def listen() -> None:
                async for event in here.client.watch(CLUSTER_QUEUES, Query()):
                    told.append(event.item.json()["status"]["admittedWorkloads"])
                    if told[-1] == _JOBS:
                        return

            listener = asyncio.create_task(listen())
            for number in range(_JOBS):
                await here.client.create(JOBS, job(f"job-{number}", "1", "main"), "default")
                await _admitted(here, number + 1)
            assert len(told) <= 2  # as it was, and at most one round since
            here.clock.move(61)
            here.queueing.wake()
            async with asyncio.timeout(30):
                await listener
            (tenant,) = await here.all(LOCAL_QUEUES)
            assert (tenant["status"]["admittedWorkloads"], tenant["status"]["pendingWorkloads"]) == (_JOBS, 0)
            assert tenant["status"]["flavorsUsage"][0]["resources"][0]["total"] == str(_JOBS)

    asyncio.run(scenario())


def test_tenants_of_one_queue_are_counted_apart() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "3")
            await here.create_tenant("other", "main")
            await here.create_tenant("nowhere", "missing")
            for name, queue in (("a", "main"), ("b", "other"), ("c", "other"), ("d", "other"), ("e", "nowhere")):
                await here.submit(name, "1", queue=queue)
            counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
            found = {
                each["metadata"]["name"]: tuple(each["status"][count] for count in counts)
                for each in await here.all(LOCAL_QUEUES)
            }
            assert found == {"main": (0, 1, 1), "other": (1, 2, 2), "nowhere": (1, 0, 0)}
            (queue,) = await here.all(CLUSTER_QUEUES)
            assert tuple(queue["status"][count] for count in counts) == (1, 3, 3)

    asyncio.run(scenario())
