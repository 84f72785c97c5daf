"""Checks of a Job's status: whoever manages the Job, its readers may rely on what it says and in which order."""

from __future__ import annotations

from fairway.kinds.errors import FieldError, invalid, required
from fairway.kinds.k8s.batch import indexes
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.k8s.opt import flag, items, number, text
from fairway.kinds.k8s.rules import not_negative
from fairway.kinds.types import UNSET, Opt, Time, parse_time

_FINAL = ("Failed", "Complete", "FailureTarget")


def validate_job_status(new: Job, old: Job | None) -> list[FieldError]:
    """A rule is held against an update only where the update touches what the rule is about."""
    if old is None:
        return []
    return _counters(new, old) + _conditions(new, old) + _times(new, old) + _finished(new, old) + _indexes(new, old)


def _true(job: Job, kind: str) -> bool:
    return any(one.type == kind and one.status == "True" for one in items(job.status.conditions))


def _is_finished(job: Job) -> bool:
    return _true(job, "Complete") or _true(job, "Failed")


def _counters(new: Job, old: Job) -> list[FieldError]:
    errors: list[FieldError] = []
    status, before = new.status, old.status
    for name, value in (
        ("active", status.active),
        ("succeeded", status.succeeded),
        ("failed", status.failed),
        ("ready", status.ready),
        ("terminating", status.terminating),
    ):
        errors += not_negative(f"status.{name}", value)
    if (status.ready, status.active) != (before.ready, before.active) and number(status.ready) > number(status.active):
        errors.append(invalid("status.ready", status.ready, "cannot set more ready pods than active"))
    if number(status.failed) < number(before.failed):
        errors.append(invalid("status.failed", number(status.failed), "cannot decrease the failed counter"))
    elastic = new.spec.completion_mode == "Indexed" and new.spec.completions == new.spec.parallelism
    if number(status.succeeded) < number(before.succeeded) and not elastic:
        errors.append(invalid("status.succeeded", number(status.succeeded), "cannot decrease the succeeded counter"))
    return errors


def _conditions(new: Job, old: Job) -> list[FieldError]:
    said: list[str] = []
    complete, failed = _true(new, "Complete"), _true(new, "Failed")
    target, met = _true(new, "FailureTarget"), _true(new, "SuccessCriteriaMet")
    turned_complete, turned_failed = complete != _true(old, "Complete"), failed != _true(old, "Failed")
    if (turned_complete or turned_failed) and complete and failed:
        said.append("cannot set Complete=True and Failed=true conditions")
    if (turned_complete or target != _true(old, "FailureTarget")) and complete and target:
        said.append("cannot set Complete=True and FailureTarget=true conditions")
    if turned_failed and failed and not target:
        said.append("cannot set Failed=True condition without the FailureTarget=true condition")
    if (turned_complete or met != _true(old, "SuccessCriteriaMet")) and complete and not met:
        said.append("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if met and failed:
        said.append("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and target:
        said.append("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    said += [
        f"cannot disable the terminal {kind}=True condition"
        for kind in _FINAL
        if _true(old, kind) and not _true(new, kind)
    ]
    if _true(old, "SuccessCriteriaMet") and not met:
        said.append("cannot disable the SuccessCriteriaMet=True condition")
    return [invalid("status.conditions", items(new.status.conditions), why) for why in said]


def _times(new: Job, old: Job) -> list[FieldError]:
    errors: list[FieldError] = []
    start, end = new.status.start_time, new.status.completion_time
    complete, turned = _true(new, "Complete"), _true(new, "Complete") != _true(old, "Complete")
    if turned or end != old.status.completion_time:
        if end is not UNSET and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", end, why))
        if end is UNSET and complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if (start, end) != (old.status.start_time, old.status.completion_time) and _before(end, start):
        errors.append(invalid("status.completionTime", end, "must be equal to or after `startTime`"))
    if UNSET not in (end, old.status.completion_time) and end != old.status.completion_time:
        errors.append(invalid("status.completionTime", end, "field is immutable"))
    resumed = _true(old, "Suspended") and not _true(new, "Suspended")
    moved = old.status.start_time is not UNSET and start != old.status.start_time
    if moved and not flag(new.spec.suspend) and not resumed:
        value = None if start is UNSET else start
        errors.append(invalid("status.startTime", value, "field is immutable for unsuspended job once set"))
    return errors


def _before(end: Opt[Time], start: Opt[Time]) -> bool:
    return end is not UNSET and start is not UNSET and parse_time(end) < parse_time(start)


def _finished(new: Job, old: Job) -> list[FieldError]:
    if not _is_finished(new):
        return []
    errors: list[FieldError] = []
    turned = not _is_finished(old)
    status, before = new.status, old.status
    if (turned or status.active != before.active) and number(status.active) > 0:
        errors.append(invalid("status.active", status.active, "active>0 is invalid for finished job"))
    never_ran = flag(new.spec.suspend) and new.spec.completions == 0
    if (turned or status.start_time != before.start_time) and status.start_time is UNSET and not never_ran:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    if (turned or status.terminating != before.terminating) and number(status.terminating) > 0:
        errors.append(invalid("status.terminating", status.terminating, "terminating>0 is invalid for finished job"))
    left = status.uncounted_terminated_pods
    touched = turned or left != before.uncounted_terminated_pods
    if touched and left is not UNSET and (items(left.succeeded) or items(left.failed)):
        errors.append(invalid("status.uncountedTerminatedPods", left, "must be empty for finished job"))
    return errors


def _indexes(new: Job, old: Job) -> list[FieldError]:
    errors: list[FieldError] = []
    done, failed = text(new.status.completed_indexes), new.status.failed_indexes
    if done != text(old.status.completed_indexes):
        errors += _readable("completedIndexes", done, new)
        if done and new.spec.completion_mode != "Indexed":
            why = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(invalid("status.completedIndexes", done, why))
    if failed != old.status.failed_indexes and failed is not UNSET:
        if new.spec.backoff_limit_per_index is UNSET:
            why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(invalid("status.failedIndexes", failed, why))
        else:
            errors += _readable("failedIndexes", failed, new)
    return errors


def _readable(name: str, given: str, job: Job) -> list[FieldError]:
    if job.spec.completions is UNSET:
        return []
    try:
        indexes.intervals(given, job.spec.completions)
    except indexes.IndexesError as error:
        return [invalid(f"status.{name}", given, f"error parsing {name}: {error}")]
    return []
