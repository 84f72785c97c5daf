"""What queueing tells over HTTP: who waits in which place, and Kueue's metrics."""

from __future__ import annotations

import asyncio

from tests.integration.queueing import Cluster, cluster
from tests.unit.server.harness import Harness

from fairway.api import bootstrap
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


def test_metrics_count_what_was_admitted_and_what_waits() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue("main", "2")
            await here.submit("runs", "2")
            await here.submit("waits", "2")
            asked = await _served(here)
            text = await asked.ok("admin", "GET", "/metrics")
            labels = 'cluster_queue="main",replica_role="leader",space="test"'
            assert f"kueue_admitted_workloads_total{{{labels}}} 1.0" in text
            assert f"kueue_admission_wait_time_seconds_count{{{labels}}} 1.0" in text
            assert f"kueue_admitted_active_workloads{{{labels}}} 1.0" in text
            inadmissible = 'cluster_queue="main",replica_role="leader",space="test",status="inadmissible"'
            assert f"kueue_pending_workloads{{{inadmissible}}} 1.0" in text
            usage = 'cluster_queue="main",cohort="",flavor="flavor",replica_role="leader",resource="cpu",space="test"'
            assert f"kueue_cluster_queue_resource_usage{{{usage}}} 2.0" in text

    asyncio.run(scenario())
