"""Events that our own controllers note come to the same as a checked create, at a fraction of the price."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.notes import Notes
from fairway.api.space import Space
from fairway.control.events import EVENTS, Recorder
from fairway.kinds import builtin
from fairway.kinds.k8s.core.event import Event
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SeededIds
from fairway.store import Store

NAMESPACES = Resource("", "v1", "namespaces", False)


def about(name: str = "w", namespace: str = "default") -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, "uid": f"uid-{namespace}-{name}", "resourceVersion": "7", **where}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata}


def in_a_space(scenario: Callable[[LocalClient, Recorder], Awaitable[None]]) -> None:
    async def run() -> None:
        space = Space("test", Store(), builtin.kinds(), SystemClock(), SeededIds(1))
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        client = LocalClient(space, "ours", reports=True)
        recorder = Recorder(client, SystemClock())
        await scenario(client, recorder)
        await space.store.close()

    asyncio.run(run())


async def told(client: LocalClient) -> list[dict[str, Any]]:
    return [item.json() for item in (await client.list(EVENTS, Query())).items]


def test_what_was_noted_is_there_and_counted() -> None:
    async def scenario(client: LocalClient, recorder: Recorder) -> None:
        assert Notes.compared, "every note of these tests is compared with the long way"
        for _ in range(2):
            recorder.note(about(), "Normal", "Admitted", "Admitted by ClusterQueue q", "kueue-admission")
            recorder.note(about("flavor", ""), "Warning", "Gone", "x" * 2000, "kueue-admission")
            await recorder.stop()
        first, second = sorted(await told(client), key=lambda each: str(each["reason"]))
        assert (first["reason"], first["count"], first["involvedObject"]["name"]) == ("Admitted", 2, "w")
        assert first["metadata"]["uid"]
        assert first["metadata"]["creationTimestamp"]
        assert first["metadata"]["resourceVersion"].isdecimal()
        assert (second["metadata"]["namespace"], second["count"], len(second["message"])) == ("default", 2, 1024)
        found = await client.list(EVENTS, Query(fields="involvedObject.name=w,reason=Admitted"))
        assert [item.json()["metadata"]["name"] for item in found.items] == [first["metadata"]["name"]]

    in_a_space(scenario)


@pytest.mark.parametrize(
    "strange",
    [about("system:node"), about("n" * 250), about("w", "missing"), about("w", "leaving")],
    ids=lambda a: a["metadata"]["namespace"] + a["metadata"]["name"][:12],
)
def test_what_cannot_be_written_is_let_go(strange: dict[str, Any]) -> None:
    async def scenario(client: LocalClient, recorder: Recorder) -> None:
        await client.create(NAMESPACES, {"metadata": {"name": "leaving"}})
        await client.delete(NAMESPACES, "leaving")
        recorder.note(strange, "Normal", "Admitted", "Admitted", "kueue-admission")
        recorder.note(about(), "Normal", "Admitted", "Admitted", "kueue-admission")
        await recorder.stop()
        assert [each["involvedObject"]["name"] for each in await told(client)] == ["w"]

    in_a_space(scenario)


def test_two_of_one_name_are_not_one() -> None:
    async def scenario(client: LocalClient, recorder: Recorder) -> None:
        recorder.note(about(), "Normal", "Admitted", "Admitted", "kueue-admission")
        await recorder.stop()
        (event,) = await told(client)
        copy = (await client.get(EVENTS, event["metadata"]["name"], "default")).to(Event)
        copy.metadata.resource_version = ""
        with pytest.raises(ApiError, match="already exists"):
            await client.create(EVENTS, copy)

    in_a_space(scenario)
