"""What the scheduler works with: snapshots of policies and of selected objects, and bindings of a placement to a cluster."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.fleet.common import ApplyStrategy, Condition, NamespacedName
from fairway.kinds.fleet.placement import FAILED_MAX, DiffedPlacement, DriftedPlacement, FailedPlacement
from fairway.kinds.fleet.policy import PlacementPolicy
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, Base64, F, Json, Opt, Type


class ClusterScore(Type):
    """How well a cluster suits a placement."""

    affinity_score: Opt[Annotated[int, F("points from preferred affinity")]] = UNSET
    priority_score: Opt[Annotated[int, F("points from the topology spread; compared first")]] = UNSET


class ClusterDecision(Type):
    """What the scheduler decided about a cluster."""

    cluster_name: Annotated[str, F("name of the cluster")]
    selected: Annotated[bool, F("whether it was picked")]
    cluster_score: Opt[Annotated[ClusterScore, F("its score, if clusters were ranked")]] = UNSET
    reason: Annotated[str, F("why, for people")]


class SchedulingPolicySnapshotSpec(Type):
    """A policy as it was at one moment."""

    policy: Opt[Annotated[PlacementPolicy, F("the policy, without its number of clusters")]] = UNSET
    policy_hash: Annotated[Base64, F("hash by which a change is noticed")]


class SchedulingPolicySnapshotStatus(Type):
    """What the scheduler made of the policy."""

    observed_crp_generation: Annotated[int, F("generation of the placement that was scheduled")] = field(
        name="observedCRPGeneration"
    )
    conditions: Opt[Annotated[list[Condition], F("whether scheduling is complete", keys=("type",))]] = UNSET
    target_clusters: Opt[Annotated[list[ClusterDecision], F("decisions, picked clusters first", max_length=1000)]] = (
        UNSET
    )


class ClusterSchedulingPolicySnapshot(Object):
    """The policy of a ClusterResourcePlacement at one moment, and what the scheduler decided."""

    spec: Annotated[SchedulingPolicySnapshotSpec, F("the policy")]
    status: Opt[Annotated[SchedulingPolicySnapshotStatus, F("the decisions")]] = UNSET


class SchedulingPolicySnapshot(Object):
    """The policy of a ResourcePlacement at one moment, and what the scheduler decided."""

    spec: Annotated[SchedulingPolicySnapshotSpec, F("the policy")]
    status: Opt[Annotated[SchedulingPolicySnapshotStatus, F("the decisions")]] = UNSET


class ResourceSnapshotSpec(Type):
    """Selected objects as they were at one moment."""

    selected_resources: Annotated[list[dict[str, Json]], F("the objects themselves")]


class ResourceSnapshotStatus(Type):
    """State of the snapshot."""

    conditions: Opt[Annotated[list[Condition], F("state of the snapshot", keys=("type",))]] = UNSET


class ClusterResourceSnapshot(Object):
    """The objects that a ClusterResourcePlacement selected at one moment."""

    spec: Annotated[ResourceSnapshotSpec, F("the objects")]
    status: Opt[Annotated[ResourceSnapshotStatus, F("state of the snapshot")]] = UNSET


class ResourceSnapshot(Object):
    """The objects that a ResourcePlacement selected at one moment."""

    spec: Annotated[ResourceSnapshotSpec, F("the objects")]
    status: Opt[Annotated[ResourceSnapshotStatus, F("state of the snapshot")]] = UNSET


class ResourceBindingSpec(Type):
    """What a cluster shall get from a placement."""

    state: Annotated[str, F("Scheduled, Bound or Unscheduled")]
    resource_snapshot_name: Annotated[str, F("snapshot of the objects")]
    resource_override_snapshots: Opt[Annotated[list[NamespacedName], F("snapshots of ResourceOverrides to apply")]] = (
        UNSET
    )
    cluster_resource_override_snapshots: Opt[
        Annotated[list[str], F("snapshots of ClusterResourceOverrides to apply")]
    ] = UNSET
    scheduling_policy_snapshot_name: Annotated[str, F("policy snapshot that led here")]
    target_cluster: Annotated[str, F("name of the cluster")]
    cluster_decision: Annotated[ClusterDecision, F("why this cluster")]
    apply_strategy: Opt[Annotated[ApplyStrategy, F("how objects are written there")]] = UNSET


class ResourceBindingStatus(Type):
    """How the cluster is doing."""

    failed_placements: Opt[
        Annotated[list[FailedPlacement], F("objects that could not be placed", max_length=FAILED_MAX)]
    ] = UNSET
    drifted_placements: Opt[
        Annotated[list[DriftedPlacement], F("objects that were changed on the member", max_length=FAILED_MAX)]
    ] = UNSET
    diffed_placements: Opt[
        Annotated[list[DiffedPlacement], F("objects that differ on the member", max_length=FAILED_MAX)]
    ] = UNSET
    conditions: Opt[Annotated[list[Condition], F("progress, step by step", keys=("type",))]] = UNSET


class ClusterResourceBinding(Object):
    """Ties a ClusterResourcePlacement to one cluster."""

    spec: Annotated[ResourceBindingSpec, F("what the cluster shall get")]
    status: Opt[Annotated[ResourceBindingStatus, F("how the cluster is doing")]] = UNSET


class ResourceBinding(Object):
    """Ties a ResourcePlacement to one cluster."""

    spec: Annotated[ResourceBindingSpec, F("what the cluster shall get")]
    status: Opt[Annotated[ResourceBindingStatus, F("how the cluster is doing")]] = UNSET
