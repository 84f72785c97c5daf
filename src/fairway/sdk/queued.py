"""What waits in queues beside Jobs: JobSets, pods and groups of pods. Each is found by its name, and read as if it were a Job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.api.client import Client, Query, Resource
from fairway.api.errors import ApiError
from fairway.sdk.request import QUEUE_LABEL

Json = Mapping[str, Any]
JOBS = Resource("batch", "v1", "jobs")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
PODS = Resource("", "v1", "pods")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
JOB_LABEL = "job-name"
JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
_UID_LABEL = "kueue.x-k8s.io/job-uid"
_GATE = "kueue.x-k8s.io/admission"
_MISSING = (403, 404)
"""Not there, or not for us: a cluster need not know JobSets, nor a tenant be allowed to see them."""


@dataclass(frozen=True, slots=True)
class Queued:
    """One thing that people call a job: which objects it is made of."""

    kind: str
    name: str
    namespace: str
    resource: Resource
    """What it is itself made of: what is watched, and deleted."""
    itself: Query
    pods: Query
    obj: Json | None
    """None for a group of pods, which is nothing but them."""

    def workload(self) -> Query:
        if self.obj is None:
            return Query(self.namespace, fields=f"metadata.name={self.name}")
        return Query(self.namespace, labels=f"{_UID_LABEL}={self.obj['metadata']['uid']}")

    def as_job(self, pods: Sequence[Json]) -> Json:
        if self.kind == "Job" and self.obj is not None:
            return self.obj
        if self.kind == "JobSet" and self.obj is not None:
            return jobset_as_job(self.obj, pods)
        return pods_as_job(self.name, pods)


async def find(api: Client, name: str, namespace: str) -> Queued:
    """Raises what a missing Job raises."""
    alone = Query(namespace, fields=f"metadata.name={name}")
    try:
        job = (await api.get(JOBS, name, namespace)).json()
        return Queued("Job", name, namespace, JOBS, alone, Query(namespace, labels=f"{JOB_LABEL}={name}"), job)
    except ApiError as error:
        if error.code != 404:
            raise
        missing = error
    jobset = await _maybe(api, JOBSETS, name, namespace)
    if jobset is not None:
        pods = Query(namespace, labels=f"{JOBSET_LABEL}={name}")
        return Queued("JobSet", name, namespace, JOBSETS, alone, pods, jobset)
    group = Query(namespace, labels=f"{GROUP_LABEL}={name}")
    if len(name) <= _LABEL_MAX and (await api.list(PODS, group)).items:
        return Queued("PodGroup", name, namespace, PODS, group, group, None)
    pod = await _maybe(api, PODS, name, namespace)
    if pod is not None and is_queued(pod):
        return Queued("Pod", name, namespace, PODS, alone, alone, pod)
    raise missing


_LABEL_MAX = 63


async def _maybe(api: Client, resource: Resource, name: str, namespace: str) -> Json | None:
    try:
        return (await api.get(resource, name, namespace)).json()
    except ApiError as error:
        if error.code not in _MISSING:
            raise
        return None


async def list_jobsets(api: Client, query: Query) -> list[Json]:
    try:
        return [item.json() for item in (await api.list(JOBSETS, query)).items]
    except ApiError as error:
        if error.code not in _MISSING:
            raise
        return []


def containers(pod: Json) -> list[str]:
    """Those of a pod that can have an output, in the order in which they start."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    never = {
        entry["name"]
        for kind in ("initContainerStatuses", "containerStatuses")
        for entry in status.get(kind) or ()
        if ((entry.get("state") or {}).get("terminated") or {}).get("reason") == "StartError"
    }
    listed = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return [each["name"] for each in listed if each["name"] not in never]


def is_queued(pod: Json) -> bool:
    """Whether a pod waits by itself, and not as a part of something else."""
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    return bool(labels.get(QUEUE_LABEL)) and not any(
        each.get("controller") for each in meta.get("ownerReferences") or ()
    )


def groups(pods: Sequence[Json]) -> dict[tuple[str, str], list[Json]]:
    """Pods that wait by themselves, by namespace and name: of their group, or their own."""
    found: dict[tuple[str, str], list[Json]] = {}
    for pod in pods:
        if is_queued(pod):
            meta = pod["metadata"]
            name = meta["labels"].get(GROUP_LABEL) or meta["name"]
            found.setdefault((meta["namespace"], name), []).append(pod)
    return found


def jobset_as_job(jobset: Json, pods: Sequence[Json]) -> Json:
    spec, status = jobset.get("spec") or {}, jobset.get("status") or {}
    conditions = [
        {**each, "type": "Complete"} if each.get("type") == "Completed" else each
        for each in status.get("conditions") or ()
    ]
    total = 0
    for replicated in spec.get("replicatedJobs") or ():
        inner = (replicated.get("template") or {}).get("spec") or {}
        total += replicated.get("replicas", 1) * (inner.get("completions") or inner.get("parallelism") or 1)
    return {
        "metadata": jobset["metadata"],
        "spec": {"suspend": spec.get("suspend", False), "completions": total},
        "status": {"conditions": conditions, **_counted(pods)},
    }


def pods_as_job(name: str, pods: Sequence[Json]) -> Json:
    first = min(pods, key=lambda pod: pod["metadata"].get("creationTimestamp") or "")
    meta = {**first["metadata"], "name": name}
    total = int((meta.get("annotations") or {}).get(_GROUP_SIZE) or len(pods))
    counted = _counted(pods)
    gated = any(
        gate.get("name") == _GATE for pod in pods for gate in (pod.get("spec") or {}).get("schedulingGates") or ()
    )
    conditions: list[Json] = []
    if counted["succeeded"] + counted["failed"] >= total:
        kind, reason = ("Failed", "BackoffLimitExceeded") if counted["failed"] else ("Complete", "")
        ended = {"type": kind, "status": "True", "reason": reason, "message": "its pods failed" if reason else ""}
        conditions = [{**ended, "lastTransitionTime": max(map(_ended, pods))}]
    return {
        "metadata": meta,
        "spec": {"suspend": gated, "completions": total},
        "status": {"conditions": conditions, **counted},
    }


def _counted(pods: Sequence[Json]) -> dict[str, Any]:
    phases = [(pod.get("status") or {}).get("phase") for pod in pods]
    starts = [start for pod in pods if (start := (pod.get("status") or {}).get("startTime"))]
    found: dict[str, Any] = {"succeeded": phases.count("Succeeded"), "failed": phases.count("Failed")}
    return {**found, "startTime": min(starts)} if starts else found


def _ended(pod: Json) -> str:
    entries = (pod.get("status") or {}).get("containerStatuses") or ()
    ends = [((entry.get("state") or {}).get("terminated") or {}).get("finishedAt") or "" for entry in entries]
    return max(ends, default="")
