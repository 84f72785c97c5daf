"""The rules of Jobs: a Job, its pods and the time in, a plan out. No I/O, no clock.

A Job goes on (pods are created and deleted), then gets a verdict (its end is certain: FailureTarget or SuccessCriteriaMet), then, when no
pod of it is left running and all are counted, finishes (Failed or Complete). It can do all of it in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from fairway.control.jobs.backoff import NOTHING, Past
from fairway.control.jobs.facts import Facts, awaiting_replacement, gather, uncounted
from fairway.control.jobs.index_set import IndexSet
from fairway.control.jobs.manage import NO_CHANGE, Change, manage
from fairway.control.jobs.plan import Note, Plan
from fairway.control.jobs.policies import match_failure, pod_failed, success_met
from fairway.control.jobs.view import PodView
from fairway.control.times import parse_time, render_time
from fairway.core.model import SECOND
from fairway.kinds.k8s.batch.types import Job, JobCondition, JobStatus, UncountedTerminatedPods
from fairway.kinds.k8s.opt import items, number, text
from fairway.kinds.types import UNSET, Time

OUR_NAME = "kubernetes.io/job-controller"
UNCOUNTED_MAX = 500
"""Pods counted in one step: their uids are listed in the status until they are released."""
MODES = (UNSET, "", "NonIndexed", "Indexed")


class Verdict(NamedTuple):
    success: bool
    reason: str
    message: str

    @property
    def condition(self) -> str:
        return "SuccessCriteriaMet" if self.success else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.success else "Failed"


def ours(job: Job) -> bool:
    return job.spec.managed_by in (UNSET, "", OUR_NAME)


def finished(job: Job) -> JobCondition | None:
    return next(
        (one for one in items(job.status.conditions) if _holds(one) and one.type in ("Complete", "Failed")), None
    )


def decide(job: Job, pods: Sequence[PodView], now: float, past: Past = NOTHING) -> Plan:
    """pods: those of the Job that are not both over and released. past: how the others ended."""
    if not ours(job):
        return Plan()
    end = finished(job)
    if end is not None:
        return _after(job, pods, end, now)
    if job.spec.completion_mode not in MODES:
        message = "Skipped Job sync because completion mode is unknown"
        return Plan(notes=(Note("Warning", "UnknownCompletionMode", message),))
    facts = gather(job, pods, past, now)
    verdict = _verdict(facts)
    leaving = bool(job.metadata.deletion_timestamp)
    replaced = awaiting_replacement(facts)
    change = manage(facts, replaced) if verdict is None and not leaving else NO_CHANGE
    active = len(facts.active) + len(change.create) - len(change.remove)
    if verdict is None and _complete(facts, active):
        verdict = Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
    return _plan(facts, verdict, change, replaced, leaving)


def _after(job: Job, pods: Sequence[PodView], end: JobCondition, now: float) -> Plan:
    """Pods of a finished Job are counted; whatever still holds them lets go. Its time to live begins."""
    release = tuple(pod.uid for pod in pods if pod.tracked)
    delete = tuple(pod.uid for pod in pods if pod.active)
    ttl = job.spec.ttl_seconds_after_finished
    if ttl is UNSET or job.metadata.deletion_timestamp:
        return Plan(release=release, delete=delete)
    expires = parse_time(text(end.last_transition_time)) / SECOND + ttl
    if expires <= now:
        return Plan(release=release, delete=delete, delete_job=True)
    return Plan(release=release, delete=delete, wake_at=expires)


# --- verdict ----------------------------------------------------------------------------------------------------------


def _verdict(facts: Facts) -> Verdict | None:
    """Failures come first, except that what was certain before stays certain."""
    for condition in items(facts.job.status.conditions):
        if _holds(condition) and condition.type in ("SuccessCriteriaMet", "FailureTarget"):
            success = condition.type == "SuccessCriteriaMet"
            return Verdict(success, text(condition.reason), text(condition.message))
    return _failed_by_policy(facts) or _failed_by_limits(facts) or _failed_by_indexes(facts) or _met_by_policy(facts)


def _failed_by_policy(facts: Facts) -> Verdict | None:
    for pod in facts.pods:
        if pod_failed(facts.job, pod):
            match = match_failure(facts.job, pod)
            if match.action == "FailJob":
                return Verdict(False, "PodFailurePolicy", match.message)
    return None


def _failed_by_limits(facts: Facts) -> Verdict | None:
    limit = number(facts.job.spec.backoff_limit)
    if facts.failed > limit or _restarted_too_often(facts, limit):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline = _deadline(facts)
    if deadline and facts.now >= deadline:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _restarted_too_often(facts: Facts, limit: int) -> bool:
    if facts.job.spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(pod.restarts for pod in facts.pods if pod.phase in ("Running", "Pending"))
    return restarts >= max(limit, 1)


def _deadline(facts: Facts) -> float:
    """When the Job's time is up; zero if it never is, or is not running."""
    seconds, start = facts.job.spec.active_deadline_seconds, facts.job.status.start_time
    if seconds is UNSET or facts.suspended:
        return 0.0
    return (facts.now if start is UNSET else parse_time(start) / SECOND) + seconds


