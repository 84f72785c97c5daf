"""JobSets, pods and groups of pods are jobs to those who wait for them."""

from __future__ import annotations

from typing import Any

from fairway.sdk.queued import groups, jobset_as_job, pods_as_job
from fairway.sdk.view import State, view

TIME = "2026-01-01T00:00:00Z"


def pod(name: str, phase: str, *, group: str = "", gated: bool = False, code: int | None = None) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": "q"} | ({"kueue.x-k8s.io/pod-group-name": group} if group else {})
    ended = {"terminated": {"exitCode": code, "finishedAt": TIME}} if code is not None else {}
    return {
        "metadata": {
            "name": name,
            "namespace": "n",
            "labels": labels,
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"} if group else {},
            "creationTimestamp": TIME,
        },
        "spec": {"nodeName": "here"} | ({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]} if gated else {}),
        "status": {"phase": phase, "containerStatuses": [{"name": "c", "state": ended}]},
    }


def jobset(*conditions: tuple[str, str], suspend: bool = False) -> dict[str, Any]:
    listed = [{"type": kind, "status": "True", "reason": reason, "message": "m"} for kind, reason in conditions]
    jobs = [
        {"name": "prep", "replicas": 1, "template": {"spec": {}}},
        {"name": "work", "replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 3}}},
    ]
    return {
        "metadata": {"name": "js", "namespace": "n", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"suspend": suspend, "replicatedJobs": jobs},
        "status": {"conditions": listed},
    }


def test_a_jobset_is_read_as_one_job_with_all_its_pods() -> None:
    waits = view(jobset_as_job(jobset(suspend=True), []), None, [], kind="JobSet")
    assert (waits.kind, waits.name, waits.state, waits.queue, waits.total) == ("JobSet", "js", State.QUEUED, "q", 7)
    pods = [pod("a", "Succeeded", code=0), pod("b", "Running")]
    runs = view(jobset_as_job(jobset(), pods), None, pods)
    assert (runs.state, runs.succeeded) == (State.RUNNING, 1)
    assert view(jobset_as_job(jobset(("Completed", "AllJobsCompleted")), pods), None, pods).state is State.DONE
    pods = [pod("a", "Failed", code=3)]
    failed = view(jobset_as_job(jobset(("Failed", "FailedJobs")), pods), None, pods)
    assert (failed.state, failed.exit_code, failed.reason) == (State.FAILED, 3, "exit code 3")


def test_pods_that_wait_together_are_one_job_and_others_are_their_own() -> None:
    owned = pod("owned", "Running")
    owned["metadata"]["ownerReferences"] = [{"name": "j", "controller": True}]
    found = groups([pod("one", "Running"), pod("g-0", "Pending", group="g"), pod("g-1", "Pending", group="g"), owned])
    assert {key: len(pods) for key, pods in found.items()} == {("n", "one"): 1, ("n", "g"): 2}

    def state(*pods: dict[str, Any]) -> State:
        return view(pods_as_job("g", pods), None, pods).state

    assert state(pod("a", "Pending", group="g", gated=True)) is State.QUEUED
    assert state(pod("a", "Running", group="g"), pod("b", "Pending", group="g")) is State.RUNNING
    assert state(pod("a", "Succeeded", group="g", code=0)) is State.STARTING, "the other one is still to come"
    assert state(pod("a", "Succeeded", group="g", code=0), pod("b", "Succeeded", group="g", code=0)) is State.DONE
    assert state(pod("a", "Succeeded", group="g", code=0), pod("b", "Failed", group="g", code=2)) is State.FAILED
    assert view(pods_as_job("a", [pod("a", "Failed", code=2)]), None, [pod("a", "Failed", code=2)]).exit_code == 2


def test_a_group_that_is_not_complete_says_so() -> None:
    pods = [pod("a", "Pending", group="g", gated=True)]
    waits = view(pods_as_job("g", pods), None, pods, kind="PodGroup")
    assert (waits.state, waits.reason) == (State.QUEUED, "1 of 2 pods of the group are there")
