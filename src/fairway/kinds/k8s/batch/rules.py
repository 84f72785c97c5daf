"""Checks of Jobs and CronJobs, and of what may change in a Job that exists."""

from __future__ import annotations

import re

from msgspec.structs import replace

from fairway.kinds import names
from fairway.kinds.errors import FieldError, invalid, not_supported, required, too_long
from fairway.kinds.k8s.batch.defaults import NAME_LABELS, UID_LABELS
from fairway.kinds.k8s.batch.policy_rules import failure_policy, success_policy
from fairway.kinds.k8s.batch.types import CronJob, Job, JobSpec
from fairway.kinds.k8s.core.affinity import Affinity
from fairway.kinds.k8s.core.pod import PodTemplateSpec
from fairway.kinds.k8s.core.pod_rules import pod_template
from fairway.kinds.k8s.opt import flag, number, pairs, text
from fairway.kinds.k8s.rules import (
    choice,
    dns_label_warning,
    immutable,
    label_selector,
    matches,
    not_negative,
)
from fairway.kinds.types import UNSET, Opt

MODES = ("NonIndexed", "Indexed")
RESTART_POLICIES = ("OnFailure", "Never")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
CONCURRENCIES = ("Allow", "Forbid", "Replace")
INDEXED_PARALLELISM_MAX = 100_000
INDEXED_FAILURES_MAX = 100_000
MANAGED_BY_MAX = 63
CRON_NAME_MAX = 52
SCHEDULE_FIELDS = 5
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def validate_job(new: Job, old: Job | None) -> list[FieldError]:
    if old is None:
        return _generated(new) + job_spec("spec", new.spec) + _selected("spec", new.spec) + _hostnames(new)
    if new.spec == old.spec:
        return []
    errors = job_spec("spec", new.spec) + _selected("spec", new.spec)
    return errors + _update(new, old) + _hostnames(new)


def validate_cron_job(new: CronJob, old: CronJob | None) -> list[FieldError]:
    spec, name = new.spec, text(new.metadata.name)
    errors: list[FieldError] = []
    if not spec.schedule:
        errors.append(required("spec.schedule"))
    elif not _is_schedule(spec.schedule):
        why = f"expected exactly {SCHEDULE_FIELDS} fields, found {len(spec.schedule.split())}: [{spec.schedule}]"
        errors.append(invalid("spec.schedule", spec.schedule, why))
    errors += not_negative("spec.startingDeadlineSeconds", spec.starting_deadline_seconds)
    errors += choice("spec.concurrencyPolicy", spec.concurrency_policy, CONCURRENCIES)
    errors += job_spec("spec.jobTemplate.spec", spec.job_template.spec)
    errors += not_negative("spec.successfulJobsHistoryLimit", spec.successful_jobs_history_limit)
    errors += not_negative("spec.failedJobsHistoryLimit", spec.failed_jobs_history_limit)
    if old is None and len(name) > CRON_NAME_MAX:
        errors.append(invalid("metadata.name", name, f"must be no more than {CRON_NAME_MAX} characters"))
    return errors


def warn_job(new: Job, old: Job | None) -> list[str]:
    return dns_label_warning(new.metadata.name) if old is None else []


def _is_schedule(schedule: str) -> bool:
    return schedule.startswith("@") or len(schedule.split()) == SCHEDULE_FIELDS


def job_spec(path: str, spec: JobSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in (
        ("parallelism", spec.parallelism),
        ("completions", spec.completions),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
    ):
        errors += not_negative(f"{path}.{name}", value)
    if spec.max_failed_indexes is not UNSET and spec.backoff_limit_per_index is UNSET:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.managed_by is not UNSET:
        errors += managed_by(f"{path}.managedBy", spec.managed_by)
    errors += _mode(path, spec)
    if spec.pod_failure_policy is not UNSET:
        errors += failure_policy(f"{path}.podFailurePolicy", spec, spec.pod_failure_policy)
    if spec.success_policy is not UNSET:
        if spec.completion_mode != "Indexed":
            errors.append(invalid(f"{path}.successPolicy", spec.success_policy, "requires indexed completion mode"))
        else:
            errors += success_policy(f"{path}.successPolicy", number(spec.completions), spec.success_policy)
    if spec.pod_replacement_policy is not UNSET:
        allowed = REPLACEMENTS if spec.pod_failure_policy is UNSET else ("Failed",)
        if spec.pod_replacement_policy not in allowed:
            errors.append(not_supported(f"{path}.podReplacementPolicy", spec.pod_replacement_policy, allowed))
    errors += pod_template(f"{path}.template", spec.template)
    return errors + _restart_policy(f"{path}.template.spec.restartPolicy", spec)


def _restart_policy(path: str, spec: JobSpec) -> list[FieldError]:
    policy = text(spec.template.spec.restart_policy)
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in RESTART_POLICIES:
        return [not_supported(path, policy, RESTART_POLICIES)]
    if spec.pod_failure_policy is not UNSET and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def managed_by(path: str, manager: str) -> list[FieldError]:
    if not manager:
        return [required(path)]
    host, _, rest = manager.partition("/")
    if not host or not rest:
        return [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, why) for why in names.dns_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, rest):
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    if len(manager) > MANAGED_BY_MAX:
        errors.append(too_long(path, MANAGED_BY_MAX))
    return errors


