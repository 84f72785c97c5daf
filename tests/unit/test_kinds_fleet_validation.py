"""Rules of the schema that KubeFleet writes in CEL, and what may change; the webhook's rules are in conformance suite P7."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.kinds import defaults
from fairway.kinds.check import check
from fairway.kinds.fleet import KINDS, references
from fairway.kinds.kind import convert

KIND = {kind.name: kind for kind in KINDS}
CONFIG_MAP = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "team"}


def make(name: str, document: dict[str, Any]) -> Any:
    kind = KIND[name]
    value = convert(document, kind.storage_version.type)
    defaults.fill(value)
    kind.default(value, None)
    return value


def errors(name: str, new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    kind = KIND[name]
    return [str(error) for error in kind.validate(make(name, new), make(name, old) if old is not None else None)]


def placement(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"resourceSelectors": [CONFIG_MAP], **spec}}


def inside(**fields: Any) -> dict[str, Any]:
    return {**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors", **fields}


@pytest.mark.parametrize(
    ("spec", "fragment"),
    [
        ({"resourceSelectors": [inside(), inside(name="b")]}, "only one namespace selector with"),
        ({"resourceSelectors": [inside(), NAMESPACE]}, "cannot mix with other namespace selectors"),
        (
            {"resourceSelectors": [{**inside(), "name": "", "labelSelector": {}}]},
            "must select by name (not by label)",
        ),
        ({"resourceSelectors": [{**CONFIG_MAP, "labelSelector": {}}]}, "mutually exclusive"),
        ({"statusReportingScope": "NamespaceAccessible"}, "exactly one resourceSelector with kind 'Namespace'"),
        ({"strategy": {"reportBackStrategy": {"type": "Mirror"}}}, "a destination must be specified"),
    ],
)
def test_a_placement_that_contradicts_itself_is_refused(spec: dict[str, Any], fragment: str) -> None:
    found = errors("ClusterResourcePlacement", placement(**spec))
    assert len(found) == 1
    assert fragment in found[0]


def test_a_namespace_placement_needs_no_namespace_selector_to_report() -> None:
    assert errors("ResourcePlacement", placement(statusReportingScope="NamespaceAccessible")) == []


PICK_TWO = {"placementType": "PickN", "numberOfClusters": 2, "tolerations": [{"key": "a", "value": "b"}]}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ({"policy": PICK_TWO}, {}, "spec.policy.placementType"),
        ({"policy": PICK_TWO}, {"policy": {"placementType": "PickAll"}}, "spec.policy.placementType"),
        (
            {"policy": PICK_TWO},
            {"policy": {**PICK_TWO, "tolerations": [{"key": "a", "value": "c"}]}},
            "spec.policy.tolerations",
        ),
        ({"strategy": {"type": "External"}}, {"strategy": {"type": "RollingUpdate"}}, "spec.strategy.type"),
        (
            {"resourceSelectors": [NAMESPACE], "statusReportingScope": "NamespaceAccessible"},
            {"resourceSelectors": [NAMESPACE]},
            "spec.statusReportingScope",
        ),
    ],
)
def test_what_is_fixed_in_a_placement_cannot_change(old: dict[str, Any], new: dict[str, Any], field: str) -> None:
    found = errors("ClusterResourcePlacement", placement(**new), placement(**old))
    assert [error.split(":")[0] for error in found] == [field]


def test_more_tolerations_and_another_number_are_allowed_later() -> None:
    more = {**PICK_TWO, "numberOfClusters": 5, "tolerations": [*PICK_TWO["tolerations"], {"operator": "Exists"}]}  # type: ignore[misc]
    assert errors("ResourcePlacement", placement(policy=more), placement(policy=PICK_TWO)) == []


def test_a_placement_that_was_always_wrong_can_still_lose_its_finalizers() -> None:
    wrong = placement(policy={"placementType": "PickN"})
    going = copy.deepcopy(wrong)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert errors("ClusterResourcePlacement", going, wrong) == []
    assert errors("ClusterResourcePlacement", wrong, wrong) != []


RUN = {"placementName": "p", "stagedRolloutStrategyName": "s", "state": "Run"}


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("Initialize", "Run", True),
        ("Run", "Stop", True),
        ("Stop", "Run", True),
        ("Initialize", "Stop", False),
        ("Run", "Initialize", False),
        ("Stop", "Initialize", False),
    ],
)
def test_a_run_moves_only_forward_between_its_states(old: str, new: str, allowed: bool) -> None:
    document = {"metadata": {"name": "r"}, "spec": RUN}
    found = errors(
        "ClusterStagedUpdateRun",
        {**document, "spec": {**RUN, "state": new}},
        {**document, "spec": {**RUN, "state": old}},
    )
    assert (found == []) == allowed


def test_a_run_keeps_its_placement_snapshot_and_strategy() -> None:
    old = {"metadata": {"name": "r"}, "spec": RUN}
    new = {
        "metadata": {"name": "r"},
        "spec": {**RUN, "placementName": "q", "resourceSnapshotIndex": "1", "stagedRolloutStrategyName": "t"},
    }
    assert [error.split(":")[0] for error in errors("StagedUpdateRun", new, old)] == [
        "spec.placementName",
        "spec.resourceSnapshotIndex",
        "spec.stagedRolloutStrategyName",
    ]


@pytest.mark.parametrize(
    ("stage", "fragment"),
    [
        ({"afterStageTasks": [{"type": "Approval", "waitTime": "1h"}]}, "waitTime is not allowed"),
        ({"afterStageTasks": [{"type": "TimedWait"}]}, "waitTime is required"),
        ({"beforeStageTasks": [{"type": "TimedWait", "waitTime": "1h"}]}, "cannot be TimedWait"),
        ({"beforeStageTasks": [{"type": "Approval", "waitTime": "1h"}]}, "waitTime is not allowed"),
        ({"maxConcurrency": 0}, "at least 1"),
        ({"maxConcurrency": "0%"}, "from 1% to 100%"),
        ({"maxConcurrency": "25%", "afterStageTasks": [{"type": "TimedWait", "waitTime": "1h30m"}]}, ""),
    ],
)
def test_a_stage_waits_only_for_what_makes_sense(stage: dict[str, Any], fragment: str) -> None:
    found = errors("StagedUpdateStrategy", {"metadata": {"name": "s"}, "spec": {"stages": [{"name": "a", **stage}]}})
    assert len(found) == (1 if fragment else 0)
    assert all(fragment in error for error in found)


@pytest.mark.parametrize(
    ("spec", "valid"),
    [
        ({"maxUnavailable": "25%"}, True),
        ({"minAvailable": 0}, True),
        ({}, True),
        ({"maxUnavailable": 1, "minAvailable": 1}, False),
        ({"maxUnavailable": -1}, False),
        ({"minAvailable": "101%"}, False),
        ({"minAvailable": "3"}, False),
    ],
)
def test_a_budget_is_one_limit_as_number_or_percentage(spec: dict[str, Any], valid: bool) -> None:
    found = errors("ClusterResourcePlacementDisruptionBudget", {"metadata": {"name": "p"}, "spec": spec})
    assert (found == []) == valid


def test_an_eviction_and_an_approval_cannot_be_redirected() -> None:
    eviction = {"metadata": {"name": "e"}, "spec": {"placementName": "p", "clusterName": "c"}}
    other = {"metadata": {"name": "e"}, "spec": {"placementName": "q", "clusterName": "d"}}
    assert len(errors("ClusterResourcePlacementEviction", other, eviction)) == 2
    approval = {"metadata": {"name": "a"}, "spec": {"parentStageRollout": "r", "targetStage": "s"}}
    moved = {"metadata": {"name": "a"}, "spec": {"parentStageRollout": "r", "targetStage": "t"}}
    assert errors("ApprovalRequest", moved, approval) == ["spec: Forbidden: The spec field is immutable"]
    assert errors("ClusterApprovalRequest", approval, approval) == []


def test_an_override_stays_with_its_placement() -> None:
    spec = {
        "clusterResourceSelectors": [NAMESPACE],
        "policy": {"overrideRules": [{"jsonPatchOverrides": [{"op": "remove", "path": "/spec/x"}]}]},
    }
    old = {"metadata": {"name": "o"}, "spec": {**spec, "placement": {"name": "p"}}}
    assert errors("ClusterResourceOverride", old) == []
    assert "immutable" in errors("ClusterResourceOverride", {"metadata": {"name": "o"}, "spec": spec}, old)[0]
    namespaced = {"metadata": {"name": "o"}, "spec": {**spec, "placement": {"name": "p", "scope": "Namespaced"}}}
    assert "cannot be Namespaced" in errors("ClusterResourceOverride", namespaced)[0]


def test_an_embedded_object_must_say_what_it_is() -> None:
    envelope = {"metadata": {"name": "e"}, "data": {"a.yaml": {"apiVersion": "v1", "kind": "ConfigMap"}, "b": {"x": 1}}}
    assert [error.split(":")[0] for error in errors("ResourceEnvelope", envelope)] == [
        "data[b].apiVersion",
        "data[b].kind",
    ]
    manifests = [{"apiVersion": "v1"}]
    work = {"metadata": {"name": "w"}, "spec": {"workload": {"manifests": manifests}}}
    assert [error.split(":")[0] for error in errors("Work", work)] == ["spec.workload.manifests[0].kind"]


def test_a_member_cluster_has_a_short_name_and_bounded_heartbeats() -> None:
    identity = {"kind": "User", "name": "agent"}
    assert (
        "max length is 63"
        in errors("MemberCluster", {"metadata": {"name": "c" * 64}, "spec": {"identity": identity}})[0]
    )
    node = KIND["MemberCluster"].storage_version.node
    _clean, findings = check({"spec": {"identity": identity, "heartbeatPeriodSeconds": 601}}, node)
    assert [error.field for error in findings.errors] == ["spec.heartbeatPeriodSeconds"]


def test_pick_all_allows_only_a_fixed_minimum_in_its_budget() -> None:
    pick_all = make("ClusterResourcePlacement", placement())
    pick_two = make("ClusterResourcePlacement", placement(policy=PICK_TWO))
    percent = make(
        "ClusterResourcePlacementDisruptionBudget", {"metadata": {"name": "p"}, "spec": {"minAvailable": "5%"}}
    )
    fixed = make("ClusterResourcePlacementDisruptionBudget", {"metadata": {"name": "p"}, "spec": {"minAvailable": 1}})
    assert references.budget_errors(fixed, pick_all) == []
    assert references.budget_errors(percent, pick_two) == []
    assert references.budget_errors(percent, None) == []
    assert [error.field for error in references.budget_errors(percent, pick_all)] == ["spec.minAvailable"]


def test_clusters_that_were_named_are_not_evicted() -> None:
    fixed = make("ClusterResourcePlacement", placement(policy={"placementType": "PickFixed", "clusterNames": ["a"]}))
    assert "PickFixed" in str(references.eviction_errors(fixed)[0])
    assert references.eviction_errors(make("ClusterResourcePlacement", placement())) == []
    assert references.eviction_errors(None) == []
