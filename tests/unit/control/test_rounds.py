"""When things are looked at again, also where the wall clock is set."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.control.virtual import VirtualClock, clock, run

from fairway.control.rounds import ALARM_MAX_SECONDS, Rounds


class SetClock:
    """A wall clock that somebody sets."""

    def __init__(self, true: VirtualClock) -> None:
        self._true = true
        self.off = 0.0

    @property
    def now(self) -> float:
        return self._true.now + self.off

    @property
    def monotonic(self) -> float:
        return self._true.monotonic


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
def test_what_was_to_be_looked_at_soon_is_looked_at_soon_though_the_clock_was_set(off: float) -> None:
    async def scenario() -> None:
        wall, seen = SetClock(clock()), asyncio.Event()

        async def step(_keys: list[str]) -> None:
            seen.set()

        rounds = Rounds("test", wall, step, 10)
        rounds.start()
        await asyncio.sleep(1)
        rounds.look_at("a", wall.now + 2)
        await asyncio.sleep(0)
        wall.off = off
        async with asyncio.timeout(2 * ALARM_MAX_SECONDS):
            await seen.wait()
        await rounds.stop()

    run(scenario())


def test_a_look_comes_at_its_time_where_nobody_sets_the_clock() -> None:
    async def scenario() -> None:
        wall, seen = clock(), asyncio.Event()

        async def step(_keys: list[str]) -> None:
            seen.set()

        rounds = Rounds("test", wall, step, 10)
        rounds.start()
        began = wall.monotonic
        rounds.look_at("a", wall.now + 30)
        await seen.wait()
        assert wall.monotonic - began == pytest.approx(30, abs=0.1)
        await rounds.stop()

    run(scenario())
