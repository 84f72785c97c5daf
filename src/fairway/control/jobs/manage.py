"""Which pods of a Job that goes on are created and which deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from fairway.control.jobs.backoff import free_at
from fairway.control.jobs.facts import Facts
from fairway.control.jobs.index_set import IndexSet
from fairway.control.jobs.plan import NewPod
from fairway.control.jobs.policies import match_failure, replaces_only_failed
from fairway.control.jobs.view import PodView

AT_ONCE_MAX = 500
"""Pods created or deleted in one step: one large Job must not hold up the others."""
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class Change(NamedTuple):
    create: tuple[NewPod, ...] = ()
    remove: tuple[PodView, ...] = ()
    """Pods that lose our finalizer, uncounted, and are deleted."""
    wake_at: float = 0.0


NO_CHANGE = Change()


def manage(facts: Facts, replaced: Mapping[int, PodView]) -> Change:
    if facts.suspended:
        return Change(remove=tuple(facts.active))
    wanted = _wanted(facts)
    surplus = _surplus(facts, max(0, len(facts.active) - wanted))
    if surplus:
        return Change(remove=tuple(surplus[:AT_ONCE_MAX]))
    missing = wanted - len(facts.active)
    if replaces_only_failed(facts.job):
        missing -= facts.terminating
    if missing <= 0:
        return NO_CHANGE
    free = facts.past.free_at(facts.now)
    if not facts.per_index and free > facts.now:
        return Change(wake_at=free)
    missing = min(missing, AT_ONCE_MAX)
    if not facts.indexed:
        return Change(create=(NewPod(),) * missing)
    return _create_indexes(facts, missing, replaced)


def _wanted(facts: Facts) -> int:
    """Pods that should be active. Without completions, the first success means: start no more."""
    if facts.completions is None:
        return len(facts.active) if facts.succeeded else facts.parallelism
    return max(0, min(facts.parallelism, facts.completions - facts.succeeded))


def _create_indexes(facts: Facts, count: int, replaced: Mapping[int, PodView]) -> Change:
    create: list[NewPod] = []
    wake_at = 0.0
    for index in islice(_pending_indexes(facts), count):
        last = replaced.get(index)
        if last is None:
            create.append(NewPod(index))
            continue
        free = free_at(last.finished_at, last.failures + last.ignored + 1, facts.now)
        if free > facts.now:
            wake_at = min(wake_at, free) if wake_at else free
        elif match_failure(facts.job, last).counts:
            create.append(NewPod(index, last.failures + 1, last.ignored))
        else:
            create.append(NewPod(index, last.failures, last.ignored + 1))
    return Change(create=tuple(create), wake_at=wake_at)


def _pending_indexes(facts: Facts) -> Iterable[int]:
    taken = facts.succeeded_indexes | IndexSet.of(pod.index for pod in facts.active if pod.index >= 0)
    if replaces_only_failed(facts.job):
        taken |= IndexSet.of(pod.index for pod in facts.pods if pod.terminating and pod.index >= 0)
    if facts.failed_indexes is not None:
        taken |= facts.failed_indexes
    return taken.missing(facts.completions or 0)


def _surplus(facts: Facts, at_least: int) -> list[PodView]:
    """Pods without a place: those of no index, of an index that is not wanted or taken twice; then those that have come least far."""
    found: list[PodView] = []
    left: Sequence[PodView] = facts.active
    if facts.indexed:
        by_index: dict[int, list[PodView]] = defaultdict(list)
        for pod in facts.active:
            by_index[pod.index if facts.valid(pod) else -1].append(pod)
        found += by_index.pop(-1, [])
        kept = []
        for same in by_index.values():
            same.sort(key=_progress)
            found += same[:-1]
            kept.append(same[-1])
        left = kept
    if len(found) < at_least:
        found += sorted(left, key=_progress)[: at_least - len(found)]
    return found


def _progress(pod: PodView) -> tuple[bool, bool, int, bool, int, float, str]:
    """Pods that were to go already, when a crash came between, go first."""
    return (pod.tracked, pod.scheduled, _PHASES.get(pod.phase, 0), pod.ready, -pod.restarts, -pod.created_at, pod.name)
