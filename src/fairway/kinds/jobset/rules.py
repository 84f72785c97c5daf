"""Checks of JobSets, and of what may change in one that exists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required
from fairway.kinds.jobset.naming import coordinator_address, job_name
from fairway.kinds.jobset.types import (
    INT32_MAX,
    RULE_NAME_MAX,
    Coordinator,
    FailurePolicy,
    JobSet,
    JobSetSpec,
    ReplicatedJob,
)
from fairway.kinds.k8s.batch.rules import managed_by
from fairway.kinds.k8s.opt import flag, items, number, text
from fairway.kinds.k8s.rules import immutable
from fairway.kinds.types import UNSET

FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_SUFFIX = "-abcde"  # what pods have at the end of their names
_FIXED = ("network", "success_policy", "failure_policy", "startup_policy", "volume_claim_policies")
_SHOWN = {"network": "network", "success_policy": "successPolicy", "failure_policy": "failurePolicy"} | {
    "startup_policy": "startupPolicy",
    "volume_claim_policies": "volumeClaimPolicies",
}
UNSUPPORTED_RESTARTS = (
    "restarting one Job of a set alone is an alpha feature of JobSet that this server does not have: use RestartJobSet"
)
NO_CLAIMS = "spec.volumeClaimPolicies: this server makes no volume claims, so pods that mount them will not start here"


def validate_jobset(new: JobSet, old: JobSet | None) -> list[FieldError]:
    return _exclusive(new.spec) + (_create(new) if old is None else _update(new, old))


def warn_jobset(new: JobSet, old: JobSet | None) -> list[str]:
    return [NO_CLAIMS] if old is None and items(new.spec.volume_claim_policies) else []


def _exclusive(spec: JobSetSpec) -> list[FieldError]:
    in_order = spec.startup_policy is not UNSET and spec.startup_policy.startup_policy_order == "InOrder"
    if in_order and any(entry.depends_on is not UNSET for entry in items(spec.replicated_jobs)):
        return [invalid("spec", "object", "StartupPolicy and DependsOn APIs are mutually exclusive")]
    return []


# --- create -----------------------------------------------------------------------------------------------------------


def _create(new: JobSet) -> list[FieldError]:
    spec, name = new.spec, text(new.metadata.name)
    entries = items(spec.replicated_jobs)
    known = [entry.name for entry in entries]
    errors: list[FieldError] = []
    if spec.network is not UNSET and text(spec.network.subdomain):
        subdomain = text(spec.network.subdomain)
        problems = names.dns_subdomain(subdomain) + names.dns_1035_label(subdomain)
        errors += [invalid("spec.network.subdomain", subdomain, why) for why in problems]
    if spec.managed_by is not UNSET:
        errors += managed_by("spec.managedBy", spec.managed_by)
    for index, entry in enumerate(entries):
        errors += _entry(f"spec.replicatedJobs[{index}]", name, entry, known[:index])
    if spec.success_policy is not UNSET:
        path = "spec.successPolicy.targetReplicatedJobs"
        errors += _targets(path, items(spec.success_policy.target_replicated_jobs), known)
    if spec.failure_policy is not UNSET:
        errors += _failure_policy(spec.failure_policy, known)
    if spec.coordinator is not UNSET:
        errors += _coordinator(new, spec.coordinator, entries)
    return errors


def _entry(path: str, jobset: str, entry: ReplicatedJob, before: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    job, replicas = entry.template.spec, number(entry.replicas)
    pods = (1 if job.parallelism is UNSET else job.parallelism) * replicas
    if pods > INT32_MAX:
        why = f"the product of replicas and parallelism must not exceed {INT32_MAX} for replicatedJob '{entry.name}'"
        errors.append(invalid(f"{path}.replicas", replicas, why))
    group = text(entry.group_name)
    errors += [invalid(f"{path}.groupName", group, why) for why in names.dns_1035_label(group)]
    longest = job_name(jobset, entry.name, max(replicas - 1, 0))
    problems = names.dns_1035_label(longest)
    if job.completion_mode == "Indexed" and job.completions is not UNSET and not problems:
        problems = names.dns_1035_label(f"{longest}-{max(job.completions - 1, 0)}{_SUFFIX}")
    errors += [invalid(f"{path}.name", longest, why) for why in problems]
    for number_, wanted in enumerate(items(entry.depends_on)):
        if not before:
            errors.append(forbidden(f"{path}.dependsOn", "DependsOn can't be set for the first ReplicatedJob"))
        elif wanted.name not in before:
            why = f"replicatedJob: {entry.name} cannot depend on replicatedJob: {wanted.name}"
            errors.append(invalid(f"{path}.dependsOn[{number_}].name", wanted.name, why))
    return errors


def _targets(path: str, wanted: Sequence[str], known: Sequence[str]) -> list[FieldError]:
    return [not_found(f"{path}[{index}]", name) for index, name in enumerate(wanted) if name not in known]


def _failure_policy(policy: FailurePolicy, known: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    path = "spec.failurePolicy"
    if policy.restart_strategy == "InPlaceRestart":
        why = "is an alpha feature of JobSet that this server does not have: use Recreate or BlockingRecreate"
        errors.append(invalid(f"{path}.restartStrategy", policy.restart_strategy, why))
    rules = items(policy.rules)
    seen = Counter(rule.name for rule in rules)
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        if not rule.name:
            errors.append(required(f"{at}.name"))
        elif len(rule.name) > RULE_NAME_MAX or not _RULE_NAME.fullmatch(rule.name):
            why = (
                f"must have at most {RULE_NAME_MAX} characters, start with a letter, end with a letter, digit or '_', and "
                "have only letters, digits and '_,:'"
            )
            errors.append(invalid(f"{at}.name", rule.name, why))
        elif seen[rule.name] > 1:
            errors.append(duplicate(f"{at}.name", rule.name))
        if rule.action in ("RestartJob", "RestartJobAndIgnoreMaxRestarts"):
            errors.append(invalid(f"{at}.action", rule.action, UNSUPPORTED_RESTARTS))
        errors += _targets(f"{at}.targetReplicatedJobs", items(rule.target_replicated_jobs), known)
        for position, reason in enumerate(items(rule.on_job_failure_reasons)):
            if reason not in FAILURE_REASONS:
                errors.append(not_supported(f"{at}.onJobFailureReasons[{position}]", reason, FAILURE_REASONS))
    return errors


def _coordinator(jobset: JobSet, wanted: Coordinator, entries: Sequence[ReplicatedJob]) -> list[FieldError]:
    path = "spec.coordinator"
    entry = next((entry for entry in entries if entry.name == wanted.replicated_job), None)
    if entry is None:
        return [not_found(f"{path}.replicatedJob", wanted.replicated_job)]
    job, index, pod = entry.template.spec, number(wanted.job_index), number(wanted.pod_index)
    if not 0 <= index < number(entry.replicas):
        return [invalid(f"{path}.jobIndex", index, f"replicatedJob {entry.name} has no Job of that index")]
    if job.completion_mode != "Indexed" or job.completions is UNSET:
        why = "job for coordinator pod must be indexed completion mode, and completions number must be set"
        return [invalid(f"{path}.replicatedJob", entry.name, why)]
    if not 0 <= pod < job.completions:
        return [invalid(f"{path}.podIndex", pod, f"Jobs of {entry.name} have no pod of that index")]
    address = coordinator_address(jobset, text(jobset.metadata.name))
    return [
        invalid(path, address, f"would be a label's value, which it cannot be: {why}")
        for why in names.label_value(address)
    ]


# --- update -----------------------------------------------------------------------------------------------------------


def _update(new: JobSet, old: JobSet) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in _FIXED:
        if getattr(new.spec, name) != getattr(old.spec, name):
            errors.append(invalid(f"spec.{_SHOWN[name]}", "object", "Value is immutable"))
    before = items(old.spec.replicated_jobs)
    after = items(new.spec.replicated_jobs)
    if flag(old.spec.suspend) or flag(new.spec.suspend):
        after = _steered(after, before)
    errors += immutable("spec.replicatedJobs", after, before)
    return errors + immutable("spec.managedBy", new.spec.managed_by, old.spec.managed_by)


def _steered(after: Sequence[ReplicatedJob], before: Sequence[ReplicatedJob]) -> list[ReplicatedJob]:
    """The new entries, with what says where pods run taken from the old ones: that may change while a set is suspended."""
    known = {entry.name: entry.template.spec.template for entry in before}
    result = []
    for entry in after:
        was = known.get(entry.name)
        if was is not None:
            template = entry.template.spec.template
            metadata = replace(template.metadata, labels=was.metadata.labels, annotations=was.metadata.annotations)
            spec = replace(
                template.spec,
                node_selector=was.spec.node_selector,
                tolerations=was.spec.tolerations,
                scheduling_gates=was.spec.scheduling_gates,
            )
            job = replace(entry.template.spec, template=replace(template, metadata=metadata, spec=spec))
            entry = replace(entry, template=replace(entry.template, spec=job))
        result.append(entry)
    return result
