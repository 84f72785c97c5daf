"""The KubeFleet kinds: names, versions, columns, and which functions check them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.kinds import columns
from fairway.kinds.errors import FieldError
from fairway.kinds.fleet import binding, cluster, disruption, override, placement, staged, work
from fairway.kinds.fleet.common import CLUSTER_GROUP, PLACEMENT_CATEGORIES, PLACEMENT_GROUP, STORAGE
from fairway.kinds.fleet.convert import reshaped
from fairway.kinds.fleet.defaults import default_placement, default_work
from fairway.kinds.fleet.validate_cluster import validate_member_cluster
from fairway.kinds.fleet.validate_override import validate_override
from fairway.kinds.fleet.validate_placement import validate_placement
from fairway.kinds.fleet.validate_rollout import (
    validate_approval,
    validate_budget,
    validate_envelope,
    validate_eviction,
    validate_run,
    validate_snapshot,
    validate_strategy,
    validate_work,
)
from fairway.kinds.kind import Column, Kind, Version
from fairway.kinds.meta import Object

Validate = Callable[[Any, Any], list[FieldError]]
Default = Callable[[Any, Any], None]
PLAIN = (columns.NAME, columns.AGE)
GEN = (columns.NAME, columns.field("Gen", "metadata.generation"), columns.AGE)


def _nothing(_new: Any, _old: Any) -> None:
    return None


def _fine(_new: Any, _old: Any) -> list[FieldError]:
    return []


def _kind(
    type: type[Object],
    plural: str,
    *,
    v1: type[Object] | None = None,
    shown: tuple[Column, ...] = PLAIN,
    short: str = "",
    namespaced: bool = False,
    status: bool = True,
    group: str = PLACEMENT_GROUP,
    categories: tuple[str, ...] = PLACEMENT_CATEGORIES,
    spec_fields: tuple[str, ...] = ("spec",),
    default: Default = _nothing,
    validate: Validate = _fine,
) -> Kind:
    """A kind stored as v1beta1; with `v1` it is served as v1 too, and clients prefer that."""
    stored = Version(STORAGE, type, shown)
    if v1 is None:
        versions: tuple[Version, ...] = (stored,)
    else:
        versions = (Version("v1", type, shown) if v1 is type else reshaped("v1", v1, type, shown), stored)
    return Kind(
        group=group,
        name=type.__name__,
        plural=plural,
        singular=type.__name__.lower(),
        versions=versions,
        storage=STORAGE,
        namespaced=namespaced,
        short_names=(short,) if short else (),
        categories=categories,
        subresources=("status",) if status else (),
        builtin_crd=True,
        spec_fields=spec_fields,
        default=default,
        validate=validate,
    )


def _placement_columns(prefix: str) -> tuple[Column, ...]:
    def pair(name: str, kind: str, *, wide: bool = False) -> tuple[Column, Column]:
        return (
            columns.condition(name, prefix + kind, wide=wide),
            columns.condition(f"{name}-Gen", prefix + kind, "observedGeneration", wide=wide),
        )

    return (
        columns.NAME,
        columns.field("Gen", "metadata.generation"),
        columns.field("Type", "spec.policy.placementType", wide=True),
        *pair("Scheduled", "Scheduled"),
        *pair("Work-Synchronized", "WorkSynchronized", wide=True),
        *pair("Available", "Available"),
        columns.AGE,
    )


_MEMBER = (
    columns.NAME,
    columns.condition("Joined", "Joined"),
    columns.AGE,
    columns.json_path(
        "Member-Agent-Last-Seen", '.status.agentStatus[?(@.type=="MemberAgent")].lastReceivedHeartbeat', "date"
    ),
    columns.json_path("Node-Count", r".status.properties.kubernetes-fleet\.io/node-count.value"),
    columns.field("Available-CPU", "status.resourceUsage.available.cpu"),
    columns.field("Available-Memory", "status.resourceUsage.available.memory"),
    columns.field("Allocatable-CPU", "status.resourceUsage.allocatable.cpu", wide=True),
    columns.field("Allocatable-Memory", "status.resourceUsage.allocatable.memory", wide=True),
)
_BINDING = (
    columns.NAME,
    columns.condition("WorkSynchronized", "WorkSynchronized"),
    columns.condition("ResourcesApplied", "Applied"),
    columns.condition("ResourceAvailable", "Available", wide=True),
    columns.AGE,
)
_STATUS_COPY = (
    columns.NAME,
    columns.field("Resource-Index", "sourceStatus.observedResourceIndex"),
    columns.field("Last-Updated", "lastUpdatedTime"),
    columns.AGE,
)
_EVICTION = (columns.NAME, columns.condition("Valid", "Valid"), columns.condition("Executed", "Executed"))
_RUN = (
    columns.NAME,
    columns.field("Placement", "spec.placementName"),
    columns.field("Resource-Snapshot-Index", "spec.resourceSnapshotIndex"),
    columns.field("Policy-Snapshot-Index", "status.policySnapshotIndexUsed"),
    columns.condition("Initialized", "Initialized"),
    columns.condition("Progressing", "Progressing"),
    columns.condition("Succeeded", "Succeeded"),
    columns.AGE,
    columns.field("Strategy", "spec.stagedRolloutStrategyName", wide=True),
)
_APPROVAL = (
    columns.NAME,
    columns.field("Update-Run", "spec.parentStageRollout"),
    columns.field("Stage", "spec.targetStage"),
    columns.condition("Approved", "Approved"),
    columns.AGE,
)

_CLUSTERS = (
    _kind(
        cluster.MemberCluster,
        "memberclusters",
        v1=cluster.MemberClusterV1,
        shown=_MEMBER,
        short="cluster",
        group=CLUSTER_GROUP,
        categories=("fleet", "fleet-cluster"),
        validate=validate_member_cluster,
    ),
    _kind(
        cluster.InternalMemberCluster,
        "internalmemberclusters",
        v1=cluster.InternalMemberClusterV1,
        short="imc",
        namespaced=True,
        group=CLUSTER_GROUP,
        categories=("fleet", "fleet-cluster"),
    ),
)
_PLACEMENTS = (
    _kind(
        placement.ClusterResourcePlacement,
        "clusterresourceplacements",
        v1=placement.ClusterResourcePlacementV1,
        shown=_placement_columns("ClusterResourcePlacement"),
        short="crp",
        default=default_placement,
        validate=validate_placement,
    ),
    _kind(
        placement.ResourcePlacement,
        "resourceplacements",
        v1=placement.ResourcePlacementV1,
        shown=_placement_columns("ResourcePlacement"),
        short="rp",
        namespaced=True,
        default=default_placement,
        validate=validate_placement,
    ),
    _kind(
        placement.ClusterResourcePlacementStatus,
        "clusterresourceplacementstatuses",
        v1=placement.ClusterResourcePlacementStatus,
        shown=_STATUS_COPY,
        short="crps",
        namespaced=True,
        status=False,
        spec_fields=("sourceStatus", "lastUpdatedTime"),
    ),
)
_SCHEDULING = (
    _kind(
        binding.ClusterSchedulingPolicySnapshot,
        "clusterschedulingpolicysnapshots",
        v1=binding.ClusterSchedulingPolicySnapshot,
        shown=GEN,
        short="csps",
    ),
    _kind(binding.SchedulingPolicySnapshot, "schedulingpolicysnapshots", shown=GEN, short="sps", namespaced=True),
    _kind(
        binding.ClusterResourceSnapshot,
        "clusterresourcesnapshots",
        v1=binding.ClusterResourceSnapshot,
        shown=GEN,
        short="crs",
        validate=validate_snapshot,
    ),
    _kind(
        binding.ResourceSnapshot,
        "resourcesnapshots",
        shown=GEN,
        short="rs",
        namespaced=True,
        validate=validate_snapshot,
    ),
    _kind(
        binding.ClusterResourceBinding,
        "clusterresourcebindings",
        v1=binding.ClusterResourceBinding,
        shown=_BINDING,
        short="crb",
    ),
    _kind(binding.ResourceBinding, "resourcebindings", shown=_BINDING, short="rb", namespaced=True),
)
_WORKS = (
    _kind(work.Work, "works", v1=work.WorkV1, namespaced=True, default=default_work, validate=validate_work),
    _kind(work.AppliedWork, "appliedworks", v1=work.AppliedWork),
)
_OVERRIDES = (
    _kind(
        override.ClusterResourceOverride,
        "clusterresourceoverrides",
        v1=override.ClusterResourceOverride,
        status=False,
        validate=validate_override,
    ),
    _kind(
        override.ClusterResourceOverrideSnapshot,
        "clusterresourceoverridesnapshots",
        v1=override.ClusterResourceOverrideSnapshot,
        status=False,
    ),
    _kind(
        override.ResourceOverride,
        "resourceoverrides",
        v1=override.ResourceOverride,
        namespaced=True,
        status=False,
        validate=validate_override,
    ),
    _kind(
        override.ResourceOverrideSnapshot,
        "resourceoverridesnapshots",
        v1=override.ResourceOverrideSnapshot,
        namespaced=True,
        status=False,
    ),
)
_DISRUPTIONS = (
    _kind(
        disruption.ClusterResourcePlacementEviction,
        "clusterresourceplacementevictions",
        shown=_EVICTION,
        short="crpe",
        validate=validate_eviction,
    ),
    _kind(
        disruption.ClusterResourcePlacementDisruptionBudget,
        "clusterresourceplacementdisruptionbudgets",
        short="crpdb",
        status=False,
        validate=validate_budget,
    ),
    _kind(
        disruption.ClusterResourceEnvelope,
        "clusterresourceenvelopes",
        status=False,
        spec_fields=("data",),
        validate=validate_envelope,
    ),
    _kind(
        disruption.ResourceEnvelope,
        "resourceenvelopes",
        namespaced=True,
        status=False,
        spec_fields=("data",),
        validate=validate_envelope,
    ),
)
_STAGED = (
    _kind(
        staged.ClusterStagedUpdateRun,
        "clusterstagedupdateruns",
        v1=staged.ClusterStagedUpdateRun,
        shown=_RUN,
        short="csur",
        validate=validate_run,
    ),
    _kind(
        staged.ClusterStagedUpdateStrategy,
        "clusterstagedupdatestrategies",
        v1=staged.ClusterStagedUpdateStrategy,
        short="csus",
        status=False,
        validate=validate_strategy,
    ),
    _kind(
        staged.StagedUpdateRun,
        "stagedupdateruns",
        v1=staged.StagedUpdateRun,
        shown=_RUN,
        short="sur",
        namespaced=True,
        validate=validate_run,
    ),
    _kind(
        staged.StagedUpdateStrategy,
        "stagedupdatestrategies",
        v1=staged.StagedUpdateStrategy,
        short="sus",
        namespaced=True,
        status=False,
        validate=validate_strategy,
    ),
    _kind(
        staged.ClusterApprovalRequest,
        "clusterapprovalrequests",
        v1=staged.ClusterApprovalRequest,
        shown=_APPROVAL,
        short="careq",
        validate=validate_approval,
    ),
    _kind(
        staged.ApprovalRequest,
        "approvalrequests",
        v1=staged.ApprovalRequest,
        shown=_APPROVAL,
        short="areq",
        namespaced=True,
        validate=validate_approval,
    ),
)

KINDS = (*_CLUSTERS, *_PLACEMENTS, *_SCHEDULING, *_WORKS, *_OVERRIDES, *_DISRUPTIONS, *_STAGED)
