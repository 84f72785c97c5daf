"""Which workloads that hold quota have to be looked at once more."""

from __future__ import annotations

from fairway.control.conditions import Json, find_condition, is_true


def needs_second_pass(obj: Json) -> bool:
    quota = find_condition(obj, "QuotaReserved")
    if quota is None or quota.get("status") != "True" or is_true(obj, "Finished") or is_true(obj, "Evicted"):
        return False
    return _is_placed_late(obj) or _lost_a_node(obj)


def _is_placed_late(obj: Json) -> bool:
    """Checks are through, and the pods still have no place."""
    status = obj.get("status") or {}
    checks = status.get("admissionChecks") or ()
    assignments = (status.get("admission") or {}).get("podSetAssignments") or ()
    return (
        bool(checks)
        and all(check.get("state") == "Ready" for check in checks)
        and not is_true(obj, "Admitted")
        and any(a.get("delayedTopologyRequest") == "Pending" and not a.get("topologyAssignment") for a in assignments)
    )


def _lost_a_node(obj: Json) -> bool:
    status = obj.get("status") or {}
    assignments = (status.get("admission") or {}).get("podSetAssignments") or ()
    return bool(status.get("unhealthyNodes")) and any(a.get("topologyAssignment") for a in assignments)
