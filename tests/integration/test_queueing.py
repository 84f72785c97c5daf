"""One Job in one queue, from submission to the end; then what may happen on the way."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.queueing import EVENTS, JOBS, cluster, conditions, job

from fairway.api.errors import ApiError
from fairway.control.configuration import Configuration
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PRIORITY_CLASSES, WORKLOADS
from fairway.control.workloads.making import workload_name
from fairway.runtime.ids import SeededIds


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
            started = await here.get(JOBS, "hello")
            assert started["spec"]["suspend"] is False
            assert started["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}
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


def test_a_job_with_its_queue_as_an_annotation_is_queued_and_gets_the_label() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            body = job("noted", "1", "")
            body["metadata"]["annotations"] = {"kueue.x-k8s.io/queue-name": "main"}
            made = await here.create(JOBS, body)
            assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
            assert (await here.get(JOBS, "noted"))["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_a_job_without_a_queue_goes_to_the_default_one_of_its_namespace_or_simply_runs() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.submit("free", queue="")
            assert (await here.get(JOBS, "free"))["spec"]["suspend"] is False
            assert await here.all(WORKLOADS) == []
            await here.queue("default", "1")
            await here.submit("held", "2", queue="")
            assert (await here.get(JOBS, "held"))["spec"]["suspend"] is True
            assert conditions(await here.workload_of("held"))["QuotaReserved"][1] == "ExceedsMaxQuota"

    asyncio.run(scenario())


def test_jobs_without_a_queue_name_wait_for_one_where_all_jobs_are_managed() -> None:
    async def scenario() -> None:
        async with cluster(Configuration(manage_jobs_without_queue_name=True)) as here:
            await here.queue()
            await here.submit("nameless", queue="")
            assert (await here.get(JOBS, "nameless"))["spec"]["suspend"] is True
            said = conditions(await here.workload_of("nameless"))
            assert said["QuotaReserved"] == ("False", "Misconfigured", "The workload names no LocalQueue")
            await here.submit("system", queue="", namespace="kube-system")
            assert (await here.get(JOBS, "system", "kube-system"))["spec"]["suspend"] is False
            label = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "main"}}}
            await here.patch(JOBS, "nameless", label)
            assert (await here.get(JOBS, "nameless"))["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_a_running_job_cannot_change_its_queue() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("fixed")
            with pytest.raises(ApiError, match="field is immutable") as refused:
                await here.patch(JOBS, "fixed", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})
            assert refused.value.code == 403

    asyncio.run(scenario())


def test_a_job_that_somebody_unsuspends_by_hand_is_held_back_again() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="1")
            await here.submit("pushy", "2")
            await here.patch(JOBS, "pushy", {"spec": {"suspend": False}})
            await here.play_jobs()
            assert (await here.get(JOBS, "pushy"))["spec"]["suspend"] is True
            reasons = {event["reason"] for event in await here.all(EVENTS)}
            assert "Stopped" in reasons

    asyncio.run(scenario())


def test_a_waiting_job_that_asks_for_less_is_admitted_with_what_it_asks_for_now() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="4")
            await here.submit("wide", "1", pods=5)
            assert conditions(await here.workload_of("wide"))["QuotaReserved"][0] == "False"
            await here.patch(JOBS, "wide", {"spec": {"parallelism": 3}})
            workload = await here.workload_of("wide")
            assert workload["status"]["admission"]["podSetAssignments"][0]["count"] == 3
            assert (await here.get(JOBS, "wide"))["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_two_queues_of_a_cohort_lend_and_take_back() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            for name in ("red", "blue"):
                await here.queue(name, "4", cohortName="team", preemption={"reclaimWithinCohort": "Any"})
            await here.submit("big", "7", queue="red")
            assert conditions(await here.workload_of("big"))["Admitted"][0] == "True"
            queue = await here.get(CLUSTER_QUEUES, "red", "")
            assert queue["status"]["flavorsUsage"][0]["resources"][0]["borrowed"] == "3"
            await here.play_jobs()
            await here.submit("mine", "4", queue="blue")
            await here.play_jobs()
            assert conditions(await here.workload_of("mine"))["Admitted"][0] == "True"
            said = conditions(await here.workload_of("big"))
            assert said["Preempted"][:2] == ("True", "InCohortReclamation")
            assert (await here.get(JOBS, "big"))["spec"]["suspend"] is True
            await here.complete("mine")
            assert conditions(await here.workload_of("big"))["Admitted"][0] == "True"

    asyncio.run(scenario())


def test_pods_that_ended_give_their_quota_back() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="3")
            await here.submit("many", "1", pods=3)
            await here.play_jobs()
            await here.submit("next", "2")
            assert (await here.get(JOBS, "next"))["spec"]["suspend"] is True
            obj = await here.get(JOBS, "many")
            status = {**obj["status"], "active": 1, "succeeded": 2, "ready": 0}
            await here.client.update(JOBS, {**obj, "status": status}, subresource="status")
            await here.settle()
            assert (await here.get(JOBS, "next"))["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_a_workload_that_nobody_made_a_job_for_is_admitted_and_gives_way_by_itself() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="2", preemption={"withinClusterQueue": "LowerPriority"})
            for name, priority in (("low", 0), ("high", 10)):
                container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
                template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
                pod_sets = [{"name": "main", "count": 1, "template": template}]
                spec = {"queueName": "main", "priority": priority, "podSets": pod_sets}
                await here.create(WORKLOADS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
            assert conditions(await here.get(WORKLOADS, "high"))["Admitted"][0] == "True"
            assert conditions(await here.get(WORKLOADS, "low"))["Evicted"][:2] == ("True", "Preempted")

    asyncio.run(scenario())


def test_a_queue_that_is_deleted_waits_for_its_work_and_then_goes() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("last")
            await here.play_jobs()
            await here.client.delete(CLUSTER_QUEUES, "main")
            await here.settle()
            queue = await here.get(CLUSTER_QUEUES, "main", "")
            assert conditions(queue)["Active"][:2] == ("False", "Terminating")
            await here.submit("late")
            assert conditions(await here.workload_of("late"))["QuotaReserved"][1] == "Suspended"
            assert (await here.get(JOBS, "last"))["spec"]["suspend"] is False
            await here.complete("last")
            async with asyncio.timeout(5):
                while await here.all(CLUSTER_QUEUES):  # noqa: ASYNC110 - it is asked for every second
                    await asyncio.sleep(0.05)

    asyncio.run(scenario())


def test_a_job_whose_workloads_name_is_taken_waits_until_it_is_free() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            container = {"name": "c", "image": "i"}
            template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
            spec = {"queueName": "none", "podSets": [{"name": "main", "count": 1, "template": template}]}
            uid = "11111111-2222-4333-8444-555555555555"
            taken = workload_name("Job", "batch", "late", uid)
            await here.create(WORKLOADS, {"metadata": {"name": taken, "namespace": "default"}, "spec": spec})
            here.space.objects.ids = _OneUid(here.ids, uid)
            await here.submit("late")
            here.space.objects.ids = here.ids
            assert (await here.get(JOBS, "late"))["spec"]["suspend"] is True
            await here.client.delete(WORKLOADS, taken, "default")
            await here.settle()
            assert (await here.get(JOBS, "late"))["spec"]["suspend"] is False

    asyncio.run(scenario())


class _OneUid(SeededIds):
    """Gives out one uid that is known before, then those of another source."""

    def __init__(self, others: SeededIds, uid: str) -> None:
        super().__init__()
        self._others = others
        self._given = [uid]

    def uid(self) -> str:
        return self._given.pop() if self._given else self._others.uid()


def test_every_one_of_those_who_ask_for_what_the_queue_does_not_offer_is_told_so() -> None:
    """Only the first of a shape is tried; what the others are told has to be a condition that is accepted, too."""

    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "4")
            for name in ("first", "second"):
                body = job(name, "1", "main")
                body["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
                body["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
                await here.create(JOBS, body)
            for name in ("first", "second"):
                _status, reason, message = conditions(await here.workload_of(name))["QuotaReserved"]
                assert reason == "NoMatchingFlavor"
                assert "resource nvidia.com/gpu unavailable in ClusterQueue" in message

    asyncio.run(scenario())


def test_whoever_names_a_priority_that_is_not_there_is_warned() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            warned: list[str] = []
            here.space.objects.hooks.append(lambda admission: warned.extend(admission.warnings))
            await here.submit("mistyped", labels={"kueue.x-k8s.io/priority-class": "hihg"})
            assert warned == [
                "there is no WorkloadPriorityClass hihg: until there is, the label kueue.x-k8s.io/priority-class means nothing"
            ]
            await here.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 10})
            await here.submit("right", labels={"kueue.x-k8s.io/priority-class": "high"})
            assert len(warned) == 1

    asyncio.run(scenario())
