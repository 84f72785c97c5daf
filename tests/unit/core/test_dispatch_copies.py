"""Copies that can never be admitted any more are replaced."""

from __future__ import annotations

from fairway.core.dispatch.decide import decide
from fairway.core.dispatch.model import Case, CheckState, DeleteRemote, Link, Local, Nominate, Remote

WAITING = Local(CheckState.PENDING, reserved=True, nominated=("c",))
DEAD = Remote(evicted=True, eviction_asked=True)


def actions(local: Local, remote: Remote) -> list[object]:
    return list(decide(Case(local, {"c": remote}, {"c": Link(True)}), 0).actions)


def test_a_copy_that_was_evicted_for_good_before_it_was_bound_makes_room_for_a_new_one() -> None:
    assert actions(WAITING, DEAD) == [DeleteRemote("c"), Nominate()]


def test_a_copy_that_waits_again_after_an_eviction_is_left_to_wait() -> None:
    assert DeleteRemote("c") not in actions(WAITING, Remote(evicted=True))


def test_a_copy_that_the_workload_is_bound_to_is_not_deleted_under_it() -> None:
    bound = Local(CheckState.READY, reserved=True, cluster="c")
    assert DeleteRemote("c") not in actions(bound, DEAD)
    evicted = Local(CheckState.PENDING, reserved=True, evicted=True)
    assert DeleteRemote("c") not in actions(evicted, DEAD)
