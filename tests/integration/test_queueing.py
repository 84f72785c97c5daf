"""One Job in one queue, from submission to the end; then what may happen on the way."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import JOBS, cluster, conditions

from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS


def test_a_job_is_held_back_admitted_started_and_its_workload_finishes_with_it() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2", flavor={"nodeLabels": {"zone": "a"}})
            made = await here.submit("hello")
            assert made["spec"]["suspend"] is True
            workload = await here.workload_of("hello")
            said = conditions(workload)
            assert said["QuotaReserved"] == ("True", "QuotaReserved", "Quota reserved in ClusterQueue main")
            assert said["Admitted"] == ("True", "Admitted", "The workload is admitted")
            job = await here.get(JOBS, "hello")
            assert job["spec"]["suspend"] is False
            assert job["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}
            await here.play_jobs()
            await here.ready("hello")
            assert conditions(await here.workload_of("hello"))["PodsReady"][:2] == ("True", "Started")
            await here.complete("hello")
            workload = await here.workload_of("hello")
            assert conditions(workload)["Finished"][:2] == ("True", "Succeeded")
            queue = await here.get(CLUSTER_QUEUES, "main", "")
            assert queue["status"]["admittedWorkloads"] == 0
            assert queue["status"]["flavorsUsage"][0]["resources"][0]["total"] == "0"
            tenant = await here.get(LOCAL_QUEUES, "main")
            assert conditions(tenant)["Active"] == ("True", "Ready", "Can submit new workloads to localQueue")
            assert len(await here.all(WORKLOADS)) == 1

    asyncio.run(scenario())
