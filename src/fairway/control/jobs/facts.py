"""A Job and its pods, counted: what all further decisions rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairway.control.jobs.backoff import Past
from fairway.control.jobs.index_set import IndexSet
from fairway.control.jobs.policies import match_failure, pod_failed
from fairway.control.jobs.view import PodView
from fairway.kinds.k8s.batch.types import Job, JobStatus, UncountedTerminatedPods
from fairway.kinds.k8s.opt import flag, items, number, text
from fairway.kinds.types import UNSET


@dataclass(frozen=True, slots=True)
class Facts:
    job: Job
    pods: Sequence[PodView]
    past: Past
    now: float
    indexed: bool
    completions: int | None
    parallelism: int
    active: tuple[PodView, ...]
    terminating: int
    newly_failed: tuple[PodView, ...]
    succeeded: int
    """Successes, counted and not yet counted."""
    failed: int
    counted_indexes: IndexSet
    """Those that the status names."""
    succeeded_indexes: IndexSet
    failed_indexes: IndexSet | None
    """None where indexes do not fail on their own."""

    @property
    def suspended(self) -> bool:
        return flag(self.job.spec.suspend)

    @property
    def per_index(self) -> bool:
        return self.job.spec.backoff_limit_per_index is not UNSET

    def valid(self, pod: PodView) -> bool:
        """Whether the pod may count: one of an indexed Job must have an index that is wanted."""
        return not self.indexed or 0 <= pod.index < (self.completions or 0)


def uncounted(status: JobStatus) -> UncountedTerminatedPods:
    waiting = status.uncounted_terminated_pods
    return UncountedTerminatedPods() if waiting is UNSET else waiting


def gather(job: Job, pods: Sequence[PodView], past: Past, now: float) -> Facts:
    spec, status = job.spec, job.status
    indexed = spec.completion_mode == "Indexed"
    completions = None if spec.completions is UNSET else spec.completions
    waiting = uncounted(status)
    waiting_good, waiting_bad = frozenset(items(waiting.succeeded)), frozenset(items(waiting.failed))
    good: list[PodView] = []
    bad: list[PodView] = []
    for pod in pods:
        if not pod.tracked or (indexed and not 0 <= pod.index < (completions or 0)):
            continue
        if pod.phase == "Succeeded":
            good.append(pod)
        elif pod_failed(job, pod):
            bad.append(pod)
    newly_failed = tuple(pod for pod in bad if pod.uid not in waiting_bad)
    failed = number(status.failed) + len(waiting_bad) + sum(match_failure(job, pod).counts for pod in newly_failed)
    succeeded = number(status.succeeded) + len(waiting_good | {pod.uid for pod in good if pod.uid not in waiting_bad})
    counted = done = IndexSet()
    lost: IndexSet | None = None
    if indexed:
        counted = IndexSet.parse(text(status.completed_indexes), completions or 0)
        done = counted | IndexSet.of(pod.index for pod in good)
        succeeded = len(done)
        if spec.backoff_limit_per_index is not UNSET:
            lost = IndexSet.parse(text(status.failed_indexes), completions or 0)
            lost |= IndexSet.of(pod.index for pod in bad if index_failed(job, pod))
    return Facts(
        job=job,
        pods=pods,
        past=past.plus((pod.finished_at for pod in good), (pod.finished_at for pod in bad)),
        now=now,
        indexed=indexed,
        completions=completions,
        parallelism=number(spec.parallelism),
        active=tuple(pod for pod in pods if pod.active),
        terminating=sum(pod.terminating for pod in pods),
        newly_failed=newly_failed,
        succeeded=succeeded,
        failed=failed,
        counted_indexes=counted,
        succeeded_indexes=done,
        failed_indexes=lost,
    )


def index_failed(job: Job, pod: PodView) -> bool:
    """Whether a failed pod was the last try of its index."""
    match = match_failure(job, pod)
    if match.action == "FailIndex":
        return True
    return match.counts and pod.failures >= number(job.spec.backoff_limit_per_index)


def awaiting_replacement(facts: Facts) -> dict[int, PodView]:
    """The last failed pod of each index that will be tried again.

    It stays tracked until its replacement exists, which carries on the count of failures: else a crash in between would lose it.
    """
    if facts.failed_indexes is None:
        return {}
    running = {pod.index for pod in facts.active}
    last: dict[int, PodView] = {}
    for pod in facts.pods:
        if not pod.tracked or not facts.valid(pod) or not pod_failed(facts.job, pod):
            continue
        if pod.index in running or pod.index in facts.succeeded_indexes or pod.index in facts.failed_indexes:
            continue
        known = last.get(pod.index)
        if known is None or (pod.failures + pod.ignored, pod.finished_at) >= (
            known.failures + known.ignored,
            known.finished_at,
        ):
            last[pod.index] = pod
    return last
