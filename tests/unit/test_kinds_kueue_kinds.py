"""What kubectl shows of the group's kinds: descriptions, defaults, versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairway.kinds.defaults import fill
from fairway.kinds.kind import Kind, Version, convert
from fairway.kinds.kueue import KINDS, defaulting
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.schema import Node
from fairway.kinds.types import to_json

BY_NAME = {kind.name: kind for kind in KINDS}
SAYS_NOTHING_ABOUT = ("metadata", "template")


def undescribed(node: Node, path: str) -> Iterator[str]:
    for name, child in node.fields.items():
        if name in SAYS_NOTHING_ABOUT:
            continue
        if not child.doc:
            yield f"{path}.{name}"
        inner: Node | None = child
        while inner is not None:
            if inner.type == "object":
                yield from undescribed(inner, f"{path}.{name}")
            inner = inner.item


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_every_field_has_a_description(kind: Kind, version: str) -> None:
    node = kind.version(version).node
    assert node.doc
    assert list(undescribed(node, kind.name)) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_v1beta2_is_preferred_and_stored_and_v1beta1_warns(kind: Kind) -> None:
    assert [version.name for version in kind.versions] == ["v1beta2", "v1beta1"]
    assert kind.storage_version.name == "v1beta2"
    assert kind.builtin_crd
    wanted = "" if kind.name == "MultiKueueConfig" else "This version is deprecated. Use v1beta2 instead."
    assert kind.version("v1beta1").deprecated == wanted


def made(kind: Kind, body: dict[str, object], version: Version | None = None) -> dict[str, object]:
    new = convert({"metadata": {"name": "a"}, **body}, (version or kind.storage_version).type)
    fill(new)
    kind.default(new, None)
    result: dict[str, object] = to_json(new)
    return result


def test_a_cluster_queue_without_a_spec_gets_one_with_every_default() -> None:
    assert made(BY_NAME["ClusterQueue"], {})["spec"] == {
        "queueingStrategy": "BestEffortFIFO",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
            "withinClusterQueue": "Never",
        },
        "stopPolicy": "None",
    }


@pytest.mark.parametrize("name", ["ClusterQueue", "ResourceFlavor"])
def test_what_others_count_on_is_kept_until_nothing_uses_it(name: str) -> None:
    kind = BY_NAME[name]
    new = made(kind, {"metadata": {"name": "a", "finalizers": ["x/y"]}})
    assert new["metadata"] == {"name": "a", "finalizers": ["x/y", "kueue.x-k8s.io/resource-in-use"]}
    again = made(kind, {"metadata": new["metadata"]})
    assert again["metadata"] == new["metadata"]


def test_a_finalizer_that_was_removed_later_stays_removed() -> None:
    kind = BY_NAME["ClusterQueue"]
    old = convert(made(kind, {}), kind.storage_version.type)
    new = convert({"metadata": {"name": "a"}, "spec": {}}, kind.storage_version.type)
    kind.default(new, old)
    assert "finalizers" not in to_json(new)["metadata"]


def test_the_smaller_kinds_get_their_static_defaults() -> None:
    assert made(BY_NAME["LocalQueue"], {"spec": {"clusterQueue": "c", "fairSharing": {}}})["spec"] == {
        "clusterQueue": "c",
        "stopPolicy": "None",
        "fairSharing": {"weight": "1"},
    }
    source = {"clusterSource": {"kubeConfig": {"location": "s", "locationType": "Secret"}}}
    assert (
        made(BY_NAME["MultiKueueCluster"], {"spec": {"clusterSource": {"kubeConfig": {"location": "s"}}}})["spec"]
        == source
    )
    check = BY_NAME["AdmissionCheck"]
    assert made(check, {"spec": {"controllerName": "x"}}, check.version("v1beta1"))["spec"] == {
        "controllerName": "x",
        "retryDelayMinutes": 15,
    }
    config = made(BY_NAME["ProvisioningRequestConfig"], {"spec": {"provisioningClassName": "p"}})
    assert config["spec"] == {
        "provisioningClassName": "p",
        "retryStrategy": {"backoffBaseSeconds": 60, "backoffLimitCount": 3, "backoffMaxSeconds": 1800},
    }


def test_a_workload_gets_a_pod_set_name_a_count_and_is_active() -> None:
    template = {"metadata": {}, "spec": {"containers": []}}
    spec = {"active": True, "podSets": [{"name": "main", "count": 1, "template": template}]}
    assert made(BY_NAME["Workload"], {"spec": {"podSets": [{"template": template}]}})["spec"] == spec


def test_minimum_counts_are_dropped_only_when_partial_admission_is_off() -> None:
    kind = BY_NAME["Workload"]
    pod_set = {"name": "main", "count": 3, "minCount": 2, "template": {"metadata": {}, "spec": {"containers": []}}}
    new = convert({"metadata": {"name": "a"}, "spec": {"podSets": [pod_set]}}, kind.storage_version.type)
    kind.default(new, None)
    assert new.spec.pod_sets[0].min_count == 2
    defaulting.workload(Gates.of({"PartialAdmission": False}))(new, None)
    assert "minCount" not in to_json(new)["spec"]["podSets"][0]


def test_a_workload_can_be_selected_by_the_queue_that_reserved_its_quota() -> None:
    assert BY_NAME["Workload"].selectable == ("status.admission.clusterQueue",)


def test_gates_are_known_by_the_names_that_kueue_gives_them() -> None:
    names = {
        "RejectUpdatesToCQWithInvalidOnFlavors": True,
        "TASValidateWorkloadSliceSize": False,
        "LocalQueueMetrics": False,
    }
    gates = Gates.of(names)
    assert gates.reject_updates_to_cq_with_invalid_on_flavors
    assert not gates.tas_validate_workload_slice_size
    assert gates.topology_aware_scheduling
