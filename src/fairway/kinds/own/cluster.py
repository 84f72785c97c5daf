"""Cluster: a place that runs work. It is in exactly one pool; how to reach it and what it may get is its spec, how it does its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import field

from fairway.core import quantity
from fairway.kinds import columns, names
from fairway.kinds.errors import NO_VALUE, FieldError, forbidden, invalid
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.kueue.v1beta2.shared import Conditions
from fairway.kinds.meta import Object
from fairway.kinds.own.pool import DEFAULT_POOL, NAME_MAX, DataPlane
from fairway.kinds.own.token import GROUP
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Time, Type

Health = Literal["Healthy", "Unhealthy", "Unknown"]
_SECONDS_MAX = 86400
_TAINTS_MAX = 100


class Kubeconfig(Type):
    """Where the kubeconfig of the cluster is kept: exactly one of the fields."""

    secret_name: Opt[
        Annotated[
            str,
            F("Secret in namespace kueue-system whose key kubeconfig holds it", min_length=1, max_length=253),
        ]
    ] = UNSET
    path: Opt[Annotated[str, F("file on the hub's machine that holds it", min_length=1, max_length=256)]] = UNSET


class Connection(Type):
    """How the hub reaches the API of the cluster."""

    kubeconfig: Annotated[Kubeconfig, F("by a kubeconfig")]


class Taint(Type):
    """Keeps work off a cluster unless the work tolerates it."""

    key: Annotated[str, F("key of the taint, a label key")]
    value: Opt[Annotated[str, F("value of the taint, a label value")]] = UNSET
    effect: Opt[Annotated[Literal["NoSchedule"], F("what it does: nothing new comes here", default="NoSchedule")]] = (
        UNSET
    )


class Fencing(Type):
    """How long a lost cluster's work may still run, and so how long the hub waits before it starts the work elsewhere."""

    lease_seconds: Opt[
        Annotated[
            int, F("how long work runs on after the last renewal of its lease", ge=1, le=_SECONDS_MAX, default=60)
        ]
    ] = UNSET
    grace_seconds: Opt[
        Annotated[int, F("how long ending it may take after that", ge=0, le=_SECONDS_MAX, default=5)]
    ] = UNSET
    margin_seconds: Opt[
        Annotated[int, F("what the hub waits beyond both, for clocks that differ", ge=0, le=_SECONDS_MAX, default=5)]
    ] = UNSET
    window_seconds: Opt[
        Annotated[
            int,
            F(
                "how long the hub waits where the cluster cannot end work by itself; absent: multiKueue.workerLostTimeout",
                ge=0,
                le=_SECONDS_MAX,
            ),
        ]
    ] = UNSET


class ClusterSpec(Type):
    """Where the cluster belongs, how to reach it, and what it may get."""

    pool: Opt[Annotated[str, F("the pool that it is in", min_length=1, max_length=NAME_MAX, default=DEFAULT_POOL)]] = (
        UNSET
    )
    connection: Opt[
        Annotated[Connection, F("how to reach its API; absent: it has none (a cluster of runners), or it was adopted")]
    ] = UNSET
    engine: Opt[
        Annotated[
            Literal["process", "kubernetes", "slurm", "ray", "runners"], F("what runs its work", default="process")
        ]
    ] = UNSET
    taints: Opt[
        Annotated[
            list[Taint],
            F("keep work away that does not tolerate them", list_type="atomic", max_length=_TAINTS_MAX),
        ]
    ] = UNSET
    state: Opt[
        Annotated[Literal["Active", "Draining"], F("Draining: what runs runs on, nothing new comes", default="Active")]
    ] = UNSET
    fencing: Opt[Annotated[Fencing, F("what holds when the cluster is lost", default={})]] = UNSET


class ClusterStatus(Type):
    """How the cluster does, as the hub last saw it."""

    health: Opt[Annotated[Health, F("whether it may get new work; Unknown until it was first reached")]] = UNSET
    reasons: Opt[Annotated[list[str], F("why it is not healthy, for people", list_type="atomic")]] = UNSET
    last_heartbeat_time: Opt[Annotated[Time, F("when it was last heard of, to within some seconds")]] = UNSET
    capacity: Opt[Annotated[dict[str, Quantity], F("what work may use in all")]] = UNSET
    available: Opt[Annotated[dict[str, Quantity], F("what of that no queue of the cluster has reserved")]] = UNSET
    properties: Opt[Annotated[dict[str, str], F("what else is known about it, to select by")]] = UNSET
    queues: Opt[
        Annotated[
            list[str],
            F(
                "the hub's queues, as namespace/name, that the cluster has a queue of the same name for",
                list_type="atomic",
            ),
        ]
    ] = UNSET
    data_plane: Opt[Annotated[DataPlane, F("the data plane that the cluster says it has; absent: its pool's")]] = UNSET
    drift: Opt[Annotated[list[str], F("where that differs from the pool's", list_type="atomic")]] = UNSET
    fenced: Opt[Annotated[bool, F("whether the cluster ends leased work by itself when it cannot be reached")]] = UNSET
    hold_seconds: Opt[
        Annotated[
            int,
            F(
                "how long after its last renewal the hub starts work of the cluster elsewhere; longer than the spec says while a longer "
                "lease of before is not over"
            ),
        ]
    ] = UNSET
    version: Opt[Annotated[str, F("version that its API says it has")]] = UNSET
    conditions: Opt[Conditions] = UNSET


