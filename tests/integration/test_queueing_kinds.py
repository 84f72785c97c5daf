"""Pods, groups of pods and JobSets in queues."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.integration.queueing import JOBS, Cluster, Json, cluster, conditions

from fairway.api.client import Deletion, Resource
from fairway.control.configuration import Configuration, Integrations
from fairway.control.resources import WORKLOADS

PODS = Resource("", "v1", "pods")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
GATE = {"name": "kueue.x-k8s.io/admission"}


def pod(name: str, cpu: str = "1", group: str = "", total: int = 0, queue: str = "main") -> Json:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    metadata: Json = {"name": name, "namespace": "default", "labels": labels}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        metadata["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never"}}


async def gated(here: Cluster, name: str) -> bool:
    return GATE in ((await here.get(PODS, name))["spec"].get("schedulingGates") or [])


async def phase(here: Cluster, name: str, value: str) -> None:
    obj = await here.get(PODS, name)
    status: dict[str, Any] = {**(obj.get("status") or {}), "phase": value}
    await here.client.update(PODS, {**obj, "status": status}, subresource="status")
    await here.settle()


def test_a_pod_waits_at_its_gate_runs_and_is_let_go_when_it_ends() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="1")
            await here.create(PODS, pod("first"))
            await here.create(PODS, pod("second"))
            assert not await gated(here, "first")
            assert await gated(here, "second")
            await phase(here, "first", "Running")
            await phase(here, "first", "Succeeded")
            assert conditions(await here.workload_of("first"))["Finished"][:2] == ("True", "Succeeded")
            assert not (await here.get(PODS, "first"))["metadata"].get("finalizers")
            assert not await gated(here, "second")

    asyncio.run(scenario())


def test_a_gated_pod_that_is_deleted_goes_and_its_workload_with_it() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="1")
            await here.create(PODS, pod("never", "5"))
            await here.client.delete(PODS, "never", "default", Deletion())
            await here.settle()
            assert await here.all(PODS) == []
            assert await here.all(WORKLOADS) == []

    asyncio.run(scenario())


def test_the_pods_of_a_group_are_released_together_once_all_are_there() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="4")
            for index in range(3):
                assert await here.all(WORKLOADS) == []
                await here.create(PODS, pod(f"p{index}", "1", "gang", 3))
            workload = await here.get(WORKLOADS, "gang")
            assert conditions(workload)["Admitted"][0] == "True"
            assert workload["status"]["admission"]["podSetAssignments"][0]["count"] == 3
            assert [await gated(here, f"p{index}") for index in range(3)] == [False, False, False]
            for index in range(3):
                await phase(here, f"p{index}", "Running")
                await phase(here, f"p{index}", "Succeeded")
            assert conditions(await here.get(WORKLOADS, "gang"))["Finished"][0] == "True"

    asyncio.run(scenario())


def test_pods_that_a_job_made_are_not_queued_a_second_time() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("default", "2")
            await here.submit("parent", queue="default")
            parent = await here.get(JOBS, "parent")
            child = pod("child", queue="")
            child["metadata"]["ownerReferences"] = [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "parent",
                    "uid": parent["metadata"]["uid"],
                    "controller": True,
                }
            ]
            await here.create(PODS, child)
            assert not await gated(here, "child")
            assert len(await here.all(WORKLOADS)) == 1

    asyncio.run(scenario())


def test_pods_of_a_kind_that_others_queue_are_not_queued_by_themselves() -> None:
    async def scenario() -> None:
        known = Integrations(external_frameworks=["Train.v1.train.example.com"])
        async with cluster(Configuration(integrations=known)) as here:
            await here.queue("default", "2")
            for kind in ("Train", "Ship"):
                child = pod(kind.lower(), queue="default")
                owner = {
                    "apiVersion": "train.example.com/v1",
                    "kind": kind,
                    "name": "t",
                    "uid": "u",
                    "controller": True,
                }
                child["metadata"]["ownerReferences"] = [owner]
                await here.client.create(PODS, child)
            assert not await gated(here, "train")
            assert await gated(here, "ship")

    asyncio.run(scenario())


def test_a_job_set_is_admitted_as_one() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="4")
            entries = []
            for name, replicas in (("leader", 1), ("workers", 2)):
                container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
                template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
                job = {"spec": {"parallelism": 1, "completions": 1, "template": template}}
                entries.append({"name": name, "replicas": replicas, "template": job})
            labels = {"kueue.x-k8s.io/queue-name": "main"}
            metadata = {"name": "train", "namespace": "default", "labels": labels}
            made = await here.create(JOBSETS, {"metadata": metadata, "spec": {"replicatedJobs": entries}})
            assert made["spec"]["suspend"] is True
            workload = await here.workload_of("train")
            assert [each["count"] for each in workload["status"]["admission"]["podSetAssignments"]] == [1, 2]
            assert (await here.get(JOBSETS, "train"))["spec"]["suspend"] is False

    asyncio.run(scenario())
