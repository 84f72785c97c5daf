"""Statuses that our own controllers report come to the same as a checked update, at a fraction of the price."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.reports import Reports, is_told_apart
from fairway.api.space import Space
from fairway.kinds import builtin
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SeededIds
from fairway.store import Store

PODS = Resource("", "v1", "pods")
JOBS = Resource("batch", "v1", "jobs")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}
SPECS: dict[Resource, dict[str, Any]] = {
    PODS: TEMPLATE["spec"],
    JOBS: {"template": TEMPLATE, "suspend": True},
    WORKLOADS: {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": TEMPLATE}]},
}
CONDITION = {"lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "R", "message": 'quotes "," and ,"status":{ too'}
STATUSES: dict[Resource, dict[str, Any]] = {
    PODS: {"phase": "Succeeded", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
    JOBS: {"succeeded": 3, "startTime": "2026-01-02T03:04:05Z"},
    WORKLOADS: {"conditions": [{"type": "Evicted", "status": "True", **CONDITION}]},
}


def with_status(obj: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "status": {**obj.get("status", {}), **status}}


Test = Callable[[LocalClient, LocalClient], Awaitable[None]]


def run(test: Test) -> None:
    async def go() -> None:
        space = Space("test", Store(), builtin.KINDS, SystemClock(), SeededIds(1))
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        await test(LocalClient(space, "us", reports=True), LocalClient(space, "stranger"))
        await space.store.close()

    asyncio.run(go())


async def make(client: LocalClient, resource: Resource, name: str = "a", **metadata: Any) -> dict[str, Any]:
    note = {"annotations": {"note": CONDITION["message"]}}
    body = {"metadata": {"name": name, **note, **metadata}, "spec": SPECS[resource]}
    return (await client.create(resource, body, "default")).json()


@pytest.mark.parametrize("resource", SPECS, ids=lambda resource: resource.plural)
def test_a_report_is_what_an_update_makes_of_it(resource: Resource, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(us: LocalClient, stranger: LocalClient) -> None:
        monkeypatch.setattr(Reports, "compared", False)
        known = [await make(stranger, resource, name) for name in ("a", "b")]
        for number in (1, 2):  # over no status, and over one
            status = {
                **STATUSES[resource],
                **({"conditions": [{"type": "X", "status": "True", **CONDITION}]} if number == 2 else {}),
            }
            reported = (await us.update(resource, with_status(known[0], status), subresource="status")).json()
            updated = (await stranger.update(resource, with_status(known[1], status), subresource="status")).json()
            known = [reported, updated]
            own = ("name", "uid", "resourceVersion", "creationTimestamp", "labels")
            plain = [{k: v for k, v in obj["metadata"].items() if k not in own} for obj in known]
            assert reported["status"] == updated["status"]
            assert plain[0] == plain[1]
            assert int(reported["metadata"]["resourceVersion"]) == int(updated["metadata"]["resourceVersion"]) - 1
            assert (await stranger.get(resource, "a", "default")).json() == reported

    run(test)


def test_what_a_status_is_selected_by_changes_with_it() -> None:
    async def test(us: LocalClient, _: LocalClient) -> None:
        pod = await make(us, PODS)
        await us.update(PODS, with_status(pod, STATUSES[PODS]), subresource="status")
        for fields, count in (("status.phase=Succeeded,status.podIP=10.0.0.1", 1), ("status.phase=Pending", 0)):
            assert len((await us.list(PODS, Query(fields=fields))).items) == count
        job = await make(us, JOBS)
        await us.update(JOBS, with_status(job, STATUSES[JOBS]), subresource="status")
        assert len((await us.list(JOBS, Query(fields="status.successful=3"))).items) == 1

    run(test)


def test_a_report_of_another_revision_or_another_object_is_refused() -> None:
    async def test(us: LocalClient, stranger: LocalClient) -> None:
        pod = await make(us, PODS)
        await stranger.update(PODS, with_status(pod, {"phase": "Running"}), subresource="status")
        for change in ({}, {"resourceVersion": "", "uid": "another"}):
            body = with_status({**pod, "metadata": {**pod["metadata"], **change}}, STATUSES[PODS])
            with pytest.raises(ApiError) as caught:
                await us.update(PODS, body, subresource="status")
            assert caught.value.code == 409
        assert (await us.get(PODS, "a", "default")).json()["status"]["phase"] == "Running"

    run(test)


def test_what_changes_nothing_writes_nothing() -> None:
    async def test(us: LocalClient, _: LocalClient) -> None:
        pod = await make(us, PODS)
        once = (await us.update(PODS, with_status(pod, STATUSES[PODS]), subresource="status")).json()
        again = (await us.update(PODS, once, subresource="status")).json()
        assert again == once

    run(test)


def test_a_report_of_the_wrong_type_is_refused_in_words() -> None:
    async def test(us: LocalClient, _: LocalClient) -> None:
        pod = await make(us, PODS)
        with pytest.raises(ApiError, match=r"status.phase"):
            await us.update(PODS, with_status(pod, {"phase": 7}), subresource="status")

    run(test)


def test_out_of_the_ordinary_it_takes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(us: LocalClient, stranger: LocalClient) -> None:
        monkeypatch.setattr(Reports, "_write", None)
        applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": SPECS[PODS]}
        media = "application/apply-patch+yaml"
        pod = (await stranger.patch(PODS, "a", applied, "default", media=media)).json()
        written = (await us.update(PODS, with_status(pod, STATUSES[PODS]), subresource="status")).json()
        assert any(each["manager"] == "us" for each in written["metadata"]["managedFields"])
        kept = await make(stranger, PODS, "b", finalizers=["example.com/kept"])
        await stranger.delete(PODS, "b", "default")
        leaving = (await us.get(PODS, "b", "default")).json()
        assert leaving["metadata"]["uid"] == kept["metadata"]["uid"]
        await us.update(PODS, with_status(leaving, STATUSES[PODS]), subresource="status")

    run(test)


def test_only_kinds_whose_status_stands_out_are_written_so() -> None:
    told = {kind.bucket for kind in builtin.KINDS if is_told_apart(kind)}
    assert {"pods", "jobs.batch", "workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io"} <= told
    # A template of a claim has a status of its own; a Work holds whole objects.
    assert not told & {"jobsets.jobset.x-k8s.io", "works.placement.kubernetes-fleet.io"}
