"""Decisions to what users see: conditions, messages and statuses of Workloads. Every function changes the object it is
given, so callers hand over a copy; none of them reads a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairway.control.conditions import find_condition, is_true, set_condition
from fairway.control.times import parse_time, render_time
from fairway.core.admit.contest import Cause
from fairway.core.model import SECOND, PodSet, PodSetUse, Queue, Time
from fairway.core.quantity import render_amount
from fairway.core.quota.node import Node

Object = dict[str, Any]
JOB_UID = "kueue.x-k8s.io/job-uid"
_NOBODY = "UNKNOWN"
_OVERCOME = ("Evicted", "Preempted", "BlockedOnPreemptionGates")
"""Conditions that are over once quota is reserved again."""
_CAUSES = {
    Cause.IN_QUEUE: "prioritization in the ClusterQueue",
    Cause.RECLAIM: "reclamation within the cohort",
    Cause.FAIR_SHARING: "Fair Sharing within the cohort",
    Cause.RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


def path_of(node: Node) -> str:
    names = [node.name, *(above.name for above in node.path())]
    return "/" + "/".join(reversed(names))


def preemption_message(preemptor: Object, cause: Cause, preemptor_path: str, preemptee_path: str) -> str:
    metadata = preemptor.get("metadata") or {}
    uid = metadata.get("uid") or _NOBODY
    job = (metadata.get("labels") or {}).get(JOB_UID) or _NOBODY
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job}) due to {_CAUSES.get(cause, _NOBODY)}; "
        f"preemptor path: {preemptor_path or _NOBODY}; preemptee path: {preemptee_path or _NOBODY}"
    )


def set_preempted(obj: Object, cause: Cause, message: str, now: Time) -> None:
    at = render_time(now)
    set_condition(obj, "Preempted", "True", cause.value, message, at)
    set_evicted(obj, "Preempted", message, now)


def set_evicted(obj: Object, reason: str, message: str, now: Time, underlying: str = "") -> None:
    """Evicted: checks start over, clusters are forgotten, gates close. The quota is held until the work is gone."""
    at = render_time(now)
    full_reason = f"{reason}DueTo{underlying}" if reason == "Deactivated" and underlying else reason
    set_condition(obj, "Evicted", "True", full_reason, message, at, _generation(obj))
    status: Object = obj["status"]
    for field in ("clusterName", "nominatedClusterNames", "unhealthyNodes"):
        status.pop(field, None)
    if status.get("admissionChecks"):
        status["admissionChecks"] = [_reset_check(check, at) for check in status["admissionChecks"]]
    if is_true(obj, "BlockedOnPreemptionGates"):
        set_condition(obj, "BlockedOnPreemptionGates", "False", full_reason, message, at, _generation(obj))
    for gate in status.get("preemptionGates") or ():
        gate.update(position="Closed", lastTransitionTime=at)
    _count_eviction(status, reason, underlying)


def set_reserved(obj: Object, queue: Queue, uses: Sequence[PodSetUse], now: Time, observable: bool = True) -> None:
    """Quota reserved, and admitted at once if every check that applies has agreed."""
    at, generation = render_time(now), _generation(obj)
    status: Object = obj.setdefault("status", {})
    status["admission"] = admission(queue.name, uses)
    message = f"Quota reserved in ClusterQueue {queue.name}"
    set_condition(obj, "QuotaReserved", "True", "QuotaReserved", message, at, generation)
    for old in status["conditions"]:
        if old.get("status") == "True" and old.get("type") in _OVERCOME:
            text = f"Previously: {old.get('message', '')}"
            set_condition(obj, old["type"], "False", "QuotaReserved", text, at, generation)
    have = {check["name"] for check in status.get("admissionChecks") or ()}
    if required_checks(queue, uses) <= have:
        sync_admitted(obj, now, observable)


def set_pending(
    obj: Object, reason: str, message: str, pod_sets: Iterable[PodSet], now: Time, observable: bool = True
) -> None:
    """Not now: why, and what it asks for."""
    if not observable:
        reason = "Pending"
    set_condition(obj, "QuotaReserved", "False", reason, message, render_time(now), _generation(obj))
    status: Object = obj["status"]
    status.pop("admission", None)
    sync_admitted(obj, now, observable)
    requests = resource_requests(pod_sets)
    if requests:
        status["resourceRequests"] = requests


def set_gated(obj: Object, message: str, now: Time) -> None:
    set_condition(
        obj, "BlockedOnPreemptionGates", "True", "PreemptionGated", message, render_time(now), _generation(obj)
    )


def set_finished(obj: Object, reason: str, message: str, now: Time) -> None:
    set_condition(obj, "Finished", "True", reason, message, render_time(now), _generation(obj))


def sync_admitted(obj: Object, now: Time, observable: bool = True) -> bool:
    """Admitted follows from quota, checks and placement; time spent admitted is added up when it ends."""
    status: Object = obj.setdefault("status", {})
    quota, admitted = find_condition(obj, "QuotaReserved"), find_condition(obj, "Admitted")
    reserved = quota is not None and quota.get("status") == "True"
    was = admitted is not None and admitted.get("status") == "True"
    ready = all(check.get("state") == "Ready" for check in status.get("admissionChecks") or ())
    placed = not _waits_for_placement(status)
    if observable:
        if quota is None and admitted is None:
            return False
    elif was == (reserved and ready and placed):
        return False
    value, reason, message = _admitted(reserved, ready, placed, observable)
    if was and value == "False":
        _add_execution_time(obj, status, now)
    return set_condition(obj, "Admitted", value, reason, message, render_time(now), _generation(obj))


def admission(queue: str, uses: Sequence[PodSetUse]) -> Object:
    return {
        "clusterQueue": queue,
        "podSetAssignments": [
            {
                "name": use.name,
                "flavors": dict(use.flavors),
                "resourceUsage": {name: render_amount(name, value) for name, value in use.amounts.items()},
                "count": use.count,
            }
            for use in uses
        ],
    }


def resource_requests(pod_sets: Iterable[PodSet]) -> list[Object]:
    return [
        {"name": pod_set.name, "resources": {r: render_amount(r, v) for r, v in pod_set.total().items()}}
        for pod_set in pod_sets
    ]


def required_checks(queue: Queue, uses: Sequence[PodSetUse]) -> set[str]:
    """Checks of every flavor of the queue apply always: also to what asks for nothing and so gets no flavor."""
    if not queue.checks:
        return set()
    assigned = {flavor for use in uses for flavor in use.flavors.values()}
    every = {name for group in queue.groups for name in group.flavors}
    return {ref.name for ref in queue.checks if every <= (set(ref.flavors) or every) or assigned & set(ref.flavors)}


def _admitted(reserved: bool, ready: bool, placed: bool, observable: bool) -> tuple[str, str, str]:
    if not reserved and not ready and not observable:
        return "False", "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
    if not reserved:
        return "False", "NoReservation", "The workload has no reservation"
    if not ready:
        reason = "UnsatisfiedAdmissionChecks" if observable else "UnsatisfiedChecks"
        return "False", reason, "The workload has not all checks ready"
    if not placed:
        return "False", "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
    return "True", "Admitted", "The workload is admitted"


def _waits_for_placement(status: Object) -> bool:
    return any(
        entry.get("delayedTopologyRequest") == "Pending" and not entry.get("topologyAssignment")
        for entry in (status.get("admission") or {}).get("podSetAssignments") or ()
    )


def _add_execution_time(obj: Object, status: Object, now: Time) -> None:
    old = find_condition(obj, "Admitted") or {}
    seconds = (now - parse_time(old.get("lastTransitionTime"))) // SECOND
    status["accumulatedPastExecutionTimeSeconds"] = status.get("accumulatedPastExecutionTimeSeconds", 0) + seconds


def _reset_check(check: Object, at: str) -> Object:
    if check.get("state") == "Pending":
        return check
    fresh: Object = {
        "name": check["name"],
        "state": "Pending",
        "message": f"Reset to Pending after eviction. Previously: {_previously(check)}",
        "lastTransitionTime": at,
    }
    if check.get("requeueAfterSeconds") is not None:
        fresh["requeueAfterSeconds"] = check["requeueAfterSeconds"]
    if check.get("state") == "Retry":
        fresh["retryCount"] = (check.get("retryCount") or 0) + 1
    return fresh


def _previously(check: Object) -> str:
    """With why, where nobody could tell otherwise: a check that wants to be asked again after a while."""
    why = check.get("message") if check.get("state") == "Retry" and check.get("requeueAfterSeconds") else ""
    return f"{check.get('state')}: {why}" if why else str(check.get("state"))


def _count_eviction(status: Object, reason: str, underlying: str) -> None:
    evictions: list[Object] = status.setdefault("schedulingStats", {}).setdefault("evictions", [])
    for entry in evictions:
        if entry.get("reason") == reason and entry.get("underlyingCause", "") == underlying:
            entry["count"] = entry.get("count", 0) + 1
            return
    evictions.append({"reason": reason, "underlyingCause": underlying, "count": 1})


def _generation(obj: Object) -> int:
    return int((obj.get("metadata") or {}).get("generation") or 0)
