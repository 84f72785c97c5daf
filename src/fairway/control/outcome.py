"""A plan of the core, as changed Workloads and events. Pure: objects in, new objects and events out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fairway.control import render
from fairway.control.conditions import find_condition, is_true, truncate, with_own_status
from fairway.control.times import parse_time
from fairway.core.admit.assignment import Assignment, Attempt
from fairway.core.admit.plan import Admit, Evict, Migrate, Plan, Status, Wait
from fairway.core.model import SECOND, Mode, Time, Workload
from fairway.core.quota.tree import QuotaTree

Object = render.Object
_LONGEST_WAIT = 2**63 - 1
_EVENT_MESSAGE_MAX = 1024
_MODES = {Mode.FIT: "Fit", Mode.PREEMPT: "Preempt", Mode.NO_FIT: "NoFit", Mode.DEFERRED_FIT: "DeferredFit"}
_POSSIBILITIES = {1: "NoCandidates", 2: "Preempt", 3: "Reclaim"}


class Event(NamedTuple):
    key: str
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class Outcome:
    changed: dict[str, Object] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Priorities:
    """A workload's priority and what an annotation adds to it, for the events that tell who displaced whom."""

    base: int
    boost: int

    def __str__(self) -> str:
        return f"{self.base + self.boost} (base: {self.base}, boost: {self.boost})"


class Outcomes:
    """Renders plans against the objects as they are stored."""

    def __init__(self, objects: Mapping[str, Object], tree: QuotaTree, observable: bool = True) -> None:
        self._objects = objects
        self._tree = tree
        self._observable = observable

    def of(self, plan: Plan, now: Time) -> Outcome:
        outcome = Outcome()
        for action in plan.actions:
            match action:
                case Admit():
                    self._admit(action, outcome, now)
                case Evict():
                    self._evict(action, outcome, now)
                case Migrate():
                    self._migrate(action, outcome, now)
                case Wait():
                    self._wait(action, outcome, now)
        return outcome

    def _get(self, key: str, outcome: Outcome) -> Object | None:
        """A copy that may be changed; none if the object is gone."""
        if key not in outcome.changed:
            stored = self._objects.get(key)
            if stored is None:
                return None
            outcome.changed[key] = with_own_status(stored)
        return outcome.changed[key]

    def _admit(self, action: Admit, outcome: Outcome, now: Time) -> None:
        key, queue = action.workload.key, action.queue
        obj = self._get(key, outcome)
        if obj is None:
            return
        had_quota = is_true(obj, "QuotaReserved")
        waited = _waited(obj, now)
        if action.replaces is not None and action.replaces.key in self._objects:
            cluster = (self._objects[action.replaces.key].get("status") or {}).get("clusterName")
            if cluster:
                obj.setdefault("status", {})["clusterName"] = cluster
        render.set_reserved(obj, queue, action.uses, now, self._observable)
        if not had_quota:
            text = f"Quota reserved in ClusterQueue {queue.name}, wait time since queued was {waited}s"
            considered = considered_flavors(action.assignment)
            if considered:
                text += f"; Flavors considered: {considered}"
            outcome.events.append(Event(key, "Normal", "QuotaReserved", truncate(text, _EVENT_MESSAGE_MAX)))
        if is_true(obj, "Admitted"):
            text = f"Admitted by ClusterQueue {queue.name}, wait time since reservation was 0s"
            outcome.events.append(Event(key, "Normal", "Admitted", text))
        if action.replaces is not None:
            self._finish_slice(action.replaces, obj, outcome, now)

    def _finish_slice(self, old: Workload, new: Object, outcome: Outcome, now: Time) -> None:
        obj = self._get(old.key, outcome)
        if obj is None or is_true(obj, "Finished"):
            return
        metadata = new.get("metadata") or {}
        job = (metadata.get("labels") or {}).get(render.JOB_UID, "")
        text = (
            f"Replaced to accommodate a workload (UID: {metadata.get('uid', '')}, JobUID: {job}) "
            "due to workload slice aggregation"
        )
        render.set_finished(obj, "WorkloadSliceReplaced", text, now)
        outcome.events.append(Event(old.key, "Normal", "WorkloadSliceReplaced", text))

    def _evict(self, action: Evict, outcome: Outcome, now: Time) -> None:
        obj, preemptor = self._get(action.victim.key, outcome), self._objects.get(action.by.key)
        reservation = action.victim.reservation
        if obj is None or preemptor is None or reservation is None:
            return
        ours = render.path_of(self._tree.queues[action.by_queue])
        theirs = render.path_of(self._tree.queues[reservation.queue])
        text = render.preemption_message(preemptor, action.cause, ours, theirs)
        render.set_preempted(obj, action.cause, text, now)
        who = (
            f"preemptor effective priority: {_priorities(action.by, preemptor)}; "
            f"preemptee effective priority: {_priorities(action.victim, obj)}"
        )
        uid = (obj.get("metadata") or {}).get("uid", "")
        outcome.events += [
            Event(action.victim.key, "Normal", "EvictedDueToPreempted", truncate(text, _EVENT_MESSAGE_MAX)),
            Event(action.victim.key, "Normal", "Preempted", f"{text}; {who}"),
            Event(
                action.by.key,
                "Normal",
                "PreemptedWorkload",
                f"Preempted workload {action.victim.key} (UID: {uid}) in ClusterQueue {reservation.queue}; {who}",
            ),
        ]

    def _migrate(self, action: Migrate, outcome: Outcome, now: Time) -> None:
        obj = self._get(action.victim.key, outcome)
        if obj is None:
            return
        text = f"Evicted to accommodate a workload (UID: {action.by.uid}) due to migration to more favorable resource flavor"
        render.set_evicted(obj, "FlavorMigration", text, now)
        outcome.events.append(Event(action.victim.key, "Normal", "EvictedDueToFlavorMigration", text))

    def _wait(self, action: Wait, outcome: Outcome, now: Time) -> None:
        obj = self._get(action.workload.key, outcome)
        if obj is None or action.status is Status.NOMINATED:
            return
        reason = action.pending.value if self._observable else "Pending"
        text = action.message
        render.set_pending(obj, reason, text, action.workload.shape.pod_sets, now, self._observable)
        if action.status is Status.GATED:
            render.set_gated(obj, text, now)
        outcome.events.append(Event(action.workload.key, "Warning", reason, truncate(text, _EVENT_MESSAGE_MAX)))


