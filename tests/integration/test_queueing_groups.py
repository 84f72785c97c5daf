"""Groups of pods lose pods, get more than they asked for, and are preempted."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import EVENTS, Cluster, cluster, conditions
from tests.integration.test_queueing_kinds import PODS, gated, phase, pod

from fairway.api.client import Deletion
from fairway.control.resources import PRIORITY_CLASSES, WORKLOADS

WAITS = "WaitingForReplacementPods"


async def group(here: Cluster, *names: str) -> None:
    for name in names:
        await here.create(PODS, pod(name, "1", "gang", len(names)))


async def bound(here: Cluster, *names: str) -> None:
    """What binds pods to a node and runs them there."""
    for name in names:
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}
        await here.client.post(PODS, name, "binding", body, "default")
        await phase(here, name, "Running")


async def names(here: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in await here.all(PODS)]


async def reasons(here: Cluster) -> list[str]:
    return [each["reason"] for each in await here.all(EVENTS)]


def test_a_pod_beyond_what_its_group_says_is_deleted_and_the_others_go_on() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="4")
            await group(here, "a", "b")
            await bound(here, "a", "b")
            await here.create(PODS, pod("late", "1", "gang", 2))
            assert await names(here) == ["a", "b"]
            assert "ExcessPodDeleted" in await reasons(here)
            owners = (await here.get(WORKLOADS, "gang"))["metadata"]["ownerReferences"]
            assert [owner["name"] for owner in owners] == ["a", "b"]

    asyncio.run(scenario())


def test_a_failed_pod_is_waited_for_and_its_replacement_runs_at_once_in_its_place() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2")
            await group(here, "a", "b")
            await bound(here, "a", "b")
            await phase(here, "a", "Failed")
            said = conditions(await here.get(WORKLOADS, "gang"))
            assert said[WAITS] == ("True", "PodsFailed", "Some Failed pods need replacement")
            assert (await here.get(PODS, "a"))["metadata"]["finalizers"], "how it ended is still to be seen"
            await here.create(PODS, pod("c", "1", "gang", 2))
            workload = await here.get(WORKLOADS, "gang")
            assert conditions(workload)[WAITS] == ("False", "PodsReady", "No pods need replacement")
            assert [owner["name"] for owner in workload["metadata"]["ownerReferences"]] == ["a", "b", "c"]
            assert "OwnerReferencesAdded" in await reasons(here)
            assert not await gated(here, "c")
            assert not (await here.get(PODS, "a"))["metadata"].get("finalizers")
            await bound(here, "c")
            for name in ("b", "c"):
                await phase(here, name, "Succeeded")
            assert conditions(await here.get(WORKLOADS, "gang"))["Finished"][0] == "True"

    asyncio.run(scenario())


def test_a_preempted_group_is_not_admitted_again_before_its_pods_are_replaced() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2", preemption={"withinClusterQueue": "LowerPriority"})
            await here.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
            await group(here, "a", "b")
            await bound(here, "a", "b")
            urgent = pod("urgent", "2")
            urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
            await here.create(PODS, urgent)
            for name in ("a", "b"):
                assert (await here.get(PODS, name))["metadata"]["deletionTimestamp"]
                assert await gated(here, "urgent")
                await phase(here, name, "Failed")
            assert not await gated(here, "urgent")
            await bound(here, "urgent")
            await phase(here, "urgent", "Succeeded")
            said = conditions(await here.get(WORKLOADS, "gang"))
            assert said[WAITS][:2] == ("True", "Preempted")
            assert said["QuotaReserved"][0] == "False", "there is room, and nothing to run in it"
            await here.create(PODS, pod("c", "1", "gang", 2))
            assert conditions(await here.get(WORKLOADS, "gang"))["QuotaReserved"][0] == "False"
            await here.create(PODS, pod("d", "1", "gang", 2))
            for name in ("a", "b"):
                await here.client.delete(PODS, name, "default", Deletion(grace_seconds=0))
            await here.settle()
            assert await names(here) == ["c", "d", "urgent"]
            assert conditions(await here.get(WORKLOADS, "gang"))["Admitted"][0] == "True"
            assert [await gated(here, name) for name in ("c", "d")] == [False, False]

    asyncio.run(scenario())
