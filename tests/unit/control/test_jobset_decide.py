"""The rules of JobSets, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fairway.control.jobsets.child import Child, make_job, resumed
from fairway.control.jobsets.decide import NewJob, Plan, decide
from fairway.kinds.defaults import fill
from fairway.kinds.jobset.defaults import default_jobset
from fairway.kinds.jobset.types import JobSet, JobSetStatus
from fairway.kinds.kind import convert
from fairway.kinds.types import UNSET

NOW = 1_767_225_600.0
POD = {"containers": [{"name": "c", "image": "i"}]}


def entry(name: str, replicas: int = 1, **more: Any) -> dict[str, Any]:
    job = {"completions": 2, "parallelism": 2, "template": {"spec": POD}}
    return {"name": name, "replicas": replicas, "template": {"spec": job}, **more}


def jobset(*entries: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> JobSet:
    body: dict[str, Any] = {
        "metadata": {"name": "s", "namespace": "default", "uid": "set-uid"},
        "spec": {"replicatedJobs": list(entries), **spec},
    }
    if status is not None:
        body["status"] = status
    made: JobSet = convert(body, JobSet)
    fill(made)
    default_jobset(made, None)
    return made


def job(name: str, **facts: Any) -> Child:
    prefix, _, _index = name.rpartition("-")
    return Child(**{"name": name, "uid": name, "entry": prefix.removeprefix("s-"), "restarts": 0, "pods": 2} | facts)


def failed(name: str, at: str = "2026-01-01T00:00:00Z", reason: str = "BackoffLimitExceeded", **facts: Any) -> Child:
    return job(name, ended="Failed", ended_at=at, reason=reason, **facts)


def done(name: str, **facts: Any) -> Child:
    return job(name, ended="Complete", **facts)


def conditions(plan: Plan) -> dict[str, tuple[str, str]]:
    assert plan.status is not None
    return {one.type: (one.status, one.reason) for one in plan.status.conditions or ()}


def after(js: JobSet, plan: Plan) -> JobSet:
    return js if plan.status is None else replace(js, status=plan.status)


def test_a_new_set_creates_all_its_jobs_and_its_service() -> None:
    plan = decide(jobset(entry("driver"), entry("worker", 2)), [], NOW)
    assert plan.create == [NewJob("driver", 0), NewJob("worker", 0), NewJob("worker", 1)]
    assert plan.service
    assert plan.status is not None
    assert [one.name for one in plan.status.replicated_jobs_status or ()] == ["driver", "worker"]


def test_jobs_that_are_there_are_not_created_again_and_are_counted() -> None:
    js = jobset(entry("w", 4))
    children = [job("s-w-0", active=2, ready=2), job("s-w-1", active=1, ready=1), job("s-w-2", suspended=True)]
    plan = decide(js, [*children, done("s-w-3")], NOW)
    assert plan.create == []
    assert plan.status is not None
    (count,) = plan.status.replicated_jobs_status or ()
    assert (count.ready, count.active, count.suspended, count.succeeded, count.failed) == (1, 2, 1, 1, 0)


@pytest.mark.parametrize(
    ("wanted", "children", "created"),
    [
        ("Ready", [job("s-a-0")], []),
        ("Ready", [job("s-a-0", active=2, ready=2)], ["b"]),
        ("Ready", [done("s-a-0")], ["b"]),
        ("Complete", [job("s-a-0", active=2, ready=2)], []),
        ("Complete", [done("s-a-0")], ["b"]),
    ],
    ids=str,
)
def test_an_entry_waits_for_what_it_depends_on(wanted: str, children: list[Child], created: list[str]) -> None:
    js = jobset(entry("a"), entry("b", dependsOn=[{"name": "a", "status": wanted}]))
    assert [new.entry for new in decide(js, children, NOW).create] == created


def test_entries_start_in_order_each_when_the_one_before_is_ready() -> None:
    js = jobset(entry("a"), entry("b"), startupPolicy={"startupPolicyOrder": "InOrder"})
    plan = decide(js, [], NOW)
    assert plan.create == [NewJob("a", 0)]
    assert conditions(plan)["StartupPolicyInProgress"] == ("True", "InOrderStartupPolicyInProgress")
    js = after(js, plan)
    assert decide(js, [job("s-a-0", active=2)], NOW).create == []
    plan = decide(js, [job("s-a-0", active=2, ready=2)], NOW)
    assert plan.create == [NewJob("b", 0)]
    js = after(js, plan)
    plan = decide(js, [job("s-a-0", active=2, ready=2), job("s-b-0", active=2, ready=2)], NOW)
    assert conditions(plan)["StartupPolicyInProgress"][0] == "False"
    assert conditions(plan)["StartupPolicyCompleted"][0] == "True"


@pytest.mark.parametrize(
    ("policy", "children", "complete"),
    [
        ({"operator": "All"}, [done("s-a-0"), job("s-b-0")], False),
        ({"operator": "All"}, [done("s-a-0"), done("s-b-0")], True),
        ({"operator": "All", "targetReplicatedJobs": ["a"]}, [done("s-a-0"), job("s-b-0")], True),
        ({"operator": "Any"}, [job("s-a-0"), done("s-b-0")], True),
        ({"operator": "Any", "targetReplicatedJobs": ["a"]}, [job("s-a-0"), done("s-b-0")], False),
    ],
    ids=str,
)
def test_the_success_policy_says_when_a_set_is_complete(
    policy: dict[str, Any], children: list[Child], complete: bool
) -> None:
    plan = decide(jobset(entry("a"), entry("b"), successPolicy=policy), children, NOW)
    assert plan.status is not None
    assert plan.status.terminal_state == ("Completed" if complete else UNSET)
    assert conditions(plan).get("Completed") == (("True", "AllJobsCompleted") if complete else None)


def test_without_a_policy_one_failed_job_fails_the_set_and_names_the_first() -> None:
    children = [failed("s-a-1", "2026-01-01T00:00:09Z"), failed("s-a-0", "2026-01-01T00:00:10Z")]
    plan = decide(jobset(entry("a", 2)), children, NOW)
    assert conditions(plan)["Failed"] == ("True", "FailedJobs")
    assert plan.notes[0].message == "jobset failed due to one or more job failures (first failed job: s-a-1)"


def test_a_restart_is_written_first_then_old_jobs_go_then_new_ones_come() -> None:
    js = jobset(entry("a", 2), failurePolicy={"maxRestarts": 1})
    plan = decide(js, [failed("s-a-0"), job("s-a-1")], NOW)
    assert plan.status is not None
    assert (plan.status.restarts, plan.status.restarts_count_towards_max) == (1, 1)
    assert (plan.create, plan.delete) == ([], [])
    assert conditions(plan)["RestartingJobSet"] == ("True", "DefaultFailurePolicy")
    js = after(js, plan)
    plan = decide(js, [failed("s-a-0"), job("s-a-1")], NOW)
    assert set(plan.delete) == {"s-a-0", "s-a-1"}
    assert plan.create == []
    plan = decide(js, [job("s-a-1", deleting=True)], NOW)
    assert (plan.create, plan.delete) == ([NewJob("a", 0)], [])
    again = [failed("s-a-0", restarts=1), job("s-a-1", restarts=1)]
    assert conditions(decide(js, again, NOW))["Failed"] == ("True", "ReachedMaxRestarts")


def test_a_blocking_restart_waits_until_all_old_jobs_are_gone() -> None:
    policy = {"maxRestarts": 1, "restartStrategy": "BlockingRecreate"}
    js = jobset(entry("a", 2), failurePolicy=policy, status={"restarts": 1})
    assert decide(js, [job("s-a-1", deleting=True)], NOW).create == []
    assert len(decide(js, [], NOW).create) == 2


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ({"action": "FailJobSet"}, "FailJobSetFailurePolicyAction"),
        ({"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}, "restarts"),
        ({"action": "FailJobSet", "targetReplicatedJobs": ["a"]}, "FailJobSetFailurePolicyAction"),
        ({"action": "FailJobSet", "targetReplicatedJobs": ["b"]}, "restarts"),
        ({"action": "FailJobSet", "onJobFailureMessagePatterns": ["exit code 4\\d"]}, "FailJobSetFailurePolicyAction"),
        ({"action": "FailJobSet", "onJobFailureMessagePatterns": ["["]}, "restarts"),
        ({"action": "RestartJobSetAndIgnoreMaxRestarts"}, "restarts for free"),
    ],
    ids=str,
)
def test_the_first_rule_that_fits_a_failed_job_decides(rule: dict[str, Any], outcome: str) -> None:
    js = jobset(entry("a"), entry("b"), failurePolicy={"maxRestarts": 3, "rules": [rule]})
    plan = decide(js, [failed("s-a-0", message="failed with exit code 42")], NOW)
    assert plan.status is not None
    if outcome.startswith("restarts"):
        assert plan.status.restarts == 1
        assert plan.status.restarts_count_towards_max == (1 if outcome == "restarts" else UNSET)
    else:
        assert conditions(plan)["Failed"] == ("True", outcome)


def test_suspending_a_set_suspends_its_jobs_and_resuming_restores_where_they_may_run() -> None:
    js = jobset(entry("a"), suspend=True)
    plan = decide(js, [job("s-a-0", active=2)], NOW)
    assert plan.suspend == ["s-a-0"]
    assert conditions(plan)["Suspended"] == ("True", "SuspendedJobs")
    js = after(js, plan)
    js.spec.suspend = False
    assert decide(js, [job("s-a-0", suspended=True, started=True)], NOW).reset == ["s-a-0"]
    plan = decide(js, [job("s-a-0", suspended=True)], NOW)
    assert plan.resume == ["s-a-0"]
    assert conditions(plan)["Suspended"] == ("False", "ResumeJobs")


def test_a_set_that_is_born_suspended_creates_suspended_jobs() -> None:
    js = jobset(entry("a"), suspend=True)
    assert decide(js, [], NOW).create == [NewJob("a", 0)]
    assert make_job(js, (js.spec.replicated_jobs or [])[0], 0)["spec"]["suspend"] is True


def test_a_finished_set_ends_what_still_runs_and_goes_when_its_time_is_over() -> None:
    status = {
        "restarts": 0,
        "conditions": [
            {
                "type": "Completed",
                "status": "True",
                "reason": "AllJobsCompleted",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    js = jobset(entry("a"), entry("b"), ttlSecondsAfterFinished=30, status=status)
    plan = decide(js, [done("s-a-0"), job("s-b-0")], NOW)
    assert (plan.delete, plan.wake_at, plan.delete_set) == (["s-b-0"], NOW + 30, False)
    assert decide(js, [], NOW + 30).delete_set


@pytest.mark.parametrize("spec", [{"managedBy": "kueue.x-k8s.io/multikueue"}, {}], ids=["other manager", "deleted"])
def test_a_set_that_is_not_ours_or_is_leaving_is_left_alone(spec: dict[str, Any]) -> None:
    js = jobset(entry("a"), **spec)
    if not spec:
        js.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"  # type: ignore[assignment]
    assert decide(js, [], NOW) == Plan()


def test_jobs_and_their_pods_know_their_place_in_the_set() -> None:
    coordinator = {"replicatedJob": "driver", "jobIndex": 0, "podIndex": 1}
    js = jobset(entry("driver"), entry("w", 2, groupName="g"), entry("x", 3, groupName="g"), coordinator=coordinator)
    js.status = JobSetStatus(restarts=2)
    made = make_job(js, (js.spec.replicated_jobs or [])[2], 1)
    assert made["metadata"]["name"] == "s-x-1"
    own = "jobset.sigs.k8s.io/"
    expected = {
        "jobset-name": "s",
        "jobset-uid": "set-uid",
        "replicatedjob-name": "x",
        "replicatedjob-replicas": "3",
        "restart-attempt": "2",
        "global-replicas": "6",
        "job-index": "1",
        "job-global-index": "4",
        "group-name": "g",
        "group-replicas": "5",
        "job-group-index": "3",
        "coordinator": "s-driver-0-1.s",
    }
    template = made["spec"]["template"]
    for labels in (made["metadata"]["labels"], template["metadata"]["labels"], template["metadata"]["annotations"]):
        assert {key: labels[own + key] for key in expected} == expected
        assert len(labels[own + "job-key"]) == 40
    assert template["spec"]["subdomain"] == "s"


def test_a_resumed_job_keeps_no_selector_of_an_earlier_admission() -> None:
    js = jobset(entry("a"))
    wanted = make_job(js, (js.spec.replicated_jobs or [])[0], 0)
    stale = make_job(js, (js.spec.replicated_jobs or [])[0], 0)
    stale["spec"]["suspend"] = True
    stale["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "old"}
    stale["spec"]["template"]["metadata"]["labels"]["controller-uid"] = "u"
    wanted["spec"]["template"]["spec"]["tolerations"] = [{"key": "k", "operator": "Exists"}]
    result = resumed(stale, wanted)["spec"]
    assert result["suspend"] is False
    assert "nodeSelector" not in result["template"]["spec"]
    assert result["template"]["spec"]["tolerations"] == [{"key": "k", "operator": "Exists"}]
    assert result["template"]["metadata"]["labels"]["controller-uid"] == "u"
