"""Writing objects of the group the way the API does, and small objects to write."""

from __future__ import annotations

import copy
from typing import Any

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.kinds.kind import convert
from fairway.kinds.kueue import KINDS
from fairway.kinds.types import to_json

GROUP = "kueue.x-k8s.io"
BY_NAME = {kind.name: kind for kind in KINDS}
Json = dict[str, Any]
TIME = "2026-01-02T03:04:05Z"


def write(name: str, body: Json, old: Json | None = None, version: str = "v1beta2", status: bool = False) -> list[str]:
    """Everything that is wrong with an object, as the API would say it."""
    kind = BY_NAME[name]
    served = kind.version(version)
    try:
        obj, _ = codec.read(kind, served, {"metadata": {"name": "a"}, **copy.deepcopy(body)}, "Strict")
    except ApiError as error:
        causes = (error.details or {}).get("causes", [])
        return [f"{cause['field']}: {cause['message']}" for cause in causes] or [error.message]
    new = codec.to_storage(kind, served, obj)
    before = (
        None if old is None else convert({"metadata": {"name": "a"}, **copy.deepcopy(old)}, kind.storage_version.type)
    )
    kind.default(new, before)
    errors = kind.validate_status(new, before) if status else kind.validate(new, before)
    return [str(error) for error in errors]


def stored(name: str, body: Json) -> Json:
    """A valid object as it would be stored."""
    assert write(name, body) == []
    kind = BY_NAME[name]
    new = codec.to_storage(
        kind, kind.storage_version, convert({"metadata": {"name": "a"}, **body}, kind.storage_version.type)
    )
    kind.default(new, None)
    result: Json = to_json(new)
    return result


def quota(name: str = "cpu", **more: Any) -> Json:
    return {"name": name, "nominalQuota": "5", **more}


def group(flavors: list[str], resources: list[Json] | None = None) -> Json:
    resources = resources or [quota()]
    return {
        "coveredResources": [resource["name"] for resource in resources],
        "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
    }


def queue(**spec: Any) -> Json:
    return {"spec": {"resourceGroups": [group(["f"])], **spec}}


TEMPLATE: Json = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def pod_set(name: str = "main", count: int = 3, **more: Any) -> Json:
    return {"name": name, "count": count, "template": TEMPLATE, **more}


def workload(*pod_sets: Json, status: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    body: Json = {"metadata": {"name": "a"}, "spec": {"podSets": list(pod_sets) or [pod_set()], **spec}}
    if annotations is not None:
        body["metadata"]["annotations"] = annotations
    return body if status is None else {**body, "status": status}


def conditions(*kinds: str) -> list[Json]:
    return [
        {"type": kind, "status": "True", "lastTransitionTime": TIME, "reason": "Test", "message": ""} for kind in kinds
    ]


def reserved(*kinds: str, assignments: list[Json] | None = None, **more: Any) -> Json:
    given = [{"name": "main", "count": 3}] if assignments is None else assignments
    admission = {"clusterQueue": "cq", "podSetAssignments": given}
    return {"conditions": conditions("QuotaReserved", *kinds), "admission": admission, **more}


REF = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}
