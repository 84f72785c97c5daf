"""The rules of JobSets: a set, its Jobs and the time in, a plan out. No I/O, no clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from msgspec.structs import replace

from fairway.control.jobsets.child import Child
from fairway.control.times import parse_time, render_time
from fairway.core.model import SECOND
from fairway.kinds.jobset.naming import job_name
from fairway.kinds.jobset.types import (
    Condition,
    FailurePolicy,
    FailurePolicyRule,
    JobSet,
    JobSetStatus,
    ReplicatedJob,
    ReplicatedJobStatus,
)
from fairway.kinds.k8s.opt import flag, items, number, text
from fairway.kinds.re2 import compile_pattern
from fairway.kinds.types import UNSET, Time

OUR_NAME = "jobset.sigs.k8s.io/jobset-controller"
_EXCLUSIVE = {"StartupPolicyInProgress": "StartupPolicyCompleted", "StartupPolicyCompleted": "StartupPolicyInProgress"}


class NewJob(NamedTuple):
    entry: str
    number: int


class Note(NamedTuple):
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(slots=True)
class Plan:
    """To be carried out in this order: the status first, so that what is done rests on what is known."""

    status: JobSetStatus | None = None
    create: list[NewJob] = field(default_factory=list)
    suspend: list[str] = field(default_factory=list)
    """Uids of Jobs to suspend."""
    reset: list[str] = field(default_factory=list)
    """Uids of suspended Jobs that must lose their start time before they can be steered anew and resumed."""
    resume: list[str] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    service: bool = False
    """Whether the set's service must exist."""
    delete_set: bool = False
    notes: list[Note] = field(default_factory=list)
    wake_at: float = 0.0


def ours(jobset: JobSet) -> bool:
    return jobset.spec.managed_by in (UNSET, "", OUR_NAME)


def finished(jobset: JobSet) -> Condition | None:
    conditions = items(jobset.status.conditions) if jobset.status is not UNSET else []
    return next((one for one in conditions if one.type in ("Completed", "Failed") and one.status == "True"), None)


def decide(jobset: JobSet, children: Sequence[Child], now: float) -> Plan:
    if not ours(jobset) or jobset.metadata.deletion_timestamp:
        return Plan()
    return _Decision(jobset, children, now).decide()


