"""What may happen to a Workload around its quota: checks, stops, timeouts, deactivation, retention."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.integration.queueing import EVENTS, JOBS, Cluster, cluster, conditions

from fairway.api.client import Resource
from fairway.control import configuration
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, NAMESPACES, WORKLOADS

AT = "2025-11-13T02:13:20Z"


async def _check(here: Cluster, name: str = "budget") -> None:
    """An admission check whose controller is there."""
    made = await here.create(CHECKS, {"metadata": {"name": name}, "spec": {"controllerName": "example.com/budget"}})
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": AT}
    await here.client.update(CHECKS, {**made, "status": {"conditions": [active]}}, subresource="status")
    await here.settle()


async def _answer(here: Cluster, job: str, state: str, **more: Any) -> None:
    """What the check's controller says about a job."""
    workload = await here.workload_of(job)
    checks = [
        {**check, "state": state, "message": "because", **more} for check in workload["status"]["admissionChecks"]
    ]
    changed = {**workload, "status": {**workload["status"], "admissionChecks": checks}}
    await here.client.update(WORKLOADS, changed, subresource="status")
    await here.settle()


def checked() -> dict[str, Any]:
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}}


def test_quota_first_then_the_check_then_the_start() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await _check(here)
            await here.queue(**checked())
            await here.submit("asked")
            said = conditions(await here.workload_of("asked"))
            assert said["QuotaReserved"][0] == "True"
            assert said["Admitted"] == ("False", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
            assert (await here.get(JOBS, "asked"))["spec"]["suspend"] is True
            updates = [{"name": "main", "nodeSelector": {"paid": "yes"}}]
            await _answer(here, "asked", "Ready", podSetUpdates=updates)
            assert conditions(await here.workload_of("asked"))["Admitted"][0] == "True"
            job = await here.get(JOBS, "asked")
            assert job["spec"]["suspend"] is False
            assert job["spec"]["template"]["spec"]["nodeSelector"] == {"paid": "yes"}

    asyncio.run(scenario())


def test_a_check_that_says_retry_gives_the_quota_back_and_it_is_tried_again_later() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await _check(here)
            await here.queue(cpu="1", **checked())
            await here.submit("asked")
            await here.move(1)
            await here.submit("second")
            await _answer(here, "asked", "Retry", requeueAfterSeconds=60)
            workload = await here.workload_of("asked")
            assert conditions(workload)["Evicted"][:2] == ("True", "AdmissionCheck")
            assert conditions(workload)["Evicted"][2].startswith("Evicted due to AdmissionCheck in Retry state: ")
            assert conditions(workload)["Requeued"][:2] == ("False", "AdmissionCheck")
            assert workload["status"]["admissionChecks"][0]["state"] == "Pending"
            assert workload["status"]["admissionChecks"][0]["retryCount"] == 1
            assert conditions(await here.workload_of("second"))["QuotaReserved"][0] == "True"
            await here.move(61)
            said = conditions(await here.workload_of("asked"))
            assert said["Requeued"][:2] == ("True", "BackoffFinished")

    asyncio.run(scenario())


def test_a_check_that_rejects_deactivates_the_workload() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await _check(here)
            await here.queue(**checked())
            await here.submit("asked")
            await _answer(here, "asked", "Rejected")
            workload = await here.workload_of("asked")
            assert workload["spec"]["active"] is False
            assert conditions(workload)["Evicted"][:2] == ("True", "DeactivatedDueToAdmissionCheck")
            said = "The workload is deactivated due to AdmissionCheck in Rejected state: "
            assert conditions(workload)["Evicted"][2].startswith(said)
            assert workload["status"].get("admission") is None
            assert "AdmissionCheckRejected" in {event["reason"] for event in await here.all(EVENTS)}

    asyncio.run(scenario())


def test_a_queue_whose_check_is_missing_or_inactive_admits_nothing() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(**checked())
            await here.submit("early")
            said = conditions(await here.get(CLUSTER_QUEUES, "main", ""))
            assert said["Active"][:2] == ("False", "AdmissionCheckNotFound")
            assert conditions(await here.workload_of("early"))["QuotaReserved"][1] == "Suspended"
            await _check(here)
            assert conditions(await here.get(CLUSTER_QUEUES, "main", ""))["Active"][0] == "True"
            assert conditions(await here.workload_of("early"))["QuotaReserved"][0] == "True"

    asyncio.run(scenario())


def test_a_local_queue_on_hold_lets_run_what_runs_and_holds_the_rest() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("runs")
            await here.play_jobs()
            await here.patch(LOCAL_QUEUES, "main", {"spec": {"stopPolicy": "Hold"}})
            await here.submit("waits")
            assert (await here.get(JOBS, "runs"))["spec"]["suspend"] is False
            said = conditions(await here.workload_of("waits"))
            assert said["QuotaReserved"] == ("False", "Suspended", "LocalQueue main is inactive")
            assert conditions(await here.get(LOCAL_QUEUES, "main"))["Active"][:2] == ("False", "Stopped")
            await here.patch(LOCAL_QUEUES, "main", {"spec": {"stopPolicy": "HoldAndDrain"}})
            await here.play_jobs()
            said = conditions(await here.workload_of("runs"))
            assert said["Evicted"] == ("True", "LocalQueueStopped", "The LocalQueue is stopped")
            await here.patch(LOCAL_QUEUES, "main", {"spec": {"stopPolicy": "None"}})
            for name in ("runs", "waits"):
                assert conditions(await here.workload_of(name))["Admitted"][0] == "True"

    asyncio.run(scenario())


def test_pods_that_are_not_ready_in_time_are_put_back_ever_longer_and_then_for_good() -> None:
    strategy = configuration.RequeuingStrategy(backoff_limit_count=2, backoff_base_seconds=10)
    waiting = configuration.WaitForPodsReady(timeout="1m", requeuing_strategy=strategy)

    async def scenario() -> None:
        async with cluster(configuration.Configuration(wait_for_pods_ready=waiting)) as here:
            await here.queue()
            await here.submit("slow")
            for delay in (10, 20):
                await here.play_jobs()
                await here.move(60)
                await here.play_jobs()
                workload = await here.workload_of("slow")
                assert conditions(workload)["Evicted"][:2] == ("True", "PodsReadyTimeout")
                assert (await here.get(JOBS, "slow"))["spec"]["suspend"] is True
                await here.move(delay - 1)
                assert conditions(await here.workload_of("slow"))["Requeued"][0] == "False"
                await here.move(1)
                assert conditions(await here.workload_of("slow"))["Admitted"][0] == "True"
            await here.play_jobs()
            await here.move(60)
            await here.play_jobs()
            workload = await here.workload_of("slow")
            assert workload["spec"]["active"] is False
            reason = conditions(workload)["Evicted"][1]
            assert reason == "DeactivatedDueToRequeuingLimitExceeded"

    asyncio.run(scenario())


def test_a_job_that_may_run_for_a_minute_is_stopped_after_one() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("long", labels={"kueue.x-k8s.io/max-exec-time-seconds": "60"})
            await here.play_jobs()
            await here.move(59)
            assert (await here.get(JOBS, "long"))["spec"]["suspend"] is False
            await here.move(2)
            await here.play_jobs()
            workload = await here.workload_of("long")
            assert workload["spec"]["active"] is False
            reason, text = conditions(workload)["Evicted"][1:]
            assert reason == "DeactivatedDueToMaximumExecutionTimeExceeded"
            assert text == "The workload is deactivated due to exceeding the maximum execution time"
            assert (await here.get(JOBS, "long"))["spec"]["suspend"] is True

    asyncio.run(scenario())


def test_finished_workloads_are_kept_as_long_as_configured() -> None:
    kept = configuration.WorkloadRetention(after_finished="1h")
    policies = configuration.ObjectRetentionPolicies(workloads=kept)

    async def scenario() -> None:
        async with cluster(configuration.Configuration(object_retention_policies=policies)) as here:
            await here.queue()
            await here.submit("done")
            await here.play_jobs()
            await here.complete("done")
            await here.move(3599)
            assert len(await here.all(WORKLOADS)) == 1
            await here.move(2)
            assert await here.all(WORKLOADS) == []
            assert len(await here.all(JOBS)) == 1

    asyncio.run(scenario())


def test_where_admission_waits_for_pods_one_job_starts_after_the_other() -> None:
    waiting = configuration.WaitForPodsReady(block_admission=True)

    async def scenario() -> None:
        async with cluster(configuration.Configuration(wait_for_pods_ready=waiting)) as here:
            await here.queue()
            await here.submit("first")
            await here.submit("second")
            await here.play_jobs()
            said = conditions(await here.workload_of("second"))
            assert said["QuotaReserved"][:2] == ("False", "WaitingForPodsReady")
            await here.ready("first")
            assert conditions(await here.workload_of("second"))["Admitted"][0] == "True"

    asyncio.run(scenario())


def test_a_prebuilt_workload_is_taken_by_its_job_and_one_that_differs_ends_out_of_sync() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("model", "1")
            built = await here.workload_of("model")
            for name, cpu in (("same", "1"), ("other", "2")):
                spec = {"queueName": "main", "podSets": built["spec"]["podSets"]}
                labels = built["spec"]["podSets"][0]["template"]["metadata"]
                body = {"metadata": {"name": f"built-{name}", "namespace": "default"}, "spec": spec}
                assert labels
                await here.create(WORKLOADS, body)
                await here.submit(name, cpu, labels={"kueue.x-k8s.io/prebuilt-workload-name": f"built-{name}"})
            assert (await here.get(JOBS, "same"))["spec"]["suspend"] is False
            taken = await here.get(WORKLOADS, "built-same")
            assert taken["metadata"]["ownerReferences"][0]["name"] == "same"
            assert conditions(await here.get(WORKLOADS, "built-other"))["Finished"][1] == "OutOfSync"
            assert (await here.get(JOBS, "other"))["spec"]["suspend"] is True

    asyncio.run(scenario())


def test_deleting_an_admitted_workload_stops_its_job_and_makes_a_new_one() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue()
            await here.submit("again")
            await here.play_jobs()
            first = await here.workload_of("again")
            await here.client.delete(
                Resource("kueue.x-k8s.io", "v1beta2", "workloads"), first["metadata"]["name"], "default"
            )
            await here.settle()
            await here.play_jobs()
            second = await here.workload_of("again")
            assert second["metadata"]["uid"] != first["metadata"]["uid"]
            assert conditions(second)["Admitted"][0] == "True"
            assert (await here.get(JOBS, "again"))["spec"]["suspend"] is False

    asyncio.run(scenario())


def test_past_usage_is_sampled_remembered_and_orders_who_is_next() -> None:
    sharing = configuration.AdmissionFairSharing(usage_half_life_time="1h", usage_sampling_interval="1m")
    mode = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}

    async def scenario() -> None:
        async with cluster(configuration.Configuration(admission_fair_sharing=sharing)) as here:
            await here.queue("main", "1", **mode)
            await here.create_tenant("frugal", "main")
            await here.submit("hog", queue="main")
            await here.play_jobs()
            await here.move(600)
            past = (await here.get(LOCAL_QUEUES, "main"))["status"]["fairSharing"]["admissionFairSharingStatus"]
            assert past["consumedResources"]["cpu"].endswith(("m", "u", "n"))
            await here.submit("more", queue="main")
            await here.move(1)
            await here.submit("modest", queue="frugal")
            await here.complete("hog")
            assert conditions(await here.workload_of("modest"))["Admitted"][0] == "True"
            assert conditions(await here.workload_of("more"))["Admitted"][0] == "False"

    asyncio.run(scenario())


