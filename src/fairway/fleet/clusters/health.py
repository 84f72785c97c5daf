"""How a cluster does: whether it may get new work, why not, and what its status says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairway.control.adapters import Json
from fairway.control.conditions import set_condition, with_own_status
from fairway.control.times import render_time
from fairway.core.model import SECOND, Time
from fairway.fleet.clusters import pools
from fairway.fleet.clusters.connection import is_being_tried
from fairway.fleet.clusters.ports import Link
from fairway.kinds.own.cluster import Health

SILENT = 20 * SECOND
"""A cluster whose watches are open but that answers nothing for so long is not healthy."""
NODE_COUNT = "kubernetes-fleet.io/node-count"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a cluster said when it was last asked."""

    at: Time | None = None
    """When it last answered anything."""
    silent_since: Time | None = None
    """Since when it has not, if it has not."""
    silence: str = ""
    data_plane: Json | None = None
    version: str = ""


NO_ANSWER = Answer()


@dataclass(frozen=True, slots=True)
class Judgement:
    health: Health
    reasons: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()


def judge(cluster: Json, pool: Json | None, link: Link | None, answer: Answer, now: Time) -> Judgement:
    """pool: the cluster's, if it is there. link: none for a cluster without an API, and for one that is yet to be tried."""
    reasons: list[str] = []
    unknown = link is None or is_being_tried(link)
    if link is None:
        reasons.append("not connected yet" if _has_api(cluster) else "has no API that says how it does")
    elif not link.connected:
        why = link.trouble.message if link.trouble is not None else "not connected"
        reasons.append(why if unknown or not link.attempts else f"{_unreachable(link)}: {why}")
    elif answer.silent_since is not None and now - answer.silent_since >= SILENT:
        reasons.append(f"does not answer since {render_time(answer.silent_since)}: {answer.silence}")
    drift: list[str] = []
    if pool is None:
        reasons.append(f'pool "{pools.pool_of(cluster)}" does not exist')
    else:
        drift = pools.drift(pool, answer.data_plane)
        reasons += drift
    if not reasons:
        return Judgement("Healthy")
    only_unknown = unknown and len(reasons) == 1
    return Judgement("Unknown" if only_unknown else "Unhealthy", tuple(reasons), tuple(drift))


def _unreachable(link: Link) -> str:
    return f"unreachable since {render_time(link.lost_since)}" if link.ever_synced else "unreachable"


def _has_api(cluster: Json) -> bool:
    annotations = (cluster.get("metadata") or {}).get("annotations") or {}
    return bool((cluster.get("spec") or {}).get("connection")) or "fairway.dev/adopted-from" in annotations


def refusal(cluster: Json, judgement: Judgement, pool: str) -> str:
    """Why a cluster gets no new work from a queue of that pool; empty if it may."""
    its = pools.pool_of(cluster)
    if pool and its != pool:
        return f"is in pool {its}, not in {pool}"
    if (cluster.get("spec") or {}).get("state") == "Draining":
        return "is draining"
    if judgement.health != "Healthy":
        return "; ".join(judgement.reasons) or "is not healthy"
    return ""


# --- status ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of a cluster beside its health; nothing of it while it is out of reach."""

    capacity: Mapping[str, str]
    available: Mapping[str, str]
    nodes: int
    queues: Sequence[str]


def with_status(
    cluster: Json, judgement: Judgement, answer: Answer, sight: Sight | None, fenced: bool | None, now: Time
) -> Json:
    """The Cluster with the status it should have. What is out of sight stays as it was last seen."""
    changed = with_own_status(cluster)
    status: Json = changed["status"]
    status["health"] = judgement.health
    _put(status, "reasons", list(judgement.reasons))
    _put(status, "drift", list(judgement.drift))
    if answer.at is not None:
        status["lastHeartbeatTime"] = render_time(answer.at)
        _put(status, "dataPlane", answer.data_plane)
    if answer.version:
        status["version"] = answer.version
    if sight is not None:
        _put(status, "capacity", dict(sight.capacity))
        _put(status, "available", dict(sight.available))
        _put(status, "queues", list(sight.queues))
        status["properties"] = {NODE_COUNT: str(sight.nodes)}
    if fenced is not None:
        status["fenced"] = fenced
    value = {"Healthy": "True", "Unhealthy": "False", "Unknown": "Unknown"}[judgement.health]
    message = "; ".join(judgement.reasons) or "reached, and as its pool wants it"
    generation = int(cluster["metadata"].get("generation") or 0)
    set_condition(changed, "Ready", value, judgement.health, message, render_time(now), generation)
    return changed


def _put(status: Json, name: str, value: Json | list[str] | None) -> None:
    """Empty is absent."""
    if value:
        status[name] = value
    else:
        status.pop(name, None)
