"""Hub or cluster is killed, stopped or cut off at each step of an attempt: the job completes once, and never runs in two places."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from tests.chaos.points import POINTS
from tests.chaos.stage import Held, Stage

Fault = Callable[[Stage, Held], Awaitable[None]]


def _other(stage: Stage, cluster: str) -> str:
    return next(name for name in stage.clusters if name != cluster)


def beyond(stage: Stage) -> float:
    """Longer than the hub waits before it starts work elsewhere."""
    return stage.terms.hold_s + 1


# --- faults -----------------------------------------------------------------------------------------------------------


async def kill_hub(stage: Stage, held: Held) -> None:
    """What it had sent arrives when its next life is there."""
    stage.hub.kill()
    await stage.hub.start()
    held.go_on.set()


async def kill_cluster(stage: Stage, held: Held) -> None:
    node = stage.clusters[held.passing.cluster]
    node.kill()
    held.go_on.set()
    await node.start()


async def kill_other(stage: Stage, held: Held) -> None:
    node = stage.clusters[_other(stage, held.passing.cluster)]
    node.kill()
    held.go_on.set()
    await node.start()


async def cut_shortly(stage: Stage, held: Held) -> None:
    proxy = stage.proxies[held.passing.cluster]
    proxy.cut()
    held.go_on.set()
    await asyncio.sleep(0.3)
    proxy.heal()


async def stop_hub(stage: Stage, held: Held) -> None:
    stage.hub.stop()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    stage.hub.go_on()


async def stop_cluster(stage: Stage, held: Held) -> None:
    node = stage.clusters[held.passing.cluster]
    node.stop()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    node.go_on()


async def stop_other(stage: Stage, held: Held) -> None:
    node = stage.clusters[_other(stage, held.passing.cluster)]
    node.stop()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    node.go_on()


async def cut(stage: Stage, held: Held) -> None:
    proxy = stage.proxies[held.passing.cluster]
    proxy.cut()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    proxy.heal()


async def swallow_all(stage: Stage, held: Held) -> None:
    """What was on its way arrives after the hub has given up."""
    proxy = stage.proxies[held.passing.cluster]
    proxy.hole()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    proxy.heal(late=True)


async def swallow_answers(stage: Stage, held: Held) -> None:
    """Requests are carried out, and nobody hears of it."""
    proxy = stage.proxies[held.passing.cluster]
    proxy.mute()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    proxy.heal(late=False)


async def swallow_requests(stage: Stage, held: Held) -> None:
    proxy = stage.proxies[held.passing.cluster]
    proxy.deaf()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    proxy.heal(late=False)


async def kill_cluster_for_long(stage: Stage, held: Held) -> None:
    node = stage.clusters[held.passing.cluster]
    node.kill()
    held.go_on.set()
    await asyncio.sleep(beyond(stage))
    await node.start()


# --- cases ------------------------------------------------------------------------------------------------------------


async def go_through(stage: Stage, point: str, fault: Fault) -> None:
    arrives, call_off = stage.hold(POINTS[point])
    name = await stage.submit(-1, "deaf")
    runs_on = point == "when the payload runs"
    if not runs_on:
        stage.let_end(name)
    try:
        async with asyncio.timeout(30):
            held = await arrives
    finally:
        call_off()
    await fault(stage, held)
    stage.let_end(name)
    await stage.check(name)


EVERYTHING = bool(os.environ.get("FAIRWAY_CHAOS_ALL"))
STEPS = list(POINTS)
SHORT: list[Fault] = [kill_hub, kill_cluster, cut_shortly, kill_other]
LONG: list[Fault] = [
    stop_hub,
    stop_cluster,
    cut,
    swallow_all,
    swallow_answers,
    swallow_requests,
    kill_cluster_for_long,
    stop_other,
]


def cases(faults: list[Fault], kept: list[tuple[str, Fault]]) -> list[tuple[str, Fault]]:
    """Each step with each fault takes minutes: FAIRWAY_CHAOS_ALL=1 goes through them all. Otherwise every step and every fault has its turn."""
    return [(step, fault) for step in STEPS for fault in faults] if EVERYTHING else kept


def _named(value: object) -> str:
    return getattr(value, "__name__", str(value))


KEPT_SHORT = [
    *((step, fault) for step in STEPS for fault in (kill_hub, kill_cluster)),
    *((step, cut_shortly) for step in STEPS[::2]),
    ("when it is bound", kill_other),
]
KEPT_LONG = [
    *((step, LONG[number % len(LONG)]) for number, step in enumerate(STEPS)),
    ("when it is bound", stop_hub),
    ("when the payload runs", cut),
    ("when the payload runs", stop_cluster),
    ("when its end is told", swallow_answers),
]


@pytest.mark.parametrize(("point", "fault"), cases(SHORT, KEPT_SHORT), ids=_named)
def test_work_goes_on_where_it_is_if_what_broke_is_back_within_the_lease(
    patient: Stage, point: str, fault: Fault
) -> None:
    with patient.used():
        before = len(patient.diary())
        patient.run(go_through(patient, point, fault))
        assert [entry.word for entry in patient.diary()[before:]] == ["start", "end"]


@pytest.mark.parametrize(("point", "fault"), cases(LONG, KEPT_LONG), ids=_named)
def test_work_runs_in_one_place_at_a_time_though_what_broke_is_back_after_the_lease(
    hasty: Stage, point: str, fault: Fault
) -> None:
    with hasty.used():
        hasty.run(go_through(hasty, point, fault))
