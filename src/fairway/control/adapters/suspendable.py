"""The part that kinds share whose jobs are one object with a switch to suspend it and pod templates inside.

A new kind subclasses Suspendable and says where its templates are and what its status means; most need nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from fairway.api.client import Resource
from fairway.control.adapters import names, templates
from fairway.control.adapters.adapter import (
    AdapterError,
    Change,
    Finished,
    Job,
    Json,
    PodSet,
    PodSetInfo,
    StopReason,
)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod template is in an object, and how many pods are made of it."""

    name: str
    path: Path
    count: int
    min_count: int | None = None
    pod_index_label: str = ""
    sub_group_label: str = ""
    sub_groups: int | None = None


class Suspendable(ABC):
    resource: Resource
    kind: str
    framework: str
    suspend_path: Path = ("spec", "suspend")
    own_labels: tuple[str, ...] = ()
    """Labels of the template that the kind's controller manages: they stay when the template is restored."""
    hidden_labels: tuple[str, ...] = ()
    """Labels of the template that a workload does not see, since they differ for each object."""

    @abstractmethod
    def places(self, obj: Json) -> list[Place]:
        """The templates, one for each pod set."""

    @abstractmethod
    def finished(self, job: Job) -> Finished | None: ...

    @abstractmethod
    def active(self, job: Job, now: float) -> bool: ...

    @abstractmethod
    def pods_ready(self, job: Job) -> bool: ...

    def skip(self, obj: Json) -> bool:
        return False

    def group(self, obj: Json) -> str:
        return ""

    def problem(self, job: Job) -> str:
        return ""

    def missing(self, job: Job, counts: Mapping[str, int]) -> int:
        return 0

    def tidy(self, job: Job, counts: Mapping[str, int]) -> list[Change]:
        return []

    def finalize(self, job: Job) -> list[Change]:
        return []

    # --- what it asks for -------------------------------------------------------------------------------------------

    def queue_name(self, job: Job) -> str:
        return names.queue_name(job[0])

    def priority_class(self, job: Job) -> str:
        return names.labels(job[0]).get(names.PRIORITY_CLASS, "")

    def pod_priority_class(self, job: Job) -> str:
        for place in self.places(job[0]):
            named = at(job[0], (*place.path, "spec", "priorityClassName"))
            if named:
                return str(named)
        return ""

    def max_exec_time(self, job: Job) -> int | None:
        return names.max_exec_time(job[0])

    def prebuilt_workload(self, job: Job) -> str:
        return names.prebuilt_workload(job[0])

    def managed_by(self, job: Job) -> str:
        return (job[0].get("spec") or {}).get("managedBy") or ""

    def pod_sets(self, job: Job) -> list[PodSet]:
        return [self._pod_set(place, at(job[0], place.path) or {}) for place in self.places(job[0])]

    def _pod_set(self, place: Place, template: Json) -> PodSet:
        metadata = template.get("metadata") or {}
        labels = metadata.get("labels") or {}
        if any(label in labels for label in self.hidden_labels):
            seen = {key: value for key, value in labels.items() if key not in self.hidden_labels}
            template = {**template, "metadata": {**metadata, "labels": seen}}
        request = templates.topology_request(template, place.pod_index_label, place.sub_group_label, place.sub_groups)
        return PodSet(place.name, place.count, template, place.min_count, request)

    def reclaimable(self, job: Job) -> dict[str, int]:
        return {}

    # --- what is done to it -----------------------------------------------------------------------------------------

    def is_suspended(self, job: Job) -> bool:
        return bool(at(job[0], self.suspend_path))

    def suspend(self, obj: Json) -> Json:
        held: Json = put(obj, self.suspend_path, True)
        return held

    def start(self, job: Job, infos: Sequence[PodSetInfo]) -> list[Change]:
        obj, places = job[0], self.places(job[0])
        self._same_length(places, infos)
        result = put(obj, self.suspend_path, False)
        for place, info in zip(places, infos, strict=True):
            result = put(result, place.path, templates.merged(at(result, place.path) or {}, info))
        return [Change("update", self.resource, self.resized(result, infos))]

    def stop(
        self, job: Job, original: Sequence[PodSetInfo], reason: StopReason, message: str, now: str
    ) -> list[Change]:
        if self.is_suspended(job):
            return []
        return [Change("update", self.resource, self.restore(self.suspend(job[0]), original))]

    def restore(self, obj: Json, original: Sequence[PodSetInfo]) -> Json:
        """The object as it was before it was admitted. Left alone where the workload's pod sets are not its own."""
        places = self.places(obj)
        if len(places) != len(original):
            return obj
        for place, info in zip(places, original, strict=True):
            obj = put(obj, place.path, templates.restored(at(obj, place.path) or {}, info, self.own_labels))
        return self.resized(obj, original)

    def resized(self, obj: Json, infos: Sequence[PodSetInfo]) -> Json:
        """The object with the counts of an admission, for kinds that can run with fewer pods than they asked for."""
        return obj

    def _same_length(self, places: Sequence[Place], infos: Sequence[PodSetInfo]) -> None:
        if len(places) != len(infos):
            raise AdapterError(f"invalid podset infos: expecting {len(places)} podset, got {len(infos)}")

    # --- on another cluster -----------------------------------------------------------------------------------------

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json:
        copy = dispatched(obj, workload, origin)
        for place in self.places(copy):
            copy = put(copy, place.path, _marked(at(copy, place.path) or {}, origin, obj["metadata"].get("uid", "")))
        return copy

    def mirror_status(self, local: Json, remote: Json) -> Json | None:
        return {**local, "status": remote.get("status") or {}}

    @abstractmethod
    def at_rest(self, obj: Json) -> Json: ...


def dispatched(obj: Json, workload: str, origin: str) -> Json:
    """A new object of the same name, tied to the workload; managed by whoever manages such objects over there."""
    metadata = obj["metadata"]
    fresh: Json = {key: deepcopy(metadata[key]) for key in ("name", "namespace", "annotations") if key in metadata}
    tie = {names.PREBUILT_WORKLOAD: workload, names.MULTIKUEUE_ORIGIN: origin}
    fresh["labels"] = {**(metadata.get("labels") or {}), **tie}
    spec = deepcopy(obj.get("spec") or {})
    for field in ("managedBy", "ttlSecondsAfterFinished"):  # who runs it, and when it goes, is for the hub to say
        spec.pop(field, None)
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": fresh, "spec": spec}


def _marked(template: Json, origin: str, uid: str) -> Json:
    """The template with what lets a hub find the pods, whoever makes them."""
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), names.MULTIKUEUE_ORIGIN: origin}
    annotations = {**(metadata.get("annotations") or {}), names.HUB_JOB: uid}
    return {**template, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


def at(obj: Any, path: Path) -> Any:
    for step in path:
        if obj is None:
            return None
        obj = obj[step] if isinstance(step, int) else obj.get(step)
    return obj


def put(obj: Any, path: Path, value: Any) -> Any:
    """The object with a value at a path; only what lies on the path is copied."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [put(entry, rest, value) if index == step else entry for index, entry in enumerate(obj)]
    obj = obj or {}
    return {**obj, step: put(obj.get(step), rest, value)}
