"""Staged updates: a strategy names stages of clusters, a run takes one resource snapshot through them, approvals let it go on."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.fleet.common import ApplyStrategy, Condition, LabelSelector, NamespacedName
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, IntOrString, Opt, Time, Type

StageTaskType = Literal["TimedWait", "Approval"]


class StageTask(Type):
    """Something to wait for."""

    type: Annotated[StageTaskType, F("a person's approval, or a time to pass")]
    wait_time: Opt[
        Annotated[
            str, F("how long, like 1h30m, for TimedWait", pattern=r"^(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:s|m|h))+$")
        ]
    ] = UNSET


class StageConfig(Type):
    """Clusters that are updated together."""

    name: Annotated[str, F("name of the stage, unique in the strategy", max_length=63, pattern=r"^[a-z0-9]+$")]
    label_selector: Opt[Annotated[LabelSelector, F("clusters of the stage; all if empty", atomic=True)]] = UNSET
    sorting_label_key: Opt[Annotated[str, F("cluster label whose number decides the order")]] = UNSET
    max_concurrency: Opt[Annotated[IntOrString, F("clusters updated at a time, as number or %", default=1)]] = UNSET
    after_stage_tasks: Opt[Annotated[list[StageTask], F("what to wait for after the stage", max_length=2)]] = UNSET
    before_stage_tasks: Opt[Annotated[list[StageTask], F("what to wait for before the stage", max_length=1)]] = UNSET


class UpdateStrategySpec(Type):
    """Stages, in order."""

    stages: Annotated[list[StageConfig], F("stages, one after the other", max_length=31)]


class ClusterStagedUpdateStrategy(Object):
    """Stages for updates of ClusterResourcePlacements."""

    spec: Annotated[UpdateStrategySpec, F("the stages")]


class StagedUpdateStrategy(Object):
    """Stages for updates of the ResourcePlacements of its namespace."""

    spec: Annotated[UpdateStrategySpec, F("the stages")]


class UpdateRunSpec(Type):
    """Which placement to update, to what, and how."""

    placement_name: Annotated[str, F("placement to update; cannot change", max_length=255)]
    resource_snapshot_index: Opt[
        Annotated[str, F("resource snapshot to roll out; a new one if empty; cannot change")]
    ] = UNSET
    staged_rollout_strategy_name: Annotated[str, F("strategy with the stages; cannot change")]
    state: Opt[
        Annotated[Literal["Initialize", "Run", "Stop"], F("only prepare, go on, or stop here", default="Initialize")]
    ] = UNSET


class StageTaskStatus(Type):
    """Progress of something that is waited for."""

    type: Annotated[StageTaskType, F("what is waited for")]
    approval_request_name: Opt[Annotated[str, F("approval request that was created")]] = UNSET
    conditions: Opt[Annotated[list[Condition], F("progress", keys=("type",))]] = UNSET


class ClusterUpdatingStatus(Type):
    """Progress on one cluster."""

    cluster_name: Annotated[str, F("name of the cluster")]
    resource_override_snapshots: Opt[
        Annotated[list[NamespacedName], F("snapshots of ResourceOverrides that apply")]
    ] = UNSET
    cluster_resource_override_snapshots: Opt[
        Annotated[list[str], F("snapshots of ClusterResourceOverrides that apply")]
    ] = UNSET
    conditions: Opt[Annotated[list[Condition], F("Started and Succeeded", keys=("type",))]] = UNSET


class StageUpdatingStatus(Type):
    """Progress of one stage."""

    stage_name: Annotated[str, F("name of the stage")]
    clusters: Annotated[list[ClusterUpdatingStatus], F("progress on each cluster, in order")]
    after_stage_task_status: Opt[Annotated[list[StageTaskStatus], F("what is waited for afterwards", max_length=2)]] = (
        UNSET
    )
    before_stage_task_status: Opt[Annotated[list[StageTaskStatus], F("what is waited for first", max_length=1)]] = UNSET
    start_time: Opt[Annotated[Time, F("when the stage started")]] = UNSET
    end_time: Opt[Annotated[Time, F("when the stage ended")]] = UNSET
    conditions: Opt[Annotated[list[Condition], F("Progressing and Succeeded", keys=("type",))]] = UNSET


class UpdateRunStatus(Type):
    """Progress of the run."""

    policy_snapshot_index_used: Opt[Annotated[str, F("policy snapshot that named the clusters")]] = UNSET
    policy_observed_cluster_count: Opt[Annotated[int, F("number of clusters that were picked")]] = UNSET
    resource_snapshot_index_used: Opt[Annotated[str, F("resource snapshot that is rolled out")]] = UNSET
    applied_strategy: Opt[Annotated[ApplyStrategy, F("how objects are written")]] = UNSET
    staged_update_strategy_snapshot: Opt[
        Annotated[UpdateStrategySpec, F("the stages as they were when the run began")]
    ] = UNSET
    stages_status: Opt[Annotated[list[StageUpdatingStatus], F("progress of each stage")]] = UNSET
    deletion_stage_status: Opt[Annotated[StageUpdatingStatus, F("clusters that lose the objects, at the very end")]] = (
        UNSET
    )
    conditions: Opt[Annotated[list[Condition], F("Initialized, Progressing, Succeeded", keys=("type",))]] = UNSET


class ClusterStagedUpdateRun(Object):
    """Takes one snapshot of a ClusterResourcePlacement through the stages of a strategy."""

    spec: Annotated[UpdateRunSpec, F("which placement to update, and how")]
    status: Opt[Annotated[UpdateRunStatus, F("progress of the run")]] = UNSET


class StagedUpdateRun(Object):
    """Takes one snapshot of a ResourcePlacement through the stages of a strategy."""

    spec: Annotated[UpdateRunSpec, F("which placement to update, and how")]
    status: Opt[Annotated[UpdateRunStatus, F("progress of the run")]] = UNSET


class ApprovalRequestSpec(Type):
    """What is to be approved."""

    parent_stage_rollout: Annotated[str, F("update run that waits")]
    target_stage: Annotated[str, F("stage that it waits at")]


class ApprovalRequestStatus(Type):
    """The answer."""

    conditions: Opt[Annotated[list[Condition], F("set Approved to True to let the run go on", keys=("type",))]] = UNSET


class ClusterApprovalRequest(Object):
    """A ClusterStagedUpdateRun asks whether it may go on."""

    spec: Annotated[ApprovalRequestSpec, F("what is to be approved; cannot change")]
    status: Opt[Annotated[ApprovalRequestStatus, F("the answer")]] = UNSET


class ApprovalRequest(Object):
    """A StagedUpdateRun asks whether it may go on."""

    spec: Annotated[ApprovalRequestSpec, F("what is to be approved; cannot change")]
    status: Opt[Annotated[ApprovalRequestStatus, F("the answer")]] = UNSET
