"""The core kinds beside pods: what the API fills in and how their rows read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fairway.kinds.k8s.batch.kinds import JOB
from fairway.kinds.k8s.core.kinds import CONFIG_MAP, EVENT, NAMESPACE, NODE, POD, SECRET
from fairway.kinds.kind import Kind, convert
from fairway.kinds.types import to_json

NOW = SimpleNamespace(now=1_767_225_600.0)  # 2026-01-01T00:00:00Z


def created(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    new = convert(body, kind.storage_version.type)
    kind.default(new, None)
    kind.prepare(new, None)
    got: dict[str, Any] = to_json(new)
    return got


def cells(kind: Kind, obj: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.value(obj, NOW) for column in kind.storage_version.columns}


def test_a_namespace_is_active_and_labelled_with_its_name() -> None:
    got = created(NAMESPACE, {"metadata": {"name": "compute-jobs", "labels": {"a": "b"}}})
    assert got["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "compute-jobs"}
    assert (got["spec"], got["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


def test_string_data_of_a_secret_is_folded_into_data_and_wins() -> None:
    got = created(SECRET, {"data": {"a": "eA==", "b": "eA=="}, "stringData": {"b": "yy", "c": "zz"}})
    assert got["data"] == {"a": "eA==", "b": "eXk=", "c": "eno="}
    assert "stringData" not in got
    assert got["type"] == "Opaque"


def test_a_node_offers_all_it_has_unless_it_says_otherwise() -> None:
    got = created(NODE, {"status": {"capacity": {"cpu": "4"}}})
    assert got["status"]["allocatable"] == {"cpu": "4"}
    got = created(NODE, {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}})
    assert got["status"]["allocatable"] == {"cpu": "3"}


def test_secrets_and_config_maps_show_how_many_entries_they_hold() -> None:
    assert cells(SECRET, {"metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "eA=="}})["Data"] == 1
    assert cells(CONFIG_MAP, {"data": {"a": "b"}, "binaryData": {"c": "eA=="}})["Data"] == 2


EVENT_BODY = {
    "metadata": {"name": "e1"},
    "involvedObject": {"kind": "Job", "name": "j", "fieldPath": "spec"},
    "reason": "Admitted",
    "message": "  fits \n",
    "type": "Normal",
    "source": {"component": "queue", "host": "n1"},
    "firstTimestamp": "2025-12-31T23:50:00Z",
    "lastTimestamp": "2025-12-31T23:59:50Z",
    "count": 3,
}


def test_the_row_of_an_event_reads_as_kubectl_shows_it() -> None:
    assert cells(EVENT, EVENT_BODY) == {
        "Last Seen": "10s",
        "Type": "Normal",
        "Reason": "Admitted",
        "Object": "job/j",
        "Subobject": "spec",
        "Source": "queue, n1",
        "Message": "fits",
        "First Seen": "10m",
        "Count": 3,
        "Name": "e1",
    }
    wide = [column.name for column in EVENT.storage_version.columns if column.wide]
    assert wide == ["Subobject", "Source", "First Seen", "Count", "Name"]


def test_an_event_of_the_newer_shape_is_read_by_its_series() -> None:
    newer = {
        "involvedObject": {"kind": "Node"},
        "eventTime": "2025-12-31T23:00:00.000000Z",
        "reportingComponent": "queue",
        "series": {"count": 9, "lastObservedTime": "2025-12-31T23:59:00.000000Z"},
    }
    got = cells(EVENT, newer)
    assert (got["Last Seen"], got["First Seen"], got["Count"], got["Object"]) == ("60s", "60m", 9, "node")
    del newer["series"]
    got = cells(EVENT, newer)
    assert (got["Last Seen"], got["Count"], got["Source"]) == ("60m", 1, "queue")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, "Unknown"),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "Ready"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "NotReady"),
        (
            {"spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            "Ready,SchedulingDisabled",
        ),
    ],
)
def test_a_node_shows_whether_it_takes_pods(node: dict[str, Any], expected: str) -> None:
    assert cells(NODE, node)["Status"] == expected


def test_the_wide_row_of_a_node_names_roles_addresses_and_versions() -> None:
    node = {
        "metadata": {
            "name": "n",
            "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""},
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.33.0", "kernelVersion": "6.1", "architecture": "amd64"},
        },
    }
    got = cells(NODE, node)
    assert got["Roles"] == "control-plane,worker"
    assert (got["Version"], got["Internal-IP"], got["External-IP"]) == ("v1.33.0", "10.0.0.1", "<none>")
    assert (got["OS-Image"], got["Kernel-Version"], got["Container-Runtime"]) == (
        "<unknown>",
        "6.1 (amd64)",
        "<unknown>",
    )
    assert cells(NODE, {})["Roles"] == "<none>"


@pytest.mark.parametrize(
    ("kind", "body", "label", "value"),
    [
        (POD, {}, "spec.hostNetwork", "false"),
        (POD, {"spec": {"hostNetwork": True}}, "spec.hostNetwork", "true"),
        (NODE, {}, "spec.unschedulable", "false"),
        (EVENT, {"reportingComponent": "queue"}, "source", "queue"),
        (EVENT, {"reportingComponent": "queue", "source": {"component": "kubelet"}}, "source", "kubelet"),
        (JOB, {"status": {"succeeded": 2}}, "status.successful", "2"),
        (JOB, {}, "status.successful", "0"),
    ],
)
def test_field_labels_that_are_no_path_have_a_value(kind: Kind, body: dict[str, Any], label: str, value: str) -> None:
    assert dict(kind.selectable_as)[label](convert(body, kind.storage_version.type)) == value
    assert label in kind.selectable
