"""The status of a MemberCluster, in KubeFleet's words, from that of its Cluster."""

from __future__ import annotations

from fairway.control.adapters import Json
from fairway.control.conditions import set_condition, with_own_status

_AGENT = "MemberAgent"


def with_status(member: Json, cluster: Json, at: str) -> Json:
    """cluster: with its status as it should be."""
    changed = with_own_status(member)
    status: Json = changed["status"]
    seen: Json = cluster.get("status") or {}
    heard = seen.get("lastHeartbeatTime")
    generation = int(member["metadata"].get("generation") or 0)
    joined = "True" if heard else "Unknown"
    reason = "MemberClusterJoined" if heard else "MemberClusterUnknown"
    set_condition(changed, "ReadyToJoin", "True", "MemberClusterReadyToJoin", "it may join", at, generation)
    message = "the hub reached it" if heard else "the hub never reached it yet"
    set_condition(changed, "Joined", joined, reason, message, at, generation)
    _follow_amounts(status, seen, heard or at)
    if heard:
        status["agentStatus"] = [_agent(member, seen, heard, at)]
    return changed


def _follow_amounts(status: Json, seen: Json, at: str) -> None:
    properties = {
        name: {"value": value, "observationTime": at} for name, value in (seen.get("properties") or {}).items()
    }
    if properties:
        status["properties"] = properties
    if seen.get("capacity"):
        status["resourceUsage"] = {
            "capacity": seen["capacity"],
            "allocatable": seen["capacity"],
            "available": seen.get("available") or {},
            "observationTime": at,
        }


def _agent(member: Json, seen: Json, heard: str, at: str) -> Json:
    known = [each for each in (member.get("status") or {}).get("agentStatus") or () if each.get("type") == _AGENT]
    holder: Json = {
        "status": {"conditions": [dict(each) for each in known[0].get("conditions") or ()] if known else []}
    }
    set_condition(holder, "Joined", "True", "Joined", "reached by the hub", at)
    healthy = {"Healthy": "True", "Unhealthy": "False"}.get(str(seen.get("health")), "Unknown")
    message = "; ".join(seen.get("reasons") or ()) or "as it should be"
    set_condition(holder, "Healthy", healthy, str(seen.get("health") or "Unknown"), message, at)
    return {"type": _AGENT, "conditions": holder["status"]["conditions"], "lastReceivedHeartbeat": heard}
