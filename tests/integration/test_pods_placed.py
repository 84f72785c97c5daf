"""Pods that get their node as they are created, where there is room and nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.integration.queueing import StoppedClock

from fairway.api import bootstrap
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.request import Admission
from fairway.api.space import Space
from fairway.control.pods import binder as module
from fairway.control.pods.binder import NODES, PODS, Binder
from fairway.kinds import builtin
from fairway.runtime.ids import SeededIds
from fairway.store import Store


class Notes:
    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def note(self, about: dict[str, Any], _type: str, reason: str, _message: str, _component: str) -> None:
        self.said.append((about["metadata"]["name"], reason))


class World:
    def __init__(self) -> None:
        self.clock, self.notes = StoppedClock(), Notes()
        self.space = Space("test", Store(), builtin.KINDS, self.clock, SeededIds(1))
        self.client = LocalClient(self.space, "test")
        self.binder = Binder(self.client, self.notes, self.clock, sleep=asyncio.sleep, uniform=lambda: 0.5)  # type: ignore[arg-type]

    async def pod(self, name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        return (await self.client.create(PODS, body, "default")).json()

    async def node_of(self, name: str) -> str:
        return str((await self.client.get(PODS, name, "default")).json()["spec"].get("nodeName", ""))

    async def turns(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0)


@asynccontextmanager
async def world(cpu: str) -> AsyncIterator[World]:
    here = World()
    await here.space.store.open()
    await bootstrap.ensure(here.space, bootstrap.namespaces())
    await here.client.create(NODES, {"metadata": {"name": "n"}})
    node = (await here.client.get(NODES, "n")).json()
    status = {
        **node.get("status", {}),
        "allocatable": {"cpu": cpu, "pods": "10"},
        "capacity": {"cpu": cpu, "pods": "10"},
    }
    await here.client.update(NODES, {**node, "status": status}, subresource="status")
    here.space.objects.hooks.append(here.binder.place)
    here.binder.start()
    await here.turns()
    try:
        yield here
    finally:
        await here.binder.stop()
        await here.space.store.close()


def run(cpu: str, test: Callable[[World], Awaitable[None]]) -> None:
    async def go() -> None:
        async with world(cpu) as here:
            await test(here)

    asyncio.run(go())


def test_a_pod_for_which_there_is_room_is_on_its_node_from_the_start() -> None:
    async def test(here: World) -> None:
        pod = await here.pod("a")
        assert pod["spec"]["nodeName"] == "n"
        (said,) = pod["status"]["conditions"]
        assert (said["type"], said["status"]) == ("PodScheduled", "True")
        assert pod["status"]["phase"] == "Pending"
        await here.turns()
        assert here.notes.said == [("a", "Scheduled")]

    run("1", test)


def test_without_room_it_waits_and_those_who_come_later_wait_behind_it() -> None:
    async def test(here: World) -> None:
        await here.pod("a", "2")
        assert (await here.pod("b", "3"))["spec"].get("nodeName") is None
        await here.turns()
        # There would be room for this one, but somebody waits: the line is kept by the binder.
        assert (await here.pod("c", "1"))["spec"].get("nodeName") is None
        await here.turns()
        assert await here.node_of("c") == "n"
        assert await here.node_of("b") == ""

    run("3", test)


@pytest.mark.parametrize(
    "spec",
    [{"schedulerName": "another"}, {"schedulingGates": [{"name": "example.com/wait"}]}, {"nodeName": "elsewhere"}],
    ids=lambda spec: next(iter(spec)),
)
def test_others_decide_where_it_goes(spec: dict[str, Any]) -> None:
    async def test(here: World) -> None:
        pod = await here.pod("a", **spec)
        assert pod["spec"].get("nodeName") == spec.get("nodeName")
        assert not any(one["status"] == "True" for one in pod["status"].get("conditions") or ())

    run("1", test)


@pytest.mark.parametrize("how", ["another hook", "what is wrong with it"])
def test_a_pod_that_is_refused_after_all_gives_its_room_back_at_once(how: str) -> None:
    def refuse(admission: Admission) -> None:
        if admission.target.name == "never":
            raise ApiError(403, "Forbidden", "never")

    async def test(here: World) -> None:
        if how == "another hook":
            here.space.objects.hooks.append(refuse)
        with pytest.raises(ApiError, match="never"):
            await here.pod("never", **({} if how == "another hook" else {"restartPolicy": "never"}))
        assert (await here.pod("a"))["spec"].get("nodeName") == "n"

    run("1", test)


def test_a_pod_that_could_not_be_written_gives_its_room_back_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROMISED_SECONDS", 0.05)

    def fail(*_: Any, **__: Any) -> None:
        raise ApiError(507, "InsufficientStorage", "no room left")

    async def test(here: World) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(here.space.objects, "_put", fail)
            with pytest.raises(ApiError, match="no room"):
                await here.pod("never")
        assert (await here.pod("a"))["spec"].get("nodeName") is None
        here.clock.move(1)
        async with asyncio.timeout(10):
            async for event in here.client.watch(PODS):
                if event.item.json()["spec"].get("nodeName"):
                    break
        assert await here.node_of("a") == "n"

    run("1", test)


def test_what_is_only_tried_takes_no_room() -> None:
    async def test(here: World) -> None:
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        body = {"metadata": {"name": "dry"}, "spec": {"containers": [container]}}
        await here.client.create(PODS, body, "default", dry_run=True)
        assert (await here.pod("a"))["spec"]["nodeName"] == "n"

    run("1", test)
