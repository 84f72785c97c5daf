"""The row of a pod in `kubectl get`: one word for how it is, from its phase, conditions and containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairway.kinds.columns import AGE, NAME, at, since
from fairway.kinds.k8s.columns import NONE, truth
from fairway.kinds.kind import Column, Moment
from fairway.kinds.types import parse_time

Json = Mapping[str, Any]


class Summary(NamedTuple):
    """What the containers of a pod add up to."""

    reason: str
    ready: int
    total: int
    restarts: int
    last_restart: str
    """When a container last ended to be started again; empty if never."""


def summarise(pod: Json) -> Summary:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    before = _reason_of_phase(status)
    initial, ready = _initialisation(spec, status, sidecars)
    if initial and not truth(status.get("conditions"), "Initialized"):
        statuses = status.get("initContainerStatuses") or ()
        summary = Summary(initial, ready, total, _restarts(statuses), _last_restart(statuses))
    else:
        counted = [
            *(one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars),
            *(status.get("containerStatuses") or ()),
        ]
        reason, running = _reason_of_containers(status, initial or before)
        summary = Summary(reason, ready + running, total, _restarts(counted), _last_restart(counted))
    return summary._replace(reason=_reason_of_deletion(pod, summary.reason))


def _reason_of_phase(status: Json) -> str:
    gated = any(
        entry.get("type") == "PodScheduled" and entry.get("reason") == "SchedulingGated"
        for entry in status.get("conditions") or ()
    )
    return "SchedulingGated" if gated else str(status.get("reason") or status.get("phase") or "")


def _initialisation(spec: Json, status: Json, sidecars: set[Any]) -> tuple[str, int]:
    """Why the pod still initialises (empty if it does not), and how many sidecars are ready."""
    ready = 0
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason") or ""
        if ended is not None and not ended.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_ending(ended)}", ready
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}", ready
        return f"Init:{index}/{len(spec.get('initContainers') or ())}", ready
    return "", ready


def _reason_of_containers(status: Json, reason: str) -> tuple[str, int]:
    """The word for the pod, the first container speaking last, and how many containers are ready."""
    running, failure = 0, ""
    for container in reversed(status.get("containerStatuses") or ()):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _ending(ended)
            failure = reason if ended.get("exitCode") else failure
        elif container.get("ready") and state.get("running") is not None:
            running += 1
    if reason == "Completed":
        if running and truth(status.get("conditions"), "Ready"):
            reason = "Running"
        elif failure:
            reason = failure
        elif running:
            reason = "NotReady"
    return reason, running


def _ending(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _reason_of_deletion(pod: Json, reason: str) -> str:
    if at(pod, "metadata.deletionTimestamp") is None:
        return reason
    if at(pod, "status.reason") == "NodeLost":
        return "Unknown"
    return reason if at(pod, "status.phase") in ("Succeeded", "Failed") else "Terminating"


def _restarts(statuses: Any) -> int:
    return sum(one.get("restartCount") or 0 for one in statuses)


def _last_restart(statuses: Any) -> str:
    ends = [at(one, "lastState.terminated.finishedAt") for one in statuses]
    return max((end for end in ends if end), key=parse_time, default="")


def _ready(pod: Json, _moment: Moment) -> str:
    summary = summarise(pod)
    return f"{summary.ready}/{summary.total}"


def _restarted(pod: Json, moment: Moment) -> str:
    summary = summarise(pod)
    ago = f" ({since(summary.last_restart, moment)} ago)" if summary.restarts and summary.last_restart else ""
    return f"{summary.restarts}{ago}"


def _address(pod: Json, _moment: Moment) -> str:
    addresses = at(pod, "status.podIPs") or ()
    return (addresses[0].get("ip") if addresses else at(pod, "status.podIP")) or NONE


def _gates(pod: Json, _moment: Moment) -> str:
    gates = at(pod, "spec.readinessGates") or ()
    conditions = at(pod, "status.conditions")
    passed = sum(truth(conditions, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


POD_COLUMNS = (
    NAME,
    Column("Ready", _ready),
    Column("Status", lambda pod, _moment: summarise(pod).reason),
    Column("Restarts", _restarted),
    AGE,
    Column("IP", _address, wide=True),
    Column("Node", lambda pod, _moment: at(pod, "spec.nodeName") or NONE, wide=True),
    Column("Nominated Node", lambda pod, _moment: at(pod, "status.nominatedNodeName") or NONE, wide=True),
    Column("Readiness Gates", _gates, wide=True),
)
