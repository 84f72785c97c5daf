"""The life of a pod as a table: what happens, and what the node does then."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.control.podtime import NOON, UID, PodTime, container, pod

from fairway.control.pods.containers import Problem
from fairway.engines.engine import RunState, RunStatus


def test_a_pod_runs_and_succeeds() -> None:
    time = PodTime(pod())
    assert time.started() == ["main.0"]
    assert (time.phase, time.waiting()) == ("Pending", "ContainerCreating")
    assert time.status()["containerID"] == f"fairway://{UID}.main.0", "what is meant is written before it is started"
    assert time.status()["imageID"] == ""
    time.runs_now("main.0")
    assert time.started() == []
    assert (time.phase, time.condition("Ready"), time.status()["ready"]) == ("Running", ("True", ""), True)
    assert time.status()["state"] == {"running": {"startedAt": "2026-01-01T12:00:00Z"}}
    time.now += 5
    time.ends("main.0")
    assert time.started() == []
    assert time.phase == "Succeeded"
    ended = time.status()["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-01T12:00:00Z", "2026-01-01T12:00:05Z")
    assert time.condition("Ready") == ("False", "PodCompleted")
    assert time.condition("Initialized") == ("True", "PodCompleted")


def test_nothing_changes_when_nothing_happened() -> None:
    time = PodTime(pod())
    for happens in (lambda: None, lambda: time.runs_now("main.0"), lambda: time.ends("main.0", 1)):
        happens()
        first = time.step()
        time.now += 1
        again = time.step()
        assert (again.status, again.starts, again.stops, again.notes) == (first.status, [], [], [])


@pytest.mark.parametrize(
    ("policy", "code", "phase", "again"),
    [
        ("Never", 0, "Succeeded", []),
        ("Never", 1, "Failed", []),
        ("OnFailure", 0, "Succeeded", []),
        ("OnFailure", 1, "Running", ["main.1"]),
        ("Always", 0, "Running", ["main.1"]),
        ("Always", 137, "Running", ["main.1"]),
    ],
)
def test_what_follows_the_end_of_a_container(policy: str, code: int, phase: str, again: list[str]) -> None:
    time = PodTime(pod(restartPolicy=policy))
    time.step()
    time.runs_now("main.0")
    time.step()
    time.ends("main.0", code)
    assert time.started() == again
    assert time.phase == phase
    if again:
        assert time.status()["lastState"]["terminated"]["exitCode"] == code
        assert time.status()["restartCount"] == 1


@pytest.mark.parametrize(
    ("run", "code", "reason"),
    [
        (RunStatus("", RunState.EXITED, exit_code=137, signal=9, reason="OOMKilled"), 137, "OOMKilled"),
        (RunStatus("", RunState.EXITED, signal=15), 143, "Error"),
        (
            RunStatus("", RunState.FAILED, reason="ContainerCannotRun", message="no such file"),
            128,
            "ContainerCannotRun",
        ),
        (RunStatus("", RunState.FAILED, exit_code=127), 127, "StartError"),
        (RunStatus("", RunState.LOST), 137, "ContainerStatusUnknown"),
    ],
)
def test_every_way_to_end_has_its_code_and_reason(run: RunStatus, code: int, reason: str) -> None:
    time = PodTime(pod())
    time.step()
    time.runs[f"{UID}.main.0"] = run
    time.step()
    ended = time.status()["state"]["terminated"]
    assert (time.phase, ended["exitCode"], ended["reason"]) == ("Failed", code, reason)


def test_restarts_wait_ever_longer_and_a_long_run_starts_anew() -> None:
    time = PodTime(pod(restartPolicy="Always"))
    time.step()
    waited = []
    for attempt in range(8):
        time.runs_now(f"main.{attempt}")
        time.step()
        time.ends(f"main.{attempt}", 1)
        plan = time.step()
        if plan.starts:
            waited.append(0.0)
            continue
        assert time.waiting() == "CrashLoopBackOff"
        assert plan.wake_at is not None
        waited.append(plan.wake_at - time.now)
        time.now = plan.wake_at - 0.5
        assert time.started() == []
        time.now = plan.wake_at
        assert time.started() == [f"main.{attempt + 1}"]
    assert waited == [0, 10, 20, 40, 80, 160, 300, 300]
    time.runs_now("main.8")
    time.step()
    time.now += 700
    time.ends("main.8", 1)
    assert time.started() == ["main.9"]


def test_a_back_off_says_so() -> None:
    time = PodTime(pod(restartPolicy="Always"))
    time.step()
    time.ends("main.0", 1)
    time.step()
    time.ends("main.1", 1)
    plan = time.step()
    waiting = time.status()["state"]["waiting"]
    assert waiting["message"] == f"back-off 10s restarting failed container=main pod=p_default({UID})"
    assert [note.reason for note in plan.notes] == ["BackOff"]
    assert time.status()["restartCount"] == 1
    assert time.phase == "Running"
    assert time.step().notes == []


def test_init_containers_run_in_order_before_the_others() -> None:
    time = PodTime(pod(container("a"), container("b"), initContainers=[container("i1"), container("i2")]))
    assert time.started() == ["i1.0"]
    assert (time.waiting("i2"), time.waiting("a")) == ("PodInitializing", "PodInitializing")
    assert time.condition("Initialized") == ("False", "ContainersNotInitialized")
    time.runs_now("i1.0")
    assert time.started() == []
    time.ends("i1.0")
    assert time.started() == ["i2.0"]
    time.ends("i2.0")
    assert time.started() == ["a.0", "b.0"]
    assert time.condition("Initialized")[0] == "True"
    time.runs_now("a.0", "b.0")
    time.step()
    time.ends("a.0")
    time.step()
    assert time.phase == "Running"
    assert time.condition("Ready") == ("False", "ContainersNotReady")
    time.ends("b.0", 3)
    time.step()
    assert time.phase == "Failed"


def test_a_failed_init_container_fails_the_pod_or_is_tried_again() -> None:
    never = PodTime(pod(initContainers=[container("i")]))
    never.step()
    never.ends("i.0", 1)
    assert never.started() == []
    assert (never.phase, never.waiting()) == ("Failed", "PodInitializing")
    again = PodTime(pod(initContainers=[container("i")], restartPolicy="OnFailure"))
    again.step()
    again.ends("i.0", 1)
    assert again.started() == ["i.1"]
    assert again.phase == "Pending"


def test_a_sidecar_stays_up_beside_the_containers_and_ends_after_them() -> None:
    time = PodTime(pod(initContainers=[container("side", restartPolicy="Always"), container("i")]))
    assert time.started() == ["side.0"]
    time.runs_now("side.0")
    assert time.started() == ["i.0"]
    time.ends("i.0")
    assert time.started() == ["main.0"]
    time.runs_now("main.0")
    time.ends("side.0", 1)
    assert time.started() == ["side.1"], "a sidecar is started again while the pod runs"
    time.runs_now("side.1")
    time.ends("main.0")
    assert time.stopped() == [("side.1", 30.0)]
    assert time.phase == "Running"
    time.ends("side.1", 143)
    time.step()
    assert time.phase == "Succeeded", "how a sidecar ends does not count"


def test_a_deadline_ends_the_pod_however_its_containers_end() -> None:
    time = PodTime(pod(activeDeadlineSeconds=60))
    assert time.step().wake_at == NOON + 60
    time.runs_now("main.0")
    time.step()
    time.now += 60
    assert time.stopped() == [("main.0", 30.0)]
    assert time.phase == "Running"
    time.ends("main.0", 0)
    time.step()
    assert (time.phase, time.pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_pod_that_ended_in_time_is_not_late_afterwards() -> None:
    time = PodTime(pod(activeDeadlineSeconds=60))
    time.step()
    time.ends("main.0")
    time.now += 600
    time.step()
    assert (time.phase, "reason" in time.pod["status"]) == ("Succeeded", False)


def test_a_deleted_pod_is_stopped_and_then_removed() -> None:
    time = PodTime(pod())
    time.step()
    time.runs_now("main.0")
    time.step()
    time.delete(grace=10)
    plan = time.step()
    assert [(stop.run_id, stop.grace_seconds) for stop in plan.stops] == [(f"{UID}.main.0", 10.0)]
    assert not plan.remove
    time.ends("main.0", 143)
    plan = time.step()
    assert (plan.remove, time.phase) == (True, "Failed")
    assert time.status()["state"]["terminated"]["exitCode"] == 143


def test_a_pod_deleted_before_anything_started_is_removed_at_once() -> None:
    time = PodTime(pod(restartPolicy="Always"))
    time.delete()
    plan = time.step()
    assert (plan.starts, plan.stops, plan.remove) == ([], [], True)


def test_a_pod_deleted_while_it_starts_is_stopped() -> None:
    time = PodTime(pod())
    time.step()
    time.delete(grace=5)
    assert time.stopped() == [("main.0", 5.0)]


def test_a_deleted_pod_is_not_restarted() -> None:
    time = PodTime(pod(restartPolicy="Always"))
    time.step()
    time.runs_now("main.0")
    time.step()
    time.delete()
    time.ends("main.0", 1)
    plan = time.step()
    assert (plan.starts, plan.remove) == ([], True)


def test_after_a_crash_before_the_start_the_same_run_is_started() -> None:
    time = PodTime(pod())
    time.step()
    time.runs.clear()
    assert time.started() == ["main.0"]
    assert time.status()["restartCount"] == 0


def test_after_a_crash_what_ran_is_adopted_and_what_ended_is_noticed() -> None:
    time = PodTime(pod(container("a"), container("b")))
    time.step()
    time.runs_now("a.0", "b.0")
    time.ends("b.0", 4)
    time.streaks.clear()
    assert time.started() == []
    assert time.status("b")["state"]["terminated"]["exitCode"] == 4
    assert "running" in time.status("a")["state"]


def test_what_ran_and_left_no_trace_is_lost_and_never_started_under_the_same_id() -> None:
    time = PodTime(pod(restartPolicy="OnFailure"))
    time.step()
    time.runs_now("main.0")
    time.step()
    time.runs.clear()
    assert time.started() == ["main.1"]
    assert time.status()["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"


def test_what_is_missing_is_waited_for() -> None:
    time = PodTime(pod())
    time.problems["main"] = Problem("CreateContainerConfigError", 'configmap "x" not found')
    plan = time.step()
    assert plan.starts == []
    assert time.status()["state"]["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": 'configmap "x" not found',
    }
    assert plan.wake_at == NOON + 10
    assert [note.message for note in plan.notes] == ['Error: configmap "x" not found']
    assert time.phase == "Pending"
    time.problems.clear()
    assert time.started() == ["main.0"]


@pytest.mark.parametrize(("policy", "phase"), [("Never", "Failed"), ("Always", "Running")])
def test_what_can_never_start_has_failed(policy: str, phase: str) -> None:
    time = PodTime(pod(restartPolicy=policy))
    time.problems["main"] = Problem("StartError", "no command specified", final=True)
    assert time.started() == []
    assert time.phase == phase
    seen: Any = time.status()["state"].get("terminated") or time.status()["lastState"]["terminated"]
    assert (seen["exitCode"], seen["reason"], seen["message"]) == (128, "StartError", "no command specified")


def test_a_finished_pod_stays_as_it_is() -> None:
    time = PodTime(pod())
    time.pod["status"] = {"phase": "Failed", "reason": "Evicted"}
    plan = time.step()
    assert (plan.starts, time.phase, time.pod["status"]["reason"]) == ([], "Failed", "Evicted")


def test_conditions_of_others_are_kept() -> None:
    time = PodTime(pod())
    time.pod["status"]["conditions"] = [{"type": "TerminationTarget", "status": "True", "lastTransitionTime": "x"}]
    time.step()
    assert time.condition("TerminationTarget") == ("True", "")
    assert time.condition("fairway.dev/ImagesPulled") == ("False", "HostProcess")
