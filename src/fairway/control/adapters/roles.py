"""The role of a pod in its group: pods of one role need the same things and are admitted as one pod set."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fairway.control.adapters import names

Json = dict[str, Any]
_LENGTH = 8
_SHAPE = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)


def role(pod: Json) -> str:
    """What the pod says its role is; failing that, a hash of what matters for its admission."""
    return names.notes(pod).get(names.ROLE_HASH) or role_hash(pod["spec"])


def role_hash(spec: Json) -> str:
    shape: Json = {name: spec.get(name) for name in _SHAPE}
    shape["initContainers"] = _containers(spec.get("initContainers"))
    shape["containers"] = _containers(spec.get("containers"))
    whole = (spec.get("resources") or {}).get("requests")
    if whole is not None:
        shape["resources"] = whole
    text = json.dumps({"spec": shape}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def _containers(containers: list[Json] | None) -> list[Json] | None:
    if not containers:
        return None
    return [
        {"ports": one.get("ports"), "resources": {"requests": (one.get("resources") or {}).get("requests")}}
        for one in containers
    ]
