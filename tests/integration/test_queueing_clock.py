"""The wall clock is set, forwards or back, while jobs wait and run: they are admitted and finish all the same."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.integration.queueing import EVENTS, JOBS, cluster, conditions

from fairway.control.configuration import AdmissionFairSharing, Configuration
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PRIORITY_CLASSES, WORKLOADS

HOUR = 3600.0
_WAITED = re.compile(r"was (-?\d+)s")


def fair() -> Configuration:
    sharing = AdmissionFairSharing(usage_half_life_time="1s", usage_sampling_interval="5s")
    return Configuration(admission_fair_sharing=sharing)


@pytest.mark.parametrize("jump", [-30 * 24 * HOUR, -HOUR, HOUR, 30 * 24 * HOUR], ids=lambda jump: f"{jump:+.0f}s")
def test_jobs_go_on_when_the_clock_is_set(jump: float) -> None:
    async def scenario() -> None:
        async with cluster(fair()) as here:
            await here.queue(
                cpu="2",
                preemption={"withinClusterQueue": "LowerPriority"},
                admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"},
            )
            await here.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
            await here.submit("first", "2")
            await here.play_jobs()
            await here.ready("first")
            await here.move(6)
            await here.submit("second", "2")
            await here.move(jump)
            await here.submit("urgent", "2", labels={"kueue.x-k8s.io/priority-class": "high"})
            await here.play_jobs()
            assert not (await here.get(JOBS, "urgent"))["spec"]["suspend"]
            await here.ready("urgent")
            await here.move(6)
            await here.complete("urgent")
            for _ in ("first", "second"):
                await here.play_jobs()
                (running,) = [each for each in await here.all(JOBS) if each["status"].get("active")]
                await here.complete(running["metadata"]["name"])
            assert all(conditions(each)["Finished"][0] == "True" for each in await here.all(WORKLOADS))
            (queue,) = await here.all(CLUSTER_QUEUES)
            assert queue["status"]["flavorsUsage"][0]["resources"][0]["total"] == "0"
            (tenant,) = await here.all(LOCAL_QUEUES)
            past = tenant["status"]["fairSharing"]["admissionFairSharingStatus"]
            assert not past["consumedResources"]["cpu"].startswith("-")
            told = [int(found[1]) for each in await here.all(EVENTS) if (found := _WAITED.search(each["message"]))]
            assert told
            assert min(told) >= 0

    asyncio.run(scenario())
