"""A hub's clusters and pools, live: real links over a wire that a test cuts, real queues at the other end."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.integration.fleet import Fleeting, fleet, kubeconfig
from tests.integration.queueing import EVENTS, Cluster, Json

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.control.conditions import find_condition
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, WORKLOADS
from fairway.fleet.clusters.hook import FleetHook
from fairway.fleet.clusters.probes import CONFIG_MAPS
from fairway.fleet.clusters.projection import ADOPTED, MEMBER_CLUSTERS
from fairway.fleet.clusters.quota import AUTOMATION, MISMATCH
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS, NODES, POOLS, SECRETS

MERGE = "application/merge-patch+json"


def run(body: Callable[[Fleeting], Awaitable[None]], quotas: dict[str, str] | None = None, **given: Any) -> None:
    async def all_of_it() -> None:
        async with fleet(quotas or {"a": "4", "b": "8"}, **given) as here:
            here.hub.space.objects.hooks.append(FleetHook(here.hub.space))
            await body(here)

    asyncio.run(all_of_it())


async def get(here: Fleeting, resource: Resource, name: str) -> Json:
    return (await here.hub.client.get(resource, name)).json()


async def patch(here: Fleeting, resource: Resource, name: str, change: Json) -> None:
    await here.hub.client.patch(resource, name, change, media=MERGE)
    await here.settle()


async def is_there(cluster: Cluster, resource: Resource, name: str) -> bool:
    return any(each["metadata"]["name"] == name for each in await cluster.all(resource))


def said(obj: Json, kind: str) -> tuple[str, str, str]:
    condition = find_condition(obj, kind)
    assert condition is not None, f"{obj['metadata']['name']} does not say {kind}"
    return condition["status"], condition["reason"], condition["message"]


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


async def eligible(here: Fleeting, name: str, wanted: bool, pool: str = "") -> None:
    assert here.fleet is not None
    clusters = here.fleet.clusters

    async def agrees() -> bool:
        return clusters.eligible(name, pool) is wanted

    await until(agrees)
    await here.settle()


async def probe(here: Fleeting) -> None:
    """Time passes until clusters are asked again."""
    assert here.fleet is not None
    probes = here.fleet.clusters._probes
    before = dict(probes.answers)
    await here.move(11)
    probes._wake.set()

    async def asked() -> bool:
        return all(probes.answers.get(name) is not answer for name, answer in before.items())

    await until(asked)
    await here.settle()


# --- adoption and projection ----------------------------------------------------------------------------------------


def test_a_cluster_that_a_user_connected_is_adopted_and_told_about_in_every_language() -> None:
    async def body(here: Fleeting) -> None:
        await eligible(here, "a", True)
        cluster = await get(here, CLUSTERS, "a")
        assert cluster["metadata"]["annotations"] == {ADOPTED: "MultiKueueCluster"}
        assert cluster["spec"]["pool"] == "default"
        status = cluster["status"]
        assert (status["health"], status["capacity"], status["available"]) == ("Healthy", {"cpu": "4"}, {"cpu": "4"})
        assert status["queues"] == ["default/main"]
        assert status["fenced"] is False  # there is no node behind it that would end work
        assert said(await get(here, MULTIKUEUE_CLUSTERS, "a"), "Active") == ("True", "Active", "Connected")
        assert said(await get(here, CHECKS, "fleet"), "Active")[:2] == ("True", "Active")
        member = await get(here, MEMBER_CLUSTERS, "a")
        assert said(member, "Joined")[0] == "True"
        assert member["status"]["resourceUsage"]["allocatable"] == {"cpu": "4"}
        pool = await get(here, POOLS, "default")
        assert pool["status"]["clusters"] == ["a", "b"]

    run(body)


def test_capacity_comes_from_nodes_once_there_are_any() -> None:
    async def body(here: Fleeting) -> None:
        made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        node = (await here.clusters["a"].client.create(NODES, made)).json()
        status = {"allocatable": {"cpu": "16", "memory": "64Gi"}}
        await here.clusters["a"].client.update(NODES, {**node, "status": status}, subresource="status")
        await here.move(6)
        await here.move(6)
        found = (await get(here, CLUSTERS, "a"))["status"]
        assert found["capacity"] == {"cpu": "16", "memory": "64Gi"}
        assert found["properties"] == {"kubernetes-fleet.io/node-count": "1"}

    run(body)


def test_what_work_holds_is_no_longer_available() -> None:
    async def body(here: Fleeting) -> None:
        await here.submit("j", cpu="3")
        await here.move(6)
        await here.move(6)
        left = {n: (await get(here, CLUSTERS, n))["status"]["available"]["cpu"] for n in ("a", "b")}
        assert sorted(left.values()) in (["1", "8"], ["4", "5"])

    run(body)


def test_a_cluster_with_a_connection_brings_its_projections_and_takes_them_along() -> None:
    async def body(here: Fleeting) -> None:
        await here.hub.client.delete(MULTIKUEUE_CLUSTERS, "b")
        await here.settle()
        await until(lambda: _gone(here, CLUSTERS, "b"))
        spec = {"connection": {"kubeconfig": {"secretName": "b"}}, "taints": [{"key": "spot"}]}
        body_ = {"metadata": {"name": "b", "labels": {"zone": "x"}}, "spec": spec}
        await here.hub.client.create(CLUSTERS, body_)
        await eligible(here, "b", True)
        connection = await get(here, MULTIKUEUE_CLUSTERS, "b")
        assert connection["spec"]["clusterSource"]["kubeConfig"] == {"location": "b", "locationType": "Secret"}
        assert (await get(here, MEMBER_CLUSTERS, "b"))["metadata"]["labels"]["zone"] == "x"
        await here.hub.client.delete(CLUSTERS, "b")
        for resource in (MULTIKUEUE_CLUSTERS, MEMBER_CLUSTERS):
            await until(lambda resource=resource: _gone(here, resource, "b"))
        await here.settle()
        assert said(await get(here, CHECKS, "fleet"), "Active") == (
            "True",
            "SomeActiveClusters",
            "Missing clusters: [b]",
        )

    async def _gone(here: Fleeting, resource: Resource, name: str) -> bool:
        return not await is_there(here.hub, resource, name)

    run(body)


# --- health ---------------------------------------------------------------------------------------------------------


def test_a_lost_cluster_is_unhealthy_with_a_reason_and_gets_nothing_new_until_it_is_back() -> None:
    async def body(here: Fleeting) -> None:
        await eligible(here, "a", True)
        here.wires["a"].break_off()
        await eligible(here, "a", False)
        status = (await get(here, CLUSTERS, "a"))["status"]
        assert status["health"] == "Unhealthy"
        assert status["reasons"][0].startswith("unreachable since ")
        assert status["reasons"][0].endswith(": cannot be reached")
        assert status["capacity"] == {"cpu": "4"}
        state, reason, message = said(await get(here, MULTIKUEUE_CLUSTERS, "a"), "Active")
        assert (state, reason) == ("False", "ClientConnectionFailed")
        assert message.startswith("cannot be reached; connection attempts: ")
        assert said(await get(here, CHECKS, "fleet"), "Active")[1:] == ("SomeActiveClusters", "Inactive clusters: [a]")
        here.wires["a"].cut = False
        await eligible(here, "a", True)
        assert (await get(here, CLUSTERS, "a"))["status"]["health"] == "Healthy"
        assert said(await get(here, CHECKS, "fleet"), "Active")[1] == "Active"

    run(body)


def test_without_any_cluster_in_reach_the_queue_is_closed_and_says_why() -> None:
    async def body(here: Fleeting) -> None:
        for name in ("a", "b"):
            await eligible(here, name, True)
            here.wires[name].break_off()
        for name in ("a", "b"):
            await eligible(here, name, False)
        await until(lambda: _inactive(here))
        assert said(await get(here, CHECKS, "fleet"), "Active")[:2] == ("False", "NoUsableClusters")

    async def _inactive(here: Fleeting) -> bool:
        return said(await get(here, CLUSTER_QUEUES, "main"), "Active")[1] == "AdmissionCheckInactive"

    run(body)


def test_a_kubeconfig_that_is_not_there_is_told_at_once() -> None:
    async def body(here: Fleeting) -> None:
        spec = {"connection": {"kubeconfig": {"secretName": "nowhere"}}}
        await here.hub.client.create(CLUSTERS, {"metadata": {"name": "c"}, "spec": spec})
        await here.settle()
        await until(lambda: _told(here))
        status = (await get(here, CLUSTERS, "c"))["status"]
        assert status["health"] == "Unhealthy"
        assert "nowhere" in status["reasons"][0]
        data = {"kubeconfig": base64.b64encode(kubeconfig("a")).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nowhere"}, "data": data}
        await here.hub.client.create(SECRETS, secret, "kueue-system")
        await eligible(here, "c", True)

    async def _told(here: Fleeting) -> bool:
        if not await is_there(here.hub, MULTIKUEUE_CLUSTERS, "c"):
            return False
        condition = find_condition(await get(here, MULTIKUEUE_CLUSTERS, "c"), "Active")
        return condition is not None and condition["reason"] == "BadKubeConfig"

    run(body)


def test_a_cluster_whose_data_plane_drifts_from_its_pool_gets_nothing_new() -> None:
    async def body(here: Fleeting) -> None:
        await eligible(here, "a", True)
        await patch(here, POOLS, "default", {"spec": {"objectStore": {"uri": "s3://shared"}}})
        there = here.clusters["a"].client
        plane = {"metadata": {"name": "fairway-data-plane"}, "data": {"objectStore.uri": "s3://mine"}}
        await there.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **plane}, "kueue-system")
        await probe(here)
        await eligible(here, "a", False)
        status = (await get(here, CLUSTERS, "a"))["status"]
        assert status["drift"] == ["objectStore.uri is s3://mine on the cluster and s3://shared in its pool"]
        assert status["dataPlane"] == {"objectStore": {"uri": "s3://mine"}}
        assert status["health"] == "Unhealthy"
        await patch(here, POOLS, "default", {"spec": {"objectStore": {"uri": "s3://mine"}}})
        await eligible(here, "a", True)
        assert "drift" not in (await get(here, CLUSTERS, "a"))["status"]

    run(body)


# --- pools ----------------------------------------------------------------------------------------------------------


def test_a_configuration_that_crosses_pools_closes_its_queue_and_says_why() -> None:
    async def body(here: Fleeting) -> None:
        await eligible(here, "b", True)
        await here.hub.client.create(POOLS, {"metadata": {"name": "prod"}})
        await patch(here, CLUSTERS, "b", {"spec": {"state": "Draining"}})
        assert here.fleet is not None
        assert here.fleet.clusters.refusal("b") == "is draining"
        await patch(here, CLUSTERS, "b", {"spec": {"state": "Active", "pool": "prod"}})
        state, reason, message = said(await get(here, CHECKS, "fleet"), "Active")
        assert (state, reason) == ("False", "CrossesPools")
        assert "default: a; prod: b" in message
        assert said(await get(here, CLUSTER_QUEUES, "main"), "Active")[1] == "AdmissionCheckInactive"
        assert here.fleet.clusters.refusal("b", "default") == "is in pool prod, not in default"
        assert (await get(here, POOLS, "prod"))["status"]["clusters"] == ["b"]
        await patch(here, MULTIKUEUE_CONFIGS, "all", {"spec": {"clusters": ["b"]}})
        assert "is in pool default" in said(await get(here, CHECKS, "fleet"), "Active")[2]
        await patch(here, CLUSTER_QUEUES, "main", {"metadata": {"labels": {"fairway.dev/pool": "prod"}}})
        assert said(await get(here, CHECKS, "fleet"), "Active")[1] == "Active"

    run(body)


def test_a_cluster_that_left_the_pool_of_a_queue_loses_the_copies_of_its_work() -> None:
    async def body(here: Fleeting) -> None:
        for name in ("a", "b"):
            await eligible(here, name, True)
        await here.submit("big", cpu="50")
        assert [await here.workload("big", name) is not None for name in ("a", "b")] == [True, True]
        await here.hub.client.create(POOLS, {"metadata": {"name": "prod"}})
        await patch(here, CLUSTERS, "b", {"spec": {"state": "Draining"}})
        await patch(here, CLUSTERS, "b", {"spec": {"state": "Active", "pool": "prod"}})
        await here.move(1)

        async def gone() -> bool:
            return await here.workload("big", "b") is None

        await until(gone)
        assert await here.workload("big", "a") is not None

    run(body)


def test_a_pool_that_is_in_use_cannot_be_deleted_and_a_busy_cluster_cannot_move() -> None:
    async def body(here: Fleeting) -> None:
        await eligible(here, "a", True)
        with pytest.raises(ApiError, match=r"clusters=\[a, b\] queues=\[main\]"):
            await here.hub.client.delete(POOLS, "default")
        await here.hub.client.create(POOLS, {"metadata": {"name": "prod"}})
        await here.submit("j")
        (workload,) = await here.hub.all(WORKLOADS)
        where = workload["status"]["clusterName"]
        await patch(here, CLUSTERS, where, {"spec": {"state": "Draining"}})
        with pytest.raises(ApiError, match="1 workloads of pool default are still on it"):
            await patch(here, CLUSTERS, where, {"spec": {"pool": "prod"}})
        await here.hub.client.delete(POOLS, "prod")

    run(body)


def test_a_cluster_of_a_pool_that_does_not_exist_gets_nothing() -> None:
    async def body(here: Fleeting) -> None:
        spec = {"pool": "nowhere", "connection": {"kubeconfig": {"secretName": "a"}}}
        await here.hub.client.create(CLUSTERS, {"metadata": {"name": "c"}, "spec": spec})
        await here.settle()
        assert here.fleet is not None
        assert 'pool "nowhere" does not exist' in here.fleet.clusters.refusal("c")
        await here.hub.client.create(POOLS, {"metadata": {"name": "nowhere"}})
        await eligible(here, "c", True)

    run(body)


def test_a_hub_lists_more_clusters_in_one_configuration_than_kueue_does() -> None:
    async def body(here: Fleeting) -> None:
        names = [f"c{index}" for index in range(60)]
        await patch(here, MULTIKUEUE_CONFIGS, "all", {"spec": {"clusters": names}})
        assert said(await get(here, CHECKS, "fleet"), "Active")[1] == "NoUsableClusters"

    run(body)


# --- quota ----------------------------------------------------------------------------------------------------------


def quota_of(queue: Json) -> str:
    amount: str = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"]
    return amount


def test_an_automated_quota_is_the_sum_of_the_clusters_and_follows_them() -> None:
    async def body(here: Fleeting) -> None:
        for name in ("a", "b"):
            await eligible(here, name, True)
        await patch(here, MULTIKUEUE_CONFIGS, "all", {"spec": {"quotaManagement": "Automated"}})
        await here.move(4)
        await until(lambda: _is(here, "12"))
        queue = await get(here, CLUSTER_QUEUES, "main")
        assert said(queue, AUTOMATION)[:2] == ("True", "QuotaAutomated")
        groups = queue["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "20"
        there = here.clusters["a"].client
        await there.patch(CLUSTER_QUEUES, "main", {"spec": {"resourceGroups": groups}}, media=MERGE)
        await here.settle()
        await until(lambda: _is(here, "28"))

    async def _is(here: Fleeting, amount: str) -> bool:
        return quota_of(await get(here, CLUSTER_QUEUES, "main")) == amount

    run(body)


def test_a_lost_cluster_takes_its_part_of_the_quota_along_but_not_at_the_first_flicker() -> None:
    async def body(here: Fleeting) -> None:
        await patch(here, MULTIKUEUE_CONFIGS, "all", {"spec": {"quotaManagement": "Automated"}})
        await here.move(4)
        await until(lambda: _is(here, "12"))
        here.wires["b"].break_off()
        await eligible(here, "b", False)
        assert await _is(here, "12")
        await here.move(4)
        assert here.fleet is not None
        here.fleet.clusters.wake()
        await until(lambda: _is(here, "4"))

    async def _is(here: Fleeting, amount: str) -> bool:
        return quota_of(await get(here, CLUSTER_QUEUES, "main")) == amount

    run(body)


def test_a_manual_quota_that_is_far_off_is_warned_about_until_it_is_right() -> None:
    async def body(here: Fleeting) -> None:
        for name in ("a", "b"):
            await eligible(here, name, True)
        queue = await get(here, CLUSTER_QUEUES, "main")
        assert said(queue, AUTOMATION)[:2] == ("False", "NotRequested")
        state, reason, message = said(queue, MISMATCH)
        assert (state, reason) == ("True", "QuotaFarOff")
        assert message.startswith("cpu: 100 here, 12 on the clusters.")
        await until(lambda: _warned(here))
        groups = queue["spec"]["resourceGroups"]
        groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "12"
        await patch(here, CLUSTER_QUEUES, "main", {"spec": {"resourceGroups": groups}})
        assert said(await get(here, CLUSTER_QUEUES, "main"), MISMATCH)[0] == "False"

    async def _warned(here: Fleeting) -> bool:
        found = [each for each in await here.hub.all(EVENTS) if each["reason"] == "QuotaFarOff"]
        return bool(found) and found[0]["type"] == "Warning"

    run(body)
