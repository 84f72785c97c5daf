from __future__ import annotations

from typing import Any

import pytest

from fairway.kinds import schema
from fairway.kinds.fleet import KINDS
from fairway.kinds.kind import Kind, convert
from fairway.kinds.schema import Node
from fairway.kinds.types import to_json

KIND = {kind.name: kind for kind in KINDS}


class Noon:
    now = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def nodes(node: Node, path: str) -> list[tuple[str, Node]]:
    found = [(path, node)]
    below = node.fields.items() if node.type == "object" else [("[]", node.item)] if node.item else []
    for name, child in below:
        if child is not None:
            found += nodes(child, f"{path}.{name}")
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_every_version_is_explained(kind: Kind) -> None:
    for version in kind.versions:
        bare = [
            path for path, node in nodes(schema.of(version.type), kind.name) if not node.doc and not path.endswith("[]")
        ]
        assert bare == []


def test_v1_is_preferred_and_v1beta1_stored_where_both_are_served() -> None:
    only_beta = {kind.name for kind in KINDS if len(kind.versions) == 1}
    assert only_beta == {
        "SchedulingPolicySnapshot",
        "ResourceSnapshot",
        "ResourceBinding",
        "ClusterResourcePlacementEviction",
        "ClusterResourcePlacementDisruptionBudget",
        "ClusterResourceEnvelope",
        "ResourceEnvelope",
    }
    for kind in KINDS:
        assert kind.storage_version.name == "v1beta1"
        assert kind.name in only_beta or [version.name for version in kind.versions] == ["v1", "v1beta1"]


def test_short_names_are_unique_and_plurals_match_their_kinds() -> None:
    short = [name for kind in KINDS for name in kind.short_names]
    assert len(short) == len(set(short))
    assert len({kind.bucket for kind in KINDS}) == len(KINDS) == 27
    assert KIND["ClusterStagedUpdateStrategy"].plural == "clusterstagedupdatestrategies"


def row(kind: Kind, document: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.value(document, Noon()) for column in kind.versions[0].columns}


def test_a_placement_shows_its_progress_with_the_generation_it_is_about() -> None:
    kind = KIND["ClusterResourcePlacement"]
    conditions = [
        {"type": f"ClusterResourcePlacement{name}", "status": status, "observedGeneration": 2}
        for name, status in (("Scheduled", "True"), ("WorkSynchronized", "True"), ("Available", "False"))
    ]
    shown = row(
        kind,
        {
            "metadata": {"name": "p", "generation": 2, "creationTimestamp": "2026-01-01T11:55:00Z"},
            "spec": {"policy": {"placementType": "PickAll"}},
            "status": {"conditions": conditions},
        },
    )
    assert shown == {
        "Name": "p",
        "Gen": 2,
        "Type": "PickAll",
        "Scheduled": "True",
        "Scheduled-Gen": 2,
        "Work-Synchronized": "True",
        "Work-Synchronized-Gen": 2,
        "Available": "False",
        "Available-Gen": 2,
        "Age": "5m",
    }
    assert [column.name for column in kind.versions[0].columns if column.wide] == [
        "Type",
        "Work-Synchronized",
        "Work-Synchronized-Gen",
    ]


def test_a_cluster_shows_when_its_agent_was_last_seen_and_how_many_nodes_it_has() -> None:
    status = {
        "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": "2026-01-01T11:59:30Z"}],
        "properties": {"kubernetes-fleet.io/node-count": {"value": "3"}},
        "resourceUsage": {"available": {"cpu": "4", "memory": "8Gi"}},
    }
    shown = row(KIND["MemberCluster"], {"metadata": {"name": "c"}, "status": status})
    assert (shown["Member-Agent-Last-Seen"], shown["Node-Count"], shown["Available-CPU"]) == ("30s", "3", "4")
    assert (shown["Joined"], shown["Allocatable-CPU"]) == (None, None)
    assert row(KIND["MemberCluster"], {"metadata": {"name": "c"}})["Member-Agent-Last-Seen"] is None


def test_what_v1_does_not_know_is_left_out_when_read_as_v1() -> None:
    kind = KIND["ClusterResourcePlacement"]
    v1 = kind.version("v1")
    assert v1.to_storage is not None
    assert v1.from_storage is not None
    document = {
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "a"}],
            "strategy": {"type": "External", "deleteStrategy": {"propagationPolicy": "Abandon"}},
        },
        "status": {"observedResourceIndex": "0"},
    }
    stored = convert(document, kind.storage_version.type)
    seen = v1.from_storage(stored)
    assert type(seen) is v1.type
    assert to_json(seen)["spec"]["strategy"] == {"type": "External"}
    assert to_json(seen)["status"] == {"observedResourceIndex": "0"}
    assert to_json(v1.to_storage(seen))["spec"]["strategy"] == {"type": "External"}
    assert type(v1.to_storage(seen)) is kind.storage_version.type


def test_lists_and_deep_members_change_their_version_too() -> None:
    kind = KIND["Work"]
    v1 = kind.version("v1")
    assert v1.from_storage is not None
    condition = {
        "identifier": {"ordinal": 0},
        "conditions": [],
        "backReportedStatus": {"observationTime": "2026-01-01T00:00:00Z"},
    }
    document = {"metadata": {"name": "w"}, "status": {"conditions": [], "manifestConditions": [condition]}}
    seen = to_json(v1.from_storage(convert(document, kind.storage_version.type)))
    assert seen["status"]["manifestConditions"] == [{"identifier": {"ordinal": 0}, "conditions": []}]
