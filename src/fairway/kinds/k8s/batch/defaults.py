"""What the API fills in for Jobs and CronJobs."""

from __future__ import annotations

from fairway.kinds.k8s.batch.types import CronJob, Job, JobSpec
from fairway.kinds.k8s.core.pod_defaults import default_pod_spec
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.k8s.opt import flag, items, pairs, text
from fairway.kinds.types import UNSET

BACKOFF_LIMIT = 6
INT32_MAX = 2**31 - 1
UID_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")
NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")


def default_job(new: Job, _old: Job | None) -> None:
    spec = new.spec
    if spec.parallelism is UNSET:
        spec.parallelism = 1
        if spec.completions is UNSET:
            spec.completions = 1
    if spec.backoff_limit is UNSET:
        spec.backoff_limit = BACKOFF_LIMIT if spec.backoff_limit_per_index is UNSET else INT32_MAX
    if spec.completion_mode is UNSET:
        spec.completion_mode = "NonIndexed"
    if spec.suspend is UNSET:
        spec.suspend = False
    if spec.pod_replacement_policy is UNSET:
        spec.pod_replacement_policy = "TerminatingOrFailed" if spec.pod_failure_policy is UNSET else "Failed"
    if spec.manual_selector is UNSET:
        spec.manual_selector = False
    _default_template(spec)
    _inherit_labels(new)


def default_cron_job(new: CronJob, _old: CronJob | None) -> None:
    spec = new.spec
    spec.concurrency_policy = spec.concurrency_policy or "Allow"
    if spec.suspend is UNSET:
        spec.suspend = False
    if spec.successful_jobs_history_limit is UNSET:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is UNSET:
        spec.failed_jobs_history_limit = 1
    _default_template(spec.job_template.spec)


def prepare_job(new: Job, old: Job | None) -> None:
    """A new Job selects its pods by its own uid, unless its writer chose to select them by hand."""
    if old is not None:
        return
    if not flag(new.spec.manual_selector):
        generate_selector(new)
    _inherit_labels(new)


def generate_selector(job: Job) -> None:
    """Labels and selector that no other Job has. What the writer set stays, and validation says if it cannot."""
    uid, name = text(job.metadata.uid), text(job.metadata.name)
    labels = {**dict.fromkeys(UID_LABELS, uid), **dict.fromkeys(NAME_LABELS, name)}
    template, spec = job.spec.template.metadata, job.spec
    template.labels = {**labels, **pairs(template.labels)}
    if spec.selector is UNSET:
        spec.selector = LabelSelector()
    spec.selector.match_labels = {UID_LABELS[0]: uid, **pairs(spec.selector.match_labels)}


def _default_template(spec: JobSpec) -> None:
    default_pod_spec(spec.template.spec)
    if spec.pod_failure_policy is not UNSET:
        for rule in spec.pod_failure_policy.rules:
            for pattern in items(rule.on_pod_conditions):
                pattern.status = pattern.status or "True"


def _inherit_labels(job: Job) -> None:
    """A Job without labels carries those of its pods."""
    if not pairs(job.metadata.labels) and pairs(job.spec.template.metadata.labels):
        job.metadata.labels = dict(pairs(job.spec.template.metadata.labels))