class Cluster(Object):
    """A place that runs work. MultiKueueCluster and MemberCluster of the same name are made from it and follow it."""

    spec: Annotated[ClusterSpec, F("where it belongs, how to reach it, and what it may get")] = field(
        default_factory=ClusterSpec
    )
    status: Opt[Annotated[ClusterStatus, F("how it does")]] = UNSET


def validate(new: Cluster, old: Cluster | None) -> list[FieldError]:
    spec = new.spec
    errors = [invalid("spec.pool", spec.pool, problem) for problem in names.dns_subdomain(spec.pool or DEFAULT_POOL)]
    if spec.connection is not UNSET:
        source = spec.connection.kubeconfig
        if (source.secret_name is UNSET) == (source.path is UNSET):
            errors.append(
                invalid("spec.connection.kubeconfig", NO_VALUE, "exactly one of secretName and path must be set")
            )
    errors += _taint_errors(spec.taints or [])
    if old is not None and spec.pool != old.spec.pool and old.spec.state != "Draining":
        errors.append(
            forbidden(
                "spec.pool",
                "a cluster moves to another pool only when it is drained: set spec.state to Draining, wait until its work has "
                "ended, then change the pool",
            )
        )
    return errors


def _taint_errors(taints: list[Taint]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at, value = f"spec.taints[{index}]", taint.value or ""
        errors += [invalid(f"{at}.key", taint.key, problem) for problem in names.qualified_name(taint.key)]
        errors += [invalid(f"{at}.value", value, problem) for problem in names.label_value(value)]
        if (taint.key, value) in seen:
            errors.append(invalid(at, taint.key, "taints must be unique"))
        seen.add((taint.key, value))
    return errors


def amounts(resources: Mapping[str, str]) -> str:
    """Resources as one short word, like 4c/8Gi/1g: cpus, memory, and devices of all kinds together."""
    parts = []
    if "cpu" in resources:
        parts.append(f"{_short(quantity.parse(resources['cpu']).nanos / quantity.NANO)}c")
    if "memory" in resources:
        parts.append(_bytes(quantity.parse(resources["memory"]).units))
    devices = sum(quantity.parse(value).units for name, value in resources.items() if is_gpu(name))
    if devices:
        parts.append(f"{devices}g")
    return "/".join(parts)


def is_gpu(resource: str) -> bool:
    """Vendors name them nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915, nvidia.com/mig-1g.5gb …"""
    vendor, slash, device = resource.partition("/")
    return bool(slash) and (device == "gpu" or vendor.startswith("gpu.") or device.startswith(("gpu.", "mig-")))


def _bytes(count: int) -> str:
    value, unit = float(count), ""
    for unit in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):
        if abs(value) < 1024 or unit == "Pi":
            break
        value /= 1024
    return f"{_short(value)}{unit}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}".removesuffix(".0")


def _amounts(path: str) -> Callable[[Mapping[str, Any], Moment], str]:
    def value(obj: Mapping[str, Any], _moment: Moment) -> str:
        return amounts(columns.at(obj, path) or {})

    return value


def _health(obj: Mapping[str, Any], _moment: Moment) -> str:
    health = columns.at(obj, "status.health") or "Unknown"
    return f"{health},Draining" if columns.at(obj, "spec.state") == "Draining" else health


def _reasons(obj: Mapping[str, Any], _moment: Moment) -> str:
    return "; ".join(columns.at(obj, "status.reasons") or ())


_COLUMNS = (
    columns.NAME,
    columns.field("Pool", "spec.pool"),
    Column("Health", _health, path=".status.health"),
    columns.field("Engine", "spec.engine"),
    Column("Capacity", _amounts("status.capacity"), path=".status.capacity"),
    Column("Free", _amounts("status.available"), path=".status.available"),
    columns.AGE,
    columns.field("Version", "status.version", wide=True),
    columns.json_path("Last Seen", ".status.lastHeartbeatTime", "date", wide=True),
    Column("Reasons", _reasons, wide=True, path=".status.reasons"),
)

CLUSTER = Kind(
    group=GROUP,
    name="Cluster",
    plural="clusters",
    singular="cluster",
    versions=(Version("v1", Cluster, _COLUMNS),),
    namespaced=False,
    categories=("fairway",),
    subresources=("status",),
    builtin_crd=True,
    selectable=("spec.pool", "spec.engine", "spec.state"),
    validate=validate,
)

KINDS = (CLUSTER,)
