"""What is refused of Workloads, and how it is said: spec, status, and changes of both."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.kueue_writing import REF, Json, conditions, pod_set, reserved, workload, write


def with_requests(**requests: str) -> Json:
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


POD_REF = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (workload(), []),
        (workload(pod_set(minCount=3)), []),
        (
            workload(pod_set(minCount=4)),
            ["spec.podSets[0]: Invalid value: minCount should be positive and less or equal to count"],
        ),
        (
            workload(pod_set(minCount=1), pod_set("b", minCount=1)),
            ["spec.podSets: Invalid value: 2: at most one podSet can use minCount"],
        ),
        (workload(pod_set(), pod_set()), ['spec.podSets[1]: Duplicate value: {"name":"main"}']),
        (workload({"name": "main"}), ["spec.podSets[0].template: Required value"]),
        (
            workload(priorityClassRef=REF),
            ["spec: Invalid value: priority should not be nil when priorityClassRef is set"],
        ),
        (workload(priorityClassRef=REF, priority=1), []),
        (
            workload(priorityClassRef={**POD_REF, "kind": "WorkloadPriorityClass"}, priority=1),
            [
                "spec.priorityClassRef: Invalid value: only the PriorityClass kind is allowed for the scheduling.k8s.io group"
            ],
        ),
        (
            workload(pod_set(template=with_requests(pods="1", cpu="-1"))),
            [
                'spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "pods": '
                "the key is reserved for internal kueue use",
                'spec.podSets[0].template.spec.containers[0].resources.requests[cpu]: Invalid value: "-1": '
                "must be greater than or equal to 0",
            ],
        ),
        (
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": "rack"})),
            [
                "spec.podSets[0].topologyRequest.podSetSliceSize: Required value: "
                "must be set when podSetSliceRequiredTopology is specified"
            ],
        ),
        (
            workload(annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/c,,d"}),
            [
                'metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.b/c,,d": '
                "cannot contain empty gate names",
                'metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "d": '
                'must be a domain-prefixed path, such as "acme.io/foo"',
            ],
        ),
        (
            workload(annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/" + "c" * 60}),
            ["metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Too long: may not be more than 63 bytes"],
        ),
    ],
)
def test_workloads_when_they_are_created(body: Json, errors: list[str]) -> None:
    assert write("Workload", body) == errors


TOPOLOGY: Json = {
    "levels": ["host"],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
            "podCounts": {"individual": [1, 2]},
        }
    ],
}


def placed(**change: Any) -> Json:
    topology = copy.deepcopy(TOPOLOGY)
    topology["slices"][0].update(change)
    assignment = {"name": "main", "count": 3, "topologyAssignment": topology}
    return workload(status=reserved(assignments=[assignment]))


_SLICE = "status.admission.podSetAssignments[0].topologyAssignment.slices[0]"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (workload(status=reserved()), []),
        (
            workload(status=reserved(assignments=[])),
            ["Invalid value: podSetAssignments must have the same number of podSets as the spec"],
        ),
        (
            workload(status={"conditions": conditions("QuotaReserved")}),
            ["status.admission: Required value: must be set while the QuotaReserved condition is true"],
        ),
        (
            workload(status={"clusterName": "c", "nominatedClusterNames": ["c"]}),
            ["status: Invalid value: clusterName and nominatedClusterNames are mutually exclusive"],
        ),
        (
            workload(status={"reclaimablePods": [{"name": "main", "count": 4}, {"name": "x", "count": 1}]}),
            [
                "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3",
                'status.reclaimablePods[x].name: Unsupported value: "x": supported values: "main"',
            ],
        ),
        (placed(), []),
        (
            placed(podCounts={"universal": 1, "individual": [1, 2]}),
            [f"{_SLICE}.podCounts: Invalid value: exactly one of the fields in [universal individual] must be set"],
        ),
        (
            placed(podCounts={"individual": [1]}),
            [f"{_SLICE}: Invalid value: podCounts.individual must have length equal to domainCount"],
        ),
        (
            placed(valuesPerLevel=[{}]),
            [
                f"{_SLICE}.valuesPerLevel[0]: Invalid value: exactly one of the fields in [universal individual] must be set"
            ],
        ),
        (
            placed(valuesPerLevel=[{"universal": "a"}, {"universal": "b"}]),
            [
                "status.admission.podSetAssignments[0].topologyAssignment: Invalid value: "
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment"
            ],
        ),
        (
            placed(valuesPerLevel=[{"individual": {"roots": ["a"]}}]),
            [
                f"{_SLICE}: Invalid value: valuesPerLevel.individual, if set, must have roots of length equal to "
                "domainCount of this TopologyAssignmentSlice"
            ],
        ),
    ],
)
def test_the_status_of_a_workload(body: Json, errors: list[str]) -> None:
    assert write("Workload", body, status=True) == errors


HELD = workload(
    priorityClassRef=POD_REF, priority=1, queueName="q", maximumExecutionTimeSeconds=9, status=reserved("Admitted")
)


def held(**spec: Any) -> Json:
    body = copy.deepcopy(HELD)
    body["spec"].update(spec)
    body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
    return body


@pytest.mark.parametrize(
    ("new", "detail"),
    [
        (held(priority=7), None),
        (held(active=False), None),
        (held(podSets=[pod_set(count=2)]), None),
        (held(priorityClassRef={**POD_REF, "name": "x"}), "priorityClassRef.name is immutable for scheduling.k8s.io"),
        (held(priorityClassRef=None), "priorityClassRef is immutable while workload quota reserved"),
        (held(priorityClassRef=REF), "priorityClassRef.group is immutable while workload quota reserved"),
        (held(queueName="other"), "queueName is immutable while workload quota reserved"),
        (held(queueName=None), "queueName is immutable while workload quota reserved"),
        (held(maximumExecutionTimeSeconds=10), "maximumExecutionTimeSeconds is immutable"),
        (held(podSets=[pod_set(count=4)]), "spec.podSets.0: Invalid value: "),
    ],
)
def test_what_quota_was_reserved_for_stays_while_it_is_held(new: Json, detail: str | None) -> None:
    errors = write("Workload", new, HELD)
    assert (errors == []) if detail is None else any(detail in error for error in errors)


def test_another_workload_priority_class_may_be_named_while_quota_is_held() -> None:
    old = workload(priorityClassRef=REF, priority=1, status=reserved())
    new = workload(priorityClassRef={**REF, "name": "x"}, priority=2, status=reserved())
    assert write("Workload", new, old) == []


def test_everything_may_change_while_no_quota_is_held() -> None:
    old = workload(priorityClassRef=POD_REF, priority=1, queueName="q")
    assert write("Workload", workload(pod_set("x", 9), queueName="other"), old) == []


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ({}, {"clusterName": "c"}, ["status.clusterName: Invalid value"]),
        ({"nominatedClusterNames": ["c", "d"]}, {"clusterName": "c"}, []),
        ({"clusterName": "c"}, {"clusterName": "d"}, ["status: Invalid value: clusterName is immutable once set"]),
        ({"clusterName": "c"}, {}, []),
        (
            reserved(reclaimablePods=[{"name": "main", "count": 2}]),
            reserved(reclaimablePods=[{"name": "main", "count": 1}]),
            ["status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"],
        ),
        (
            reserved(reclaimablePods=[{"name": "main", "count": 2}]),
            reserved(),
            ["status.reclaimablePods[main]: Required value: cannot be removed"],
        ),
        (reserved(), reserved(assignments=[{"name": "main", "count": 2}]), ["status.admission: Invalid value"]),
        (reserved(), {}, []),
        (reserved(), reserved(assignments=[{"name": "main", "count": 3, "topologyAssignment": TOPOLOGY}]), []),
    ],
)
def test_changes_of_the_status(before: Json, after: Json, errors: list[str]) -> None:
    said = write("Workload", workload(status=after), workload(status=before), status=True)
    assert len(said) == len(errors)
    assert all(ours.startswith(wanted) for ours, wanted in zip(said, errors, strict=True))


def test_amounts_that_are_written_differently_are_the_same_amount() -> None:
    def given(cpu: str) -> Json:
        return workload(status=reserved(assignments=[{"name": "main", "count": 3, "resourceUsage": {"cpu": cpu}}]))

    assert write("Workload", given("3"), given("3000m")) == []
    assert write("Workload", given("3e0"), given("3")) == []
    assert write("Workload", given("6"), given("3")) != []
