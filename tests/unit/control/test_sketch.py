"""A quick look at a workload says what a long one says, or nothing."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec
import pytest

from fairway.control import compile as compiler
from fairway.control.admission.sketch import Sketch, Stage, glimpse, sketched
from fairway.core.model import Settings
from fairway.core.shapes import Shapes

Json = dict[str, Any]


def _workload(**changes: Any) -> Json:
    container = {"name": "main", "image": "none", "command": ["true"], "resources": {"requests": {"cpu": "1"}}}
    obj: Json = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "w",
            "namespace": "team",
            "uid": "u-1",
            "generation": 3,
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "queueName": "q",
            "priority": 7,
            "active": True,
            "podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": [container]}}}],
        },
        "status": {
            "conditions": [
                {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota", "message": "no room"},
                {"type": "Admitted", "status": "False", "reason": "NoReservation", "message": ""},
            ]
        },
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        at = obj
        for part in parents:
            at = at[part]
        at[last] = value
    return obj


def _look(obj: Json) -> Sketch | None:
    return sketched(glimpse(msgspec.json.encode(obj)))


def _likeness(obj: Json) -> bytes:
    sketch = _look(obj)
    assert sketch is not None
    return sketch.likeness


def test_a_sketch_gives_the_same_workload_as_the_whole_object() -> None:
    obj = _workload()
    whole = compiler.workload(obj, Shapes(), Settings())
    sketch = _look(obj)
    assert sketch is not None
    quick = sketch.workload(whole.key, whole.shape, None)
    for field in fields(whole):
        assert getattr(quick, field.name) == getattr(whole, field.name), field.name


ASSIGNED = {
    "clusterQueue": "cq",
    "podSetAssignments": [
        {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2", "memory": "1Gi"}, "count": 2}
    ],
}


def _said(kind: str, status: str, reason: str = "", message: str = "", generation: int = 3) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": "2026-01-02T03:04:07Z",
        "observedGeneration": generation,
    }


RESERVED = _said("QuotaReserved", "True")
ADMITTED = _said("Admitted", "True", message="The workload is admitted")


def _runs(**changes: Any) -> Json:
    changes = {"status__conditions": [RESERVED, ADMITTED], "status__admission": ASSIGNED, **changes}
    return _workload(**changes)


@pytest.mark.parametrize(
    "conditions",
    [
        [RESERVED, ADMITTED],
        [RESERVED, ADMITTED, _said("PodsReady", "True")],
        [RESERVED, ADMITTED, _said("Evicted", "False"), _said("Preempted", "False"), _said("Requeued", "True")],
    ],
)
def test_one_that_runs_holds_what_the_whole_object_says(conditions: list[Json]) -> None:
    for counts in (2, 1):
        obj = _runs(status__conditions=conditions)
        obj["spec"]["podSets"][0]["count"] = counts
        whole = compiler.workload(obj, Shapes(), Settings())
        sketch = _look(obj)
        assert sketch is not None
        assert sketch.stage is Stage.RUNS
        quick = sketch.workload(whole.key, whole.shape, None)
        assert quick.reservation is not None
        for field in fields(whole):
            assert getattr(quick, field.name) == getattr(whole, field.name), field.name


@pytest.mark.parametrize(
    "changes",
    [
        {"status__conditions": [RESERVED]},
        {"status__conditions": [ADMITTED]},
        {"status__conditions": [_said("QuotaReserved", "False"), ADMITTED]},
        {"status__conditions": [RESERVED, _said("Admitted", "False")]},
        {"status__conditions": [RESERVED, ADMITTED, _said("Evicted", "True")]},
        {"status__conditions": [RESERVED, ADMITTED, _said("Requeued", "False")]},
        {"status__conditions": [RESERVED, ADMITTED, _said("DeactivationTarget", "True")]},
        {"status__reclaimablePods": [{"name": "main", "count": 1}]},
        {"status__admissionChecks": [{"name": "c", "state": "Ready"}]},
        {"spec__active": False},
        {"metadata__deletionTimestamp": "2026-01-02T03:04:06Z"},
    ],
)
def test_of_one_that_runs_in_no_usual_way_a_sketch_says_nothing(changes: Json) -> None:
    assert _look(_runs(**changes)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"spec__maximumExecutionTimeSeconds": 60},
        {"status__conditions": [RESERVED, ADMITTED, _said("PodsReady", "False")]},
        {"status__conditions": [RESERVED, _said("Admitted", "True", message="as somebody else says")]},
        {"status__conditions": [RESERVED, _said("Admitted", "True", message="The workload is admitted", generation=2)]},
        {
            "status__admission": {
                "clusterQueue": "cq",
                "podSetAssignments": [{**ASSIGNED["podSetAssignments"][0], "delayedTopologyRequest": "Pending"}],  # type: ignore[dict-item]
            }
        },
    ],
)
def test_what_the_rules_would_change_is_not_complete(changes: Json) -> None:
    sketch, usual = _look(_runs(**changes)), _look(_runs())
    assert sketch is not None
    assert not sketch.is_complete
    assert usual is not None
    assert usual.is_complete


def test_one_that_is_over_is_over_whatever_else_it_says() -> None:
    for changes in ({}, {"metadata__annotations": {"a": "b"}}, {"spec__active": False}):
        over = _look(_runs(status__conditions=[RESERVED, ADMITTED, _said("Finished", "True")], **changes))
        assert over is not None
        assert (over.stage, over.is_complete) == (Stage.OVER, True)
    leaving = _look(
        _workload(
            status__conditions=[_said("Finished", "True")],
            metadata__deletionTimestamp="2026-01-02T03:04:06Z",
        )
    )
    assert leaving is not None
    assert not leaving.is_complete


def _with(pod: Json) -> Json:
    return _workload(spec__podSets=[{"name": "main", "count": 2, "template": {"spec": pod}}])


CONTAINER = {"name": "main", "command": ["true"], "resources": {"requests": {"cpu": "1"}}}


def test_commands_and_names_make_no_difference_to_the_likeness() -> None:
    other = {"name": "other", "command": ["sleep", "9"], "env": [{"name": "A"}], "resources": CONTAINER["resources"]}
    assert _likeness(_with({"containers": [CONTAINER]})) == _likeness(_with({"containers": [other]}))


@pytest.mark.parametrize(
    "pod",
    [
        {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
        {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]},
        {"containers": [CONTAINER, CONTAINER]},
        {"containers": [CONTAINER], "initContainers": [CONTAINER]},
        {"containers": [CONTAINER], "initContainers": [{**CONTAINER, "restartPolicy": "Always"}]},
        {"containers": [CONTAINER], "nodeSelector": {"disk": "ssd"}},
        {"containers": [CONTAINER], "tolerations": [{"key": "gpu", "operator": "Exists"}]},
        {"containers": [CONTAINER], "affinity": {"nodeAffinity": {}}},
        {"containers": [CONTAINER], "overhead": {"cpu": "1"}},
        {"containers": [CONTAINER], "resources": {"requests": {"cpu": "4"}}},
    ],
)
def test_whatever_a_shape_is_made_of_makes_a_difference(pod: Json) -> None:
    assert _likeness(_with(pod)) != _likeness(_with({"containers": [CONTAINER]}))


@pytest.mark.parametrize(
    "changes",
    [
        {"spec__priority": 8},
        {"spec__podSets": [{"name": "main", "count": 3, "template": {"spec": {"containers": [CONTAINER]}}}]},
        {"spec__podSets": [{"name": "a", "count": 2, "template": {"spec": {"containers": [CONTAINER]}}}]},
    ],
)
def test_counts_names_of_pod_sets_and_priority_make_a_difference(changes: Json) -> None:
    assert _likeness(_workload(**changes)) != _likeness(_with({"containers": [CONTAINER]}))


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata__annotations": {"kueue.x-k8s.io/priority-boost": "1"}},
        {"metadata__deletionTimestamp": "2026-01-02T03:04:06Z"},
        {"spec__active": False},
        {"spec__preemptionGates": [{"name": "g"}]},
        {"status__admission": {"clusterQueue": "q"}},
        {"status__requeueState": {"count": 1}},
        {"status__admissionChecks": [{"name": "c", "state": "Retry"}]},
        {"status__reclaimablePods": [{"name": "main", "count": 1}]},
        {"status__conditions": [{"type": "Finished", "status": "False", "reason": "Never"}]},
        {"status__conditions": [{"type": "WaitingForReplacementPods", "status": "True", "reason": "Yes"}]},
        {"status__conditions": [{"type": "Evicted", "status": "True", "reason": "Preempted"}]},
        {"status__conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}]},
        {"status__conditions": [{"type": "QuotaReserved", "status": "False", "reason": "OnHold"}]},
        {"status__conditions": [{"type": "Requeued", "status": "False", "reason": "PodsReadyTimeout"}]},
    ],
)
def test_of_anything_unusual_a_sketch_says_nothing(changes: Json) -> None:
    assert _look(_workload(**changes)) is None
