"""What staged updates, evictions, budgets and the internal kinds may say, and what of it may change."""

from __future__ import annotations

import re
from typing import Any

from fairway.kinds.errors import FieldError, forbidden, invalid, required
from fairway.kinds.fleet.binding import ClusterResourceSnapshot, ResourceSnapshot
from fairway.kinds.fleet.common import NAME_MAX, percent_or_count, text
from fairway.kinds.fleet.disruption import (
    ClusterResourceEnvelope,
    ClusterResourcePlacementDisruptionBudget,
    ClusterResourcePlacementEviction,
    ResourceEnvelope,
)
from fairway.kinds.fleet.staged import (
    ApprovalRequest,
    ClusterApprovalRequest,
    ClusterStagedUpdateRun,
    ClusterStagedUpdateStrategy,
    StageConfig,
    StagedUpdateRun,
    StagedUpdateStrategy,
    StageTask,
)
from fairway.kinds.fleet.validate_selectors import label_selector_errors
from fairway.kinds.fleet.work import Work
from fairway.kinds.types import UNSET, IntOrString, Opt

Strategy = ClusterStagedUpdateStrategy | StagedUpdateStrategy
Run = ClusterStagedUpdateRun | StagedUpdateRun
Approval = ClusterApprovalRequest | ApprovalRequest
_CONCURRENCY = re.compile(r"(100|[1-9][0-9]?)%")
_FORBIDDEN_MOVES = {("Initialize", "Stop"), ("Run", "Initialize"), ("Stop", "Initialize")}


def validate_strategy(new: Strategy, _old: Strategy | None) -> list[FieldError]:
    errors = []
    for index, stage in enumerate(new.spec.stages):
        errors += _stage_errors(stage, f"spec.stages[{index}]")
    return errors


def _stage_errors(stage: StageConfig, path: str) -> list[FieldError]:
    errors = label_selector_errors(stage.label_selector, f"{path}.labelSelector")
    errors += _concurrency_errors(stage.max_concurrency, f"{path}.maxConcurrency")
    for index, task in enumerate(stage.after_stage_tasks or ()):
        errors += _after_task_errors(task, f"{path}.afterStageTasks[{index}]")
    for index, task in enumerate(stage.before_stage_tasks or ()):
        at = f"{path}.beforeStageTasks[{index}]"
        if task.type == "TimedWait":
            errors.append(invalid(f"{at}.type", task.type, "BeforeStageTaskType cannot be TimedWait"))
        elif task.wait_time is not UNSET:
            errors.append(forbidden(f"{at}.waitTime", "BeforeStageTaskType is Approval, waitTime is not allowed"))
    return errors


def _after_task_errors(task: StageTask, path: str) -> list[FieldError]:
    if task.type == "Approval" and task.wait_time is not UNSET:
        return [forbidden(f"{path}.waitTime", "AfterStageTaskType is Approval, waitTime is not allowed")]
    if task.type == "TimedWait" and task.wait_time is UNSET:
        return [required(f"{path}.waitTime", "AfterStageTaskType is TimedWait, waitTime is required")]
    return []


def _concurrency_errors(value: Opt[IntOrString], path: str) -> list[FieldError]:
    if isinstance(value, int) and value < 1:
        return [invalid(path, value, "maxConcurrency must be at least 1")]
    if isinstance(value, str) and not _CONCURRENCY.fullmatch(value):
        return [invalid(path, value, "write a number from 1, or a percentage from 1% to 100%")]
    return []


def validate_run(new: Run, old: Run | None) -> list[FieldError]:
    errors = _name_errors(new)
    if old is None:
        return errors
    fixed = {
        "placementName": (new.spec.placement_name, old.spec.placement_name),
        "resourceSnapshotIndex": (text(new.spec.resource_snapshot_index), text(old.spec.resource_snapshot_index)),
        "stagedRolloutStrategyName": (new.spec.staged_rollout_strategy_name, old.spec.staged_rollout_strategy_name),
    }
    for name, (now, before) in fixed.items():
        if now != before:
            errors.append(invalid(f"spec.{name}", now, f"{name} is immutable"))
    move = (text(old.spec.state), text(new.spec.state))
    if move in _FORBIDDEN_MOVES:
        detail = f"invalid state transition: cannot transition from {move[0]} to {move[1]}"
        errors.append(invalid("spec.state", move[1], detail))
    return errors


def _name_errors(new: Run) -> list[FieldError]:
    name = text(new.metadata.name)
    if len(name) <= NAME_MAX:
        return []
    return [invalid("metadata.name", name, f"metadata.name max length is {NAME_MAX}")]


def validate_approval(new: Approval, old: Approval | None) -> list[FieldError]:
    if old is None or new.spec == old.spec:
        return []
    return [forbidden("spec", "The spec field is immutable")]


def validate_eviction(
    new: ClusterResourcePlacementEviction, old: ClusterResourcePlacementEviction | None
) -> list[FieldError]:
    errors = []
    if old is not None and new.spec.placement_name != old.spec.placement_name:
        errors.append(invalid("spec.placementName", new.spec.placement_name, "The PlacementName field is immutable"))
    if old is not None and new.spec.cluster_name != old.spec.cluster_name:
        errors.append(invalid("spec.clusterName", new.spec.cluster_name, "The ClusterName field is immutable"))
    return errors


def validate_budget(
    new: ClusterResourcePlacementDisruptionBudget, _old: ClusterResourcePlacementDisruptionBudget | None
) -> list[FieldError]:
    limits = {"maxUnavailable": new.spec.max_unavailable, "minAvailable": new.spec.min_available}
    errors = []
    if UNSET not in limits.values():
        errors.append(forbidden("spec", "Both MaxUnavailable and MinAvailable cannot be specified"))
    for name, value in limits.items():
        amount = percent_or_count(value) if not isinstance(value, type(UNSET)) else (0, False)
        if amount is None or amount[0] < 0:
            detail = "write a number that is not negative, or a percentage from 0% to 100%"
            errors.append(invalid(f"spec.{name}", value, detail))
    return errors


def validate_envelope(
    new: ClusterResourceEnvelope | ResourceEnvelope, _old: ClusterResourceEnvelope | ResourceEnvelope | None
) -> list[FieldError]:
    return [error for name, manifest in new.data.items() for error in manifest_errors(manifest, f"data[{name}]")]


def validate_snapshot(
    new: ClusterResourceSnapshot | ResourceSnapshot, _old: ClusterResourceSnapshot | ResourceSnapshot | None
) -> list[FieldError]:
    errors = []
    for index, manifest in enumerate(new.spec.selected_resources):
        errors += manifest_errors(manifest, f"spec.selectedResources[{index}]")
    return errors


def validate_work(new: Work, _old: Work | None) -> list[FieldError]:
    if new.spec is UNSET or new.spec.workload is UNSET:
        return []
    errors = []
    for index, manifest in enumerate(new.spec.workload.manifests or ()):
        errors += manifest_errors(manifest, f"spec.workload.manifests[{index}]")
    return errors


def manifest_errors(manifest: dict[str, Any], path: str) -> list[FieldError]:
    """An object inside an object must at least say what it is."""
    missing = [name for name in ("apiVersion", "kind") if not isinstance(manifest.get(name), str) or not manifest[name]]
    return [required(f"{path}.{name}", "an embedded object must say its apiVersion and kind") for name in missing]
