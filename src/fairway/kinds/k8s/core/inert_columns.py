"""Rows of the core kinds that are kept as written: services, storage, quotas, replication controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.kinds.columns import AGE, NAME, at, field
from fairway.kinds.k8s.columns import CREATED, NONE, containers, count, either, selects
from fairway.kinds.kind import Column, Moment

Json = Mapping[str, Any]

ENDPOINTS_SHOWN = 3
UNSET_CELL = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _cluster_ip(service: Json, _moment: Moment) -> str:
    addresses = at(service, "spec.clusterIPs") or ()
    return (addresses[0] if addresses else at(service, "spec.clusterIP")) or NONE


def _external_ip(service: Json, _moment: Moment) -> str:
    kind, fixed = at(service, "spec.type"), list(at(service, "spec.externalIPs") or ())
    if kind == "ExternalName":
        return str(at(service, "spec.externalName") or "")
    if kind == "LoadBalancer":
        points = at(service, "status.loadBalancer.ingress") or ()
        balanced = sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
        return ",".join(balanced + fixed) or "<pending>"
    return ",".join(fixed) or NONE


def _ports(service: Json, _moment: Moment) -> str:
    shown = []
    for port in at(service, "spec.ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(shown) or NONE


SERVICE_COLUMNS = (
    NAME,
    field("Type", "spec.type"),
    Column("Cluster-IP", _cluster_ip),
    Column("External-IP", _external_ip),
    Column("Port(s)", _ports),
    AGE,
    selects(),
)


def _endpoints(endpoints: Json, _moment: Moment) -> str:
    found: list[str] = []
    for subset in endpoints.get("subsets") or ():
        addresses = [str(one.get("ip")) for one in subset.get("addresses") or ()]
        ports = subset.get("ports")
        found += [f"{_bracketed(ip)}:{port.get('port')}" for port in ports for ip in addresses] if ports else addresses
    more = f" + {len(found) - ENDPOINTS_SHOWN} more..." if len(found) > ENDPOINTS_SHOWN else ""
    return (",".join(found[:ENDPOINTS_SHOWN]) or NONE) + more


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


ENDPOINTS_COLUMNS = (NAME, Column("Endpoints", _endpoints), AGE)


def _modes(modes: Any) -> str:
    given = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _phase(obj: Json, _moment: Moment) -> Any:
    return "Terminating" if at(obj, "metadata.deletionTimestamp") is not None else at(obj, "status.phase")


def _class(obj: Json, _moment: Moment) -> str:
    annotated = (at(obj, "metadata.annotations") or {}).get(_CLASS_ANNOTATION)
    return str(annotated or at(obj, "spec.storageClassName") or "")


def _claim(volume: Json, _moment: Moment) -> str:
    claim = at(volume, "spec.claimRef")
    return "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}"


_ATTRIBUTES_CLASS = either("VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET_CELL)
_VOLUME_MODE = either("VolumeMode", "spec.volumeMode", UNSET_CELL, wide=True)

PERSISTENT_VOLUME_COLUMNS = (
    NAME,
    Column("Capacity", lambda volume, _moment: (at(volume, "spec.capacity") or {}).get("storage", "0")),
    Column("Access Modes", lambda volume, _moment: _modes(at(volume, "spec.accessModes"))),
    field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
    Column("Status", _phase),
    Column("Claim", _claim),
    Column("StorageClass", _class),
    _ATTRIBUTES_CLASS,
    field("Reason", "status.reason"),
    AGE,
    _VOLUME_MODE,
)


def _bound(claim: Json) -> bool:
    return bool(at(claim, "spec.volumeName"))


def _claimed(claim: Json, _moment: Moment) -> str:
    return str((at(claim, "status.capacity") or {}).get("storage", "0")) if _bound(claim) else ""


PERSISTENT_VOLUME_CLAIM_COLUMNS = (
    NAME,
    Column("Status", _phase),
    field("Volume", "spec.volumeName"),
    Column("Capacity", _claimed),
    Column("Access Modes", lambda claim, _moment: _modes(at(claim, "status.accessModes")) if _bound(claim) else ""),
    Column("StorageClass", _class),
    _ATTRIBUTES_CLASS,
    AGE,
    _VOLUME_MODE,
)

REPLICATION_CONTROLLER_COLUMNS = (
    NAME,
    count("Desired", "spec.replicas"),
    count("Current", "status.replicas"),
    count("Ready", "status.readyReplicas"),
    AGE,
    *containers(),
    selects(),
)


def _usage(quota: Json, *, limits: bool) -> str:
    used, hard = at(quota, "status.used") or {}, at(quota, "status.hard") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


RESOURCE_QUOTA_COLUMNS = (
    NAME,
    Column("Request", lambda quota, _moment: _usage(quota, limits=False)),
    Column("Limit", lambda quota, _moment: _usage(quota, limits=True)),
    AGE,
)

LIMIT_RANGE_COLUMNS = (NAME, CREATED)


def _shown(column: Column) -> Column:
    return Column(column.name, column.value)


POD_TEMPLATE_COLUMNS = (
    NAME,
    *map(_shown, containers("template.spec.containers")),
    selects("template.metadata.labels", "Pod Labels", wide=False),
)
