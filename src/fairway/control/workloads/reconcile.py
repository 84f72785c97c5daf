"""Keeps every managed job and its Workload together: one look at a job says what has to be written next, if anything.

The rules are those of Kueue's job framework, in its order. A look is derived from the objects alone and changes one thing at a time, so
it does not matter where the last one was cut short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairway.control import render
from fairway.control.adapters import AdapterError, Change, Job, JobAdapter, Json, StopReason
from fairway.control.admission.lifecycle import (
    generation,
    pods_ready_after,
    release,
    sync_pods_ready,
    without_finalizer,
)
from fairway.control.apply import Note, Write
from fairway.control.conditions import find_condition, is_true, set_condition, with_own_status
from fairway.control.configuration import Configuration
from fairway.control.mirror import Table
from fairway.control.resources import WORKLOADS
from fairway.control.times import render_time
from fairway.control.workloads import making
from fairway.control.workloads.making import Priorities
from fairway.control.workloads.running import RunningPods
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.core.model import SECOND, Time
from fairway.kinds.kueue.constants import RESOURCE_IN_USE, WORKLOAD_PRIORITY_CLASS

NO_MATCH = "No matching Workload; restoring pod templates according to existing Workload"
NOT_ADMITTED = "Not admitted by cluster queue"
DELETED = "Workload is deleted"
_REPLACED = "WaitingForReplacementPods"
_PODS = "pod-kueue-controller"
OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"


@dataclass(slots=True)
class Look:
    """One job, with what is known about it."""

    adapter: JobAdapter
    job: Job
    workloads: list[Json]
    """Those that are about this job, by owner or by name."""

    @property
    def key(self) -> str:
        metadata = self.job[0]["metadata"]
        return f"{metadata.get('namespace', '')}/{metadata['name']}"

    def note(self, type: str, reason: str, message: str) -> Note:
        return Note(self.job[0], type, reason, message, f"{self.adapter.framework}-kueue-controller")


class JobRules:
    def __init__(self, config: Configuration, flavors: Table, priorities: Priorities, running: RunningPods) -> None:
        self._config = config
        self._running = running
        self._flavors = flavors
        self._priorities = priorities
        self._stopping: dict[str, str] = {}
        self._matched: dict[str, tuple[object, ...]] = {}

    def look(self, look: Look, now: Time) -> list[Write]:
        try:
            return self._look(look, now)
        except AdapterError as error:
            note = look.note("Warning", "ErrWorkloadCompose", str(error))
            return [Write("update", look.adapter.resource, dict(look.job[0]), [note])]

    def _look(self, look: Look, now: Time) -> list[Write]:
        adapter, job = look.adapter, look.job
        workload = self._mine(look)
        if workload is not None and workload["metadata"].get("deletionTimestamp"):
            return self._deleted(look, workload, now)
        done = adapter.finished(job)
        if workload is not None and is_true(workload, "Finished"):
            return _changes(adapter.finalize(job))
        if done is not None:
            return self._finish(look, workload, done.reason, done.message, now)
        # An evicted group's pods were deleted by us, and stay to be replaced.
        evicted = bool(adapter.group(job[0])) and workload is not None and is_true(workload, "Evicted")
        if all(obj["metadata"].get("deletionTimestamp") for obj in job) and not evicted:
            return [] if adapter.active(job, now / SECOND) else _changes(adapter.finalize(job))
        if adapter.prebuilt_workload(job):
            if workload is None or not self._matches(look, workload):
                return self._prebuilt(look, workload, now)
            if not workload["metadata"].get("ownerReferences"):
                return [Write("update", WORKLOADS, _adopted(workload, look))]
        elif workload is None:
            return self._create(look, now)
        elif not self._matches(look, workload):
            return self._differs(look, workload, now)
        return self._follow(look, workload, now)

    def forget(self, namespace: str, name: str) -> None:
        """A job is gone."""
        self._stopping.pop(f"{namespace}/{name}", None)
        self._matched.pop(f"{namespace}/{name}", None)

    def _matches(self, look: Look, workload: Json) -> bool:
        """Compared once for each version of the two."""
        if look.adapter.group(look.job[0]):
            return making.matches(look.adapter, look.job, workload)
        job, admission = look.job[0]["metadata"], (workload.get("status") or {}).get("admission")
        version = (
            job["uid"],
            job.get("generation"),
            workload["metadata"]["uid"],
            generation(workload),
            bool(admission),
        )
        if job.get("generation") and self._matched.get(look.key) == version:
            return True
        found = making.matches(look.adapter, look.job, workload)
        if found:
            self._matched[look.key] = version
        return found

    # --- one workload per job ---------------------------------------------------------------------------------------

    def _mine(self, look: Look) -> Json | None:
        """The Workload that counts: the one of the right name, else the oldest."""
        wanted = look.adapter.prebuilt_workload(look.job) or making.name_for(look.adapter, look.job)
        named = [each for each in look.workloads if each["metadata"]["name"] == wanted]
        if named:
            return named[0]
        return look.workloads[0] if look.workloads and not look.adapter.prebuilt_workload(look.job) else None

    def _create(self, look: Look, now: Time) -> list[Write]:
        adapter, job = look.adapter, look.job
        if job[0]["metadata"].get("deletionTimestamp") or adapter.problem(job):
            return []
        if not adapter.is_suspended(job):
            return self._stop(look, None, StopReason.NO_MATCHING_WORKLOAD, NO_MATCH, now)
        body = making.make(adapter, job, self._priorities.of(adapter, job))
        name = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        note = look.note("Normal", "CreatedWorkload", f"Created Workload: {name}")
        return [Write("create", WORKLOADS, body, [note], last=not adapter.group(job[0]))]

    def _differs(self, look: Look, workload: Json, now: Time) -> list[Write]:
        adapter, job = look.adapter, look.job
        if adapter.problem(job):
            return []
        name = _name(workload)
        if adapter.is_suspended(job) and not is_true(workload, "QuotaReserved"):
            fresh = making.make(adapter, job, self._priorities.of(adapter, job))
            spec = {**fresh["spec"], "active": workload["spec"].get("active", True)}
            text = f"Updated not matching Workload for suspended job: {name}"
            return [
                Write("update", WORKLOADS, {**workload, "spec": spec}, [look.note("Normal", "UpdatedWorkload", text)])
            ]
        stops = self._stop(look, workload, StopReason.NO_MATCHING_WORKLOAD, NO_MATCH, now)
        if stops or self._runs(look, workload, now):
            return stops
        note = look.note("Normal", "DeletedWorkload", f"Deleted not matching Workload: {name}")
        return [Write("delete", WORKLOADS, workload, [note])]

    def _prebuilt(self, look: Look, workload: Json | None, now: Time) -> list[Write]:
        stops = self._stop(look, workload, StopReason.NO_MATCHING_WORKLOAD, "missing workload", now)
        if stops or workload is None:
            return stops
        changed = with_own_status(workload)
        render.set_finished(changed, "OutOfSync", OUT_OF_SYNC, now)
        return [Write("updateStatus", WORKLOADS, changed)]

    def _deleted(self, look: Look, workload: Json, now: Time) -> list[Write]:
        adapter, job = look.adapter, look.job
        if adapter.finished(job) is None and not job[0]["metadata"].get("deletionTimestamp"):
            stops = self._stop(look, workload, StopReason.WORKLOAD_DELETED, DELETED, now)
            if stops or self._runs(look, workload, now):
                return stops
        elif self._running.any_of(workload, now):
            return []
        freed = without_finalizer(workload)
        return _changes(adapter.finalize(job)) + ([Write("update", WORKLOADS, freed)] if freed is not None else [])

    # --- what becomes of it -----------------------------------------------------------------------------------------

    def _finish(self, look: Look, workload: Json | None, reason: str, message: str, now: Time) -> list[Write]:
        if workload is None:
            return _changes(look.adapter.finalize(look.job))
        changed = with_own_status(workload)
        if self._config.waits_for_pods:
            sync_pods_ready(changed, look.adapter.pods_ready(look.job), now)
        render.set_finished(changed, reason, message or f"{look.adapter.kind} {reason.lower()}", now)
        note = look.note("Normal", "FinishedWorkload", f"Workload '{_name(workload)}' is declared finished")
        last = not look.adapter.group(look.job[0]) and not look.adapter.finalize(look.job)
        return [Write("updateStatus", WORKLOADS, changed, [note], last=last)]

    def _follow(self, look: Look, workload: Json, now: Time) -> list[Write]:
        adapter, job = look.adapter, look.job
        extra = [each for each in look.workloads if each["metadata"]["uid"] != workload["metadata"]["uid"]]
        writes = [Write("delete", WORKLOADS, each) for each in extra if not each["metadata"].get("deletionTimestamp")]
        if adapter.group(job[0]):
            # Before an evicted group is put back: it must not be considered again while pods of it are missing.
            writes += self._tidied(look, workload, now)
            if writes:
                return writes
        holds = bool((workload.get("status") or {}).get("admission"))
        if is_true(workload, "Evicted") and (holds or not adapter.is_suspended(job)):
            return writes + self._evicted(look, workload, now)
        self._stopping.pop(look.key, None)
        urgent = self._reprioritized(look, workload)
        if urgent is not None:
            return [*writes, urgent]
        changed = self._synced_status(look, workload, now)
        if changed is not None:
            return [*writes, Write("updateStatus", WORKLOADS, changed)]
        if not adapter.is_suspended(job):
            if not is_true(workload, "Admitted"):
                writes += self._stop(look, workload, StopReason.NOT_ADMITTED, NOT_ADMITTED, now)
            return writes
        if is_true(workload, "Admitted"):
            return writes + self._start(look, workload, now)
        spec = self._synced_spec(look, workload)
        return [*writes, Write("update", WORKLOADS, spec)] if spec is not None else writes

    def _tidied(self, look: Look, workload: Json, now: Time) -> list[Write]:
        """A group's pods come and go: surplus ones leave, new ones own the workload too, missing ones are waited for."""
        counts = {each["name"]: int(each.get("count", 1)) for each in workload["spec"].get("podSets") or ()}
        leave = look.adapter.tidy(look.job, counts)
        if leave:
            return [Write(change.verb, change.resource, change.body, _leaving(change)) for change in leave]
        known = {owner["uid"] for owner in workload["metadata"].get("ownerReferences") or ()}
        new = [owner for owner in making.owners(look.adapter, look.job) if owner["uid"] not in known]
        if new:
            metadata = dict(workload["metadata"])
            metadata["ownerReferences"] = [*(metadata.get("ownerReferences") or ()), *new]
            note = Note(workload, "Normal", "OwnerReferencesAdded", f"Added {len(new)} owner reference(s)", _PODS)
            return [Write("update", WORKLOADS, {**workload, "metadata": metadata}, [note])]
        said = _replacing(workload, look.adapter.missing(look.job, counts))
        if said is None:
            return []
        changed = with_own_status(workload)
        set_condition(changed, _REPLACED, *said, render_time(now), generation(workload))
        return [Write("updateStatus", WORKLOADS, changed)]

    def _evicted(self, look: Look, workload: Json, now: Time) -> list[Write]:
        evicted = find_condition(workload, "Evicted") or {}
        text = str(evicted.get("message", ""))
        stops = self._stop(look, workload, StopReason.WORKLOAD_EVICTED, text, now)
        if stops or self._runs(look, workload, now) or not (workload.get("status") or {}).get("admission"):
            return stops
        changed = with_own_status(workload)
        release(changed, now, self._config.observable)
        if _is_dispatched(look):  # it begins anew elsewhere, with all its pods
            changed["status"].pop("reclaimablePods", None)
        if self._config.waits_for_pods:
            sync_pods_ready(changed, False, now)
        return [Write("updateStatus", WORKLOADS, changed)]

    def _synced_status(self, look: Look, workload: Json, now: Time) -> Json | None:
        """Pods that are ready, pods whose quota is free again. Only what changed; a first 'not ready' comes with the next write."""
        if not is_true(workload, "Admitted"):
            return None
        changed: Json | None = None
        # What a job that was dispatched before says of finished pods may be of an attempt that is lost: all of them run again.
        again = _is_dispatched(look) and find_condition(workload, "Evicted") is not None
        if self._config.gate("ReclaimablePods") and not again:
            free = [{"name": n, "count": c} for n, c in sorted(look.adapter.reclaimable(look.job).items())]
            if free and free != (workload["status"].get("reclaimablePods") or []):
                changed = with_own_status(workload)
                changed["status"]["reclaimablePods"] = free
        elsewhere = bool(workload["status"].get("clusterName"))
        if self._config.waits_for_pods and (elsewhere or not look.adapter.is_suspended(look.job)):
            ready = look.adapter.pods_ready(look.job)
            if pods_ready_after(workload, ready) is not None:
                changed = changed or with_own_status(workload)
                sync_pods_ready(changed, ready, now)
        return changed

    def _reprioritized(self, look: Look, workload: Json) -> Write | None:
        """Another class of workloads counts at any time, where there was one before: what waits and what may be preempted follow it."""
        ref = workload["spec"].get("priorityClassRef") or {}
        named = look.adapter.priority_class(look.job)
        if not is_true(workload, "QuotaReserved") or look.adapter.prebuilt_workload(look.job):
            return None
        if ref.get("kind") != WORKLOAD_PRIORITY_CLASS[1] or named in ("", ref.get("name")):
            return None
        wanted = self._priorities.of(look.adapter, look.job)
        if (wanted.get("priorityClassRef") or {}).get("name") != named:
            return None  # there is no such class
        note = look.note("Normal", "UpdatedWorkload", f"Updated workload priority class: {_name(workload)}")
        return Write("update", WORKLOADS, {**workload, "spec": {**workload["spec"], **wanted}}, [note])

    def _synced_spec(self, look: Look, workload: Json) -> Json | None:
        """The queue, the priority and the time limit follow the job while nothing was given to it."""
        if is_true(workload, "QuotaReserved"):
            return None
        spec = dict(workload["spec"])
        queue = look.adapter.queue_name(look.job)
        if queue:
            spec["queueName"] = queue
        if not look.adapter.prebuilt_workload(look.job):
            spec.pop("priorityClassRef", None)
            spec |= self._priorities.of(look.adapter, look.job)
            seconds = look.adapter.max_exec_time(look.job)
            spec.pop("maximumExecutionTimeSeconds", None)
            if seconds is not None:
                spec["maximumExecutionTimeSeconds"] = seconds
        return {**workload, "spec": spec} if spec != workload["spec"] else None

    def _runs(self, look: Look, workload: Json, now: Time) -> bool:
        """Whether anything of it still uses its quota: a Job that is suspended counts its pods out before they have ended."""
        return look.adapter.active(look.job, now / SECOND) or self._running.any_of(workload, now)

    # --- start and stop ---------------------------------------------------------------------------------------------

    def _start(self, look: Look, workload: Json, now: Time) -> list[Write]:
        if workload["status"].get("clusterName") and not look.adapter.managed_by(look.job):
            return []  # it runs on another cluster, and nothing but its gates would keep it from running here as well
        infos = making.infos(workload, self._flavors, self._config.gate("AssignQueueLabelsForPods"))
        try:
            writes = _changes(look.adapter.start(look.job, infos))
        except AdapterError as error:
            changed = with_own_status(workload)
            render.set_finished(changed, "FailedToStart", str(error), now)
            return [Write("updateStatus", WORKLOADS, changed, [look.note("Warning", "FailedToStart", str(error))])]
        queue = workload["status"]["admission"]["clusterQueue"]
        if writes:
            writes[0].notes.append(look.note("Normal", "Started", f"Admitted by clusterQueue {queue}"))
            writes[0].last = len(writes) == 1 and not look.adapter.group(look.job[0])
        return writes

    def _stop(self, look: Look, workload: Json | None, reason: StopReason, text: str, now: Time) -> list[Write]:
        originals = making.originals(workload) if workload is not None else []
        writes = _changes(look.adapter.stop(look.job, originals, reason, text, render_time(now)))
        if not writes:
            self._stopping.pop(look.key, None)
        elif self._stopping.get(look.key) != text:
            self._stopping[look.key] = text
            writes[0].notes.append(look.note("Normal", "Stopped", text))
        return writes


