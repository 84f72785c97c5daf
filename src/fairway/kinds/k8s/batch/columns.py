"""Rows of Jobs and CronJobs in `kubectl get`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.kinds.columns import AGE, NAME, at, duration, field, since
from fairway.kinds.k8s.columns import NONE, containers, selects, truth
from fairway.kinds.kind import Column, Moment
from fairway.kinds.types import parse_time

Json = Mapping[str, Any]


def job_status(job: Json, _moment: Moment | None = None) -> str:
    conditions = at(job, "status.conditions")
    if truth(conditions, "Complete"):
        return "Complete"
    if truth(conditions, "Failed"):
        return "Failed"
    if at(job, "metadata.deletionTimestamp") is not None:
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if truth(conditions, kind):
            return kind
    # Asked to wait, and nobody has said so in its status yet.
    return "Suspended" if at(job, "spec.suspend") is True else "Running"


def _completions(job: Json, _moment: Moment) -> str:
    succeeded, wanted = at(job, "status.succeeded") or 0, at(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = at(job, "spec.parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Json, moment: Moment) -> str:
    start, end = at(job, "status.startTime"), at(job, "status.completionTime")
    if start is None:
        return ""
    until = moment.now if end is None else parse_time(end).timestamp()
    return duration(until - parse_time(start).timestamp())


JOB_COLUMNS = (
    NAME,
    Column("Status", job_status),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *containers(),
    selects(),
)


def _last_schedule(job: Json, moment: Moment) -> str:
    last = at(job, "status.lastScheduleTime")
    return since(last, moment) if last else NONE


CRON_JOB_COLUMNS = (
    NAME,
    field("Schedule", "spec.schedule"),
    Column("Timezone", lambda job, _moment: at(job, "spec.timeZone") or NONE),
    Column("Suspend", lambda job, _moment: bool(at(job, "spec.suspend")), type="boolean"),
    Column("Active", lambda job, _moment: len(at(job, "status.active") or ()), type="integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *containers("spec.jobTemplate.spec.template.spec.containers"),
    selects("spec.jobTemplate.spec.selector"),
)
