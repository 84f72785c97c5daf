"""ClusterResourcePlacement and ResourcePlacement: selected objects go to picked clusters, and the status says how that went."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.fleet.common import ApplyStrategy, Condition, NamespacedName, ReportBackStrategy
from fairway.kinds.fleet.policy import PlacementPolicy, ResourceSelectorTerm
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, IntOrString, Opt, Time, Type

FAILED_MAX = 100
"""How many failed, drifted or differing objects are listed per cluster."""


class RollingUpdateConfig(Type):
    """How fast a change spreads over the clusters."""

    max_unavailable: Opt[
        Annotated[IntOrString, F("clusters that may be without the objects at a time, as number or %", default="25%")]
    ] = UNSET
    max_surge: Opt[
        Annotated[IntOrString, F("clusters beyond the wanted number at a time, as number or %", default="25%")]
    ] = UNSET
    unavailable_period_seconds: Opt[
        Annotated[int, F("wait before an object that cannot be watched counts as ready", ge=0, default=60)]
    ] = UNSET


class DeleteStrategy(Type):
    """What becomes of placed objects when the placement is deleted."""

    propagation_policy: Opt[
        Annotated[Literal["Abandon", "Delete"], F("leave them on the members, or delete them", default="Delete")]
    ] = UNSET


class RolloutStrategyV1(Type):
    """How changes reach the clusters."""

    type: Opt[
        Annotated[
            Literal["RollingUpdate", "External"],
            F("roll out step by step, or wait for a staged update run", default="RollingUpdate"),
        ]
    ] = UNSET
    rolling_update: Opt[Annotated[RollingUpdateConfig, F("pace of a RollingUpdate")]] = UNSET
    apply_strategy: Opt[Annotated[ApplyStrategy, F("how objects are written on a member")]] = UNSET


class RolloutStrategy(RolloutStrategyV1):
    """How changes reach the clusters."""

    delete_strategy: Opt[Annotated[DeleteStrategy, F("what happens when the placement is deleted")]] = UNSET
    report_back_strategy: Opt[Annotated[ReportBackStrategy, F("whether status comes back to the hub")]] = UNSET


class PlacementSpecV1(Type):
    """What to place, where, and how."""

    resource_selectors: Annotated[
        list[ResourceSelectorTerm], F("objects to place; each selector adds to the set", min_length=1, max_length=100)
    ]
    policy: Opt[Annotated[PlacementPolicy, F("which clusters are picked; every cluster if absent")]] = UNSET
    strategy: Opt[Annotated[RolloutStrategyV1, F("how changes reach the clusters")]] = UNSET
    revision_history_limit: Opt[Annotated[int, F("old snapshots to keep", ge=1, le=1000, default=10)]] = UNSET
    status_reporting_scope: Opt[
        Annotated[
            Literal["ClusterScopeOnly", "NamespaceAccessible"],
            F(
                "also copy the status into the placed namespace, for its users; cannot change",
                default="ClusterScopeOnly",
            ),
        ]
    ] = UNSET


class PlacementSpec(PlacementSpecV1):
    """What to place, where, and how."""

    strategy: Opt[Annotated[RolloutStrategy, F("how changes reach the clusters")]] = UNSET


class EnvelopeIdentifier(Type):
    """The envelope that an object came in."""

    name: Annotated[str, F("name of the envelope")]
    namespace: Opt[Annotated[str, F("namespace of the envelope, if it has one")]] = UNSET
    type: Opt[
        Annotated[Literal["ConfigMap", "ClusterResourceEnvelope", "ResourceEnvelope"], F("kind of the envelope")]
    ] = UNSET


class ResourceIdentifier(Type):
    """A placed object."""

    group: Opt[Annotated[str, F("API group")]] = UNSET
    version: Annotated[str, F("API version")]
    kind: Annotated[str, F("kind of the object")]
    name: Annotated[str, F("name of the object")]
    namespace: Opt[Annotated[str, F("namespace of the object, if it has one")]] = UNSET
    envelope: Opt[Annotated[EnvelopeIdentifier, F("envelope it came in, if any")]] = UNSET


class PatchDetail(Type):
    """One place where hub and member differ."""

    path: Annotated[str, F("JSON pointer to the field")]
    value_in_member: Opt[Annotated[str, F("what the member has, as text")]] = UNSET
    value_in_hub: Opt[Annotated[str, F("what the hub has, as text")]] = UNSET


class FailedPlacement(ResourceIdentifier):
    """An object that could not be placed."""

    condition: Annotated[Condition, F("what went wrong")]


class DriftedPlacement(ResourceIdentifier):
    """An object that somebody changed on the member."""

    observation_time: Annotated[Time, F("when this was last observed")]
    target_cluster_observed_generation: Annotated[int, F("generation of the object on the member")]
    first_drifted_observed_time: Annotated[Time, F("when a change was first observed")]
    observed_drifts: Opt[Annotated[list[PatchDetail], F("the changed fields")]] = UNSET


class DiffedPlacement(ResourceIdentifier):
    """An object that differs on the member before it was ever written."""

    observation_time: Annotated[Time, F("when this was last observed")]
    target_cluster_observed_generation: Opt[Annotated[int, F("generation of the object on the member")]] = UNSET
    first_diffed_observed_time: Annotated[Time, F("when a difference was first observed")]
    observed_diffs: Opt[Annotated[list[PatchDetail], F("the differing fields")]] = UNSET


class PerClusterPlacementStatus(Type):
    """How the placement is doing on one cluster; without a name, why a cluster could not be found."""

    cluster_name: Opt[Annotated[str, F("name of the cluster; empty for a place that is not filled")]] = UNSET
    applicable_resource_overrides: Opt[
        Annotated[list[NamespacedName], F("snapshots of the ResourceOverrides that change objects here")]
    ] = UNSET
    applicable_cluster_resource_overrides: Opt[
        Annotated[list[str], F("snapshots of the ClusterResourceOverrides that change objects here")]
    ] = UNSET
    failed_placements: Opt[
        Annotated[list[FailedPlacement], F("objects that could not be placed", max_length=FAILED_MAX)]
    ] = UNSET
    drifted_placements: Opt[
        Annotated[list[DriftedPlacement], F("objects that were changed on the member", max_length=FAILED_MAX)]
    ] = UNSET
    diffed_placements: Opt[
        Annotated[list[DiffedPlacement], F("objects that differ on the member", max_length=FAILED_MAX)]
    ] = UNSET
    conditions: Opt[Annotated[list[Condition], F("progress on this cluster, step by step")]] = UNSET
    observed_resource_index: Opt[Annotated[str, F("resource snapshot that the cluster has or gets")]] = UNSET


class PlacementStatus(Type):
    """How the placement is doing."""

    selected_resources: Opt[Annotated[list[ResourceIdentifier], F("objects that the selectors picked")]] = UNSET
    observed_resource_index: Opt[Annotated[str, F("newest resource snapshot")]] = UNSET
    placement_statuses: Opt[Annotated[list[PerClusterPlacementStatus], F("progress on each cluster")]] = UNSET
    conditions: Opt[Annotated[list[Condition], F("progress over all clusters, step by step", keys=("type",))]] = UNSET


class ClusterResourcePlacement(Object):
    """Places cluster-scoped objects, and whole namespaces, on clusters of the fleet."""

    spec: Annotated[PlacementSpec, F("what to place, where, and how")]
    status: Opt[Annotated[PlacementStatus, F("how the placement is doing")]] = UNSET


class ClusterResourcePlacementV1(Object):
    """Places cluster-scoped objects, and whole namespaces, on clusters of the fleet."""

    spec: Annotated[PlacementSpecV1, F("what to place, where, and how")]
    status: Opt[Annotated[PlacementStatus, F("how the placement is doing")]] = UNSET


class ResourcePlacement(Object):
    """Places objects of its own namespace on clusters of the fleet."""

    spec: Annotated[PlacementSpec, F("what to place, where, and how")]
    status: Opt[Annotated[PlacementStatus, F("how the placement is doing")]] = UNSET


class ResourcePlacementV1(Object):
    """Places objects of its own namespace on clusters of the fleet."""

    spec: Annotated[PlacementSpecV1, F("what to place, where, and how")]
    status: Opt[Annotated[PlacementStatus, F("how the placement is doing")]] = UNSET


class ClusterResourcePlacementStatus(Object):
    """The status of a ClusterResourcePlacement, copied into the namespace that it places."""

    source_status: Annotated[PlacementStatus, F("the copied status")]
    last_updated_time: Annotated[Time, F("when it was copied")]
