"""The loop of simulations: time that jumps, processes that stop and die."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fairway.runtime.virtual import EPOCH, Process, Stuck, VirtualClock, VirtualLoop, run


async def _ticks(loop: VirtualLoop, seen: list[float]) -> None:
    while True:
        await asyncio.sleep(1.0)
        seen.append(loop.time())


def test_time_jumps_to_the_next_timer_and_clocks_show_it() -> None:
    async def story(loop: VirtualLoop) -> tuple[float, float, float]:
        clock = VirtualClock(loop, skew=2.0, booted=100.0)
        await asyncio.sleep(1000.0)
        return clock.now - EPOCH, clock.monotonic, clock.boot

    assert run(story) == (1002.0, 1000.0, 900.0)


def test_a_stopped_process_catches_up_when_it_goes_on_and_time_has_passed_meanwhile() -> None:
    async def story(loop: VirtualLoop) -> list[float]:
        seen: list[float] = []
        process = Process(loop, "one")
        process.spawn(_ticks(loop, seen))
        await asyncio.sleep(2.5)
        process.stop()
        await asyncio.sleep(5.0)
        process.go_on()
        await asyncio.sleep(0.75)
        return seen

    assert run(story) == [1.0, 2.0, 7.5]


def test_a_killed_process_takes_no_further_step_not_even_to_clean_up() -> None:
    async def story(loop: VirtualLoop) -> list[str]:
        seen: list[str] = []

        async def work() -> None:
            try:
                await asyncio.sleep(5.0)
            finally:
                seen.append("cleaned up")

        process = Process(loop, "one")
        task = process.spawn(work())
        await asyncio.sleep(1.0)
        process.kill()
        task.cancel()
        await asyncio.sleep(10.0)
        return list(seen)

    assert run(story) == []


def test_what_a_process_starts_belongs_to_it() -> None:
    async def story(loop: VirtualLoop) -> list[float]:
        seen: list[float] = []

        async def parent() -> None:
            loop.create_task(_ticks(loop, seen))
            loop.call_later(0.5, lambda: loop.call_later(1.0, seen.append, -1.0))

        process = Process(loop, "one")
        process.spawn(parent())
        await asyncio.sleep(1.25)
        process.kill()
        await asyncio.sleep(5.0)
        return seen

    assert run(story) == [1.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda loop: loop.run_in_executor(None, print),
        lambda loop: loop.add_reader(0, print),
        lambda loop: loop.getaddrinfo("localhost", 80),
        lambda loop: loop.create_connection(asyncio.Protocol, "localhost", 80),
    ],
)
def test_the_outside_world_is_out_of_reach(ask: Callable[[VirtualLoop], Any]) -> None:
    async def story(loop: VirtualLoop) -> None:
        found = ask(loop)
        if asyncio.iscoroutine(found):
            await found

    with pytest.raises(NotImplementedError):
        run(story)


def _waits_for_ever() -> Callable[[VirtualLoop], Coroutine[Any, Any, None]]:
    async def story(loop: VirtualLoop) -> None:
        await loop.create_future()

    return story


def _spins() -> Callable[[VirtualLoop], Coroutine[Any, Any, None]]:
    async def story(loop: VirtualLoop) -> None:
        turns = 0
        while True:
            await asyncio.sleep(0)
            turns += 1

    return story


@pytest.mark.parametrize("story", [_waits_for_ever(), _spins()], ids=["waits", "spins"])
def test_a_story_that_gets_nowhere_is_stuck_instead_of_running_for_ever(
    story: Callable[[VirtualLoop], Coroutine[Any, Any, None]],
) -> None:
    with pytest.raises(Stuck):
        run(story)
