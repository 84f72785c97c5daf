"""What the API knows about the kinds of batch/v1."""

from __future__ import annotations

from fairway.kinds.k8s.batch import columns, defaults, rules, status_rules
from fairway.kinds.k8s.batch.types import CronJob, Job
from fairway.kinds.k8s.opt import number
from fairway.kinds.k8s.rules import warn_kept
from fairway.kinds.kind import Kind, Version

JOB = Kind(
    group="batch",
    name="Job",
    plural="jobs",
    singular="job",
    versions=(Version("v1", Job, columns.JOB_COLUMNS),),
    categories=("all",),
    subresources=("status",),
    native=True,
    selectable=("status.successful",),
    selectable_as=(("status.successful", lambda job: str(number(job.status.succeeded))),),
    default=defaults.default_job,
    prepare=defaults.prepare_job,
    validate=rules.validate_job,
    validate_status=status_rules.validate_job_status,
    warn=rules.warn_job,
)

CRON_JOB = Kind(
    group="batch",
    name="CronJob",
    plural="cronjobs",
    singular="cronjob",
    versions=(Version("v1", CronJob, columns.CRON_JOB_COLUMNS),),
    short_names=("cj",),
    categories=("all",),
    subresources=("status",),
    native=True,
    default=defaults.default_cron_job,
    validate=rules.validate_cron_job,
    warn=warn_kept,
)

KINDS: tuple[Kind, ...] = (JOB, CRON_JOB)