def _failed_by_indexes(facts: Facts) -> Verdict | None:
    lost, allowed = facts.failed_indexes, facts.job.spec.max_failed_indexes
    if lost is None:
        return None
    if allowed is not UNSET and len(lost) > allowed:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Verdict(False, "MaxFailedIndexesExceeded", message)
    if len(lost) and len(lost) + len(facts.succeeded_indexes) >= (facts.completions or 0):
        return Verdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def _met_by_policy(facts: Facts) -> Verdict | None:
    if not facts.indexed:
        return None
    message = success_met(facts.job, facts.succeeded_indexes)
    return Verdict(True, "SuccessPolicy", message) if message else None


def _complete(facts: Facts, active: int) -> bool:
    if active:
        return False
    return facts.succeeded > 0 if facts.completions is None else facts.succeeded >= facts.completions


# --- plan -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Count:
    """What becomes of pods that are over: counted in the status, then released."""

    release: list[str]
    succeeded: list[str]
    failed: list[str]
    indexes: list[int]
    full: bool = False


def _plan(facts: Facts, verdict: Verdict | None, change: Change, replaced: dict[int, PodView], leaving: bool) -> Plan:
    ended = tuple(facts.active) if verdict is not None else ()
    removed = ended or change.remove
    count = _count(facts, verdict, replaced, leaving, {pod.uid for pod in change.remove})
    at = Time(render_time(int(facts.now) * SECOND))
    status = _counters(facts, count)
    status.active = len(facts.active) + len(change.create) - len(removed) or UNSET
    status.ready = sum(pod.ready for pod in facts.active) - sum(pod.ready for pod in removed)
    status.terminating = facts.terminating + len(removed)
    notes: list[Note] = []
    if status.start_time is UNSET and not facts.suspended:
        status.start_time = at
    over = verdict is not None and not status.terminating and not count.full
    if verdict is not None:
        _condition(status, verdict.condition, "True", verdict.reason, verdict.message, at)
        if over:
            notes += _finish(facts, status, verdict, at)
    elif not leaving:
        notes += _suspension(facts, status, at)
    changed = status != facts.job.status
    return Plan(
        status=status if changed else None,
        urgent=changed and _urgent(status, facts.job.status),
        create=change.create,
        claim=_claims(facts, removed) if verdict is None and not leaving else (),
        release=(*count.release, *(pod.uid for pod in change.remove if pod.tracked)),
        delete=tuple(pod.uid for pod in removed),
        notes=tuple(notes),
        wake_at=_wake_at(facts, verdict, change),
    )


def _claims(facts: Facts, removed: Sequence[PodView]) -> tuple[str, ...]:
    """Whatever stays must be counted in the end: a crash may have come between letting a pod go and deleting it."""
    going = {pod.uid for pod in removed}
    return tuple(pod.uid for pod in facts.active if not pod.tracked and pod.uid not in going)


def _count(
    facts: Facts, verdict: Verdict | None, replaced: dict[int, PodView], leaving: bool, dropped: set[str]
) -> _Count:
    waiting = uncounted(facts.job.status)
    listed_good, listed_bad = set(items(waiting.succeeded)), set(items(waiting.failed))
    failing = verdict is not None and not verdict.success
    held = {pod.uid for pod in replaced.values()} if verdict is None and not leaving else set()
    count = _Count([], [], [], [])
    pods = sorted(facts.pods, key=lambda pod: pod.index) if facts.indexed else facts.pods
    for pod in pods:
        if not pod.tracked or pod.uid in dropped:
            continue
        failed = pod_failed(facts.job, pod)
        over = verdict is not None or leaving or pod.phase == "Succeeded" or failed
        if not over or pod.uid in held:
            continue
        if len(count.release) >= UNCOUNTED_MAX:
            count.full = True
            break
        count.release.append(pod.uid)
        if pod.phase == "Succeeded" and pod.uid not in listed_bad:
            if facts.indexed:
                count.indexes.append(pod.index)
            elif pod.uid not in listed_good:
                count.succeeded.append(pod.uid)
        elif (failed or failing) and pod.uid not in listed_bad and _counts(facts, pod):
            count.failed.append(pod.uid)
    return count


