"""Defaults that static ones cannot give: whole parts of a placement that the writer left out."""

from __future__ import annotations

from fairway.kinds.defaults import fill
from fairway.kinds.fleet.common import ApplyStrategy, ServerSideApplyConfig
from fairway.kinds.fleet.placement import PlacementSpec, RollingUpdateConfig, RolloutStrategy
from fairway.kinds.fleet.policy import PlacementPolicy
from fairway.kinds.fleet.validate_placement import Placement
from fairway.kinds.fleet.work import Work, WorkSpec
from fairway.kinds.types import UNSET


def default_placement(new: Placement, _old: Placement | None) -> None:
    complete_placement_spec(new.spec)


def complete_placement_spec(spec: PlacementSpec) -> None:
    if spec.policy is UNSET:
        spec.policy = PlacementPolicy()
    if spec.strategy is UNSET:
        spec.strategy = RolloutStrategy()
    strategy = spec.strategy
    if strategy.type is UNSET:
        strategy.type = "RollingUpdate"
    if strategy.type == "RollingUpdate" and strategy.rolling_update is UNSET:
        strategy.rolling_update = RollingUpdateConfig()
    if strategy.apply_strategy is UNSET:
        strategy.apply_strategy = ApplyStrategy()
    complete_apply_strategy(strategy.apply_strategy)
    fill(spec)


def default_work(new: Work, _old: Work | None) -> None:
    if new.spec is UNSET:
        new.spec = WorkSpec()
    if new.spec.apply_strategy is UNSET:
        new.spec.apply_strategy = ApplyStrategy()
    complete_apply_strategy(new.spec.apply_strategy)


def complete_apply_strategy(strategy: ApplyStrategy) -> None:
    fill(strategy)
    if strategy.type == "ServerSideApply" and strategy.server_side_apply_config is UNSET:
        strategy.server_side_apply_config = ServerSideApplyConfig(force=False)
