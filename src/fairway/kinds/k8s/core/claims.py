"""core/v1 PersistentVolumeClaim and the template of one in a pod."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.references import TypedLocalObjectReference, TypedObjectReference
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.meta import Object, ObjectMeta
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Time, Type


class VolumeResourceRequirements(Type):
    limits: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET
    requests: Opt[Annotated[dict[str, Quantity], F(proto=2)]] = UNSET


class PersistentVolumeClaimSpec(Type):
    access_modes: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=4, atomic=True)]] = UNSET
    resources: Annotated[VolumeResourceRequirements, F(proto=2)] = field(default_factory=VolumeResourceRequirements)
    volume_name: Opt[Annotated[str, F(proto=3)]] = UNSET
    storage_class_name: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET
    volume_mode: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    data_source: Opt[Annotated[TypedLocalObjectReference, F(proto=7, atomic=True)]] = UNSET
    data_source_ref: Opt[Annotated[TypedObjectReference, F(proto=8)]] = UNSET
    volume_attributes_class_name: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET


class PersistentVolumeClaimTemplate(Type):
    metadata: Annotated[ObjectMeta, F(proto=1)] = field(default_factory=ObjectMeta)
    spec: Annotated[PersistentVolumeClaimSpec, F(proto=2)] = field(default_factory=PersistentVolumeClaimSpec)


class PersistentVolumeClaimCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_probe_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=5)]] = UNSET
    message: Opt[Annotated[str, F(proto=6)]] = UNSET


class ModifyVolumeStatus(Type):
    target_volume_attributes_class_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    status: Annotated[str, F(proto=2)] = ""


class VolumeHealthCondition(Type):
    status: Annotated[str, F(proto=1)] = ""
    reason: Annotated[str, F(proto=2)] = ""
    message: Opt[Annotated[str, F(proto=3)]] = UNSET


class VolumeHealthStatus(Type):
    health_conditions: Opt[
        Annotated[
            list[VolumeHealthCondition],
            F(
                proto=1,
                keys=(
                    "status",
                    "reason",
                ),
                merge="status",
            ),
        ]
    ] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=2)]] = UNSET


class PersistentVolumeClaimStatus(Type):
    phase: Opt[Annotated[str, F(proto=1)]] = UNSET
    access_modes: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    capacity: Opt[Annotated[dict[str, Quantity], F(proto=3)]] = UNSET
    conditions: Opt[Annotated[list[PersistentVolumeClaimCondition], F(proto=4, keys=("type",), merge="type")]] = UNSET
    allocated_resources: Opt[Annotated[dict[str, Quantity], F(proto=5)]] = UNSET
    allocated_resource_statuses: Opt[Annotated[dict[str, str], F(proto=7)]] = UNSET
    current_volume_attributes_class_name: Opt[Annotated[str, F(proto=8, zero=True)]] = UNSET
    modify_volume_status: Opt[Annotated[ModifyVolumeStatus, F(proto=9)]] = UNSET
    health_status: Opt[Annotated[VolumeHealthStatus, F(proto=10)]] = UNSET


class PersistentVolumeClaim(Object):
    """A request for storage. Kept as written: no volume is ever bound here."""

    spec: Annotated[PersistentVolumeClaimSpec, F(proto=2)] = field(default_factory=PersistentVolumeClaimSpec)
    status: Annotated[PersistentVolumeClaimStatus, F(proto=3)] = field(default_factory=PersistentVolumeClaimStatus)
