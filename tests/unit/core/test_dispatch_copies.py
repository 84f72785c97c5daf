"""Copies that can never be admitted any more are replaced; those that nobody asks for any more are not followed; ends are told whole."""

from __future__ import annotations

from fairway.core.dispatch.decide import decide
from fairway.core.dispatch.model import (
    Bind,
    Case,
    CheckState,
    DeleteRemote,
    End,
    EvictRemote,
    Finish,
    Link,
    Local,
    Nominate,
    Remote,
    SyncJob,
)

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


def test_only_a_cluster_that_is_asked_now_gets_the_workload() -> None:
    admitted = Remote(admitted_at=1)
    assert Bind("c") in actions(WAITING, admitted)
    elsewhere = Local(CheckState.PENDING, reserved=True, nominated=("d",))
    assert actions(elsewhere, admitted) == [Nominate()]


def test_what_is_evicted_here_is_ended_where_it_is_admitted_though_nobody_is_asked_any_more() -> None:
    evicted = Local(CheckState.PENDING, reserved=True, evicted=True)
    assert EvictRemote("c") in actions(evicted, Remote(admitted_at=1))


def test_a_workload_is_not_finished_here_before_its_job_there_is_known_to_be() -> None:
    bound = Local(CheckState.READY, reserved=True, cluster="c")
    end = End("Succeeded", "", 1)
    assert actions(bound, Remote(finished=end, admitted_at=1, has_job=True, job_runs=True)) == []
    assert actions(bound, Remote(finished=end, admitted_at=1, has_job=True)) == [
        SyncJob("c", create=False),
        Finish("c", end),
    ]
    assert actions(bound, Remote(finished=end, admitted_at=1)) == [SyncJob("c", create=False), Finish("c", end)]


def test_what_is_left_of_an_attempt_before_goes_before_the_next_is_asked_for() -> None:
    admitted = Remote(admitted_at=1, has_job=True)
    local = Local(CheckState.PENDING, reserved=True, again=True)
    left = Case(local, {"c": admitted}, {"c": Link(True, may_run=True), "d": Link(True)})
    assert decide(left, 0).actions == [DeleteRemote("c")]
    lost = Case(local, {}, {"c": Link(False, safe_at=5, may_run=True), "d": Link(True)})
    assert decide(lost, 0).actions == []
    assert decide(lost, 5).actions == [Nominate()]


def test_a_copy_that_is_being_removed_and_has_no_job_any_more_ends_nothing() -> None:
    end = End("Succeeded", "", 1)
    assert not [each for each in actions(WAITING, Remote(finished=end, leaving=True)) if isinstance(each, Finish)]
