"""What goes out to a cluster: all that waits in one request, in the order that matters, and clearing up only when there is more of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from fairway.api.client import BulkItem, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.resources import WORKLOADS
from fairway.fleet.dispatch import outbox
from fairway.fleet.dispatch.outbox import Outbox
from fairway.fleet.dispatch.writes import Op

JOBS = Resource("batch", "v1", "jobs")
Json = dict[str, Any]


class Cluster:
    """Takes what comes and remembers it, request by request."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.refuses: dict[str, int] = {}

    async def bulk(self, items: Sequence[BulkItem]) -> list[Item | ApiError]:
        self.requests.append([_said(item.verb, item.resource, item.body) for item in items])
        return [self._result(item.body["metadata"]["name"]) for item in items]  # type: ignore[index, call-overload]

    async def create(self, resource: Resource, body: Json) -> Item:
        self.requests.append([_said("create", resource, body)])
        return Item(b"{}")

    async def delete(self, resource: Resource, name: str, namespace: str, how: Deletion) -> None:
        self.requests.append([f"delete {resource.plural} {name}"])
        result = self._result(name)
        if isinstance(result, ApiError):
            raise result

    def _result(self, name: str) -> Item | ApiError:
        code = self.refuses.get(name)
        return Item(b"{}") if code is None else ApiError(code, "", "no")


def _said(verb: str, resource: Resource, body: Any) -> str:
    return f"{verb} {resource.plural} {body['metadata']['name']}"


class Link:
    def __init__(self, client: Cluster | None) -> None:
        self.name, self.client = "c", client

    def sending(self, _epoch: int) -> Any:
        return nullcontext()


def op(verb: Any, resource: Resource, name: str, *, clears: bool = False) -> Op:
    body = {"apiVersion": resource.api_version, "kind": "K", "metadata": {"name": name, "namespace": "ns", "uid": "u"}}
    return Op("c", verb, resource, body, clears=clears)


def end_of(name: str, *, clears: bool = True) -> list[Op]:
    return [op("delete", JOBS, name, clears=clears), op("delete", WORKLOADS, f"w-{name}", clears=clears)]


def run(test: Callable[[Outbox, Cluster, list[str]], Awaitable[None]], *, reachable: bool = True) -> None:
    async def body() -> None:
        cluster, answers = Cluster(), []

        def answered(_cluster: str, key: str, what: Op, result: Item | ApiError | None) -> None:
            code = result.code if isinstance(result, ApiError) else ""
            answers.append(f"{key} {what.verb} {what.resource.plural} {code}".strip())

        box = Outbox(Link(cluster if reachable else None), lambda: 1, answered)  # type: ignore[arg-type]
        box.start()
        try:
            async with asyncio.timeout(20):
                await test(box, cluster, answers)
        finally:
            await box.stop()

    asyncio.run(body())


async def sent(box: Outbox, *keys: str) -> None:
    for _ in range(5000):
        if not any(box.busy(key) for key in keys):
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"still on their way: {keys}")


def test_all_that_waits_goes_in_one_request() -> None:
    async def test(box: Outbox, cluster: Cluster, answers: list[str]) -> None:
        for name in "abc":
            box.put(name, [op("create", WORKLOADS, name)])
        box.put("d", [op("create", JOBS, "d1"), op("create", JOBS, "d2")])
        await sent(box, *"abcd")
        assert [len(request) for request in cluster.requests] == [5]
        assert len(answers) == 5

    run(test)


def test_a_job_goes_before_its_workload_and_the_workload_not_at_all_if_the_job_stays() -> None:
    async def test(box: Outbox, cluster: Cluster, answers: list[str]) -> None:
        cluster.refuses = {"b": 500, "a": 404}
        box.put("a", end_of("a", clears=False))
        box.put("b", end_of("b", clears=False))
        await sent(box, "a", "b")
        assert cluster.requests == [["delete jobs a", "delete jobs b"], ["delete workloads w-a"]]
        assert answers == ["a delete jobs", "b delete jobs 500", "a delete workloads"]

    run(test)


def test_clearing_up_waits_for_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_REST_MAX", 3)
    monkeypatch.setattr(outbox, "REST_S", 3600.0)

    async def test(box: Outbox, cluster: Cluster, _answers: list[str]) -> None:
        box.put("a", end_of("a"))
        box.put("b", end_of("b"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert (cluster.requests, box.rests, box.busy("a")) == ([], True, True)
        box.put("c", end_of("c"))
        await sent(box, *"abc")
        assert [len(request) for request in cluster.requests] == [3, 3]

    run(test)


def test_clearing_up_happens_though_nothing_more_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "REST_S", 0.01)

    async def test(box: Outbox, cluster: Cluster, _answers: list[str]) -> None:
        box.put("a", end_of("a"))
        await sent(box, "a")
        assert cluster.requests == [["delete jobs a"], ["delete workloads w-a"]]
        assert not box.rests

    run(test)


def test_something_that_matters_takes_what_rests_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "REST_S", 3600.0)

    async def test(box: Outbox, cluster: Cluster, _answers: list[str]) -> None:
        box.put("a", [op("delete", JOBS, "a", clears=True)])
        box.put("a", [op("create", WORKLOADS, "a")])
        await sent(box, "a")
        assert cluster.requests == [["delete jobs a"], ["create workloads a"]]

    run(test)


def test_a_cluster_out_of_reach_is_an_answer_too() -> None:
    async def test(box: Outbox, _cluster: Cluster, answers: list[str]) -> None:
        box.put("a", [op("create", WORKLOADS, "a")])
        await sent(box, "a")
        assert answers == ["a create workloads 503"]

    run(test, reachable=False)