class _Decision:
    """One look at one set."""

    def __init__(self, jobset: JobSet, children: Sequence[Child], now: float) -> None:
        self.jobset = jobset
        self.now = now
        self.at = Time(render_time(int(now) * SECOND))
        old = JobSetStatus() if jobset.status is UNSET else jobset.status
        self.old = old
        self.previous = [one for one in children if one.restarts < old.restarts]
        current = [one for one in children if one.restarts >= old.restarts]
        self.active = [one for one in current if not one.ended]
        self.failed = [one for one in current if one.ended == "Failed"]
        self.succeeded = [one for one in current if one.ended == "Complete"]
        self.names = {one.name for one in children}
        self.entries = items(jobset.spec.replicated_jobs)
        self.counts = {entry.name: self._count(entry) for entry in self.entries}
        self.status = replace(
            old,
            conditions=[replace(one) for one in items(old.conditions)] or UNSET,
            replicated_jobs_status=list(self.counts.values()) or UNSET,
        )
        self.plan = Plan()

    @property
    def suspended(self) -> bool:
        return flag(self.jobset.spec.suspend)

    @property
    def in_order(self) -> bool:
        policy = self.jobset.spec.startup_policy
        return policy is not UNSET and policy.startup_policy_order == "InOrder"

    def decide(self) -> Plan:
        end = finished(self.jobset)
        if end is not None:
            self._after(end)
        else:
            self.plan.delete = [one.uid for one in self.previous if not one.deleting]
            self._go_on()
        if self.status != self.jobset.status:
            self.plan.status = self.status
        return self.plan

    def _count(self, entry: ReplicatedJob) -> ReplicatedJobStatus:
        old = next((one for one in items(self.old.replicated_jobs_status) if one.name == entry.name), None)
        mine = [one for one in self.active if one.entry == entry.name]
        return ReplicatedJobStatus(
            name=entry.name,
            ready=sum(one.ready >= one.pods for one in mine),
            succeeded=sum(one.entry == entry.name for one in self.succeeded),
            failed=sum(one.entry == entry.name for one in self.failed),
            active=sum(one.active > 0 for one in mine),
            suspended=sum(one.suspended for one in mine),
            job_restarts=old.job_restarts if old is not None else UNSET,
            job_restarts_count_towards_max=old.job_restarts_count_towards_max if old is not None else UNSET,
        )

    def _after(self, end: Condition) -> None:
        """What still runs of a finished set is ended; then its time to live begins."""
        self.plan.delete = [one.uid for one in self.active if not one.deleting]
        ttl = self.jobset.spec.ttl_seconds_after_finished
        if ttl is UNSET:
            return
        expires = parse_time(end.last_transition_time) / SECOND + ttl
        if expires <= self.now:
            self.plan.delete_set = True
        else:
            self.plan.wake_at = expires

    def _go_on(self) -> None:
        if not self.suspended and self._all_ready():
            self._condition("RestartingJobSet", "False", "JobsReady", "all jobs are ready")
        if self.failed:
            self._fail()
            return
        if self.succeeded and self._enough():
            self._condition("Completed", "True", "AllJobsCompleted", "jobset completed successfully")
            self._condition("RestartingJobSet", "False", "JobSetCompleted", "jobset completed successfully")
            self.status.terminal_state = "Completed"
            return
        self.plan.service = True
        self._create()
        if self.suspended:
            self.plan.suspend = [one.uid for one in self.active if not one.suspended and not one.deleting]
            self._condition("Suspended", "True", "SuspendedJobs", "jobset is suspended")
            self._condition("RestartingJobSet", "False", "JobSetSuspended", "jobset is suspended")
        else:
            self._resume()

    # --- start and resume -----------------------------------------------------------------------------------------

    def _create(self) -> None:
        policy = self.jobset.spec.failure_policy
        blocked = self.previous and policy is not UNSET and policy.restart_strategy == "BlockingRecreate"
        ordered = self.in_order and not self.suspended
        for entry in self.entries:
            if not self._awaited(entry) or (ordered and self._started(entry)):
                continue
            if not blocked:
                self.plan.create += [
                    NewJob(entry.name, index)
                    for index in range(number(entry.replicas))
                    if job_name(text(self.jobset.metadata.name), entry.name, index) not in self.names
                ]
            if ordered:
                self._startup("InProgress", "in order startup policy is in progress")
                return
        if ordered:
            self._startup("Completed", "in order startup policy has completed")

    def _resume(self) -> None:
        for entry in self.entries:
            if not self._awaited(entry) or (self.in_order and self._started(entry)):
                continue
            for one in self.active:
                if one.entry == entry.name and one.suspended and not one.deleting:
                    (self.plan.reset if one.started else self.plan.resume).append(one.uid)
            if self.in_order:
                return
        self._condition("Suspended", "False", "ResumeJobs", "jobset is resumed")

    def _awaited(self, entry: ReplicatedJob) -> bool:
        """Whether what the entry depends on is so."""
        replicas = {one.name: number(one.replicas) for one in self.entries}
        for wanted in items(entry.depends_on):
            count = self.counts.get(wanted.name)
            if count is None:
                return False
            there = count.succeeded if wanted.status == "Complete" else count.failed + count.ready + count.succeeded
            if there != replicas[wanted.name]:
                return False
        return True

    def _started(self, entry: ReplicatedJob) -> bool:
        count = self.counts[entry.name]
        return count.failed + count.ready + count.succeeded == number(entry.replicas)

    def _all_ready(self) -> bool:
        ready = sum(count.ready + count.succeeded for count in self.counts.values())
        return ready == sum(number(entry.replicas) for entry in self.entries)

    def _startup(self, state: str, message: str) -> None:
        self._condition(f"StartupPolicy{state}", "True", f"InOrderStartupPolicy{state}", message)

    # --- the end, or another try ----------------------------------------------------------------------------------

    def _enough(self) -> bool:
        policy = self.jobset.spec.success_policy
        targets = items(policy.target_replicated_jobs) if policy is not UNSET else []
        done = sum(not targets or one.entry in targets for one in self.succeeded)
        if policy is not UNSET and policy.operator == "Any":
            return done >= 1
        return done >= sum(number(one.replicas) for one in self.entries if not targets or one.name in targets)

    def _fail(self) -> None:
        policy = self.jobset.spec.failure_policy
        if policy is UNSET:
            first = _first(self.failed)
            self._end("FailedJobs", _naming("jobset failed due to one or more job failures", first))
            return
        rule, first = self._rule(policy)
        action = rule.action if rule is not None else "RestartJobSet"
        if action == "FailJobSet":
            message = _naming("applying FailJobSet failure policy action", first)
            self._end("FailJobSetFailurePolicyAction", message)
        elif action == "RestartJobSet" and number(self.old.restarts_count_towards_max) >= number(policy.max_restarts):
            self._end("ReachedMaxRestarts", _naming("jobset failed due to reaching max number of restarts", first))
        else:
            self._restart(rule, action, first)

    def _rule(self, policy: FailurePolicy) -> tuple[FailurePolicyRule | None, Child]:
        """The first rule that fits any failed Job, and the Job that failed first of those."""
        for rule in items(policy.rules):
            fitting = [one for one in self.failed if _fits(rule, one)]
            if fitting:
                return rule, _first(fitting)
        return None, _first(self.failed)

    def _restart(self, rule: FailurePolicyRule | None, action: str, first: Child) -> None:
        """Jobs of this attempt become those of the previous one; they are deleted, and made anew once they are gone."""
        self.status.restarts = self.old.restarts + 1
        if action == "RestartJobSet":
            self.status.restarts_count_towards_max = number(self.old.restarts_count_towards_max) + 1
        message = _naming(f"applying {action} failure policy action", first)
        reason = f"FailurePolicy_{rule.name}" if rule is not None else "DefaultFailurePolicy"
        self._condition("RestartingJobSet", "True", reason, message, warning=True)
        self.plan.notes.append(Note("Warning", f"{action}FailurePolicyAction", message))

    def _end(self, reason: str, message: str) -> None:
        self._condition("Failed", "True", reason, message, warning=True)
        self._condition("RestartingJobSet", "False", "JobSetFailed", "jobset failed")
        self.status.terminal_state = "Failed"

    def _condition(
        self, kind: str, value: Literal["True", "False"], reason: str, message: str, *, warning: bool = False
    ) -> None:
        """Set a condition, and note it where it is news. What was never true is not said to be false."""
        conditions = items(self.status.conditions)
        if value == "True":
            for position, other in enumerate(conditions):
                if other.type == _EXCLUSIVE.get(kind) and other.status == "True":
                    conditions[position] = replace(other, status="False")
        old = next((one for one in conditions if one.type == kind), None)
        if old is None and value == "False":
            return
        if old is not None and (old.status, old.reason, old.message) == (value, reason, message):
            return
        since = old.last_transition_time if old is not None and old.status == value else self.at
        new = Condition(type=kind, status=value, last_transition_time=since, reason=reason, message=message)
        if old is None:
            self.status.conditions = [*conditions, new]
        else:
            conditions[conditions.index(old)] = new
        self.plan.notes.append(Note("Warning" if warning else "Normal", reason, message))


def _fits(rule: FailurePolicyRule, job: Child) -> bool:
    reasons, patterns = items(rule.on_job_failure_reasons), items(rule.on_job_failure_message_patterns)
    targets = items(rule.target_replicated_jobs)
    if reasons and job.reason not in reasons:
        return False
    if patterns and not any(_found(pattern, job.message) for pattern in patterns):
        return False
    return not targets or job.entry in targets


def _found(pattern: str, message: str) -> bool:
    try:
        return compile_pattern(pattern).search(message) is not None
    except re.error:
        return False


def _first(failed: Sequence[Child]) -> Child:
    return min(failed, key=lambda one: (one.ended_at, one.name))


def _naming(message: str, first: Child) -> str:
    return f"{message} (first failed job: {first.name})"
