"""Rows of the core kinds in `kubectl get`, beside the pod's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.kinds.columns import AGE, NAME, at, field, since
from fairway.kinds.k8s.columns import NONE, UNKNOWN
from fairway.kinds.kind import Column, Moment

Json = Mapping[str, Any]

NAMESPACE_COLUMNS = (NAME, field("Status", "status.phase"), AGE)
SERVICE_ACCOUNT_COLUMNS = (NAME, AGE)


def _entries(*paths: str) -> Column:
    return Column("Data", lambda obj, _moment: sum(len(at(obj, path) or ()) for path in paths))


CONFIG_MAP_COLUMNS = (NAME, _entries("data", "binaryData"), AGE)
SECRET_COLUMNS = (NAME, field("Type", "type"), _entries("data"), AGE)


def _first_seen(event: Json, moment: Moment) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), moment)


def _last_seen(event: Json, moment: Moment) -> str:
    series = event.get("series")
    if series is not None:
        return since(series.get("lastObservedTime"), moment)
    last = event.get("lastTimestamp")
    return since(last, moment) if last else _first_seen(event, moment)


def _event_object(event: Json, _moment: Moment) -> str:
    involved = event.get("involvedObject") or {}
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name")
    return f"{kind}/{name}" if name else kind


def _event_source(event: Json, _moment: Moment) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _event_count(event: Json, _moment: Moment) -> int:
    series = event.get("series")
    return int((series.get("count") if series is not None else event.get("count") or 1) or 0)


EVENT_COLUMNS = (
    Column("Last Seen", _last_seen),
    field("Type", "type"),
    field("Reason", "reason"),
    Column("Object", _event_object),
    field("Subobject", "involvedObject.fieldPath", wide=True),
    Column("Source", _event_source, wide=True),
    Column("Message", lambda event, _moment: str(event.get("message") or "").strip()),
    Column("First Seen", _first_seen, wide=True),
    Column("Count", _event_count, wide=True),
    Column("Name", lambda event, _moment: at(event, "metadata.name"), wide=True, format="name"),
)

ROLE_PREFIX = "node-role.kubernetes.io/"


def _node_status(node: Json, _moment: Moment) -> str:
    ready = next((one for one in at(node, "status.conditions") or () if one.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if at(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Json, _moment: Moment) -> str:
    labels = at(node, "metadata.labels") or {}
    roles = {name.removeprefix(ROLE_PREFIX) for name in labels if name.startswith(ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(name: str, kind: str) -> Column:
    def value(node: Json, _moment: Moment) -> str:
        addresses = (one for one in at(node, "status.addresses") or () if one.get("type") == kind)
        return next((str(one.get("address")) for one in addresses), NONE)

    return Column(name, value, wide=True)


def _node_kernel(node: Json, _moment: Moment) -> str:
    info = at(node, "status.nodeInfo") or {}
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return (info.get("kernelVersion") or UNKNOWN) + architecture


def _node_info(name: str, attribute: str) -> Column:
    return Column(name, lambda node, _moment: at(node, f"status.nodeInfo.{attribute}") or UNKNOWN, wide=True)


NODE_COLUMNS = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _node_roles),
    AGE,
    field("Version", "status.nodeInfo.kubeletVersion"),
    _node_address("Internal-IP", "InternalIP"),
    _node_address("External-IP", "ExternalIP"),
    _node_info("OS-Image", "osImage"),
    Column("Kernel-Version", _node_kernel, wide=True),
    _node_info("Container-Runtime", "containerRuntimeVersion"),
)
