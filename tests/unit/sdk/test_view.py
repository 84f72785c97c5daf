"""What a person is told about a job follows from its objects."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.sdk.view import State, view

QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


def job(*conditions: tuple[str, str], suspend: bool = False, **status: Any) -> dict[str, Any]:
    listed = [
        {
            "type": kind,
            "status": "True",
            "reason": "Because",
            "message": message,
            "lastTransitionTime": "2026-01-01T00:01:00Z",
        }
        for kind, message in conditions
    ]
    return {
        "metadata": {"name": "j", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": QUEUE},
        "spec": {"suspend": suspend, "completions": 2},
        "status": {"conditions": listed, **status},
    }


def workload(*conditions: tuple[str, str, str], active: bool = True, **status: Any) -> dict[str, Any]:
    listed = [{"type": kind, "status": truth, "message": message} for kind, truth, message in conditions]
    return {"metadata": {"name": "w"}, "spec": {"active": active}, "status": {"conditions": listed, **status}}


def pod(phase: str = "Pending", exit_code: int | None = None, **status: Any) -> dict[str, Any]:
    ended = (
        {"terminated": {"exitCode": exit_code, "finishedAt": "2026-01-01T00:00:30Z"}} if exit_code is not None else {}
    )
    return {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "here"},
        "status": {"phase": phase, "containerStatuses": [{"name": "main", "state": ended}], **status},
    }


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
PENDING_CHECK = [{"name": "budget", "state": "Pending"}]


@pytest.mark.parametrize(
    ("objects", "state", "reason"),
    [
        ((job(("Complete", "")),), State.DONE, ""),
        ((job(("Failed", "too often")),), State.FAILED, "Because: too often"),
        ((job(suspend=True),), State.QUEUED, "just submitted"),
        (
            (job(suspend=True), workload(("QuotaReserved", "False", "2 more CPUs needed"))),
            State.QUEUED,
            "2 more CPUs needed",
        ),
        ((job(suspend=True), workload(active=False)), State.HELD, "released by: fairway release -n n j"),
        (
            (job(suspend=True), workload(("QuotaReserved", "True", ""), admissionChecks=PENDING_CHECK)),
            State.CHECKING,
            "waits for budget",
        ),
        ((job(suspend=True), workload(("QuotaReserved", "True", ""), ("Admitted", "True", ""))), State.STARTING, ""),
        ((job(), None, [pod("Pending", conditions=[UNSCHEDULABLE])]), State.STARTING, "0/1 nodes are available"),
        (
            (
                job(suspend=True),
                workload(
                    ("QuotaReserved", "True", ""), admissionChecks=PENDING_CHECK, nominatedClusterNames=["one", "two"]
                ),
            ),
            State.CHECKING,
            "waits for a cluster: one, two asked",
        ),
        ((job(("Complete", "all done")), None, [pod("Succeeded", 0)]), State.DONE, "here"),
        ((job(), None, [pod("Running")]), State.RUNNING, "here"),
        ((job(), workload(clusterName="here"), [pod("Running")]), State.RUNNING, "here"),
        ((job(), workload(clusterName="far"), [pod("Running")]), State.RUNNING, "far: here"),
    ],
)
def test_the_state_of_a_job_and_why(objects: tuple[Any, ...], state: State, reason: str) -> None:
    seen = view(*objects)
    assert (seen.state, seen.reason) == (state, reason)


def test_the_exit_code_is_that_of_the_pod_that_failed() -> None:
    assert view(job(("Failed", "")), None, [pod("Succeeded", 0), pod("Failed", 3)]).exit_code == 3
    assert view(job(("Complete", "")), None, [pod("Failed", 3), pod("Succeeded", 0)]).exit_code == 0
    assert view(job(("Failed", "")), None, []).exit_code == 1
    assert view(job(), None, [pod("Running")]).exit_code is None


def test_a_job_of_a_fleet_says_which_cluster_has_it() -> None:
    assert view(job(("Complete", "")), workload(clusterName="far")).cluster == "far"
    assert view(job(), workload()).cluster == ""


def _failed(reason: str, *pods: dict[str, Any]) -> str:
    ended = job(("Failed", "so many"))
    ended["status"]["conditions"][0]["reason"] = reason
    return view(ended, None, pods).reason


def test_a_job_whose_pods_failed_says_what_ended_the_first_of_them() -> None:
    missing = pod("Failed", 127)
    missing["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = "trian: command not found"
    later = pod("Failed", 3)
    later["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2026-01-01T00:00:40Z"
    assert _failed("BackoffLimitExceeded", later) == "exit code 3"
    assert _failed("BackoffLimitExceeded", later, missing, pod("Succeeded", 0)) == (
        "exit code 127: trian: command not found; 2 pods failed, this one first"
    )
    assert _failed("PodFailurePolicy", later) == "exit code 3 (PodFailurePolicy: so many)"
    assert _failed("BackoffLimitExceeded") == "BackoffLimitExceeded: so many", "nothing is left of its pods"
    assert _failed("DeadlineExceeded", later) == "DeadlineExceeded: so many", "its pods did not fail by themselves"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor big, previously considered "
            "podsets requests (0) + current podset request (9) > maximum capacity (2)",
            "asks for 9 cpu, and big has 2 in all",
        ),
        (
            "couldn't assign flavors to pod set a: insufficient unused quota for cpu in flavor big, 1 more needed; "
            "couldn't assign flavors to pod set b: insufficient quota for memory in flavor big, previously considered "
            "podsets requests (1Gi) + current podset request (9Gi) > maximum capacity (2Gi)",
            "a: needs 1 more cpu of big; b: asks for 1Gi + 9Gi memory, and big has 2Gi in all",
        ),
        (
            "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in ClusterQueue",
            "the queue offers no nvidia.com/gpu",
        ),
        (
            'Evicted due to AdmissionCheck in Retry state: "fleet" (No cluster can (a: full; b: full), Previously: "Pending")',
            "put back by fleet: No cluster can (a: full; b: full)",
        ),
        ("LocalQueue nope doesn't exist", "LocalQueue nope doesn't exist"),
    ],
)
def test_reasons_to_wait_are_said_plainly(said: str, words: str) -> None:
    assert view(job(suspend=True), workload(("QuotaReserved", "False", said))).reason == words


def test_a_job_that_no_person_held_says_what_did() -> None:
    rejected = workload(("Evicted", "True", "The workload is deactivated: too dear"), active=False)
    rejected["status"]["conditions"][0]["reason"] = "DeactivatedDueToAdmissionCheck"
    held = view(job(suspend=True), rejected)
    assert held.reason == "The workload is deactivated: too dear; released by: fairway release -n n j"


def test_only_the_jobs_of_a_jobset_are_parts_of_something() -> None:
    owned = job()
    owned["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "js", "controller": True}]
    assert view(owned).parent == "js"
    owned["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "nightly", "controller": True}]
    assert view(owned).parent == ""


def test_a_suspended_job_in_no_queue_is_not_said_to_wait_in_one() -> None:
    alone = job(suspend=True)
    alone["metadata"]["labels"] = {}
    assert view(alone).state is State.HELD
    assert view(alone).reason == "suspended, and in no queue: it runs when it gets the label kueue.x-k8s.io/queue-name"


def test_a_container_that_waits_to_be_tried_again_does_not_run() -> None:
    waits = pod("Running")
    again = {"reason": "CrashLoopBackOff", "message": "back-off 10s"}
    waits["status"]["containerStatuses"][0]["state"] = {"waiting": again}
    seen = view(job(), None, [waits])
    assert (seen.state, seen.reason) == (State.STARTING, "CrashLoopBackOff: back-off 10s")