def _mode(path: str, spec: JobSpec) -> list[FieldError]:
    mode = text(spec.completion_mode) or "NonIndexed"
    if mode == "Indexed":
        return _indexed(path, spec)
    errors = [] if mode in MODES else [not_supported(f"{path}.completionMode", mode, MODES)]
    for name, value in (
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
    ):
        if value is not UNSET and mode == "NonIndexed":
            errors.append(invalid(f"{path}.{name}", value, "requires indexed completion mode"))
    return errors


def _indexed(path: str, spec: JobSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    failures = spec.max_failed_indexes
    if spec.completions is UNSET:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if number(spec.parallelism) > INDEXED_PARALLELISM_MAX:
        why = f"must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", spec.parallelism, why))
    if failures is not UNSET:
        if spec.completions is not UNSET and failures > spec.completions:
            errors.append(invalid(f"{path}.maxFailedIndexes", failures, "must be less than or equal to completions"))
        if failures > INDEXED_FAILURES_MAX:
            why = f"must be less than or equal to {INDEXED_FAILURES_MAX}"
            errors.append(invalid(f"{path}.maxFailedIndexes", failures, why))
    return errors


def _generated(job: Job) -> list[FieldError]:
    """The labels by which a Job finds its pods must be its own, unless it selects them by hand."""
    if flag(job.spec.manual_selector) or job.spec.selector is UNSET:
        return []
    uid, name = text(job.metadata.uid), text(job.metadata.name)
    expected = {**dict.fromkeys(UID_LABELS, uid), **dict.fromkeys(NAME_LABELS, name)}
    errors: list[FieldError] = [] if uid else [required("metadata.uid")]
    labels = pairs(job.spec.template.metadata.labels)
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errors.append(required(path, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(path, labels, f"must be '{value}'"))
    if not matches(job.spec.selector, expected):
        errors.append(invalid("spec.selector", job.spec.selector, "`selector` not auto-generated"))
    return errors


def _selected(path: str, spec: JobSpec) -> list[FieldError]:
    if spec.selector is UNSET:
        return [required(f"{path}.selector")]
    errors = label_selector(f"{path}.selector", spec.selector)
    labels = pairs(spec.template.metadata.labels)
    if not matches(spec.selector, labels):
        why = "`selector` does not match template `labels`"
        errors.append(invalid(f"{path}.template.metadata.labels", labels, why))
    return errors


def _hostnames(job: Job) -> list[FieldError]:
    """Pods of an indexed Job are named after their index."""
    if job.spec.completion_mode != "Indexed" or number(job.spec.completions) <= 0:
        return []
    name = text(job.metadata.name)
    longest = f"{name}-{number(job.spec.completions) - 1}"
    if not names.dns_label(longest):
        return []
    return [invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")]


def _update(new: Job, old: Job) -> list[FieldError]:
    after, before = new.spec, old.spec
    errors = _completions(after, before)
    errors += immutable("spec.selector", after.selector, before.selector)
    errors += _template(new, old)
    errors += immutable("spec.completionMode", after.completion_mode, before.completion_mode)
    errors += immutable("spec.podFailurePolicy", after.pod_failure_policy, before.pod_failure_policy)
    errors += immutable("spec.backoffLimitPerIndex", after.backoff_limit_per_index, before.backoff_limit_per_index)
    errors += immutable("spec.managedBy", after.managed_by, before.managed_by)
    return errors + immutable("spec.successPolicy", after.success_policy, before.success_policy)


def _completions(new: JobSpec, old: JobSpec) -> list[FieldError]:
    """Only an indexed Job is elastic: its completions may follow its parallelism."""
    if new.completion_mode != "Indexed":
        return immutable("spec.completions", new.completions, old.completions)
    if new.completions in (old.completions, UNSET) or new.completions == new.parallelism:
        return []
    return [invalid("spec.completions", new.completions, "can only be modified in tandem with spec.parallelism")]


def _template(new: Job, old: Job) -> list[FieldError]:
    """The pods of a Job are fixed, but for where they may run, and that only before the Job has ever started."""
    after, before = new.spec.template, old.spec.template
    if after != before and flag(old.spec.suspend) and old.status.start_time is UNSET:
        before = _steered(before, after)
    return immutable("spec.template", after, before)


def _steered(old: PodTemplateSpec, new: PodTemplateSpec) -> PodTemplateSpec:
    """The old template with the new one's labels, annotations and scheduling directives."""
    metadata = replace(old.metadata, labels=new.metadata.labels, annotations=new.metadata.annotations)
    spec = replace(
        old.spec,
        affinity=_steered_affinity(old.spec.affinity, new.spec.affinity),
        node_selector=new.spec.node_selector,
        tolerations=new.spec.tolerations,
        scheduling_gates=new.spec.scheduling_gates,
    )
    return replace(old, metadata=metadata, spec=spec)


def _steered_affinity(old: Opt[Affinity], new: Opt[Affinity]) -> Opt[Affinity]:
    """Only the affinity to nodes is free; pods that attract or avoid each other stay as they were."""
    wanted = UNSET if new is UNSET else new.node_affinity
    steered = replace(Affinity() if old is UNSET else old, node_affinity=wanted)
    return UNSET if new is UNSET and steered == Affinity() else steered
