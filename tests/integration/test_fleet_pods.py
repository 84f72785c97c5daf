"""Pods of clusters as the hub shows them, and their output through the hub: hub and clusters in memory, all by the production code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.fleet import Fleeting, fleet
from tests.integration.fleet_pods import end_pod, pods_here, start_pod
from tests.integration.queueing import JOBS, conditions

from fairway.api.client import Deletion, Query
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.logs import LogOptions
from fairway.api.request import Caller
from fairway.control.adapters.names import HUB_JOB
from fairway.control.resources import NAMESPACES, WORKLOADS
from fairway.fleet.resources import PODS

NOW = "2025-11-13T02:13:20Z"


def run(test: Callable[[Fleeting], Awaitable[None]], quotas: dict[str, str] | None = None, **options: Any) -> None:
    async def go() -> None:
        async with fleet(quotas or {"one": "1", "two": "4"}, **options) as made:
            await test(made)

    asyncio.run(go())


async def running(made: Fleeting, name: str = "a") -> str:
    """A job that runs on cluster two; the name of its pod."""
    await made.submit(name, cpu="2")
    await made.play()
    return str((await start_pod(made, "two", name))["metadata"]["name"])


async def read(made: Fleeting, pod: str, **options: Any) -> bytes:
    assert made.fleet is not None
    found = await made.hub.get(PODS, pod)
    return await joined(await made.fleet.logs.open(found, "c", LogOptions(**options)))


async def joined(output: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in output])


def test_a_pod_of_a_cluster_is_seen_on_the_hub_as_a_pod_of_the_hubs_job() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        job = await made.job("a")
        assert job is not None
        selector = ",".join(f"{key}={value}" for key, value in job["spec"]["selector"]["matchLabels"].items())
        (item,) = (await made.hub.client.list(PODS, Query(labels=selector))).items
        pod, there = item.json(), await made.clusters["two"].get(PODS, name)
        assert pod["metadata"]["labels"]["fairway.dev/cluster"] == "two"
        assert pod["metadata"]["labels"]["job-name"] == "a"
        assert pod["metadata"]["uid"] == there["metadata"]["uid"]
        (owner,) = pod["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("Job", "a", job["metadata"]["uid"])
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("node-7", "Running")
        workload = await made.workload("a")
        assert workload is not None
        assert conditions(workload)["Admitted"][0] == "True", "no controller of the hub takes it for its own"
        await end_pod(made, "two", name, code=3)
        (pod,) = await pods_here(made)
        assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3

    run(test)


def test_nobody_but_the_hub_writes_them_and_whoever_tries_is_told_where_the_pod_is() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        ada = LocalClient(made.hub.space, "kubectl", Caller("ada", ("system:masters",)))
        pod = await made.hub.get(PODS, name)
        label = {"metadata": {"labels": {"x": "y"}}}
        for attempt in (
            ada.delete(PODS, name, "default"),
            ada.patch(PODS, name, label, "default", media="application/merge-patch+json"),
            ada.update(PODS, {**pod, "status": {"phase": "Failed"}}, subresource="status"),
        ):
            with pytest.raises(ApiError, match="it is of cluster two, and what is here shows it and no more") as told:
                await attempt
            assert told.value.code == 403
        made_up = {"metadata": {"name": "x", "namespace": "default", "labels": {"fairway.dev/cluster": "two"}}}
        with pytest.raises(ApiError, match=r"the label fairway.dev/cluster is the hub's own"):
            await ada.create(PODS, {**made_up, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        assert await made.hub.get(PODS, name) == pod

    run(test)


def test_output_is_read_from_the_cluster_while_the_pod_is_there_and_from_the_hub_when_it_is_gone() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        wire = made.wires["two"]
        wire.outputs[f"default/{name}/c"] = b"hello\n"
        assert await read(made, name) == b"hello\n"
        await end_pod(made, "two", name, output=b"hello\nand\nbye\n")
        await made.complete("a", "two")
        assert await made.job("a", "two") is None
        wire.outputs.clear()
        assert await read(made, name) == b"hello\nand\nbye\n"
        assert await read(made, name, follow=True, tail_lines=1) == b"bye\n"
        assert await read(made, name, timestamps=True, tail_lines=1) == b"2025-11-13T02:13:20.000000000Z bye\n"
        (pod,) = await pods_here(made)
        assert pod["status"]["phase"] == "Succeeded"
        await made.hub.client.delete(JOBS, "a", "default", Deletion("Background"))
        await made.settle()
        assert await pods_here(made) == []
        assert made.fleet is not None
        assert not made.fleet.pods.saver.kept(pod["metadata"]["uid"])

    run(test)


def test_a_copy_stays_until_its_output_is_kept_though_the_hub_dies_meanwhile(tmp_path: Path) -> None:
    async def test(made: Fleeting) -> None:
        assert made.fleet is not None
        await made.fleet.stop()
        made.archive = tmp_path / "output.db"
        made.start()
        await made.settle()
        name = await running(made)
        made.wires["two"].outputs[f"default/{name}/c"] = ApiError(500, "InternalError", "the disk is slow")
        await end_pod_without_output(made, name)
        await made.clusters["two"].complete("a")
        await asyncio.sleep(0.3)
        here = await made.job("a")
        assert here is not None
        assert conditions(here)["Complete"][0] == "True", "the end itself waits for nothing"
        assert await made.job("a", "two") is not None, "its output is not kept yet"
        await made.fleet.stop()
        made.start()
        await asyncio.sleep(0.1)
        made.wires["two"].outputs[f"default/{name}/c"] = b"late\n"
        await until(lambda: gone(made))
        made.wires["two"].outputs.clear()
        assert await read(made, name) == b"late\n"
        await made.fleet.stop()
        made.start()
        await made.settle()
        assert await read(made, name) == b"late\n"

    run(test)


async def end_pod_without_output(made: Fleeting, name: str) -> None:
    from tests.integration.fleet_pods import set_phase

    ended = {"exitCode": 0, "finishedAt": "2025-11-13T02:13:20Z", "containerID": "fairway://1"}
    await set_phase(made, "two", name, "Succeeded", {"terminated": ended})


async def gone(made: Fleeting) -> bool:
    return await made.job("a", "two") is None


async def until(right: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await right():  # noqa: ASYNC110 - it asks for what is stored
            await asyncio.sleep(0.02)


def test_output_that_a_cluster_does_not_give_is_answered_by_what_it_said() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        said = ApiError(403, "Forbidden", "hub may not get pods/log")
        made.wires["two"].outputs[f"default/{name}/c"] = said
        with pytest.raises(ApiError, match="cluster two does not let the hub read the output: hub may not"):
            await read(made, name)
        await end_pod_without_output(made, name)
        await made.complete("a", "two")
        await until(lambda: gone(made))
        kept = b"[the output was not kept: cluster two said: hub may not get pods/log]\n"
        assert await read(made, name) == kept

    run(test)


def test_a_cluster_out_of_reach_is_named_and_since_when_and_its_pods_stay_as_they_were_seen() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        made.wires["two"].break_off()
        await made.settle_real(0.5)
        with pytest.raises(ApiError, match=r"on cluster two, which cannot be reached since \d\d:\d\d:\d\d UTC") as told:
            await read(made, name)
        assert told.value.code == 503
        (pod,) = await pods_here(made)
        assert pod["status"]["phase"] == "Running"

    run(test)


def test_pods_of_a_lost_cluster_are_not_seen_any_more_once_the_job_was_taken_from_it() -> None:
    async def test(made: Fleeting) -> None:
        assert made.fleet is not None
        name = await running(made)
        made.wires["two"].break_off()
        await made.settle_real(0.3)
        await made.fleet.stop()
        made.start()
        await made.settle_real(0.5)
        assert [pod["metadata"]["name"] for pod in await pods_here(made)] == [name], "nobody knows better"
        await made.move(1000)
        workload = await made.workload("a")
        assert workload is not None
        assert "clusterName" not in workload["status"]
        assert await pods_here(made) == []

    run(test)


def test_what_is_followed_goes_on_where_it_broke_off() -> None:
    async def test(made: Fleeting) -> None:
        assert made.fleet is not None
        name = await running(made)
        wire = made.wires["two"]
        wire.outputs[f"default/{name}/c"] = b"one\n"
        pod = await made.hub.get(PODS, name)
        output = await made.fleet.logs.open(pod, "c", LogOptions(follow=True))
        assert await anext(output) == b"one\n"
        rest = asyncio.ensure_future(joined(output))
        wire.break_off()
        await made.settle_real(0.3)
        await end_pod(made, "two", name, output=b"one\ntwo\nthree\n")
        wire.cut = False
        async with asyncio.timeout(20):
            assert await rest == b"two\nthree\n"

    run(test)


def test_output_is_kept_though_the_workload_is_gone_before_the_cluster_comes_back() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        wire = made.wires["two"]
        await end_pod(made, "two", name, output=b"bye\n")
        wire.break_off()
        await made.settle_real(0.3)
        await made.clusters["two"].complete("a")
        workload = await made.workload("a")
        assert workload is not None
        path = workload["metadata"]["name"]
        finalizers = {"metadata": {"finalizers": None}}
        await made.hub.client.patch(WORKLOADS, path, finalizers, "default", media="application/merge-patch+json")
        await made.hub.client.delete(WORKLOADS, path, "default", Deletion("Background"))
        job = await made.job("a")
        assert job is not None
        ended = {"type": "Complete", "status": "True", "reason": "x", "message": "", "lastTransitionTime": NOW}
        target = {**ended, "type": "SuccessCriteriaMet"}
        status = {"conditions": [target, ended], "completionTime": NOW, "startTime": NOW, "succeeded": 1}
        await made.hub.client.update(JOBS, {**job, "status": status}, subresource="status")
        wire.cut = False
        await until(lambda: gone(made))
        wire.outputs.clear()
        assert await read(made, name) == b"bye\n"

    run(test)


def test_output_is_kept_though_nobody_has_heard_yet_that_the_pod_is_over() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        wire = made.wires["two"]
        wire.outputs[f"default/{name}/c"] = b"bye\n"
        await made.complete("a", "two")

        async def leaving() -> bool:
            return "deletionTimestamp" in (await made.job("a", "two") or {})["metadata"]

        await until(leaving)
        await made.clusters["two"].client.delete(PODS, name, "default", Deletion(grace_seconds=0))
        await until(lambda: gone(made))
        await made.settle()
        wire.outputs.clear()
        assert await read(made, name) == b"bye\n"

    run(test)


def test_the_output_of_a_plain_pod_is_read_through_the_hub_and_kept_too() -> None:
    async def test(made: Fleeting) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
        labels = {"kueue.x-k8s.io/queue-name": "main"}
        spec = {"containers": [container], "restartPolicy": "Never"}
        await made.hub.client.create(PODS, {"metadata": {"name": "p", "labels": labels}, "spec": spec}, "default")
        await made.settle()
        wire = made.wires["two"]
        wire.outputs["default/p/c"] = b"hello\n"
        binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"}}
        await made.clusters["two"].client.post(PODS, "p", "binding", binding, "default")
        assert await read(made, "p") == b"hello\n"
        await end_pod(made, "two", "p", output=b"hello\nbye\n")

        async def no_copy() -> bool:
            return await made.clusters["two"].all(PODS) == []

        await until(no_copy)
        wire.outputs.clear()
        assert await read(made, "p") == b"hello\nbye\n"

    run(test)


def test_a_pod_that_is_on_no_cluster_yet_has_written_nothing() -> None:
    async def test(made: Fleeting) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "200"}}}
        labels = {"kueue.x-k8s.io/queue-name": "main"}
        await made.hub.client.create(
            PODS, {"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [container]}}, "default"
        )
        await made.settle()
        with pytest.raises(ApiError, match="pod p is on no cluster yet, so it has written nothing") as told:
            await read(made, "p")
        assert told.value.code == 400

    run(test)


def test_a_job_that_says_how_long_it_stays_after_its_end_goes_then_with_all_that_was_kept_of_it() -> None:
    async def test(made: Fleeting) -> None:
        await made.submit("a", cpu="2", ttlSecondsAfterFinished=60)
        await made.play()
        pod = (await start_pod(made, "two", "a"))["metadata"]
        await made.move(100)
        assert await made.job("a") is not None, "it is not over"
        await end_pod(made, "two", pod["name"], output=b"bye\n")
        await made.complete("a", "two")
        await until(lambda: gone(made))
        await made.move(59)
        assert await read(made, pod["name"]) == b"bye\n"
        await made.move(1)

        async def nothing_left() -> bool:
            return await made.job("a") is None and await pods_here(made) == []

        await until(nothing_left)
        assert made.fleet is not None
        await made.settle()
        assert not made.fleet.pods.saver.kept(pod["uid"])

    run(test)


def test_a_pod_that_its_cluster_deletes_while_the_job_runs_is_not_seen_any_more() -> None:
    async def test(made: Fleeting) -> None:
        name = await running(made)
        await made.clusters["two"].client.delete(PODS, name, "default", Deletion(grace_seconds=0))
        await made.settle()
        assert await pods_here(made) == []

    run(test)


def test_a_job_that_is_deleted_takes_its_pods_with_it_whichever_way() -> None:
    async def test(made: Fleeting) -> None:
        for name, how in (("a", "Background"), ("b", "Foreground")):
            await running(made, name)
            assert len(await pods_here(made)) == 1
            await made.hub.client.delete(JOBS, name, "default", Deletion(how))
            await until(lambda: nothing_left(made))
            await made.play()

    async def nothing_left(made: Fleeting) -> bool:
        return await pods_here(made) == [] and await made.hub.all(JOBS) == []

    run(test)


def test_a_pod_that_claims_to_be_of_a_job_in_another_namespace_is_not_believed() -> None:
    async def test(made: Fleeting) -> None:
        await running(made)
        there = made.clusters["two"]
        job = await made.job("a")
        assert job is not None
        await there.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        marks = {
            "labels": {"kueue.x-k8s.io/multikueue-origin": "hub"},
            "annotations": {HUB_JOB: job["metadata"]["uid"]},
        }
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await there.client.create(PODS, {"metadata": {"name": "claims", **marks}, "spec": spec}, "other")
        await made.hub.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        await made.settle()
        assert [pod["metadata"]["name"] for pod in await pods_here(made)] == ["a-abcde"]

    run(test)


def test_pods_that_are_seen_after_the_hub_was_gone_are_those_that_are_there(tmp_path: Path) -> None:
    async def test(made: Fleeting) -> None:
        assert made.fleet is not None
        first = await running(made)
        await made.fleet.stop()
        await made.clusters["two"].client.delete(PODS, first, "default", Deletion(grace_seconds=0))
        made.start()
        second = (await start_pod(made, "two", "a", "fghij"))["metadata"]["name"]
        await made.settle()
        assert [pod["metadata"]["name"] for pod in await pods_here(made)] == [second]

    run(test)


def test_copies_carry_whose_pods_they_have_and_leave_it_to_the_hub_when_to_go() -> None:
    async def test(made: Fleeting) -> None:
        job = await made.submit("a", cpu="2", ttlSecondsAfterFinished=5)
        copy = await made.job("a", "two")
        assert copy is not None
        assert copy["spec"]["template"]["metadata"]["annotations"][HUB_JOB] == job["metadata"]["uid"]
        assert copy["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == "hub"
        assert "ttlSecondsAfterFinished" not in copy["spec"]

    run(test)
