"""What queueing tells over HTTP: who waits in which place, and Kueue's metrics."""

from __future__ import annotations

import asyncio

import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.integration.queueing import Cluster, cluster
from tests.unit.server.harness import Harness

from fairway.api import bootstrap
from fairway.control.configuration import Configuration, load
from fairway.control.resources import COHORTS, WORKLOADS
from fairway.server.access import SpaceAccess
from fairway.server.app import App, Served
from fairway.server.rbac.bootstrap import bootstrap_objects

VISIBILITY = "/apis/visibility.kueue.x-k8s.io"


async def _served(here: Cluster) -> Harness:
    assert here.queueing is not None
    harness = Harness()
    harness.space, harness.store = here.space, here.space.store
    await bootstrap.ensure(here.space, bootstrap_objects())
    harness.access = SpaceAccess(here.space)
    harness.app = App([Served(here.space, harness.access, queues=here.queueing.views)])
    await harness.user("admin", "system:masters")
    await harness.user("nobody")
    return harness


def test_who_waits_is_listed_in_order_with_both_positions() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "1")
            await here.create_tenant("other", "main")
            for index, (name, queue) in enumerate((("runs", "main"), ("a", "main"), ("b", "other"), ("c", "main"))):
                await here.submit(name, "1", queue=queue)
                await here.move(index)
            asked = await _served(here)
            found = await asked.ok("admin", "GET", f"{VISIBILITY}/v1beta2/clusterqueues/main/pendingworkloads")
            assert (found["apiVersion"], found["kind"]) == (
                "visibility.kueue.x-k8s.io/v1beta2",
                "PendingWorkloadsSummary",
            )
            rows = [
                (each["metadata"]["ownerReferences"][0]["name"], each["localQueueName"])
                + (each["positionInClusterQueue"], each["positionInLocalQueue"])
                for each in found["items"]
            ]
            assert rows == [("a", "main", 0, 0), ("b", "other", 1, 0), ("c", "main", 2, 1)]
            local = f"{VISIBILITY}/v1beta1/namespaces/default/localqueues/main/pendingworkloads?offset=1&limit=1"
            found = await asked.ok("admin", "GET", local)
            assert [each["positionInClusterQueue"] for each in found["items"]] == [2]
            status, _ = await asked.call("admin", "GET", f"{VISIBILITY}/v1beta2/clusterqueues/none/pendingworkloads")
            assert status == 404
            status, _ = await asked.call(
                "admin", "GET", f"{VISIBILITY}/v1beta2/clusterqueues/main/pendingworkloads?limit=x"
            )
            assert status == 400
            await asked.refused("nobody", "GET", f"{VISIBILITY}/v1beta2/clusterqueues/main/pendingworkloads")

    asyncio.run(scenario())


def test_discovery_lists_the_visibility_api_and_leaves_the_names_of_queues_unambiguous() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            asked = await _served(here)
            found = await asked.ok("admin", "GET", f"{VISIBILITY}/v1beta2")
            assert [each["name"] for each in found["resources"]] == [
                "clusterqueues/pendingworkloads",
                "localqueues/pendingworkloads",
            ]
            group = await asked.ok("admin", "GET", VISIBILITY)
            assert [each["version"] for each in group["versions"]] == ["v1beta2", "v1beta1"]

    asyncio.run(scenario())


async def _measured(here: Cluster) -> dict[tuple[str, ...], float]:
    """Metrics by name and the values of their labels in alphabetical order, those that are always the same left out."""
    asked = await _served(here)
    text = await asked.ok("admin", "GET", "/metrics")
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {k: v for k, v in sample.labels.items() if k not in ("space", "replica_role")}
            found[sample.name, *(labels[key] for key in sorted(labels))] = sample.value
    return found


