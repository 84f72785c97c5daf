"""A plan is written only as long as the queues are as it was decided from: whoever was told of a change sees nothing that ignores it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.integration.queueing import Cluster
from tests.unit.server.harness import Harness

from fairway.api.client import BulkItem, BulkResults, Client, Known
from fairway.api.errors import ApiError
from fairway.control.conditions import is_true
from fairway.control.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOADS

MERGE = "application/merge-patch+json"


class Overtaken:
    """A client that does something else between the moment of a decision and the moment it is written. Once."""

    def __init__(self, client: Client, meanwhile: Callable[[], Awaitable[Any]]) -> None:
        self._client = client
        self._meanwhile: Callable[[], Awaitable[Any]] | None = meanwhile
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        admits = any((item.body.get("status") or {}).get("admission") for item in items if isinstance(item.body, dict))
        if admits and self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            await meanwhile()
        results = await self._client.bulk(items)
        self.refused += sum(isinstance(result, ApiError) for result in results)
        return results


def _quota(cpu: str) -> dict[str, Any]:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "flavor", "resources": resources}]}]}


async def _stop(here: Cluster) -> None:
    change = {"spec": {"stopPolicy": "Hold"}}
    await here.client.patch(CLUSTER_QUEUES, "main", change, media=MERGE)


async def _stop_the_door(here: Cluster) -> None:
    change = {"spec": {"stopPolicy": "Hold"}}
    await here.client.patch(LOCAL_QUEUES, "main", change, "default", media=MERGE)


async def _shrink(here: Cluster) -> None:
    await here.client.patch(CLUSTER_QUEUES, "main", {"spec": _quota("1")}, media=MERGE)


async def _shrink_the_lender(here: Cluster) -> None:
    await here.client.patch(CLUSTER_QUEUES, "other", {"spec": _quota("0")}, media=MERGE)


async def _hide_the_lender(here: Cluster) -> None:
    """Out of the cohort: nobody lends any more."""
    await here.client.patch(CLUSTER_QUEUES, "other", {"spec": {"cohortName": None}}, media=MERGE)


@pytest.mark.parametrize("meanwhile", [_stop, _stop_the_door, _shrink, _shrink_the_lender, _hide_the_lender])
def test_what_changed_before_a_plan_was_written_makes_it_be_decided_again(
    meanwhile: Callable[[Cluster], Awaitable[None]],
) -> None:
    async def scenario() -> None:
        here, between = Cluster(), list[Overtaken]()

        def client(inner: Client) -> Client:
            between.append(Overtaken(inner, lambda: meanwhile(here)))
            return between[0]  # type: ignore[return-value]

        await here.open(client)
        try:
            await here.settle()
            await here.queue("main", "2", cohortName="all")
            await here.queue("other", "1", cohortName="all")
            await here.submit("job", "3")
            assert between[0].refused
            assert not [w for w in await here.all(WORKLOADS) if is_true(w, "QuotaReserved")]
        finally:
            await here.close()

    asyncio.run(scenario())


def test_what_changed_elsewhere_holds_nothing_up() -> None:
    async def elsewhere(here: Cluster) -> None:
        await here.client.patch(CLUSTER_QUEUES, "far", {"spec": _quota("0")}, media=MERGE)

    async def scenario() -> None:
        here, between = Cluster(), list[Overtaken]()

        def client(inner: Client) -> Client:
            between.append(Overtaken(inner, lambda: elsewhere(here)))
            return between[0]  # type: ignore[return-value]

        await here.open(client)
        try:
            await here.settle()
            await here.queue("main", "3")
            await here.queue("far", "1")
            await here.submit("job", "3")
            assert between[0].refused == 0
            assert [w for w in await here.all(WORKLOADS) if is_true(w, "QuotaReserved")]
        finally:
            await here.close()

    asyncio.run(scenario())


def test_a_change_between_two_turns_of_a_long_plan_keeps_the_rest_back() -> None:
    async def scenario() -> None:
        here = Cluster()
        await here.open()
        try:
            await here.queue("main", "1")
            assert here.queueing is not None
            known = here.queueing.mirror[CLUSTER_QUEUES].known("/main")
            items = [
                BulkItem("create", COHORTS, {"metadata": {"name": f"c{number}"}}, [known]) for number in range(250)
            ]
            writing = asyncio.ensure_future(here.client.bulk(items))
            await asyncio.sleep(0)  # the first turn is over
            await _stop(here)
            results = await writing
            refused = [isinstance(result, ApiError) for result in results]
            assert refused == sorted(refused), "once overtaken, nothing more is written"
            assert 0 < sum(refused) < 250
        finally:
            await here.close()

    asyncio.run(scenario())


def test_a_remote_client_compares_too() -> None:
    async def scenario() -> None:
        asked = await Harness.new()
        given = {"apiVersion": "v1", "resource": "namespaces", "path": "/default", "revision": 999}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
        item = {"verb": "create", "resource": "configmaps", "object": body}
        path = "/apis/fairway.dev/v1/bulk"
        found = await asked.ok("admin", "POST", path, {"items": [item], "given": [given]})
        assert [each["code"] for each in found["items"]] == [409]
        now = await asked.ok("admin", "GET", "/api/v1/namespaces/default")
        given["revision"] = int(now["metadata"]["resourceVersion"])
        none = {"apiVersion": "v1", "resource": "secrets", "path": "default/none", "revision": 0}
        found = await asked.ok("admin", "POST", path, {"items": [item], "given": [given, none]})
        assert [each["code"] for each in found["items"]] == [201]

    asyncio.run(scenario())


def test_what_is_not_there_is_known_as_such() -> None:
    async def scenario() -> None:
        here = Cluster()
        await here.open()
        try:
            await here.settle()
            assert here.queueing is not None
            assert here.queueing.mirror[COHORTS].known("/none") == Known(COHORTS, "/none", 0)
        finally:
            await here.close()

    asyncio.run(scenario())