def _counts(facts: Facts, pod: PodView) -> bool:
    return facts.valid(pod) and match_failure(facts.job, pod).counts


def _counters(facts: Facts, count: _Count) -> JobStatus:
    """The status with new pods listed as uncounted, and those counted that have been released since they were listed."""
    old = facts.job.status
    waiting = uncounted(old)
    tracked = {pod.uid for pod in facts.pods if pod.tracked}
    good, bad = items(waiting.succeeded), items(waiting.failed)
    good_left = [uid for uid in good if uid in tracked]
    bad_left = [uid for uid in bad if uid in tracked]
    status = replace(
        old,
        conditions=[replace(one) for one in items(old.conditions)] or UNSET,
        failed=number(old.failed) + len(bad) - len(bad_left) or UNSET,
        succeeded=number(old.succeeded) + len(good) - len(good_left) or UNSET,
        uncounted_terminated_pods=UncountedTerminatedPods(
            succeeded=good_left + count.succeeded or UNSET, failed=bad_left + count.failed or UNSET
        ),
    )
    if facts.indexed:
        wanted = [index for index in count.indexes if 0 <= index < (facts.completions or 0)]
        done = facts.counted_indexes | IndexSet.of(wanted)
        status.succeeded = len(done) or UNSET
        status.completed_indexes = done.text or UNSET
        if facts.failed_indexes is not None:
            status.failed_indexes = facts.failed_indexes.text
    return status


def _finish(facts: Facts, status: JobStatus, verdict: Verdict, at: Time) -> list[Note]:
    """The final condition says that everything is counted, so pods need not be listed as uncounted before."""
    waiting = uncounted(status)
    status.failed = number(status.failed) + len(items(waiting.failed)) or UNSET
    status.succeeded = number(status.succeeded) + len(items(waiting.succeeded)) or UNSET
    status.uncounted_terminated_pods = UncountedTerminatedPods()
    never_ran = facts.suspended and facts.completions == 0
    if status.start_time is UNSET and not never_ran:
        status.start_time = at
    _condition(status, verdict.final, "True", verdict.reason, verdict.message, at)
    if not verdict.success:
        return [Note("Warning", verdict.reason, verdict.message)]
    status.completion_time = at if status.start_time is UNSET else max(at, status.start_time)
    notes = [Note("Normal", "Completed", "Job completed")]
    if facts.completions is not None and number(status.succeeded) > facts.completions:
        message = "Too many succeeded pods running after completion count reached"
        notes.insert(0, Note("Warning", "TooManySucceededPods", message))
    return notes


def _suspension(facts: Facts, status: JobStatus, at: Time) -> list[Note]:
    if facts.suspended:
        if _condition(status, "Suspended", "True", "JobSuspended", "Job suspended", at):
            status.start_time = UNSET
            return [Note("Normal", "Suspended", "Job suspended")]
    elif _condition(status, "Suspended", "False", "JobResumed", "Job resumed", at):
        # The deadline counts from here: only time in which a Job may run is held against it.
        status.start_time = at
        return [Note("Normal", "Resumed", "Job resumed")]
    return []


def _condition(status: JobStatus, kind: str, value: str, reason: str, message: str, at: Time) -> bool:
    """Whether anything changed. What was never true is not said to be false."""
    conditions = items(status.conditions)
    new = JobCondition(
        type=kind, status=value, last_probe_time=at, last_transition_time=at, reason=reason, message=message
    )
    for position, old in enumerate(conditions):
        if old.type == kind:
            if (old.status, text(old.reason), text(old.message)) == (value, reason, message):
                return False
            conditions[position] = new
            return True
    if value == "False":
        return False
    status.conditions = [*conditions, new]
    return True


def _holds(condition: JobCondition) -> bool:
    return condition.status == "True"


def _urgent(new: JobStatus, old: JobStatus) -> bool:
    """How many are ready, and the move from uncounted to counted, can wait a moment for the next change."""
    waiting, before = uncounted(new), uncounted(old)
    listed = (*items(waiting.succeeded), *items(waiting.failed))
    known = {*items(before.succeeded), *items(before.failed)}
    if not known.issuperset(listed) or old.uncounted_terminated_pods is UNSET:
        return True
    calm = replace(
        new,
        ready=old.ready,
        failed=old.failed,
        succeeded=old.succeeded,
        uncounted_terminated_pods=old.uncounted_terminated_pods,
    )
    return calm != old


def _wake_at(facts: Facts, verdict: Verdict | None, change: Change) -> float:
    moments = [change.wake_at] if change.wake_at else []
    if verdict is None:
        deadline = _deadline(facts)
        if deadline:
            moments.append(deadline)
    return min(moments, default=0.0)
