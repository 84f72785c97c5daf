"""The pods of a Job as they are created, and their names."""

from __future__ import annotations

import hashlib
from collections.abc import Container
from typing import Any

from fairway.control.jobs.plan import NewPod
from fairway.control.jobs.view import FAILURE_COUNT, FINALIZER, IGNORED_COUNT, INDEX, NO_INDEX

Json = dict[str, Any]
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as generated names have it: no words by accident
_SUFFIX = 5
_NAME_MAX = 63


def pod_name(job: str, uid: str, index: int, attempt: int) -> str:
    """The same for the same attempt: whoever tries to create it again, after whatever, finds it there."""
    number = int.from_bytes(hashlib.sha256(f"{uid}/{index}/{attempt}".encode()).digest()[:8], "big")
    suffix = ""
    for _ in range(_SUFFIX):
        number, digit = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[digit]
    middle = "" if index == NO_INDEX else f"-{index}"
    return f"{job[: _NAME_MAX - _SUFFIX - 1 - len(middle)]}{middle}-{suffix}"


def free_name(job: str, uid: str, index: int, taken: Container[str], first: int = 0) -> str:
    """The name of the first attempt that is not taken."""
    while True:
        name = pod_name(job, uid, index, first)
        if name not in taken:
            return name
        first += 1


class PodMaker:
    """Makes the pods of one Job; what they have in common is worked out once."""

    def __init__(self, job: Json) -> None:
        self._job = job
        metadata, spec = job["metadata"], job["spec"]
        template = spec["template"]
        self._meta: Json = template.get("metadata") or {}
        self._spec: Json = template["spec"]
        self._indexed = spec.get("completionMode") == "Indexed"
        if self._indexed:
            self._spec = _with_index_variable(self._spec)
        finalizers = [name for name in self._meta.get("finalizers") or () if name != FINALIZER]
        self._common: Json = {
            "namespace": metadata["namespace"],
            "finalizers": [*finalizers, FINALIZER],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
        self._per_index = "backoffLimitPerIndex" in spec

    def make(self, name: str, new: NewPod) -> Json:
        labels, annotations = self._meta.get("labels") or {}, self._meta.get("annotations") or {}
        spec = self._spec
        if new.index != NO_INDEX:
            labels = {**labels, INDEX: str(new.index)}
            annotations = {**annotations, INDEX: str(new.index)}
            if self._per_index:
                annotations[FAILURE_COUNT] = str(new.failures)
                if new.ignored:
                    annotations[IGNORED_COUNT] = str(new.ignored)
            spec = {**spec, "hostname": f"{self._job['metadata']['name']}-{new.index}"}
        metadata: Json = {"name": name, **self._common}
        if labels:
            metadata["labels"] = labels
        if annotations:
            metadata["annotations"] = annotations
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _with_index_variable(spec: Json) -> Json:
    """Every container learns its index, unless it defines the variable itself."""
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": INDEX_VARIABLE, "valueFrom": source}
    result = dict(spec)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            result[part] = [_with_variable(container, variable) for container in spec[part]]
    return result


def _with_variable(container: Json, variable: Json) -> Json:
    known = container.get("env") or []
    if any(one["name"] == variable["name"] for one in known):
        return container
    return {**container, "env": [*known, variable]}
