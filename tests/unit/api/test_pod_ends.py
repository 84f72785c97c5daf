"""How a pod gets its node and how it goes: binding, eviction and deletion with a grace period."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Deletion, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

PODS = Resource("", "v1", "pods")
NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class StoppedClock:
    now = NOW
    monotonic = 0.0


def on_a_space(test: Callable[[LocalClient], Awaitable[None]]) -> None:
    async def run() -> None:
        space = Space("test", Store(), KINDS, StoppedClock(), SeededIds(1))
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        await test(LocalClient(space, "tester"))

    asyncio.run(run())


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", "command": ["true"]}], **spec},
    }


def binding(node: str = "n1", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}


async def get(client: LocalClient) -> dict[str, Any]:
    return (await client.get(PODS, "p", "default")).json()


async def refusal(doing: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await doing
    return caught.value


def test_a_binding_sets_the_node_that_no_update_may_set() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod())
        bare = await get(client)
        error = await refusal(client.update(PODS, {**bare, "spec": {**bare["spec"], "nodeName": "n1"}}))
        assert error.code == 422
        await client.post(PODS, "p", "binding", binding(), "default")
        bound = await get(client)
        assert bound["spec"]["nodeName"] == "n1"
        assert [(c["type"], c["status"]) for c in bound["status"]["conditions"]] == [("PodScheduled", "True")]

    on_a_space(test)


@pytest.mark.parametrize(
    ("spec", "sent", "why"),
    [
        ({"nodeName": "n0"}, binding(), "already assigned"),
        ({"schedulingGates": [{"name": "hold"}]}, binding(), "schedulingGates"),
        ({}, binding(uid="another"), "UID in precondition"),
    ],
)
def test_a_binding_is_refused_for_a_pod_that_is_bound_gated_or_another(spec: Any, sent: Any, why: str) -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod(**spec))
        error = await refusal(client.post(PODS, "p", "binding", sent, "default"))
        assert error.code == 409
        assert why in error.message

    on_a_space(test)


def test_a_pod_that_nobody_runs_is_deleted_at_once() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod())
        await client.delete(PODS, "p", "default")
        assert (await refusal(client.get(PODS, "p", "default"))).code == 404

    on_a_space(test)


def test_a_bound_pod_is_marked_and_stays_until_its_node_lets_go() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod(nodeName="n1", terminationGracePeriodSeconds=7))
        await client.delete(PODS, "p", "default")
        meta = (await get(client))["metadata"]
        assert meta["deletionTimestamp"] == "2026-01-01T00:00:07Z"
        assert meta["deletionGracePeriodSeconds"] == 7
        await client.delete(PODS, "p", "default")
        assert (await get(client))["metadata"]["resourceVersion"] == meta["resourceVersion"], (
            "asking again changes nothing"
        )
        await client.delete(PODS, "p", "default", Deletion(grace_seconds=0))
        assert (await refusal(client.get(PODS, "p", "default"))).code == 404

    on_a_space(test)


def test_a_grace_period_can_be_shortened_and_not_lengthened() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod(nodeName="n1"))
        await client.delete(PODS, "p", "default", Deletion(grace_seconds=20))
        await client.delete(PODS, "p", "default", Deletion(grace_seconds=60))
        assert (await get(client))["metadata"]["deletionGracePeriodSeconds"] == 20
        await client.delete(PODS, "p", "default", Deletion(grace_seconds=5))
        meta = (await get(client))["metadata"]
        assert (meta["deletionGracePeriodSeconds"], meta["deletionTimestamp"]) == (5, "2026-01-01T00:00:05Z")

    on_a_space(test)


def test_a_status_written_while_a_pod_terminates_does_not_remove_it() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod(nodeName="n1"))
        await client.delete(PODS, "p", "default")
        leaving = await get(client)
        leaving["status"]["phase"] = "Running"
        await client.update(PODS, leaving, subresource="status")
        assert (await get(client))["status"]["phase"] == "Running"

    on_a_space(test)


def test_a_finalizer_keeps_a_pod_beyond_its_grace() -> None:
    async def test(client: LocalClient) -> None:
        held = pod(nodeName="n1")
        held["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
        await client.create(PODS, held)
        await client.delete(PODS, "p", "default")
        await client.delete(PODS, "p", "default", Deletion(grace_seconds=0))
        left = await get(client)
        assert left["metadata"]["deletionGracePeriodSeconds"] == 0
        left["metadata"]["finalizers"] = []
        await client.update(PODS, left)
        assert (await refusal(client.get(PODS, "p", "default"))).code == 404

    on_a_space(test)


def test_an_eviction_is_a_deletion() -> None:
    async def test(client: LocalClient) -> None:
        await client.create(PODS, pod(nodeName="n1"))
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "p"},
            "deleteOptions": {"gracePeriodSeconds": 3},
        }
        await client.post(PODS, "p", "eviction", body, "default")
        assert (await get(client))["metadata"]["deletionGracePeriodSeconds"] == 3

    on_a_space(test)
