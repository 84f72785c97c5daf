"""batch/v1 Job: what the API fills in and how it shows, beside what a real API server answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fairway.kinds.k8s.batch.kinds import CRON_JOB, JOB
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.kind import Kind, convert
from fairway.kinds.types import to_json

UID = "13275eb0-19b6-48b4-a08b-a2acefcafb76"
CONTAINER = {"name": "c", "image": "ubuntu:22.04"}
NOON = SimpleNamespace(now=1_000_000.0)


def job(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "evaluation", "namespace": "n", "uid": UID, **metadata},
        "spec": {"template": template, **(spec or {})},
    }


def created(body: dict[str, Any], kind: Kind = JOB) -> Any:
    new = convert(body, kind.storage_version.type)
    kind.default(new, None)
    kind.prepare(new, None)
    return new


def row(obj: dict[str, Any], moment: Any = NOON, kind: Kind = JOB) -> dict[str, Any]:
    return {column.name: column.value(obj, moment) for column in kind.storage_version.columns}


def test_a_new_job_looks_as_the_real_server_leaves_it() -> None:
    body = job({"parallelism": 3, "completions": 3, "backoffLimit": 3, "suspend": True, "ttlSecondsAfterFinished": 60})
    labels = {
        "batch.kubernetes.io/controller-uid": UID,
        "batch.kubernetes.io/job-name": "evaluation",
        "controller-uid": UID,
        "job-name": "evaluation",
    }
    got = to_json(created(body))
    assert got["metadata"]["labels"] == labels
    assert got["status"] == {}
    assert got["spec"] == {
        "backoffLimit": 3,
        "completionMode": "NonIndexed",
        "completions": 3,
        "manualSelector": False,
        "parallelism": 3,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}},
        "suspend": True,
        "ttlSecondsAfterFinished": 60,
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "containers": [
                    {
                        **CONTAINER,
                        "imagePullPolicy": "IfNotPresent",
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                    }
                ],
                "dnsPolicy": "ClusterFirst",
                "restartPolicy": "Never",
                "schedulerName": "default-scheduler",
                "securityContext": {},
                "terminationGracePeriodSeconds": 30,
            },
        },
    }


@pytest.mark.parametrize(
    ("given", "parallelism", "completions"),
    [({}, 1, 1), ({"completions": 5}, 1, 5), ({"parallelism": 2}, 2, None)],
)
def test_counts_default_to_one_unless_the_job_is_a_work_queue(
    given: dict[str, int], parallelism: int, completions: int | None
) -> None:
    spec = to_json(created(job(given)))["spec"]
    assert (spec["parallelism"], spec.get("completions")) == (parallelism, completions)


def test_a_failure_policy_changes_which_pods_are_replaced() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    spec = to_json(created(job({"podFailurePolicy": policy})))["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_a_backoff_limit_per_index_lifts_the_overall_limit() -> None:
    spec = to_json(created(job({"backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 2})))["spec"]
    assert spec["backoffLimit"] == 2**31 - 1


def test_labels_of_the_writer_stay_and_are_not_mixed_with_generated_ones() -> None:
    got = to_json(created(job(labels={"team": "a"})))
    assert got["metadata"]["labels"] == {"team": "a"}


def test_a_manual_selector_is_left_alone() -> None:
    body = job({"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}})
    got = to_json(created(body))["spec"]
    assert got["selector"] == {"matchLabels": {"a": "b"}}
    assert "labels" not in got["template"]["metadata"]


def test_an_update_keeps_status_and_generates_no_selector() -> None:
    old = created(job())
    new = convert({**job(), "status": {"active": 1}}, Job)
    JOB.default(new, old)
    JOB.prepare(new, old)
    assert new.status.active == 1
    assert "selector" not in to_json(new)["spec"]


@pytest.mark.parametrize(
    ("conditions", "deleting", "status"),
    [
        ([], False, "Running"),
        (["Suspended"], False, "Suspended"),
        (["Suspended"], True, "Terminating"),
        (["FailureTarget"], False, "FailureTarget"),
        (["SuccessCriteriaMet"], False, "SuccessCriteriaMet"),
        (["FailureTarget", "Failed"], True, "Failed"),
        (["SuccessCriteriaMet", "Complete"], False, "Complete"),
    ],
)
def test_the_status_column_tells_how_the_job_is(conditions: list[str], deleting: bool, status: str) -> None:
    obj = job()
    obj["status"] = {"conditions": [{"type": name, "status": "True"} for name in conditions]}
    if deleting:
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert row(obj)["Status"] == status


def test_the_row_of_a_suspended_job_reads_as_kubectl_shows_it() -> None:
    obj = to_json(created(job({"completions": 3, "suspend": True})))
    obj["metadata"]["creationTimestamp"] = "1970-01-12T13:38:58Z"  # 462 seconds before NOON
    obj["status"] = {"conditions": [{"type": "Suspended", "status": "True"}]}
    assert row(obj) == {
        "Name": "evaluation",
        "Status": "Suspended",
        "Completions": "0/3",
        "Duration": "",
        "Age": "7m42s",
        "Containers": "c",
        "Images": "ubuntu:22.04",
        "Selector": f"batch.kubernetes.io/controller-uid={UID}",
    }
    wide = [column.name for column in JOB.storage_version.columns if column.wide]
    assert wide == ["Containers", "Images", "Selector"]


def test_the_duration_of_a_finished_job_stands_still() -> None:
    obj = job()
    obj["status"] = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:05:03Z"}
    assert row(obj)["Duration"] == "5m3s"


@pytest.mark.parametrize(("parallelism", "text"), [(1, "2/1"), (4, "2/1 of 4")])
def test_a_work_queue_shows_its_parallelism(parallelism: int, text: str) -> None:
    obj = {**job({"parallelism": parallelism}), "status": {"succeeded": 2}}
    assert row(obj)["Completions"] == text


def test_a_cron_job_is_completed_and_shown_though_nothing_runs_it() -> None:
    body = {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}}}
    got = to_json(created(body, CRON_JOB))
    assert got["spec"]["concurrencyPolicy"] == "Allow"
    assert (got["spec"]["successfulJobsHistoryLimit"], got["spec"]["failedJobsHistoryLimit"]) == (3, 1)
    assert got["spec"]["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    cells = row(got, kind=CRON_JOB)
    assert (cells["Schedule"], cells["Suspend"], cells["Active"], cells["Last Schedule"]) == (
        "* * * * *",
        False,
        0,
        "<none>",
    )
