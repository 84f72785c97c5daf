"""A quick look at a workload that waits says what a long one says, or nothing."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec
import pytest

from fairway.control import compile as compiler
from fairway.control.admission.sketch import Sketch, glimpse, waiting
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
    return waiting(glimpse(msgspec.json.encode(obj)))


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
        {"status__conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}]},
        {"status__conditions": [{"type": "Evicted", "status": "True", "reason": "Preempted"}]},
        {"status__conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}]},
        {"status__conditions": [{"type": "QuotaReserved", "status": "False", "reason": "OnHold"}]},
        {"status__conditions": [{"type": "Requeued", "status": "False", "reason": "PodsReadyTimeout"}]},
    ],
)
def test_of_anything_unusual_a_sketch_says_nothing(changes: Json) -> None:
    assert _look(_workload(**changes)) is None
