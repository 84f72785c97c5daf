"""JobSets in queues: one pod set for each entry of the set."""

from __future__ import annotations

from fairway.api.client import Resource
from fairway.control.adapters.adapter import Finished, Job, Json
from fairway.control.adapters.job import INDEX_LABEL, pods_count
from fairway.control.adapters.suspendable import Place, Suspendable

JOB_INDEX = "jobset.sigs.k8s.io/job-index"


class JobSetKind(Suspendable):
    resource = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
    kind = "JobSet"
    framework = "jobset.x-k8s.io/jobset"

    def places(self, obj: Json) -> list[Place]:
        found = []
        for position, entry in enumerate(obj["spec"].get("replicatedJobs") or ()):
            replicas = _replicas(entry)
            path = ("spec", "replicatedJobs", position, "template", "spec", "template")
            count = replicas * pods_count(entry["template"]["spec"])
            found.append(Place(entry["name"].lower(), path, count, None, INDEX_LABEL, JOB_INDEX, replicas))
        return found

    def reclaimable(self, job: Job) -> dict[str, int]:
        """Pods of Jobs that have succeeded."""
        done = {one["name"]: one.get("succeeded", 0) for one in _statuses(job[0])}
        free: dict[str, int] = {}
        for entry in job[0]["spec"].get("replicatedJobs") or ():
            succeeded = done.get(entry["name"], 0)
            if 0 < succeeded <= _replicas(entry):
                free[entry["name"].lower()] = succeeded * pods_count(entry["template"]["spec"])
        return free

    def active(self, job: Job, now: float) -> bool:
        return any(one.get("active") for one in _statuses(job[0]))

    def pods_ready(self, job: Job) -> bool:
        wanted = sum(_replicas(entry) for entry in job[0]["spec"].get("replicatedJobs") or ())
        there: int = sum(one.get("ready", 0) + one.get("succeeded", 0) for one in _statuses(job[0]))
        return wanted == there

    def finished(self, job: Job) -> Finished | None:
        for condition in (job[0].get("status") or {}).get("conditions") or ():
            if condition["type"] in ("Completed", "Failed") and condition["status"] == "True":
                success = condition["type"] == "Completed"
                return Finished("Succeeded" if success else "Failed", condition.get("message", ""), success)
        return None

    def at_rest(self, obj: Json) -> Json:
        resting = [{**one, "active": 0, "ready": 0} for one in _statuses(obj)]
        return {**obj, "status": {**(obj.get("status") or {}), "replicatedJobsStatus": resting}} if resting else obj


def _replicas(entry: Json) -> int:
    replicas: int = entry.get("replicas", 1)
    return replicas


def _statuses(obj: Json) -> list[Json]:
    return (obj.get("status") or {}).get("replicatedJobsStatus") or []
