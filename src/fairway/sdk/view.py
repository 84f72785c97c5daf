"""A job as a person sees it: one word for its state, and why it is there. Worked out from the objects, never stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairway.kinds.types import parse_time
from fairway.sdk.request import QUEUE_LABEL, USER_ANNOTATION
from fairway.sdk.words import plainly

Json = Mapping[str, Any]
_BY_ITSELF = "DeactivatedDueTo"
"""How the reasons begin for which a Workload is deactivated by rules, and not by a person."""
_PODS_FAILED = frozenset(
    ("BackoffLimitExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy", "FailedJobs")
)
"""Reasons for which a Job fails that only say that its pods did: what ended them says more."""


class State(StrEnum):
    QUEUED = "queued"
    HELD = "held"
    CHECKING = "checking"
    """It has its quota and waits for admission checks."""
    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPING = "stopping"

    @property
    def final(self) -> bool:
        return self in (State.DONE, State.FAILED)


@dataclass(frozen=True, slots=True)
class JobView:
    name: str
    namespace: str
    state: State
    queue: str = ""
    user: str = ""
    reason: str = ""
    """Why it waits or failed, or where it runs or ran."""
    created: float = 0.0
    started: float | None = None
    finished: float | None = None
    succeeded: int = 0
    failed: int = 0
    total: int = 1
    exit_code: int | None = None
    workload: str = ""
    nodes: tuple[str, ...] = ()
    cluster: str = ""
    """Which cluster of a fleet has it; empty where there is only one, or none yet."""
    kind: str = "Job"
    """Job, JobSet, Pod or PodGroup."""
    parent: str = ""
    """The JobSet that it is a part of, if so."""


def view(job: Json, workload: Json | None = None, pods: Sequence[Json] = (), *, kind: str = "Job") -> JobView:
    meta, spec, status = job["metadata"], job.get("spec") or {}, job.get("status") or {}
    state, reason = _state(job, workload, pods)
    nodes = tuple(sorted({pod["spec"]["nodeName"] for pod in pods if (pod.get("spec") or {}).get("nodeName")}))
    annotations = meta.get("annotations") or {}
    cluster = str(((workload or {}).get("status") or {}).get("clusterName") or "")
    total = spec.get("completions") or spec.get("parallelism") or 1
    if kind == "PodGroup" and workload is None and len(pods) < total:
        reason = f"{len(pods)} of {total} pods of the group are there"
    if state in (State.RUNNING, State.DONE) and not reason:
        reason = _where(cluster, nodes)
    return JobView(
        name=meta["name"],
        namespace=meta.get("namespace", ""),
        state=state,
        queue=_queue(meta),
        user=annotations.get(USER_ANNOTATION, ""),
        reason=reason,
        created=_time(meta.get("creationTimestamp")) or 0.0,
        started=_time(status.get("startTime")),
        finished=_finished(status),
        succeeded=status.get("succeeded") or 0,
        failed=status.get("failed") or 0,
        total=total,
        exit_code=exit_code(state, pods),
        workload=workload["metadata"]["name"] if workload else "",
        nodes=nodes,
        cluster=cluster,
        kind=kind,
        parent=next((each["name"] for each in meta.get("ownerReferences") or () if each.get("kind") == "JobSet"), ""),
    )


def _queue(meta: Json) -> str:
    return str((meta.get("labels") or {}).get(QUEUE_LABEL) or (meta.get("annotations") or {}).get(QUEUE_LABEL) or "")


def _where(cluster: str, nodes: tuple[str, ...]) -> str:
    listed = ", ".join(nodes)
    return f"{cluster}: {listed}" if cluster and listed not in ("", cluster) else cluster or listed


def _state(job: Json, workload: Json | None, pods: Sequence[Json]) -> tuple[State, str]:
    status = job.get("status") or {}
    if _condition(status, "Complete"):
        return State.DONE, ""
    if failed := _condition(status, "Failed"):
        return State.FAILED, _failure(failed, pods, status.get("failedIndexes") or "")
    if job["metadata"].get("deletionTimestamp"):
        return State.STOPPING, ""
    if workload is not None and (workload.get("spec") or {}).get("active") is False:
        return State.HELD, _held(job["metadata"], workload.get("status") or {})
    if (job.get("spec") or {}).get("suspend"):
        if workload is None and not _queue(job["metadata"]):
            return State.HELD, f"suspended, and in no queue: it runs when it gets the label {QUEUE_LABEL}"
        return _waiting(workload)
    if any(_runs(pod) for pod in pods) or (status.get("ready") or 0) > 0:
        return State.RUNNING, ""
    trouble = next((why for pod in pods if (why := _pod_trouble(pod))), "")
    so_far = status.get("failed") or 0
    return State.STARTING, trouble or (f"tried again: {so_far} of its pods failed" if so_far else "")


def _waiting(workload: Json | None) -> tuple[State, str]:
    if workload is None:
        return State.QUEUED, "just submitted"
    status = workload.get("status") or {}
    if _condition(status, "Admitted"):
        return State.STARTING, ""
    if _condition(status, "QuotaReserved"):
        waiting = [check["name"] for check in status.get("admissionChecks") or () if check.get("state") != "Ready"]
        asked = ", ".join(status.get("nominatedClusterNames") or ())
        waits = f"waits for {', '.join(waiting)}" if waiting else ""
        return State.CHECKING, f"waits for a cluster: {asked} asked" if asked else waits
    for condition in status.get("conditions") or ():
        if condition.get("type") == "QuotaReserved":
            return State.QUEUED, plainly(condition.get("message", ""))
    return State.QUEUED, "in line"


def _held(meta: Json, status: Json) -> str:
    """How it is released and, if it was not a person who held it, why it is."""
    where = "" if meta.get("namespace", "default") == "default" else f"-n {meta['namespace']} "
    release = f"released by: fairway release {where}{meta['name']}"
    evicted = _condition(status, "Evicted") or {}
    return f"{evicted.get('message', '')}; {release}" if evicted.get("reason", "").startswith(_BY_ITSELF) else release


def _failure(condition: Json, pods: Sequence[Json], indexes: str = "") -> str:
    """What ended the first pod that failed, where that is why the job did."""
    said, ends = _join(condition.get("reason", ""), condition.get("message", "")), _ends(pods)
    if condition.get("reason") not in _PODS_FAILED or not ends:
        return said
    _when, code, why = ends[0]
    first = f"exit code {code}" + (f": {why}" if why else "")
    if condition["reason"] == "PodFailurePolicy":
        return f"{first} ({said})"
    if indexes:
        return f"{first}; failed indexes: {indexes}"
    return first if len(ends) == 1 else f"{first}; {len(ends)} pods failed, this one first"


def _runs(pod: Json) -> bool:
    """A pod whose containers all wait to be tried again is called Running, too."""
    status = pod.get("status") or {}
    entries = status.get("containerStatuses") or ()
    return status.get("phase") == "Running" and not (
        entries and all((entry.get("state") or {}).get("waiting") for entry in entries)
    )


def _pod_trouble(pod: Json) -> str:
    status = pod.get("status") or {}
    for entry in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (entry.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return _join(waiting["reason"], waiting.get("message", ""))
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message", ""))
    return ""


def exit_code(state: State, pods: Sequence[Json]) -> int | None:
    """What a shell would say of the job: 0, or the exit code of the pod that failed first."""
    if state is State.DONE:
        return 0
    ends = _ends(pods)
    if ends:
        return ends[0][1]
    return 1 if state is State.FAILED else None


def _ends(pods: Sequence[Json]) -> list[tuple[str, int, str]]:
    """When, with which code and why pods failed, first ones first: each by its first container that did."""
    found: list[tuple[str, int, str]] = []
    for pod in pods:
        status = pod.get("status") or {}
        entries = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        ended = [each for entry in entries if (each := (entry.get("state") or {}).get("terminated"))]
        failed = [(end.get("finishedAt") or "", int(end["exitCode"]), end) for end in ended if end.get("exitCode")]
        if failed:
            when, code, end = min(failed, key=lambda each: each[:2])
            found.append((when, code, end.get("message") or ""))
    return sorted(found)


def _condition(status: Json, kind: str) -> Json | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind and condition.get("status") == "True":
            found: Json = condition
            return found
    return None


def _finished(status: Json) -> float | None:
    ended = _condition(status, "Complete") or _condition(status, "Failed")
    return _time(status.get("completionTime") or (ended or {}).get("lastTransitionTime"))


def _time(text: Any) -> float | None:
    return parse_time(text).timestamp() if isinstance(text, str) and text else None


def _join(reason: str, message: str) -> str:
    return f"{reason}: {message}" if reason and message else reason or message
