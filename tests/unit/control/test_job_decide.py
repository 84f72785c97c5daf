"""The rules of Jobs, case by case: what happened in, what is planned out."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.control.job_world import NOW, STEPS, World, make_job

from fairway.api.client import Item
from fairway.control.jobs.decide import decide
from fairway.control.jobs.view import PodView, read, view
from fairway.kinds.types import UNSET, Time, encode


def uids(world: World) -> list[str]:
    return list(world.pods)


# --- parallelism and completions --------------------------------------------------------------------------------------


def test_a_new_job_starts_as_many_pods_as_may_run_at_once() -> None:
    world = World(make_job(parallelism=2, completions=5))
    plan = world.sync()
    assert len(plan.create) == 2
    status = world.job.status
    assert (status.active, status.ready, status.terminating) == (2, 0, 0)
    assert status.start_time == "2026-01-01T00:00:00Z"


def test_no_more_pods_are_started_than_completions_are_left() -> None:
    world = World(make_job(parallelism=3, completions=4))
    world.settle()
    world.end("uid-1")
    world.end("uid-2")
    world.settle()
    assert len(world.active()) == 2
    assert world.job.status.succeeded == 2


def test_a_job_of_one_pod_takes_two_status_writes_from_start_to_end() -> None:
    world = World(make_job())
    world.settle()
    world.end_all()
    world.settle()
    assert world.outcome == ("Complete", "CompletionsReached")
    assert world.writes == 2
    assert world.true() == ["SuccessCriteriaMet", "Complete"]
    assert world.job.status.completion_time == Time("2026-01-01T00:00:00Z")
    assert world.notes == ["Completed"]


def test_without_completions_the_first_success_stops_new_pods_and_the_rest_may_finish() -> None:
    world = World(make_job(parallelism=3))
    world.settle()
    world.end("uid-1")
    world.settle()
    assert len(world.active()) == 2
    assert world.outcome is None
    world.end("uid-2", 1)
    world.end("uid-3")
    world.settle()
    assert world.outcome == ("Complete", "CompletionsReached")
    assert (world.job.status.succeeded, world.job.status.failed) == (2, 1)


def test_a_job_of_no_completions_is_complete_at_once() -> None:
    world = World(make_job(completions=0, parallelism=3))
    world.settle()
    assert world.outcome == ("Complete", "CompletionsReached")
    assert world.made == 0


def test_less_parallelism_removes_pods_that_have_come_least_far_uncounted() -> None:
    world = World(make_job(parallelism=3, completions=3))
    world.settle()
    world.run("uid-2")
    world.job.spec.parallelism = 1
    plan = world.sync()
    assert set(plan.delete) == {"uid-1", "uid-3"}
    assert set(plan.release) == {"uid-1", "uid-3"}
    assert world.job.status.failed is UNSET
    assert (world.job.status.active, world.job.status.terminating) == (1, 2)


def test_a_job_of_parallelism_zero_starts_nothing_and_stays() -> None:
    world = World(make_job(parallelism=0, completions=3))
    world.settle()
    assert (world.made, world.outcome) == (0, None)


def test_a_job_that_is_managed_by_another_is_left_alone() -> None:
    plan = decide(make_job(managedBy="kueue.x-k8s.io/multikueue"), [], NOW)
    assert plan.status is None
    assert not plan.create
    assert World(make_job(managedBy="kubernetes.io/job-controller")).sync().create


def test_a_job_that_is_being_deleted_creates_nothing_and_lets_its_pods_go() -> None:
    world = World(make_job(parallelism=2, completions=2))
    world.settle()
    world.job.metadata.deletion_timestamp = Time("2026-01-01T00:00:00Z")
    world.end("uid-1", 1)
    plan = world.sync()
    assert set(plan.release) == {"uid-1", "uid-2"}
    assert not plan.create


# --- failures ---------------------------------------------------------------------------------------------------------


def test_failed_pods_are_replaced_after_ten_seconds_then_ever_later() -> None:
    world = World(make_job(backoffLimit=20))
    world.settle()
    waits = []
    for _ in range(8):
        world.end_all(1)
        world.settle()
        assert not world.active()
        waits.append(world.plan.wake_at - world.now)
        world.now = world.plan.wake_at
        world.settle()
        assert len(world.active()) == 1
    assert waits == [10, 20, 40, 80, 160, 320, 360, 360]


@pytest.mark.parametrize("spec", [{}, {"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 3}])
def test_a_clock_that_is_set_back_does_not_make_a_job_wait_for_the_time_of_its_failure(spec: dict[str, Any]) -> None:
    world = World(make_job(**spec))
    world.settle()
    world.end_all(1)
    world.settle()
    assert not world.active()
    world.now -= 3600
    world.settle()
    assert len(world.active()) == 1


def test_a_success_ends_the_backoff() -> None:
    world = World(make_job(parallelism=2, completions=4))
    world.settle()
    world.end("uid-1", 1)
    world.settle()
    assert world.plan.wake_at == NOW + 10
    world.now += 5
    world.end("uid-2")
    world.settle()
    assert len(world.active()) == 2


def test_one_failure_more_than_the_limit_fails_the_job() -> None:
    world = World(make_job(backoffLimit=1))
    world.settle()
    for _ in range(2):
        world.end_all(1)
        world.settle()
        world.now += 400
        world.settle()
    assert world.outcome == ("Failed", "BackoffLimitExceeded")
    assert world.true() == ["FailureTarget", "Failed"]
    assert (world.job.status.failed, world.made) == (2, 2)
    assert world.job.status.completion_time is UNSET
    assert world.notes == ["BackoffLimitExceeded"]


def test_a_failing_job_ends_its_pods_and_waits_for_them_before_it_says_failed() -> None:
    world = World(make_job(parallelism=3, completions=3, backoffLimit=0))
    world.settle()
    world.run("uid-2")
    world.end("uid-1", 1)
    plan = world.sync()
    assert set(plan.delete) == {"uid-2", "uid-3"}
    world.settle()
    assert world.true() == ["FailureTarget"]
    assert world.job.status.terminating == 2
    world.end_all(143)
    world.settle()
    assert world.outcome == ("Failed", "BackoffLimitExceeded")
    assert world.job.status.failed == 3


def test_restarts_in_place_count_against_the_limit() -> None:
    world = World(make_job(backoffLimit=3, restartPolicy="OnFailure"))
    world.settle()
    world.put(changed(world.pods["uid-1"], phase="Running", restarts=2))
    world.settle()
    assert world.outcome is None
    world.put(changed(world.pods["uid-1"], restarts=3))
    world.settle()
    assert "FailureTarget" in world.true()


def test_the_deadline_ends_a_job_however_it_is_doing() -> None:
    world = World(make_job(activeDeadlineSeconds=60))
    world.settle()
    assert world.plan.wake_at == NOW + 60
    world.now += 60
    world.settle()
    world.end_all(143)
    world.settle()
    assert world.outcome == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize(("policy", "failed"), [("TerminatingOrFailed", 1), ("Failed", UNSET)])
def test_a_pod_that_someone_deletes_is_replaced_at_once_or_when_it_has_ended(policy: str, failed: Any) -> None:
    world = World(make_job(podReplacementPolicy=policy))
    world.settle()
    world.put(changed(world.pods["uid-1"], deleting=True, finished_at=world.now - 60))
    world.settle()
    assert world.job.status.failed == failed
    assert len(world.active()) == (1 if policy == "TerminatingOrFailed" else 0)
    assert world.job.status.terminating == 1


# --- pod failure policy -----------------------------------------------------------------------------------------------


def codes(action: str, operator: str, *values: int, container: str | None = None) -> dict[str, Any]:
    on: dict[str, Any] = {"operator": operator, "values": list(values)}
    if container is not None:
        on["containerName"] = container
    return {"action": action, "onExitCodes": on}


def conditions(action: str, kind: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("rules", "code", "outcome", "failed"),
    [
        ([codes("FailJob", "In", 42)], 42, ("Failed", "PodFailurePolicy"), 1),
        ([codes("FailJob", "In", 42)], 1, None, 1),
        ([codes("FailJob", "NotIn", 42)], 1, ("Failed", "PodFailurePolicy"), 1),
        ([codes("FailJob", "NotIn", 42)], 42, None, 1),
        ([codes("Ignore", "In", 42)], 42, None, UNSET),
        ([codes("Count", "In", 42), codes("FailJob", "In", 42)], 42, None, 1),
        ([codes("Ignore", "In", 42), codes("FailJob", "In", 42)], 42, None, UNSET),
        ([codes("FailJob", "In", 42, container="other")], 42, None, 1),
        ([codes("FailJob", "In", 42, container="c")], 42, ("Failed", "PodFailurePolicy"), 1),
    ],
    ids=str,
)
def test_the_first_rule_that_fits_a_failed_pod_decides(
    rules: list[dict[str, Any]], code: int, outcome: tuple[str, str] | None, failed: Any
) -> None:
    world = World(make_job(podFailurePolicy={"rules": rules}))
    world.settle()
    world.end_all(code)
    world.settle()
    assert (world.outcome, world.job.status.failed) == (outcome, failed)


def test_the_message_of_a_job_failed_by_policy_names_pod_container_code_and_rule() -> None:
    world = World(make_job(podFailurePolicy={"rules": [codes("Ignore", "In", 1), codes("FailJob", "In", 42)]}))
    world.settle()
    world.end_all(42)
    world.settle()
    message = (world.job.status.conditions or [])[0].message
    assert message == "Container c for pod default/pod-1 failed with exit code 42 matching FailJob rule at index 1"


def test_a_rule_may_ask_for_a_condition_of_the_pod() -> None:
    world = World(make_job(podFailurePolicy={"rules": [conditions("Ignore", "DisruptionTarget")]}, backoffLimit=0))
    world.settle()
    world.put(changed(world.pods["uid-1"], phase="Failed", conditions=(("DisruptionTarget", "True"),)))
    world.settle()
    assert world.outcome is None
    assert world.job.status.failed is UNSET
    world.now += 400
    world.settle()
    world.put(changed(world.pods["uid-2"], phase="Failed", conditions=(("DisruptionTarget", "False"),)))
    world.settle()
    assert world.outcome == ("Failed", "BackoffLimitExceeded")


# --- indexes ----------------------------------------------------------------------------------------------------------


def test_an_indexed_job_starts_the_lowest_indexes_first_and_writes_what_is_done_as_intervals() -> None:
    world = World(make_job(completionMode="Indexed", parallelism=3, completions=8))
    plan = world.sync()
    assert [pod.index for pod in plan.create] == [0, 1, 2]
    for done in (("uid-3",), ("uid-1",), ("uid-2", "uid-4", "uid-5")):
        world.settle()
        for uid in done:
            world.end(uid)
    world.settle()
    assert world.job.status.completed_indexes == "0-4"
    assert world.job.status.succeeded == 5


def test_two_indexes_in_a_row_are_written_apart() -> None:
    world = World(make_job(completionMode="Indexed", parallelism=4, completions=4))
    world.settle()
    for uid in ("uid-1", "uid-2", "uid-4"):
        world.end(uid)
    world.settle()
    assert world.job.status.completed_indexes == "0,1,3"


def test_pods_of_unknown_unwanted_or_doubled_indexes_are_removed() -> None:
    world = World(make_job(completionMode="Indexed", parallelism=2, completions=2))
    world.settle()
    for number, index in enumerate((-1, 5, 0)):
        world.put(PodView(name=f"x{number}", uid=f"x{number}", index=index))
    world.put(changed(world.pods["uid-1"], phase="Running", scheduled=True))
    plan = world.sync()
    assert set(plan.delete) == {"x0", "x1", "x2"}


def test_an_index_that_has_failed_too_often_fails_alone_and_the_others_go_on() -> None:
    world = World(make_job(completionMode="Indexed", parallelism=2, completions=3, backoffLimitPerIndex=1))
    world.settle()
    world.end("uid-1", 1)
    world.settle()
    assert [pod.index for pod in world.active()] == [1]
    world.now = world.plan.wake_at
    world.settle()
    (second,) = [pod for pod in world.active() if pod.index == 0]
    assert second.failures == 1
    world.end(second.uid, 1)
    world.settle()
    assert world.job.status.failed_indexes == "0"
    while world.active():
        world.end_all()
        world.settle()
    assert world.outcome == ("Failed", "FailedIndexes")
    assert (world.job.status.completed_indexes, world.job.status.failed) == ("1,2", 2)


def test_more_failed_indexes_than_allowed_end_the_job() -> None:
    spec = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    world = World(make_job(completionMode="Indexed", parallelism=4, completions=4, **spec))
    world.settle()
    world.end("uid-1", 1)
    world.settle()
    assert world.outcome is None
    world.end("uid-3", 1)
    world.settle()
    world.end_all(143)
    world.settle()
    assert world.outcome == ("Failed", "MaxFailedIndexesExceeded")
    assert world.job.status.failed_indexes == "0,2"


def test_a_rule_may_give_up_an_index_at_its_first_failure() -> None:
    rules = {"rules": [codes("FailIndex", "In", 42)]}
    world = World(
        make_job(completionMode="Indexed", parallelism=2, completions=2, backoffLimitPerIndex=5, podFailurePolicy=rules)
    )
    world.settle()
    world.end("uid-1", 42)
    world.settle()
    assert world.job.status.failed_indexes == "0"
    assert [pod.index for pod in world.active()] == [1]


def test_an_ignored_failure_delays_an_index_but_is_not_held_against_it() -> None:
    rules = {"rules": [codes("Ignore", "In", 42)]}
    world = World(
        make_job(completionMode="Indexed", parallelism=1, completions=1, backoffLimitPerIndex=0, podFailurePolicy=rules)
    )
    world.settle()
    for expected in (10, 20):
        world.end_all(42)
        world.settle()
        assert world.plan.wake_at - world.now == expected
        world.now = world.plan.wake_at
        world.settle()
    (pod,) = world.active()
    assert (pod.failures, pod.ignored) == (0, 2)


# --- success policy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "done", "met"),
    [
        ([{"succeededIndexes": "0"}], [0], "Matched rules at index 0"),
        ([{"succeededIndexes": "0"}], [1, 2, 3], ""),
        ([{"succeededCount": 2}], [1], ""),
        ([{"succeededCount": 2}], [1, 3], "Matched rules at index 0"),
        ([{"succeededIndexes": "0-2", "succeededCount": 2}], [0, 3], ""),
        ([{"succeededIndexes": "0-2", "succeededCount": 2}], [0, 2], "Matched rules at index 0"),
        ([{"succeededIndexes": "0"}, {"succeededCount": 1}], [3], "Matched rules at index 1"),
    ],
    ids=str,
)
def test_a_success_policy_ends_the_job_when_enough_indexes_have_succeeded(
    rules: list[dict[str, Any]], done: list[int], met: str
) -> None:
    world = World(make_job(completionMode="Indexed", parallelism=4, completions=4, successPolicy={"rules": rules}))
    world.settle()
    for index in done:
        world.end(f"uid-{index + 1}")
    world.settle()
    found = [one.message for one in world.job.status.conditions or () if one.type == "SuccessCriteriaMet"]
    assert found == ([met] if met else [])
    if met:
        world.end_all(143)
        world.settle()
        assert world.outcome == ("Complete", "SuccessPolicy")
        assert world.job.status.failed is UNSET


def test_failures_after_the_success_criteria_are_met_no_longer_matter() -> None:
    rules = {"rules": [{"succeededIndexes": "0"}]}
    world = World(make_job(completionMode="Indexed", parallelism=2, completions=2, successPolicy=rules, backoffLimit=0))
    world.settle()
    world.end("uid-1")
    world.sync()
    world.end("uid-2", 1)
    world.settle()
    assert world.outcome == ("Complete", "SuccessPolicy")


# --- suspend ----------------------------------------------------------------------------------------------------------


def test_suspending_deletes_the_pods_uncounted_and_resuming_starts_afresh() -> None:
    world = World(make_job(parallelism=2, completions=2, activeDeadlineSeconds=100))
    world.settle()
    world.now += 60
    world.job.spec.suspend = True
    world.settle()
    assert (world.job.status.active, world.job.status.start_time) == (UNSET, UNSET)
    assert world.true() == ["Suspended"]
    world.end_all(143)
    world.settle()
    assert (world.job.status.failed, world.job.status.terminating) == (UNSET, 0)
    world.now += 60
    world.settle()
    assert world.outcome is None
    world.job.spec.suspend = False
    world.settle()
    assert world.true() == []
    assert len(world.active()) == 2
    assert world.job.status.start_time == "2026-01-01T00:02:00Z"
    assert world.plan.wake_at == world.now + 100
    assert world.notes == ["Suspended", "Resumed"]


def test_a_job_that_is_born_suspended_says_so_and_waits() -> None:
    world = World(make_job(suspend=True))
    world.settle()
    assert (world.true(), world.made, world.writes) == (["Suspended"], 0, 1)


def test_pods_that_succeeded_before_the_suspension_are_counted() -> None:
    world = World(make_job(parallelism=2, completions=3))
    world.settle()
    world.end("uid-1")
    world.job.spec.suspend = True
    world.settle()
    assert world.job.status.succeeded == 1


def test_a_pod_that_was_let_go_but_not_deleted_is_claimed_again_when_its_job_goes_on() -> None:
    world = World(make_job(parallelism=2, completions=2))
    world.settle()
    world.job.spec.suspend = True
    world.sync(steps=STEPS.index("delete"))
    assert not any(pod.tracked for pod in world.active())
    world.job.spec.suspend = False
    plan = world.sync()
    assert set(plan.claim) == {"uid-1", "uid-2"}
    world.end_all()
    world.settle()
    assert world.outcome == ("Complete", "CompletionsReached")
    assert (world.job.status.succeeded, world.made) == (2, 2)


# --- after the end ----------------------------------------------------------------------------------------------------


def test_a_finished_job_is_deleted_when_its_time_to_live_is_over() -> None:
    world = World(make_job(ttlSecondsAfterFinished=30))
    world.settle()
    world.end_all()
    world.settle()
    assert world.plan.wake_at == NOW + 30
    assert not world.plan.delete_job
    world.now += 30
    assert world.sync().delete_job


def test_a_finished_job_lets_go_of_pods_that_a_crash_left_tracked() -> None:
    world = World(make_job())
    world.settle()
    world.end_all()
    world.sync(steps=1)
    assert world.outcome == ("Complete", "CompletionsReached")
    assert world.pods["uid-1"].tracked
    world.settle()
    assert not world.pods["uid-1"].tracked
    assert world.job.status.succeeded == 1


def test_many_pods_are_counted_in_steps_and_the_job_finishes_after_the_last() -> None:
    world = World(make_job(parallelism=1200, completions=1200))
    world.settle()
    assert len(world.active()) == 1200
    world.end_all()
    plan = world.sync()
    assert len(plan.release) == 500
    assert world.outcome is None
    world.settle()
    assert world.outcome == ("Complete", "CompletionsReached")
    assert world.job.status.succeeded == 1200


def test_readiness_alone_may_wait_to_be_written() -> None:
    world = World(make_job())
    world.settle()
    world.run("uid-1")
    plan = decide(world.job, list(world.pods.values()), world.now)
    assert plan.status is not None
    assert plan.status.ready == 1
    assert not plan.urgent
    world.end_all()
    assert decide(world.job, list(world.pods.values()), world.now).urgent


def test_an_unknown_completion_mode_is_reported_and_nothing_is_done() -> None:
    job = make_job()
    job.spec.completion_mode = "Sideways"
    plan = decide(job, [], NOW)
    assert [note.reason for note in plan.notes] == ["UnknownCompletionMode"]
    assert plan.status is None


def test_the_plan_never_changes_the_job_it_was_given() -> None:
    world = World(make_job(parallelism=2, completions=2))
    world.settle()
    world.end("uid-1", 1)
    before = replace(world.job.status, conditions=list(world.job.status.conditions or []) or UNSET)
    decide(world.job, list(world.pods.values()), world.now)
    assert world.job.status == before


# --- leases -----------------------------------------------------------------------------------------------------------


def test_a_pod_that_lost_its_lease_does_not_count_against_the_backoff_limit() -> None:
    world = World(make_job(backoffLimit=0))
    world.settle()
    world.end("uid-1", code=137)
    world.put(changed(world.pods["uid-1"], expired=True))
    world.settle()
    assert world.job.status.failed is UNSET
    assert world.job.status.conditions is UNSET
    assert not world.pods["uid-1"].tracked


def test_a_pod_that_lost_its_lease_is_no_failure_of_its_index_nor_for_a_policy() -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}
    for more in ({"backoffLimitPerIndex": 0}, {"podFailurePolicy": {"rules": [rule]}}):
        world = World(make_job(completionMode="Indexed", completions=1, parallelism=1, **more))
        world.settle()
        world.end("uid-1", code=137)
        world.put(changed(world.pods["uid-1"], expired=True))
        world.settle()
        assert not world.job.status.failed_indexes
        assert world.job.status.conditions is UNSET


def test_a_pod_is_seen_to_have_lost_its_lease_by_the_reason_of_a_container() -> None:
    def pod(reason: str) -> Item:
        state = {"terminated": {"exitCode": 137, "reason": reason}}
        status = {"phase": "Failed", "containerStatuses": [{"name": "c", "state": state}]}
        return Item(encode({"metadata": {"name": "p", "uid": "u"}, "status": status}))

    assert view(read(pod("LeaseExpired"))).expired
    assert not view(read(pod("Error"))).expired
