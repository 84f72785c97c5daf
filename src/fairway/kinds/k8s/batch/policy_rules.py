"""Checks of what a Job does when pods fail or enough of them succeed."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, invalid, not_supported, required, too_long, too_many
from fairway.kinds.k8s.batch import indexes
from fairway.kinds.k8s.batch.types import (
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from fairway.kinds.k8s.opt import items
from fairway.kinds.k8s.rules import named, not_negative
from fairway.kinds.types import UNSET

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
STATUSES = ("False", "True", "Unknown")
RULES_MAX = 20
EXIT_CODES_MAX = 255
PATTERNS_MAX = 20
INDEXES_TEXT_MAX = 64 * 1024


def failure_policy(path: str, spec: JobSpec, policy: PodFailurePolicy) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(policy.rules) > RULES_MAX:
        errors.append(too_many(f"{path}.rules", len(policy.rules), RULES_MAX))
    pod = spec.template.spec
    containers = frozenset(one.name for one in (*pod.containers, *items(pod.init_containers)))
    for index, rule in enumerate(policy.rules):
        errors += _failure_rule(f"{path}.rules[{index}]", spec, rule, containers)
    return errors


def _failure_rule(path: str, spec: JobSpec, rule: PodFailurePolicyRule, containers: frozenset[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.action:
        errors.append(required(f"{path}.action", _valid(ACTIONS)))
    elif rule.action not in ACTIONS:
        errors.append(not_supported(f"{path}.action", rule.action, ACTIONS))
    elif rule.action == "FailIndex" and spec.backoff_limit_per_index is UNSET:
        errors.append(invalid(f"{path}.action", rule.action, "requires the backoffLimitPerIndex to be set"))
    conditions = items(rule.on_pod_conditions)
    if rule.on_exit_codes is not UNSET:
        errors += _exit_codes(f"{path}.onExitCodes", rule.on_exit_codes, containers)
    if len(conditions) > PATTERNS_MAX:
        errors.append(too_many(f"{path}.onPodConditions", len(conditions), PATTERNS_MAX))
    for index, pattern in enumerate(conditions):
        at = f"{path}.onPodConditions[{index}]"
        errors += named(f"{at}.type", pattern.type, names.qualified_name)
        if not pattern.status:
            errors.append(required(f"{at}.status", _valid(STATUSES)))
        elif pattern.status not in STATUSES:
            errors.append(not_supported(f"{at}.status", pattern.status, STATUSES))
    if rule.on_exit_codes is not UNSET and conditions:
        errors.append(invalid(path, rule, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if rule.on_exit_codes is UNSET and not conditions:
        errors.append(invalid(path, rule, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _exit_codes(
    path: str, codes: PodFailurePolicyOnExitCodesRequirement, containers: frozenset[str]
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not codes.operator:
        errors.append(required(f"{path}.operator", _valid(OPERATORS)))
    elif codes.operator not in OPERATORS:
        errors.append(not_supported(f"{path}.operator", codes.operator, OPERATORS))
    if codes.container_name is not UNSET and codes.container_name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", codes.container_name, why))
    if not codes.values:
        errors.append(invalid(f"{path}.values", codes.values, "at least one value is required"))
    elif len(codes.values) > EXIT_CODES_MAX:
        errors.append(too_many(f"{path}.values", len(codes.values), EXIT_CODES_MAX))
    for index, value in enumerate(codes.values):
        if codes.operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in codes.values[:index]:
            errors.append(duplicate(f"{path}.values[{index}]", value))
    if sorted(codes.values) != codes.values:
        errors.append(invalid(f"{path}.values", codes.values, "must be ordered"))
    return errors


def success_policy(path: str, completions: int, policy: SuccessPolicy) -> list[FieldError]:
    errors: list[FieldError] = []
    if not policy.rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", why))
    if len(policy.rules) > RULES_MAX:
        errors.append(too_many(f"{path}.rules", len(policy.rules), RULES_MAX))
    for index, rule in enumerate(policy.rules):
        errors += _success_rule(f"{path}.rules[{index}]", completions, rule)
    return errors


def _success_rule(path: str, completions: int, rule: SuccessPolicyRule) -> list[FieldError]:
    errors: list[FieldError] = []
    wanted, count = rule.succeeded_indexes, rule.succeeded_count
    if wanted is UNSET and count is UNSET:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(required(path, why))
    total = 0
    if wanted is not UNSET:
        if len(wanted) > INDEXES_TEXT_MAX:
            errors.append(too_long(f"{path}.succeededIndexes", INDEXES_TEXT_MAX))
        try:
            total = indexes.count(wanted, completions)
        except indexes.IndexesError as error:
            why = f"error parsing succeededIndexes: {error}"
            errors.append(invalid(f"{path}.succeededIndexes", wanted, why))
    if count is not UNSET:
        at = f"{path}.succeededCount"
        errors += not_negative(at, count)
        if count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(at, count, why))
        if wanted is not UNSET and count > total:
            why = f"must be less than or equal to {total}"
            errors.append(invalid(at, count, f"{why} (the number of indexes in the specified succeededIndexes field)"))
    return errors


def _valid(choices: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{one}"' for one in choices) + "]"
