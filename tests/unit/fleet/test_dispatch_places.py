"""What a hub finds its workloads by, and how it reads little of what it is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.client import Item
from fairway.control.adapters import names
from fairway.control.mirror import Table
from fairway.control.resources import WORKLOADS
from fairway.fleet.dispatch.facts import Scene
from fairway.fleet.dispatch.places import Places, workload_of

Json = dict[str, Any]


def scene(
    *, bound: str = "", nominated: tuple[str, ...] = (), copies: tuple[str, ...] = (), over: bool = False
) -> Scene:
    status: Json = {"nominatedClusterNames": list(nominated), "clusterName": bound}
    status["conditions"] = [{"type": "Finished", "status": "True"}] if over else []
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j"}
    workload = {"metadata": {"name": "w", "ownerReferences": [owner]}, "status": status}
    return Scene(workload, "fleet", None, (), {name: {} for name in copies})


def test_a_workload_is_found_by_its_clusters_its_job_and_its_check() -> None:
    places = Places()
    places.see("ns/w", scene(nominated=("a",), copies=("b",)))
    assert places.at("a") == places.at("b") == ["ns/w"]
    assert places.of_job("uid-j") == ["ns/w"]
    assert (places.with_checks({"fleet"}), places.with_checks({"other"})) == (["ns/w"], [])
    assert places.at_or_waiting("elsewhere") == ["ns/w"], "any cluster may be the one that it waits for"


def test_once_it_is_bound_only_its_own_cluster_matters() -> None:
    places = Places()
    places.see("ns/w", scene(nominated=("a", "b")))
    places.see("ns/w", scene(bound="a", copies=("a",)))
    assert (places.at("a"), places.at("b"), places.at_or_waiting("b")) == (["ns/w"], [], [])


def test_what_has_ended_is_no_burden_to_its_cluster_once_its_copy_is_gone() -> None:
    places = Places()
    places.see("ns/w", scene(bound="a", copies=("a",), over=True))
    assert places.at("a") == ["ns/w"]
    places.see("ns/w", scene(bound="a", over=True))
    assert (places.at("a"), places.at_or_waiting("a"), places.all()) == ([], [], ["ns/w"])


def test_what_is_gone_is_found_nowhere() -> None:
    places = Places()
    places.see("ns/w", scene(bound="a"))
    places.see("ns/w", None)
    places.see("ns/never", None)
    assert (places.all(), places.at("a"), places.of_job("uid-j")) == ([], [], [])


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"labels": {names.PREBUILT_WORKLOAD: "w", "other": "x"}}, "w"),
        ({"annotations": {names.PREBUILT_WORKLOAD: "w"}, "labels": {}}, "w"),
        ({"annotations": None, "labels": None}, ""),
        ({}, ""),
    ],
)
def test_the_workload_of_a_job_is_read_without_the_rest(metadata: Json, expected: str) -> None:
    job = {"metadata": metadata, "spec": {"labels": {names.PREBUILT_WORKLOAD: "no"}}}
    assert workload_of(Item(msgspec.json.encode(job))) == expected


def item(revision: int, **spec: int) -> Item:
    metadata = {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": str(revision)}
    return Item(msgspec.json.encode({"metadata": metadata, "spec": spec}))


def test_a_view_is_decoded_once_for_each_version() -> None:
    table = Table(WORKLOADS)
    assert table.view("ns/w") is None
    table.put(item(1, a=1))
    first = table.view("ns/w")
    assert first is not None
    assert first is table.view("ns/w")
    table.put(item(2, a=2))
    assert (table.view("ns/w") or {})["spec"] == {"a": 2}
    table.remove(item(3))
    assert table.view("ns/w") is None


def test_few_views_are_kept() -> None:
    table = Table(WORKLOADS)
    for number in range(3000):
        metadata = {"name": str(number), "namespace": "ns", "uid": "u", "resourceVersion": "1"}
        table.put(Item(msgspec.json.encode({"metadata": metadata})))
        assert table.view(f"ns/{number}") is not None
    assert len(list(table._views.values())) <= 1000
