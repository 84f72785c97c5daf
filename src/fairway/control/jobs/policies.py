"""What a Job's policies make of failed pods and succeeded indexes."""

from __future__ import annotations

from typing import NamedTuple

from fairway.control.jobs.index_set import IndexSet
from fairway.control.jobs.view import PodView
from fairway.kinds.k8s.batch.types import (
    Job,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
    SuccessPolicyRule,
)
from fairway.kinds.k8s.opt import items, number, text
from fairway.kinds.types import UNSET


class Match(NamedTuple):
    """The rule that a failed pod met, if any."""

    action: str = ""
    message: str = ""
    """Why the whole Job fails, where that is the action."""

    @property
    def counts(self) -> bool:
        return self.action != "Ignore"


UNMATCHED = Match()
DISRUPTED = Match("Ignore")


def replaces_only_failed(job: Job) -> bool:
    """Whether a pod that is being deleted is waited for, and counts only by how it ended."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not UNSET


def pod_failed(job: Job, pod: PodView) -> bool:
    if pod.phase == "Failed":
        return True
    return pod.terminating and not replaces_only_failed(job)


def match_failure(job: Job, pod: PodView) -> Match:
    """The first rule of the pod failure policy that fits a failed pod. One that lost its lease is ignored, whatever the rules say."""
    if pod.expired:
        return DISRUPTED
    policy = job.spec.pod_failure_policy
    if policy is UNSET:
        return UNMATCHED
    for position, rule in enumerate(policy.rules):
        why = _met(job, pod, rule)
        if why:
            fails = rule.action == "FailJob"
            return Match(rule.action, f"{why} matching FailJob rule at index {position}" if fails else "")
    return UNMATCHED


def _met(job: Job, pod: PodView, rule: PodFailurePolicyRule) -> str:
    shown = f"{text(job.metadata.namespace)}/{pod.name}"
    if rule.on_exit_codes is not UNSET:
        for container, code in pod.exits:
            if _matches(rule.on_exit_codes, container, code):
                return f"Container {container} for pod {shown} failed with exit code {code}"
        return ""
    patterns = {(pattern.type, pattern.status) for pattern in items(rule.on_pod_conditions)}
    for condition in pod.conditions:
        if condition in patterns:
            return f"Pod {shown} has condition {condition[0]}"
    return ""


def _matches(wanted: PodFailurePolicyOnExitCodesRequirement, container: str, code: int) -> bool:
    if wanted.container_name is not UNSET and wanted.container_name != container:
        return False
    return (code in wanted.values) == (wanted.operator == "In")


def success_met(job: Job, succeeded: IndexSet) -> str:
    """Which rule of the success policy the indexes meet, in words; empty if none."""
    policy = job.spec.success_policy
    if policy is UNSET or not len(succeeded):
        return ""
    for position, rule in enumerate(policy.rules):
        if _enough(rule, succeeded, number(job.spec.completions)):
            return f"Matched rules at index {position}"
    return ""


def _enough(rule: SuccessPolicyRule, succeeded: IndexSet, completions: int) -> bool:
    if rule.succeeded_indexes is UNSET:
        return rule.succeeded_count is not UNSET and len(succeeded) >= rule.succeeded_count
    wanted = IndexSet.parse(rule.succeeded_indexes, completions)
    if not len(wanted):
        return False
    have = wanted.overlap(succeeded)
    return have == len(wanted) or (rule.succeeded_count is not UNSET and have >= rule.succeeded_count)