def considered_flavors(assignment: Assignment) -> str:
    """Which flavors were looked at and not simply taken, for people who ask why it runs where it runs."""
    parts: list[str] = []
    for pod_set in assignment.pod_sets:
        attempts = ", ".join(_attempt(a) for a in pod_set.attempts if a.mode is not Mode.FIT or a.borrow)
        if attempts:
            parts.append(f"{pod_set.name}: {attempts}")
    return " | ".join(parts)


def _attempt(attempt: Attempt) -> str:
    if attempt.possibility is None:
        text = _MODES[attempt.mode]
    else:
        text = f"preemptionMode={_POSSIBILITIES[attempt.possibility]}"
    if attempt.borrow:
        text += f";borrow={attempt.borrow}"
    reasons = sorted(str(reason) for reason in attempt.reasons)
    return f"{attempt.flavor}({';'.join([text, *reasons])})"


def _waited(obj: Object, now: Time) -> int:
    requeued = find_condition(obj, "Requeued")
    since = parse_time(
        requeued.get("lastTransitionTime") if requeued else (obj.get("metadata") or {}).get("creationTimestamp")
    )
    waited = min(now - since, _LONGEST_WAIT) if since else _LONGEST_WAIT
    return max(0, waited + SECOND // 2) // SECOND


def _priorities(workload: Workload, obj: Object) -> Priorities:
    base = int((obj.get("spec") or {}).get("priority") or 0)
    return Priorities(base, workload.priority - base)
