"""Pool and Cluster: what may be said about them, what is filled in, and how they read in a table."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.kinds import defaults, schema
from fairway.kinds.kind import Kind, convert
from fairway.kinds.own import KINDS
from fairway.kinds.own.cluster import CLUSTER, amounts
from fairway.kinds.own.pool import POOL
from fairway.kinds.schema import Node
from fairway.kinds.types import to_json


class Noon:
    now = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def nodes(node: Node, path: str) -> list[tuple[str, Node]]:
    found = [(path, node)]
    below = node.fields.items() if node.type == "object" else [("[]", node.item)] if node.item else []
    for name, child in below:
        if child is not None:
            found += nodes(child, f"{path}.{name}")
    return found


def cluster(spec: dict[str, Any], **status: Any) -> Any:
    made = convert({"metadata": {"name": "c1"}, "spec": spec, "status": status}, CLUSTER.storage_version.type)
    defaults.fill(made)
    return made


def problems(kind: Kind, new: Any, old: Any = None) -> list[str]:
    return [str(error) for error in kind.validate(new, old)]


def row(kind: Kind, obj: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.value(obj, Noon()) for column in kind.storage_version.columns}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_our_kinds_is_explained(kind: Kind) -> None:
    bare = [
        path
        for path, node in nodes(schema.of(kind.storage_version.type), kind.name)
        if not node.doc and not path.endswith("[]")
    ]
    assert bare == []


def test_a_cluster_without_a_word_is_an_active_one_of_the_default_pool_with_a_short_lease() -> None:
    assert to_json(cluster({}).spec) == {
        "pool": "default",
        "engine": "process",
        "state": "Active",
        "fencing": {"leaseSeconds": 60, "graceSeconds": 5, "marginSeconds": 5},
    }
    assert problems(CLUSTER, cluster({})) == []


@pytest.mark.parametrize("source", [{}, {"secretName": "s", "path": "/k"}])
def test_a_connection_names_exactly_one_source(source: dict[str, str]) -> None:
    found = problems(CLUSTER, cluster({"connection": {"kubeconfig": source}}))
    assert found == ["spec.connection.kubeconfig: Invalid value: exactly one of secretName and path must be set"]


def test_taints_are_unique_and_well_formed() -> None:
    gpu = {"key": "gpu", "value": "only"}
    assert problems(CLUSTER, cluster({"taints": [gpu, {"key": "spot"}]})) == []
    assert "taints must be unique" in problems(CLUSTER, cluster({"taints": [gpu, gpu]}))[0]
    assert "spec.taints[0].key" in problems(CLUSTER, cluster({"taints": [{"key": "no good"}]}))[0]


def test_a_cluster_changes_its_pool_only_when_it_is_draining() -> None:
    moved = cluster({"pool": "prod"})
    assert "set spec.state to Draining" in problems(CLUSTER, moved, cluster({}))[0]
    assert problems(CLUSTER, moved, cluster({"state": "Draining"})) == []


def test_the_name_of_a_pool_fits_in_a_label() -> None:
    pool = convert({"metadata": {"name": "p" * 64}}, POOL.storage_version.type)
    assert "at most 63 characters" in problems(POOL, pool)[0]


def test_a_cluster_reads_at_a_glance() -> None:
    spec = {"connection": {"kubeconfig": {"secretName": "c1"}}, "engine": "kubernetes", "state": "Draining"}
    capacity = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
    shown = to_json(
        cluster(
            spec,
            health="Unhealthy",
            reasons=["data plane differs", "no queue"],
            capacity=capacity,
            available={"cpu": "3500m", "memory": "8Gi", "nvidia.com/gpu": "0"},
            lastHeartbeatTime="2026-01-01T11:59:50Z",
        )
    )
    shown["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
    assert row(CLUSTER, shown) == {
        "Name": "c1",
        "Pool": "default",
        "Health": "Unhealthy,Draining",
        "Engine": "kubernetes",
        "Capacity": "4c/8Gi/1g",
        "Free": "3.5c/8Gi",
        "Age": "60m",
        "Version": None,
        "Last Seen": "10s",
        "Reasons": "data plane differs; no queue",
    }


@pytest.mark.parametrize(
    ("resources", "shown"),
    [
        ({}, ""),
        ({"cpu": "250m"}, "0.2c"),
        ({"cpu": "128", "memory": "1536Mi", "amd.com/gpu": "2", "nvidia.com/mig-1g.5gb": "3"}, "128c/1.5Gi/5g"),
        ({"memory": "2000Gi", "example.com/widget": "9"}, "2Ti"),
        ({"cpu": "-1", "memory": "-512Mi"}, "-1c/-512Mi"),
    ],
)
def test_amounts_are_short(resources: dict[str, str], shown: str) -> None:
    assert amounts(resources) == shown


def test_a_pool_lists_its_clusters() -> None:
    pool = {"metadata": {"name": "default"}, "spec": {}, "status": {"clusters": ["a", "b"]}}
    shown = row(POOL, pool)
    assert (shown["Clusters"], shown["Object Store"]) == ("a,b", "(folder of the hub)")
