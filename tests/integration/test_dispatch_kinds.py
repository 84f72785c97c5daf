"""Kinds of work that a hub hands to clusters, beside Jobs: pods, groups of pods, sets of Jobs, and kinds that only their users know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.fleet import ORIGIN, Fleeting, fleet
from tests.integration.queueing import JOBS, Cluster, Json, conditions

from fairway.api.client import Deletion, Resource
from fairway.control.events import Recorder
from fairway.control.jobs.controller import Jobs
from fairway.control.jobsets.controller import JobSets
from fairway.control.resources import PODS, WORKLOADS

JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
GATE = {"name": "kueue.x-k8s.io/admission"}
BINDING = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"}}


def run(test: Callable[[Fleeting], Awaitable[None]], quotas: dict[str, str], **options: Any) -> None:
    async def go() -> None:
        async with fleet(quotas, **options) as made:
            await test(made)

    asyncio.run(go())


def pod(name: str, cpu: str = "1", group: str = "", total: int = 0) -> Json:
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    notes = {}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = str(total)
    container = {"name": "c", "image": "ubuntu:22.04", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }


async def the(cluster: Cluster, resource: Resource, name: str) -> Json | None:
    return next((each for each in await cluster.all(resource) if each["metadata"]["name"] == name), None)


async def known(cluster: Cluster, resource: Resource, name: str) -> Json:
    found = await the(cluster, resource, name)
    assert found is not None, f"{resource.plural} {name} is not there"
    return found


async def only_workload(cluster: Cluster) -> Json:
    (found,) = await cluster.all(WORKLOADS)
    return found


async def becomes(made: Fleeting, cluster: str, name: str, phase: str) -> None:
    there = made.clusters[cluster]
    obj = await known(there, PODS, name)
    said = [{"type": each, "status": "True"} for each in ("PodScheduled", "Ready")]
    status = {**(obj.get("status") or {}), "phase": phase, "conditions": said}
    await there.client.update(PODS, {**obj, "status": status}, subresource="status")
    await made.settle()


def test_a_pod_stays_gated_on_the_hub_and_runs_on_the_cluster() -> None:
    async def test(made: Fleeting) -> None:
        await made.hub.client.create(PODS, pod("p"))
        await made.settle()
        workload = await only_workload(made.hub)
        assert workload["status"]["clusterName"] == "one"
        assert conditions(workload)["Admitted"][0] == "True"
        assert (await known(made.hub, PODS, "p"))["spec"]["schedulingGates"] == [GATE]
        copy = await known(made.clusters["one"], PODS, "p")
        assert not copy["spec"].get("schedulingGates")
        assert copy["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == ORIGIN
        await becomes(made, "one", "p", "Running")
        here = await known(made.hub, PODS, "p")
        assert (here["status"]["phase"], here["spec"]["schedulingGates"]) == ("Running", [GATE])
        assert conditions(await only_workload(made.hub))["PodsReady"][0] == "True"
        await becomes(made, "one", "p", "Succeeded")
        assert (await known(made.hub, PODS, "p"))["status"]["phase"] == "Succeeded"
        assert conditions(await only_workload(made.hub))["Finished"][:2] == ("True", "Succeeded")
        assert await the(made.clusters["one"], PODS, "p") is None
        assert await made.clusters["one"].all(WORKLOADS) == []

    run(test, {"one": "4"})


def test_the_pods_of_a_group_go_to_one_cluster_together_and_stay_gated_on_the_hub() -> None:
    async def test(made: Fleeting) -> None:
        names = ["g-0", "g-1", "g-2"]
        for name in names:
            await made.hub.client.create(PODS, pod(name, group="g", total=3))
        await made.settle()
        workload = await only_workload(made.hub)
        assert workload["status"]["clusterName"] == "big"
        for name in names:
            assert (await known(made.hub, PODS, name))["spec"]["schedulingGates"] == [GATE]
            assert not (await known(made.clusters["big"], PODS, name))["spec"].get("schedulingGates")
        assert await made.clusters["small"].all(PODS) == []
        for name in names:
            await becomes(made, "big", name, "Running")
        for name in names:
            await becomes(made, "big", name, "Succeeded")
        assert conditions(await only_workload(made.hub))["Finished"][:2] == ("True", "Succeeded")
        assert await made.clusters["big"].all(PODS) == []

    run(test, {"small": "2", "big": "4"})


def test_an_evicted_pod_ends_on_its_cluster_and_waits_again_on_the_hub() -> None:
    async def test(made: Fleeting) -> None:
        await made.hub.client.create(PODS, pod("p"))
        await made.settle()
        await becomes(made, "one", "p", "Running")
        await made.hub.patch(
            WORKLOADS, (await only_workload(made.hub))["metadata"]["name"], {"spec": {"active": False}}
        )
        await made.settle()
        # Told to end; until it has, it is running, and its quota is not free.
        there = await the(made.clusters["one"], PODS, "p")
        if there is not None:
            assert there["metadata"]["deletionTimestamp"]
            assert (await only_workload(made.hub))["status"].get("admission")
            await becomes(made, "one", "p", "Failed")
        assert await the(made.clusters["one"], PODS, "p") is None
        workload = await only_workload(made.hub)
        assert "admission" not in workload["status"]
        here = await known(made.hub, PODS, "p")
        assert (here["status"]["phase"], here["spec"]["schedulingGates"]) == ("Pending", [GATE])
        await made.hub.patch(WORKLOADS, workload["metadata"]["name"], {"spec": {"active": True}})
        await made.settle()
        assert conditions(await only_workload(made.hub))["Admitted"][0] == "True"
        assert await the(made.clusters["one"], PODS, "p") is not None

    run(test, {"one": "4"})


def jobset(name: str, replicas: int = 2, cpu: str = "1") -> Json:
    container = {"name": "c", "image": "ubuntu:22.04", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}
    entry = {"name": "w", "replicas": replicas, "template": template}
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"replicatedJobs": [entry]},
    }


@asynccontextmanager
async def controllers(cluster: Cluster) -> AsyncIterator[None]:
    """What makes Jobs of sets, and pods of Jobs, on a cluster. The pods themselves are played by the test."""
    recorder = Recorder(cluster.client, cluster.clock)
    recorder.start()
    keepers = [kind(cluster.client, cluster.clock, recorder, cluster.ids.uniform) for kind in (JobSets, Jobs)]
    for keeper in keepers:
        keeper.start()
    try:
        yield
    finally:
        for keeper in keepers:
            await keeper.stop()
        await recorder.stop()


async def eventually(made: Fleeting, what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await what():
            await asyncio.sleep(0.01)
            await made.settle()


def test_a_set_of_jobs_runs_on_the_cluster_and_counts_as_running_until_its_last_pod_has_ended() -> None:
    async def test(made: Fleeting) -> None:
        there = made.clusters["one"]
        async with controllers(there):
            await made.hub.client.create(JOBSETS, jobset("s"))

            async def pods(count: int) -> bool:
                return len(await there.all(PODS)) == count

            await eventually(made, lambda: pods(2))
            assert (await known(made.hub, JOBSETS, "s"))["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
            assert await made.hub.all(PODS) == []
            assert await made.hub.all(JOBS) == []
            for each in await there.all(PODS):
                await there.client.post(PODS, each["metadata"]["name"], "binding", BINDING, "default")
                await becomes(made, "one", each["metadata"]["name"], "Running")

            async def active(count: int) -> bool:
                status = (await known(made.hub, JOBSETS, "s")).get("status") or {}
                return [each.get("active", 0) for each in status.get("replicatedJobsStatus") or ()] == [count]

            await eventually(made, lambda: active(2))
            name = (await only_workload(made.hub))["metadata"]["name"]
            await made.hub.patch(WORKLOADS, name, {"spec": {"active": False}})

            async def leaving() -> bool:
                return all(each["metadata"].get("deletionTimestamp") for each in await there.all(PODS))

            await eventually(made, leaving)
            await made.settle()
            assert await active(2), "pods that were told to end and have not yet are still running"
            assert (await only_workload(made.hub))["status"].get("admission"), "so their quota is not free"
            for each in await there.all(PODS):
                await becomes(made, "one", each["metadata"]["name"], "Failed")
                gone = Deletion(grace_seconds=0)
                await there.client.delete(PODS, each["metadata"]["name"], "default", gone)

            async def released() -> bool:
                return "admission" not in (await only_workload(made.hub))["status"]

            await eventually(made, released)
            assert await active(0)

    run(test, {"one": "4"})


def test_a_set_of_jobs_ends_on_the_hub_as_it_ended_on_the_cluster() -> None:
    async def test(made: Fleeting) -> None:
        there = made.clusters["one"]
        async with controllers(there):
            await made.hub.client.create(JOBSETS, jobset("s"))

            async def pods() -> bool:
                return len(await there.all(PODS)) == 2

            await eventually(made, pods)
            for each in await there.all(PODS):
                await becomes(made, "one", each["metadata"]["name"], "Succeeded")

            async def finished() -> bool:
                return "Finished" in conditions(await only_workload(made.hub))

            await eventually(made, finished)
            assert conditions(await only_workload(made.hub))["Finished"][:2] == ("True", "Succeeded")
            assert conditions(await known(made.hub, JOBSETS, "s"))["Completed"][0] == "True"

            async def cleared() -> bool:
                return await there.all(JOBSETS) == [] and await there.all(WORKLOADS) == []

            await eventually(made, cleared)

    run(test, {"one": "4"})