def test_metrics_count_what_was_admitted_and_what_waits() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "2")
            await here.submit("runs", "2")
            await here.submit("waits", "2")
            found = await _measured(here)
            for queue in (("kueue_", "main"), ("kueue_local_queue_", "main", "default")):
                prefix, *labels = queue
                assert found[prefix + "quota_reserved_workloads_total", *labels, ""] == 1
                assert found[prefix + "admitted_workloads_total", *labels, ""] == 1
                assert found[prefix + "admission_wait_time_seconds_count", *labels, ""] == 1
                assert found[prefix + "admission_checks_wait_time_seconds_count", *labels, ""] == 1
                assert found[prefix + "admitted_active_workloads", *labels] == 1
                assert found[prefix + "reserving_active_workloads", *labels] == 1
                assert found[prefix + "pending_workloads", *labels, "inadmissible"] == 1
                assert found[prefix + "pending_workloads", *labels, "active"] == 0
            assert found["kueue_cluster_queue_status", "main", "active"] == 1
            assert found["kueue_local_queue_status", "True", "main", "default"] == 1
            assert found["kueue_cluster_queue_resource_usage", "main", "", "flavor", "cpu"] == 2
            assert found["kueue_cluster_queue_nominal_quota", "main", "", "flavor", "cpu"] == 2
            assert ("kueue_cluster_queue_borrowing_limit", "main", "", "flavor", "cpu") not in found
            assert found["kueue_local_queue_resource_usage", "flavor", "main", "default", "cpu"] == 2
            assert found["kueue_admission_attempts_total", "success"] >= 1
            assert found["kueue_admission_cycle_preemption_skips", "main"] == 0
            assert found["kueue_workload_creation_latency_seconds_count", "Job"] == 2

    asyncio.run(scenario())


def test_metrics_tell_what_finished_and_until_when_it_stays() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "2")
            await here.submit("runs", "2")
            await here.play_jobs()
            await here.ready("runs")
            await here.move(7)
            await here.complete("runs")
            found = await _measured(here)
            assert found["kueue_finished_workloads_total", "main", ""] == 1
            assert found["kueue_local_queue_finished_workloads_total", "main", "default", ""] == 1
            assert found["kueue_execution_time_seconds_sum", "main"] == 7
            assert found["kueue_finished_workloads", "main"] == 1
            assert found["kueue_local_queue_finished_workloads", "main", "default"] == 1
            assert found["kueue_admitted_until_ready_wait_time_seconds_count", "main", ""] == 1
            assert here.queueing is not None
            await here.queueing.stop()
            here.start()
            await here.settle()
            found = await _measured(here)
            assert found["kueue_finished_workloads", "main"] == 1
            assert ("kueue_finished_workloads_total", "main", "") not in found
            await here.client.delete(WORKLOADS, (await here.workload_of("runs"))["metadata"]["name"], "default")
            await here.settle()
            assert (await _measured(here))["kueue_finished_workloads", "main"] == 0

    asyncio.run(scenario())


def test_metrics_of_cohorts_add_up_what_is_below() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.create(COHORTS, {"metadata": {"name": "team"}, "spec": {"parentName": "all"}})
            await here.queue("a", "2", cohortName="team")
            await here.queue("b", "3", cohortName="team")
            await here.submit("one", "4", queue="a")
            found = await _measured(here)
            for cohort in ("team", "all"):
                assert found["kueue_cohort_subtree_quota", cohort, "flavor", "cpu"] == 5
                assert found["kueue_cohort_subtree_resource_reservations", cohort, "flavor", "cpu"] == 4
                assert found["kueue_cohort_subtree_admitted_active_workloads", cohort] == 1
                assert found["kueue_cohort_subtree_admitted_workloads_total", cohort] == 1
            assert found["kueue_cohort_info", "team", "all", "all"] == 1
            assert found["kueue_cohort_info", "all", "", "all"] == 1
            assert found["kueue_cluster_queue_info", "a", "team", "all", "all"] == 1

    asyncio.run(scenario())


def test_the_configuration_says_whose_metrics_are_wanted() -> None:
    selected = {"enable": True, "localQueueSelector": {"matchLabels": {"team": "a"}}}
    for metrics, gates, has_cohorts in (
        ({"localQueueMetrics": {"enable": False}}, {}, True),
        ({"localQueueMetrics": selected}, {}, True),
        ({}, {"LocalQueueMetrics": False, "MetricsForCohorts": False}, False),
    ):
        config = load(yaml.safe_dump({"metrics": metrics, "featureGates": gates}))

        async def scenario(config: Configuration = config, has_cohorts: bool = has_cohorts) -> None:
            async with cluster(config=config) as here:
                await here.queue("main", "2", cohortName="team")
                await here.submit("runs", "2")
                names = {key[0] for key in await _measured(here)}
                assert not [name for name in names if name.startswith("kueue_local_queue_")]
                assert has_cohorts == any(name.startswith("kueue_cohort_") for name in names)

        asyncio.run(scenario())
