"""Events that are too old, or too many, go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.integration.queueing import StoppedClock

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.expiry import EventExpiry
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.events import Recorder
from fairway.kinds import builtin
from fairway.runtime.ids import SeededIds
from fairway.store import Store

EVENTS = Resource("", "v1", "events")


class World:
    def __init__(self) -> None:
        self.clock = StoppedClock()
        self.space = Space("test", Store(), builtin.KINDS, self.clock, SeededIds(1))
        self.client = LocalClient(self.space, "test")

    async def happen(self, *names: str) -> None:
        recorder = Recorder(self.client, self.clock)
        for name in names:
            about = {"metadata": {"name": name, "namespace": "default", "uid": name}}
            recorder.note(about, "Normal", "Told", "so", "test")
        await recorder.stop()

    async def told(self) -> list[str]:
        for _ in range(20):  # What was staged is seen a few turns later.
            await asyncio.sleep(0)
        return [item.json()["involvedObject"]["name"] for item in (await self.client.list(EVENTS)).items]


def run(test: Callable[[World], Awaitable[None]]) -> None:
    async def go() -> None:
        here = World()
        await here.space.store.open()
        await bootstrap.ensure(here.space, bootstrap.namespaces())
        await test(here)
        await here.space.store.close()

    asyncio.run(go())


def test_events_go_when_they_are_old() -> None:
    async def test(here: World) -> None:
        await here.happen("old")
        here.clock.move(60)
        await here.happen("young")
        here.clock.move(3599)
        assert not await EventExpiry(here.space)._step()
        assert await here.told() == ["young"]

    run(test)


def test_of_too_many_events_the_eldest_go_however_young() -> None:
    async def test(here: World) -> None:
        names = [f"e{number:04}" for number in range(2500)]
        await here.happen(*names)
        expiry = EventExpiry(here.space, most=300)
        rounds = 1
        while await expiry._step():
            rounds += 1
        assert sorted(await here.told()) == names[-300:]
        assert rounds == 3

    run(test)
