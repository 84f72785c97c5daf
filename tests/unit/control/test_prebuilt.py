"""Which job may be that of a workload that somebody else made: as Kueue compares the two, whoever filled in defaults."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.control.adapters import ADAPTERS
from fairway.control.workloads import making

Json = dict[str, Any]
JOB, PODS = ADAPTERS[0], ADAPTERS[2]
BARE = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}
FULL = {
    "name": "c",
    "image": "i",
    "imagePullPolicy": "Always",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
}


def job(spec: Json, count: int = 1) -> Json:
    labels = {"kueue.x-k8s.io/prebuilt-workload-name": "w"}
    return {
        "metadata": {"name": "j", "namespace": "default", "uid": "u", "labels": labels},
        "spec": {"suspend": True, "parallelism": count, "completions": count, "template": {"spec": spec}},
    }


def workload(spec: Json, count: int = 1, *, admitted: bool = False, name: str = "main") -> Json:
    pod_set = {"name": name, "count": count, "template": {"spec": spec}}
    status = {"admission": {"podSetAssignments": [{"name": name, "count": count}]}} if admitted else {}
    return {"metadata": {"name": "w"}, "spec": {"podSets": [pod_set]}, "status": status}


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ({"containers": [FULL]}, {"containers": [BARE]}, True),
        ({"containers": [FULL], "serviceAccountName": "default", "volumes": []}, {"containers": [FULL]}, True),
        ({"containers": [FULL], "nodeSelector": {"a": "b"}}, {"containers": [FULL]}, True),
        ({"containers": [{**FULL, "command": ["x"]}]}, {"containers": [FULL]}, False),
        ({"containers": [FULL], "initContainers": [BARE]}, {"containers": [FULL]}, False),
        ({"containers": [FULL], "tolerations": [{"operator": "Exists"}]}, {"containers": [FULL]}, False),
    ],
)
def test_containers_and_tolerations_count(ours: Json, theirs: Json, same: bool) -> None:
    assert making.matches(JOB, [job(ours)], workload(theirs)) is same


def test_what_an_admission_adds_is_no_difference() -> None:
    ours = {"containers": [FULL], "tolerations": [{"operator": "Exists"}]}
    assert making.matches(JOB, [job(ours)], workload({"containers": [FULL]}, admitted=True))


def test_counts_are_compared_and_names_of_pod_sets_are_not() -> None:
    spec = {"containers": [FULL]}
    assert making.matches(JOB, [job(spec, 2)], workload(spec, 2, name="other"))
    assert not making.matches(JOB, [job(spec, 2)], workload(spec, 3))


def test_a_pod_that_is_handed_to_a_cluster_asks_for_no_service_account_token() -> None:
    """Kubernetes mounts one into every container otherwise, and the pod is no longer its workload's."""
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [FULL]}}
    assert PODS.copy_for_dispatch(made, "w", "hub")["spec"]["automountServiceAccountToken"] is False
    wanted = {**made, "spec": {**made["spec"], "automountServiceAccountToken": True}}
    assert PODS.copy_for_dispatch(wanted, "w", "hub")["spec"]["automountServiceAccountToken"] is True
