"""The phase and the conditions of a pod, from those of its containers, as a kubelet reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.control.pods.containers import Progress

Json = Mapping[str, Any]
Condition = dict[str, Any]

IMAGES = "fairway.dev/ImagesPulled"
IMAGES_REASON = "HostProcess"
IMAGES_MESSAGE = "Images are recorded and not pulled: containers run as processes of the machine, with the machine's files and programs"
TERMINAL = ("Succeeded", "Failed")


def phase(
    policy: str, inits: Sequence[Progress], mains: Sequence[Progress], sidecars: frozenset[str], *, over: bool
) -> str:
    """over: nothing is started any more, so what has ended has ended for good."""
    ordinary = [one for one in inits if one.name not in sidecars]
    if any(one.ended is not None and one.code != 0 for one in ordinary) and (policy == "Never" or over):
        return "Failed"
    if any(one.code != 0 for one in ordinary):
        return "Failed" if over else "Pending"
    if any(not one.running and one.ended is None and not _ended_before(one) for one in mains):
        return "Failed" if over else "Pending"
    if any(one.running for one in mains):
        return "Running"
    return _all_stopped(policy, mains, over=over)


def _ended_before(one: Progress) -> bool:
    return bool((one.status.get("lastState") or {}).get("terminated"))


def _all_stopped(policy: str, mains: Sequence[Progress], *, over: bool) -> str:
    succeeded = all(one.code == 0 for one in mains)
    if over:
        return "Succeeded" if succeeded else "Failed"
    if policy == "Always" or any(one.ended is None for one in mains):
        return "Running"
    if succeeded:
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def conditions(
    old: Sequence[Json],
    phase: str,
    inits: Sequence[Progress],
    mains: Sequence[Progress],
    sidecars: frozenset[str],
    now: str,
) -> list[Condition]:
    """Ours in a kubelet's order, then whatever else is there. A condition's time changes only with its status."""
    incomplete = [one.name for one in inits if (not one.running if one.name in sidecars else one.code != 0)]
    unready = [one.name for one in (*(i for i in inits if i.name in sidecars), *mains) if not one.status["ready"]]
    sandbox = phase not in TERMINAL and any(one.run_id for one in (*inits, *mains))
    wanted = [
        _condition("PodReadyToStartContainers", sandbox),
        _initialized(phase, incomplete),
        _ready("Ready", phase, unready),
        _ready("ContainersReady", phase, unready),
        _condition("PodScheduled", True),
        {"type": IMAGES, "status": "False", "reason": IMAGES_REASON, "message": IMAGES_MESSAGE},
    ]
    known = {condition.get("type"): condition for condition in old}
    names = {condition["type"] for condition in wanted}
    merged = [_merged(condition, known.get(condition["type"]), now) for condition in wanted]
    return merged + [dict(condition) for condition in old if condition.get("type") not in names]


def _condition(kind: str, status: bool, reason: str = "", message: str = "") -> Condition:
    result: Condition = {"type": kind, "status": "True" if status else "False"}
    if reason:
        result["reason"] = reason
    if message:
        result["message"] = message
    return result


def _initialized(phase: str, incomplete: list[str]) -> Condition:
    if phase == "Succeeded":
        return _condition("Initialized", True, "PodCompleted")
    if incomplete:
        listed = f"containers with incomplete status: [{' '.join(incomplete)}]"
        return _condition("Initialized", False, "ContainersNotInitialized", listed)
    return _condition("Initialized", True)


def _ready(kind: str, phase: str, unready: list[str]) -> Condition:
    if phase in TERMINAL:
        return _condition(kind, False, "PodCompleted" if phase == "Succeeded" else "PodFailed")
    if unready:
        listed = f"containers with unready status: [{' '.join(unready)}]"
        return _condition(kind, False, "ContainersNotReady", listed)
    return _condition(kind, True)


def _merged(new: Condition, old: Json | None, now: str) -> Condition:
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == new["status"] else None
    return {**new, "lastTransitionTime": since or now}
