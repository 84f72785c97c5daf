"""Objects to the facts that dispatching decides on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fairway.api.client import Resource
from fairway.control.adapters import Finished, Job, JobAdapter, Json, names
from fairway.control.adapters.suspendable import dispatched
from fairway.control.conditions import find_condition, is_true
from fairway.control.times import parse_time
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.core.dispatch.model import CheckState, Difference, End, Gate, Local, Remote
from fairway.core.model import SECOND, Time
from fairway.fleet.resources import LOCAL_UID

OWNER_GVK = "kueue.x-k8s.io/job-owner-gvk"
OWNER_NAME = "kueue.x-k8s.io/job-owner-name"
OWNER_NOT_FOUND = "OwnerNotFound"
"""How Kueue finishes a workload whose job is gone."""


class Dispatchable(Protocol):
    """What dispatching needs of a kind of job; every adapter has it."""

    @property
    def resource(self) -> Resource: ...

    @property
    def kind(self) -> str: ...

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json: ...

    def mirror_status(self, local: Json, remote: Json) -> Json | None: ...

    def active(self, job: Sequence[Json], now: float) -> bool: ...

    def at_rest(self, obj: Json) -> Json: ...

    def finished(self, job: Job) -> Finished | None: ...


@dataclass(frozen=True, slots=True)
class CustomKind:
    """Any other kind that says by spec.managedBy who runs it. What its status means, nobody here knows."""

    resource: Resource
    kind: str

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json:
        return dispatched(obj, workload, origin)

    def mirror_status(self, local: Json, remote: Json) -> Json | None:
        return {**local, "status": remote.get("status") or {}}

    def active(self, job: Sequence[Json], now: float) -> bool:
        return False

    def at_rest(self, obj: Json) -> Json:
        return obj

    def finished(self, job: Job) -> Finished | None:
        """Nobody knows how such a job says so; it is taken to have told all by the time its workload has."""
        return Finished("", "", True)


@dataclass(slots=True)
class Scene:
    """One workload with everything that belongs to it, as objects."""

    workload: Json
    check: str
    """The name of its MultiKueue check."""
    adapter: Dispatchable | None
    jobs: Sequence[Json]
    remotes: dict[str, Json] = field(default_factory=dict)
    """Its copies, by cluster: only ours."""
    remote_jobs: dict[str, list[Json]] = field(default_factory=dict)
    leaving: frozenset[str] = frozenset()
    """Clusters on which its removal is under way."""


def check_of(workload: Json, controllers: Mapping[str, str]) -> str:
    """The check that hands a workload to other clusters. controllers: of every check, who answers it."""
    for state in (workload.get("status") or {}).get("admissionChecks") or ():
        if controllers.get(state["name"]) == MULTIKUEUE:
            return str(state["name"])
    return ""


def state_of(workload: Json, check: str) -> Json:
    for state in (workload.get("status") or {}).get("admissionChecks") or ():
        if state["name"] == check:
            found: Json = state
            return found
    return {}


def owners_of(workload: Json) -> list[tuple[str, str, str]]:
    """apiVersion, kind and name of what a workload belongs to: one for most, several for a group of pods."""
    notes = names.notes(workload)
    gvk, name = notes.get(OWNER_GVK, ""), notes.get(OWNER_NAME, "")
    if gvk and name:
        group_version, _, kind = gvk.partition(", Kind=")
        return [(group_version.lstrip("/"), kind, name)]
    owners = (workload.get("metadata") or {}).get("ownerReferences") or []
    controllers = [owner for owner in owners if owner.get("controller")]
    chosen = controllers[:1] or owners
    return [(owner["apiVersion"], owner["kind"], owner["name"]) for owner in chosen]


def refusal_of(workload: Json, adapter: Dispatchable | None, jobs: Sequence[Json]) -> str:
    """Why a workload cannot be dispatched at all; empty if it can."""
    owners = owners_of(workload)
    if adapter is None:
        if not owners:
            return "No multikueue adapter found"
        api_version, kind, _name = owners[0]
        shown = api_version if "/" in api_version else f"/{api_version}"
        return f'No multikueue adapter found for owner kind "{shown}, Kind={kind}"'
    if adapter.kind == "Pod" or not jobs:
        return ""
    managed_by = str((jobs[0].get("spec") or {}).get("managedBy") or "")
    if managed_by != MULTIKUEUE:
        path = ".spec.managedBy" if isinstance(adapter, CustomKind) else "spec.managedBy"
        why = f'Expecting {path} to be "{MULTIKUEUE}" not "{managed_by}"'
        return f"The owner is not managed by Kueue: {why}"
    return ""


def local_of(scene: Scene, now: Time) -> Local:
    workload = scene.workload
    status = workload.get("status") or {}
    checks = status.get("admissionChecks") or ()
    return Local(
        check=CheckState(state_of(workload, scene.check).get("state") or "Pending"),
        reserved=is_true(workload, "QuotaReserved"),
        finished=is_true(workload, "Finished"),
        evicted=is_true(workload, "Evicted"),
        gone=bool(workload["metadata"].get("deletionTimestamp")),
        other_checks_ready=all(each.get("state") == "Ready" for each in checks if each["name"] != scene.check),
        cluster=status.get("clusterName") or "",
        nominated=tuple(status.get("nominatedClusterNames") or ()),
        again=had_attempts(workload),
        job_active=_runs(scene, now),
        refusal=refusal_of(workload, scene.adapter, scene.jobs),
    )


def _runs(scene: Scene, now: Time) -> bool:
    return bool(scene.adapter is not None and scene.jobs and scene.adapter.active(scene.jobs, now / SECOND))


def had_attempts(workload: Json) -> bool:
    """Whether it was admitted before, so that something of it may still be somewhere."""
    return find_condition(workload, "Evicted") is not None


def remote_of(scene: Scene, cluster: str) -> Remote:
    workload, remote, jobs = scene.workload, scene.remotes[cluster], scene.remote_jobs.get(cluster) or []
    admitted = find_condition(remote, "Admitted")
    end = _end(remote)
    lifeless = end is not None and _is_no_end(scene, remote, end)
    return Remote(
        finished=None if lifeless else end,
        evicted=is_true(remote, "Evicted"),
        eviction_asked=is_true(remote, "DeactivationTarget") or (remote.get("spec") or {}).get("active") is False,
        admitted_at=_since(admitted) if admitted is not None and admitted.get("status") == "True" else None,
        difference="other" if lifeless else _difference(workload, remote),
        has_job=bool(jobs),
        job_runs=bool(jobs) and _runs_there(scene.adapter, jobs),
        leaving=cluster in scene.leaving or bool(remote["metadata"].get("deletionTimestamp")),
        gate=_gate(remote),
    )


def _runs_there(adapter: Dispatchable | None, jobs: Sequence[Json]) -> bool:
    if adapter is None:
        return False
    if adapter.kind == "Pod":  # of a group, some may be gone already
        return any((pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed") for pod in jobs)
    return adapter.finished(jobs) is None


def _end(remote: Json) -> End | None:
    finished = find_condition(remote, "Finished")
    if finished is None or finished.get("status") != "True":
        return None
    return End(finished.get("reason", ""), finished.get("message", ""), _since(finished))


def _is_no_end(scene: Scene, remote: Json, end: End) -> bool:
    """Whether a copy is over and the work is not: somebody took the job away from it, or it was evicted and is a pod, which cannot be
    suspended and was ended for it."""
    if end.reason == OWNER_NOT_FOUND:
        return True
    pods = scene.adapter is not None and scene.adapter.kind == "Pod"
    return pods and end.reason == "Failed" and is_true(remote, "Evicted")


def _since(condition: Json) -> Time:
    return parse_time(condition.get("lastTransitionTime"))


def _difference(workload: Json, remote: Json) -> Difference:
    uid = names.notes(remote).get(LOCAL_UID, "")
    if uid and uid != workload["metadata"].get("uid", ""):
        return "other"
    here, there = _compared(workload), _compared(remote)
    if here == there:
        return ""
    steered = ("priority", "priorityClassRef")
    rest = ({key: value for key, value in each.items() if key not in steered} for each in (here, there))
    return "priority" if next(rest) == next(rest) else "other"


def _compared(obj: Json) -> Json:
    spec = {key: value for key, value in (obj.get("spec") or {}).items() if key not in ("preemptionGates", "active")}
    if not spec.get("priority"):
        spec.pop("priority", None)
    return spec


def _gate(remote: Json) -> Gate | None:
    if not (remote.get("spec") or {}).get("preemptionGates"):
        return None
    blocked = find_condition(remote, "BlockedOnPreemptionGates")
    since = _since(blocked) if blocked is not None and blocked.get("status") == "True" else None
    for gate in (remote.get("status") or {}).get("preemptionGates") or ():
        if gate.get("name") == MULTIKUEUE:
            return Gate(gate.get("position") == "Open", parse_time(gate.get("lastTransitionTime")), since)
    return Gate(False, 0, since)


__all__ = ["CustomKind", "Dispatchable", "JobAdapter", "Scene", "check_of", "local_of", "remote_of"]
