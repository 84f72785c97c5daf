"""The simulation finds what it is there to find: each safeguard is taken out once, and a promise breaks within a few histories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fairway.control.fencing.hooks import EpochHook
from fairway.fleet.dispatch.dispatcher import Dispatcher
from fairway.fleet.dispatch.writes import Outcome
from fairway.fleet.link.link import Link
from fairway.sim.fleet.disk import SlowDisk
from fairway.sim.fleet.machine import SimMachine
from fairway.sim.fleet.plan import QUIET, Climate, Plan
from fairway.sim.fleet.story import tell

SEEDS = range(1, 31)
_NOTHING = {"kill": 0, "stop": 0, "shim": 0, "power": 0, "cut": 0, "storm": 0, "clock": 0}


def _broken(every_s: float = 4.0, longest_s: float = 30.0, rage_s: float = 40.0, **weights: int) -> str:
    """The first promise that breaks where only these things go wrong."""
    climate = Climate(every_s=every_s, **{**_NOTHING, **weights})
    plan = Plan(jobs=6, longest_s=longest_s, rage_s=rage_s, habits=QUIET, climate=climate)
    for seed in SEEDS:
        told = tell(seed, plan)
        if told.broken:
            return told.broken
    return ""


def test_a_hub_that_does_not_wait_for_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "safe_at", lambda self, _window: self._now())
    assert "one-attempt" in _broken(cut=1)


def test_shims_that_do_not_look_at_their_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimMachine, "honours_leases", False)
    assert "one-attempt" in _broken(kill=1, longest_s=120.0, rage_s=120.0, every_s=10.0)


def test_a_cluster_that_lets_in_what_was_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EpochHook, "__call__", lambda _self, _admission: None)
    # What comes late runs beside another, or stays behind when all is over: whichever is noticed first.
    found = ("Broken: epochs-grow", "Broken: one-attempt", "Broken: starts-once", "Broken: nothing-left")
    assert _broken(storm=3, kill=1).startswith(found)


def test_a_hub_that_sends_a_job_before_its_cluster_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = Dispatcher._apply

    async def eager(self: Dispatcher, outcomes: Sequence[tuple[str, Outcome]]) -> set[str]:
        for key, outcome in outcomes:
            self.errands.send(key, outcome.ops)
            outcome.ops = []
        return await apply(self, outcomes)

    monkeypatch.setattr(Dispatcher, "_apply", eager)
    assert "bound-first" in _broken(storm=1)


def test_a_disk_that_says_done_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hasty(self: SlowDisk, work: Callable[[], Any]) -> Any:
        if "write" not in work.__qualname__ and "_commit" not in work.__qualname__:
            return await run(self, work)
        self._loop.create_task(run(self, work))
        return None

    run = SlowDisk.run
    monkeypatch.setattr(SlowDisk, "run", hasty)
    # What was acknowledged is gone, or it is begun again because nobody knows that it ended: whichever is noticed first.
    assert _broken(kill=3, power=1, every_s=1.0).startswith(("Broken: nothing-lost", "Broken: starts-once"))


def test_without_any_of_this_all_promises_hold() -> None:
    plan = Plan(jobs=6, rage_s=40.0, habits=QUIET, climate=Climate(every_s=4.0))
    assert [told.broken for seed in (1, 2) if (told := tell(seed, plan)).broken] == []