@pytest.mark.parametrize(("resource", "namespace"), [(CLUSTER_QUEUES, ""), (LOCAL_QUEUES, "default")])
def test_once_a_queue_goes_on_nobody_in_it_says_that_it_is_stopped(resource: Resource, namespace: str) -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="1")
            for name in ("runs", "first", "second"):
                await here.submit(name)
            await here.patch(resource, "main", {"spec": {"stopPolicy": "Hold"}}, namespace)
            for name in ("first", "second"):
                assert conditions(await here.workload_of(name))["QuotaReserved"][1] == "Suspended"
            assert here.queueing is not None
            await here.queueing.stop()
            here.start()
            await here.settle()
            await here.patch(resource, "main", {"spec": {"stopPolicy": "None"}}, namespace)
            for name in ("first", "second"):
                assert conditions(await here.workload_of(name))["QuotaReserved"][1] == "WaitingForQuota"

    asyncio.run(scenario())


def test_who_is_like_one_that_was_tried_and_may_not_come_in_at_all_is_told_that() -> None:
    """It is parked with those of its shape, so no decision ever says that its namespace is the reason."""

    async def scenario() -> None:
        async with cluster() as here:
            await here.create(NAMESPACES, {"metadata": {"name": "other"}})
            ours = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
            await here.queue(cpu="1", namespaceSelector=ours)
            await here.create_tenant("main", "main", "other")
            for name in ("runs", "waits"):
                await here.submit(name)
            await here.submit("stranger", namespace="other")
            await here.submit("waits-too")
            for name in ("waits", "waits-too"):
                assert conditions(await here.workload_of(name))["QuotaReserved"][1] == "WaitingForQuota"
            said = conditions(await here.workload_of("stranger", "other"))["QuotaReserved"]
            assert said[1] == "Misconfigured"
            assert "namespace doesn't match ClusterQueue selector" in said[2]

    asyncio.run(scenario())
