"""batch/v1 Jobs in queues."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.api.client import Resource
from fairway.control.adapters import names
from fairway.control.adapters.adapter import Change, Finished, Job, Json, PodSetInfo, StopReason
from fairway.control.adapters.suspendable import Place, Suspendable
from fairway.kinds.k8s.batch.defaults import NAME_LABELS, UID_LABELS
from fairway.kinds.k8s.batch.indexes import IndexesError, intervals

MAIN = "main"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"


class JobKind(Suspendable):
    resource = Resource("batch", "v1", "jobs")
    kind = "Job"
    framework = "batch/job"
    own_labels = (*NAME_LABELS, *UID_LABELS)
    hidden_labels = (NAME_LABELS[1], *UID_LABELS)

    def places(self, obj: Json) -> list[Place]:
        return [Place(MAIN, ("spec", "template"), pods_count(obj["spec"]), _min_count(obj), INDEX_LABEL)]

    def is_suspended(self, job: Job) -> bool:
        """Suspended in full: while a stop is under way it still carries its admission's directives."""
        return super().is_suspended(job) and names.notes(job[0]).get(names.STOPPING) != "true"

    def stop(
        self, job: Job, original: Sequence[PodSetInfo], reason: StopReason, message: str, now: str
    ) -> list[Change]:
        """In three steps, as a Job's template may change only while it is suspended and has no start time."""
        obj = job[0]
        if self.is_suspended(job):
            return []
        if not obj["spec"].get("suspend"):
            return [Change("update", self.resource, _annotated(self.suspend(obj), "true"))]
        if (obj.get("status") or {}).get("startTime"):
            status = {key: value for key, value in obj["status"].items() if key != "startTime"}
            return [Change("updateStatus", self.resource, {**obj, "status": status})]
        return [Change("update", self.resource, _annotated(self.restore(obj, original), None))]

    def resized(self, obj: Json, infos: Sequence[PodSetInfo]) -> Json:
        if _min_count(obj) is None:
            return obj
        spec = {**obj["spec"], "parallelism": infos[0].count}
        if names.notes(obj).get(names.COMPLETIONS_EQUAL_PARALLELISM) in ("1", "t", "T", "true", "TRUE", "True"):
            spec["completions"] = infos[0].count
        return {**obj, "spec": spec}

    def reclaimable(self, job: Job) -> dict[str, int]:
        """Slots that will never be filled again, since less is left to do than may run at once."""
        spec = job[0]["spec"]
        parallelism = spec.get("parallelism", 1)
        done = _terminal(job[0])
        if parallelism <= 1 or done == 0:
            return {}
        left = max(spec.get("completions", parallelism) - done, 0)
        return {MAIN: parallelism - left} if left < parallelism else {}

    def active(self, job: Job, now: float) -> bool:
        status = job[0].get("status") or {}
        return bool(status.get("active") or status.get("terminating"))

    def pods_ready(self, job: Job) -> bool:
        status = job[0].get("status") or {}
        uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
        done = status.get("succeeded", 0) + status.get("ready", 0) + len(uncounted)
        return bool(done >= pods_count(job[0]["spec"]))

    def finished(self, job: Job) -> Finished | None:
        for condition in (job[0].get("status") or {}).get("conditions") or ():
            if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
                success = condition["type"] == "Complete"
                return Finished("Succeeded" if success else "Failed", condition.get("message", ""), success)
        return None

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json:
        copy = super().copy_for_dispatch(obj, workload, origin)
        copy["spec"].pop("selector", None)
        labels = (copy["spec"]["template"].get("metadata") or {}).get("labels") or {}
        for label in self.hidden_labels:
            labels.pop(label, None)
        return copy

    def mirror_status(self, local: Json, remote: Json) -> Json | None:
        """A Job that is suspended here and runs there keeps its own status: a start time would freeze its template too early."""
        if self.is_suspended([local]) and not self.is_suspended([remote]) and self.finished([remote]) is None:
            return None
        before = local.get("status") or {}
        status = _attempt(before, remote.get("status") or {})
        if before.get("startTime") and not self.is_suspended([local]):
            status.setdefault("startTime", before["startTime"])  # its copy may be suspended already, and has none then
        return {**local, "status": status}

    def at_rest(self, obj: Json) -> Json:
        counts = ("active", "terminating", "ready")
        return {**obj, "status": {key: value for key, value in (obj.get("status") or {}).items() if key not in counts}}


_PROSPECTS = ("SuccessCriteriaMet", "FailureTarget")


def _attempt(before: Json, now: Json) -> Json:
    """The status of one attempt, after that of attempts before it on other clusters: counters do not go back, and the job began when the
    first of them did. What an attempt will end as is told once it has ended: if its cluster is lost before, the next one decides."""
    status = dict(now)
    for counter in ("failed", "succeeded"):
        if before.get(counter, 0) > now.get(counter, 0):
            status[counter] = before[counter]
    started, ended = before.get("startTime"), now.get("completionTime")
    if started and now.get("startTime"):
        status["startTime"] = started
        if ended and ended < started:  # by the clock of another cluster
            status["completionTime"] = started
    conditions = now.get("conditions") or []
    if not any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions):
        left = [each for each in conditions if each["type"] not in _PROSPECTS]
        status.pop("conditions", None)
        status |= {"conditions": left} if left else {}
    return status


def pods_count(spec: Json) -> int:
    """Pods of a Job that run at once at most."""
    parallelism: int = spec.get("parallelism", 1)
    completions: int = spec.get("completions", parallelism)
    return min(parallelism, completions)


def _min_count(obj: Json) -> int | None:
    text = names.notes(obj).get(names.MIN_PARALLELISM, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def _terminal(obj: Json) -> int:
    """How much of the work is over for good. An index counts once, however it ended, and only if it is still wanted."""
    spec, status = obj["spec"], obj.get("status") or {}
    if spec.get("completionMode") != "Indexed":
        return int(status.get("succeeded", 0))
    wanted: int = spec.get("completions", 0)
    over: set[int] = set()
    for text in (status.get("completedIndexes", ""), status.get("failedIndexes", "")):
        try:
            for low, high in intervals(text, 1 << 31):
                over.update(range(low, min(high, wanted - 1) + 1))
        except IndexesError:
            continue
    return len(over)


def _annotated(obj: Json, stopping: str | None) -> Json:
    annotations = {key: value for key, value in names.notes(obj).items() if key != names.STOPPING}
    if stopping is not None:
        annotations[names.STOPPING] = stopping
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
