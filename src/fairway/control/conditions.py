"""Status conditions of decoded objects: find, test, set as the API machinery does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Json = Mapping[str, Any]
MESSAGE_MAX = 32 * 1024


def with_own_status(obj: Json) -> dict[str, Any]:
    """A copy whose status may be changed; the rest is shared, and must not be."""
    status = obj.get("status")
    return {**obj, "status": msgspec.json.decode(msgspec.json.encode(status)) if status else {}}


def find_condition(obj: Json, kind: str) -> dict[str, Any] | None:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == kind:
            found: dict[str, Any] = condition
            return found
    return None


def is_true(obj: Json, kind: str) -> bool:
    condition = find_condition(obj, kind)
    return condition is not None and condition.get("status") == "True"


def set_condition(
    obj: dict[str, Any], kind: str, status: str, reason: str, message: str, at: str, generation: int = 0
) -> bool:
    """Set a condition; its time changes only when its status does. Says whether anything changed."""
    conditions: list[dict[str, Any]] = obj.setdefault("status", {}).setdefault("conditions", [])
    message = truncate(message)
    old = find_condition(obj, kind)
    if old is None:
        new: dict[str, Any] = {
            "type": kind,
            "lastTransitionTime": at,
            "status": status,
            "reason": reason,
            "message": message,
        }
        if generation:
            new["observedGeneration"] = generation
        conditions.append(new)
        return True
    changed = old.get("status") != status
    if changed:
        old["lastTransitionTime"] = at
    for field, value in (("status", status), ("reason", reason), ("message", message)):
        if old.get(field) != value:
            old[field] = value
            changed = True
    if generation and old.get("observedGeneration", 0) != generation:
        old["observedGeneration"] = generation
        changed = True
    return changed


def truncate(message: str, limit: int = MESSAGE_MAX) -> str:
    return message if len(message) <= limit else message[: limit - 4] + " ..."
