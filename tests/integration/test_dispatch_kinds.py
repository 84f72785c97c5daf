"""Kinds of work that a hub hands to clusters, beside Jobs: pods, groups of pods, sets of Jobs, and kinds that only their users know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.integration.fleet import ORIGIN, Fleeting, fleet
from tests.integration.queueing import JOBS, Cluster, Json, conditions

from fairway.api.client import Deletion, Resource
from fairway.api.crds import CustomKinds
from fairway.control.configuration import ExternalFramework
from fairway.control.events import Recorder
from fairway.control.jobs.controller import Jobs
from fairway.control.jobsets.controller import JobSets
from fairway.control.resources import PODS, WORKLOADS
from fairway.core.dispatch.nominate import SCORED
from fairway.fleet.dispatch.custom import DEFINITIONS

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


async def finishes(cluster: Cluster, reason: str, message: str) -> None:
    """Whatever looks after the one workload there says that it is over."""
    workload = await only_workload(cluster)
    over = {
        "type": "Finished",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2025-11-13T02:13:20Z",
    }
    status = {**workload["status"], "conditions": [*workload["status"]["conditions"], over]}
    await cluster.client.update(WORKLOADS, {**workload, "status": status}, subresource="status")


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


def test_a_copy_whose_job_somebody_took_away_is_no_end_of_the_work() -> None:
    """A Kueue finishes such a workload by itself: OwnerNotFound. It is dispatched again, and so is an evicted pod that ended thereby."""

    async def test(made: Fleeting) -> None:
        await made.hub.client.create(PODS, pod("p"))
        await made.settle()
        await becomes(made, "one", "p", "Running")
        there = made.clusters["one"]
        remote = await only_workload(there)
        await finishes(there, "OwnerNotFound", "")
        await made.settle()
        workload = await only_workload(made.hub)
        assert "Finished" not in conditions(workload)
        assert (workload["status"]["clusterName"], workload["status"]["admissionChecks"][0]["state"]) == (
            "one",
            "Ready",
        )
        assert (await only_workload(there))["metadata"]["uid"] != remote["metadata"]["uid"], "another copy"
        assert (await known(made.hub, PODS, "p"))["status"]["phase"] == "Pending"

    run(test, {"one": "4"})


def test_an_end_without_a_word_is_taken_over() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a")
        await made.play()
        await finishes(made.clusters["one"], "OwnWords", "")
        await made.settle()
        assert conditions(await only_workload(made.hub))["Finished"] == ("True", "OwnWords", "")

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
            seen = [each["metadata"] for each in await made.hub.all(PODS)]
            owners = [(each["labels"]["fairway.dev/cluster"], each["ownerReferences"][0]["kind"]) for each in seen]
            assert owners == [("one", "JobSet")] * 2, "what is seen of them on the hub is the cluster's"
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


# --- kinds that only their users know ---------------------------------------------------------------------------------

TRAINS = Resource("train.example.com", "v1", "trains")
DISPATCHED = ExternalFramework(name="Train.v1.train.example.com")


def definition() -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"managedBy": {"type": "string"}, "steps": {"type": "integer"}}}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "trains", "singular": "train", "kind": "Train", "listKind": "TrainList"}
    return {
        "metadata": {"name": "trains.train.example.com"},
        "spec": {"group": "train.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


@asynccontextmanager
async def with_definitions(made: Fleeting, *without: str) -> AsyncIterator[None]:
    """The kind, known on the hub and on all clusters but some."""
    spaces = [made.hub, *(each for name, each in made.clusters.items() if name not in without)]
    keepers = [CustomKinds(each.space) for each in spaces]
    for keeper in keepers:
        keeper.start()
    try:
        for each in spaces:
            await each.client.create(DEFINITIONS, definition())

        async def adopted() -> bool:
            assert made.fleet is not None
            links = [made.fleet.links.get(name) for name in made.clusters]
            return all(link is not None and link.connected and link.has(TRAINS) for link in links)

        await eventually(made, adopted)
        yield
    finally:
        for keeper in keepers:
            await keeper.stop()


async def train(made: Fleeting, managed_by: str = "kueue.x-k8s.io/multikueue") -> Json:
    """The object, and the workload that its own controller would make for it."""
    body = {
        "apiVersion": TRAINS.api_version,
        "kind": "Train",
        "metadata": {"name": "t", "namespace": "default"},
        "spec": {"managedBy": managed_by, "steps": 3},
    }
    obj = (await made.hub.client.create(TRAINS, body)).json()
    owner = {
        "apiVersion": TRAINS.api_version,
        "kind": "Train",
        "name": "t",
        "uid": obj["metadata"]["uid"],
        "controller": True,
    }
    container = {"name": "c", "image": "ubuntu:22.04", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    workload = {
        "metadata": {"name": "train-t", "namespace": "default", "ownerReferences": [owner]},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }
    await made.hub.client.create(WORKLOADS, workload)
    await made.settle()
    return obj


async def says(cluster: Cluster, status: Json) -> None:
    obj = await known(cluster, TRAINS, "t")
    await cluster.client.update(TRAINS, {**obj, "status": status}, subresource="status")


def test_a_kind_that_only_the_configuration_names_is_dispatched_by_managed_by() -> None:
    async def test(made: Fleeting) -> None:
        async with with_definitions(made):
            await train(made)
            there = made.clusters["one"]
            copy = await known(there, TRAINS, "t")
            assert copy["spec"] == {"steps": 3}
            assert copy["metadata"]["labels"] == {
                "kueue.x-k8s.io/prebuilt-workload-name": "train-t",
                "kueue.x-k8s.io/multikueue-origin": ORIGIN,
            }
            assert (await only_workload(made.hub))["status"]["clusterName"] == "one"
            await says(there, {"phase": "Running", "step": 2})
            await made.settle()
            assert (await known(made.hub, TRAINS, "t"))["status"] == {"phase": "Running", "step": 2}
            await says(there, {"phase": "Done", "step": 3})
            await finishes(there, "Succeeded", "arrived")
            await made.settle()
            assert (await known(made.hub, TRAINS, "t"))["status"] == {"phase": "Done", "step": 3}
            assert conditions(await only_workload(made.hub))["Finished"] == ("True", "Succeeded", "arrived")
            assert await there.all(TRAINS) == []
            assert await there.all(WORKLOADS) == []

    run(test, {"one": "4"}, external_frameworks=[DISPATCHED])


def test_a_custom_kind_that_is_deleted_on_the_hub_is_deleted_on_its_cluster() -> None:
    async def test(made: Fleeting) -> None:
        async with with_definitions(made):
            await train(made)
            assert await the(made.clusters["one"], TRAINS, "t") is not None
            await made.hub.client.delete(TRAINS, "t", "default")

            async def gone() -> bool:
                there = made.clusters["one"]
                return await there.all(TRAINS) == [] and await there.all(WORKLOADS) == []

            await eventually(made, gone)

    run(test, {"one": "4"}, external_frameworks=[DISPATCHED])


def test_a_custom_kind_goes_only_to_clusters_that_know_it() -> None:
    async def test(made: Fleeting) -> None:
        async with with_definitions(made, "aaa"):
            await train(made)
            assert (await only_workload(made.hub))["status"]["clusterName"] == "bbb"
            assert await made.clusters["aaa"].all(WORKLOADS) == []

    run(test, {"aaa": "8", "bbb": "4"}, external_frameworks=[DISPATCHED])


def test_what_is_not_managed_by_the_hub_or_not_configured_is_rejected() -> None:
    async def test(made: Fleeting) -> None:
        async with with_definitions(made):
            await train(made, managed_by="me")
            state = (await only_workload(made.hub))["status"]["admissionChecks"][0]
            assert state["state"] == "Rejected"
            assert 'Expecting .spec.managedBy to be "kueue.x-k8s.io/multikueue" not "me"' in state["message"]

    run(test, {"one": "4"}, external_frameworks=[DISPATCHED])

    async def unconfigured(made: Fleeting) -> None:
        keeper = CustomKinds(made.hub.space)
        keeper.start()
        try:
            await made.hub.client.create(DEFINITIONS, definition())
            await train(made)
            state = (await only_workload(made.hub))["status"]["admissionChecks"][0]
            assert state["state"] == "Rejected"
            assert 'No multikueue adapter found for owner kind "train.example.com/v1, Kind=Train"' in state["message"]
        finally:
            await keeper.stop()

    run(unconfigured, {"one": "4"})


def test_work_of_a_custom_kind_waits_for_its_definition_after_a_restart_of_the_hub() -> None:
    async def test(made: Fleeting) -> None:
        async with with_definitions(made):
            await train(made)
            await says(made.clusters["one"], {"phase": "Running"})
            await made.settle()
            assert made.fleet is not None
            await made.fleet.stop()
            made.start()
            await made.settle()
            await says(made.clusters["one"], {"phase": "Still running"})
            await made.settle()
            assert (await known(made.hub, TRAINS, "t"))["status"] == {"phase": "Still running"}
            assert (await only_workload(made.hub))["status"]["admissionChecks"][0]["state"] == "Ready"

    run(test, {"one": "4"}, external_frameworks=[DISPATCHED])


def test_a_configuration_may_name_more_clusters_than_kueue_lets_it() -> None:
    async def test(made: Fleeting) -> None:
        for each in range(25):
            await made.submit(f"j{each}")
        found = [(await made.workload(f"j{each}") or {})["status"].get("clusterName") for each in range(25)]
        assert sorted(found) == sorted(made.clusters)

    run(test, {f"c{number:02}": "1" for number in range(25)}, dispatcher=SCORED)