def _is_dispatched(look: Look) -> bool:
    """Whether other clusters run it."""
    return look.adapter.managed_by(look.job) == MULTIKUEUE


def _replacing(workload: Json, missing: int) -> tuple[str, str, str] | None:
    """What the condition about missing pods should say; None if it says so already, or never had to."""
    known, evicted = find_condition(workload, _REPLACED), find_condition(workload, "Evicted")
    if missing and evicted is not None and evicted.get("status") == "True":
        wanted = "True", str(evicted.get("reason", "")), str(evicted.get("message", ""))
    elif missing:
        if is_true(workload, _REPLACED):
            return None
        wanted = "True", "PodsFailed", "Some Failed pods need replacement"
    elif known is None:
        return None
    else:
        wanted = "False", "PodsReady", "No pods need replacement"
    if known is not None and (known.get("status"), known.get("reason"), known.get("message")) == wanted:
        return None
    return wanted


def _leaving(change: Change) -> list[Note]:
    if change.verb != "delete":
        return []
    return [Note(change.body, "Normal", "ExcessPodDeleted", "Excess pod deleted", _PODS)]


def _changes(changes: Sequence[Change]) -> list[Write]:
    return [Write(change.verb, change.resource, change.body) for change in changes]


def _name(workload: Json) -> str:
    return f"{workload['metadata'].get('namespace', '')}/{workload['metadata']['name']}"


def _adopted(workload: Json, look: Look) -> Json:
    metadata = dict(workload["metadata"])
    metadata["ownerReferences"] = making.owners(look.adapter, look.job)
    metadata["labels"] = {**(metadata.get("labels") or {}), making.JOB_UID: look.job[0]["metadata"]["uid"]}
    finalizers = metadata.get("finalizers") or []
    if RESOURCE_IN_USE not in finalizers:
        metadata["finalizers"] = [*finalizers, RESOURCE_IN_USE]
    return {**workload, "metadata": metadata}
