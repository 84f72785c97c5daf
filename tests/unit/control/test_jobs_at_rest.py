"""A Job that was found at rest is not kept, until a pod of it comes by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.client import Item
from fairway.control.jobs.state import State, head_of


def item(**obj: Any) -> Item:
    return Item(msgspec.json.encode(obj))


def resting(uid: str = "u", **changes: Any) -> Item:
    metadata = {"name": "j", "namespace": "n", "uid": uid, "resourceVersion": "5", **changes.pop("metadata", {})}
    spec = {"suspend": True, "template": {"spec": {"containers": []}}, **changes.pop("spec", {})}
    status = {"conditions": [{"type": "Suspended", "status": "True"}], **changes.pop("status", {})}
    return item(apiVersion="batch/v1", kind="Job", metadata=metadata, spec=spec, status=status)


def pod(name: str, phase: str, finalizers: list[str], uid: str = "u") -> Item:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": True}
    metadata = {"name": name, "namespace": "n", "uid": f"of-{name}", "resourceVersion": "7"}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return item(metadata={**metadata, "ownerReferences": [owner], "finalizers": finalizers}, status={"phase": phase})


TRACKED = ["batch.kubernetes.io/job-tracking"]


@pytest.mark.parametrize(
    ("changes", "rests"),
    [
        ({}, True),
        ({"spec": {"suspend": False}}, False),
        ({"spec": {"manualSelector": True}}, False),
        ({"status": {"active": 1}}, False),
        ({"status": {"conditions": []}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
    ],
)
def test_a_job_is_at_rest_if_it_is_suspended_says_so_and_nothing_of_it_runs(changes: Any, rests: bool) -> None:
    assert head_of(resting(**changes)).at_rest is rests


def test_a_pod_brings_back_the_job_it_belongs_to() -> None:
    state = State(lambda name, namespace: resting() if (name, namespace) == ("j", "n") else None)
    assert state.see_pod(pod("a", "Failed", TRACKED)) == ("u",)
    tracked = state.jobs["u"]
    assert tracked.item is not None
    assert set(tracked.pods) == {"of-a"}


def test_pods_that_are_over_are_remembered_for_the_names_and_the_backoff_of_a_job_at_rest() -> None:
    state = State(lambda _name, _namespace: resting())
    state.see_pod(pod("a", "Failed", []))
    state.see_pod(pod("b", "Succeeded", []))
    tracked = state.jobs["u"]
    assert (tracked.names, tracked.settled) == ({"a", "b"}, {"of-a", "of-b"})
    assert not tracked.pods
    assert tracked.past != type(tracked.past)()


def test_another_job_of_the_same_name_is_not_the_pods_own() -> None:
    state = State(lambda _name, _namespace: resting("another"))
    assert state.see_pod(pod("a", "Failed", TRACKED)) == ("u",)
    assert state.jobs["u"].item is None
    assert "another" not in state.jobs


def test_a_job_has_places_for_pods_from_when_they_are_asked_for() -> None:
    state = State()
    state.see_job(resting())
    tracked = state.jobs["u"]
    tracked.names.add("a")
    assert tracked.names == {"a"}
    assert (tracked.pods, tracked.items, tracked.settled) == ({}, {}, set())
    with pytest.raises(AttributeError):
        _ = tracked.nonsense
