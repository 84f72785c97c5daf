"""What queueing needs to know about a kind of job, and how it holds a job back and lets it go.

An adapter is pure: objects in, facts and changes out. Whoever calls it reads and writes, and calls again when the objects have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from fairway.api.client import Resource

Json: TypeAlias = dict[str, Any]
"""A decoded object, or a part of one."""

Job: TypeAlias = Sequence[Json]
"""The objects that are one job, oldest first: one for most kinds, several for a group of pods. Never empty."""


class StopReason(StrEnum):
    """Why a job is stopped; pods carry it in their TerminationTarget condition."""

    WORKLOAD_DELETED = "WorkloadDeleted"
    WORKLOAD_EVICTED = "WorkloadEvicted"
    NO_MATCHING_WORKLOAD = "NoMatchingWorkload"
    NOT_ADMITTED = "NotAdmitted"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one template that are admitted together."""

    name: str
    count: int
    template: Json
    """metadata and spec, as a workload keeps it."""
    min_count: int | None = None
    topology: Json | None = None
    """The topologyRequest that the template's annotations ask for."""


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What an admission adds to the pods of a pod set; or, from the workload's own pod set, what they were before."""

    name: str
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Json] = ()
    scheduling_gates: Sequence[Json] = ()


class Finished(NamedTuple):
    """How a job ended. The reason is that of the workload's Finished condition: Succeeded or Failed."""

    reason: str
    message: str
    success: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A write that makes a job follow a decision. The body is the whole object, with the resourceVersion that was read."""

    verb: Literal["update", "updateStatus", "delete"]
    resource: Resource
    body: Json


class AdapterError(ValueError):
    """The admission cannot be applied to the job, now or later: say so on the workload instead of trying again."""


class JobAdapter(Protocol):
    """One kind of job. Methods that take a Job get all its objects; those that take one object say so."""

    @property
    def resource(self) -> Resource: ...

    @property
    def kind(self) -> str: ...

    @property
    def framework(self) -> str:
        """The integration's name in Kueue's configuration, as batch/job."""
        ...

    def skip(self, obj: Json) -> bool:
        """Whether an object is none of queueing's business, whatever its queue name says. Asked with its metadata alone."""
        ...

    def group(self, obj: Json) -> str:
        """The name shared by the objects of one job; empty for an object that is a job by itself. Asked with its metadata alone."""
        ...

    # --- what it asks for -------------------------------------------------------------------------------------------

    def queue_name(self, job: Job) -> str: ...

    def priority_class(self, job: Job) -> str:
        """The WorkloadPriorityClass that the job names, or nothing."""
        ...

    def pod_priority_class(self, job: Job) -> str:
        """The PriorityClass of its pods, which counts where no WorkloadPriorityClass is named."""
        ...

    def max_exec_time(self, job: Job) -> int | None:
        """Seconds that it may run once admitted."""
        ...

    def prebuilt_workload(self, job: Job) -> str:
        """The workload that someone else made for this job, or nothing."""
        ...

    def managed_by(self, job: Job) -> str:
        """Who runs it, where that is not the kind's own controller."""
        ...

    def problem(self, job: Job) -> str:
        """Why no workload can be made of it yet (pods missing from a group, say); empty if one can."""
        ...

    def pod_sets(self, job: Job) -> list[PodSet]: ...

    def reclaimable(self, job: Job) -> dict[str, int]:
        """Pods of each pod set whose quota is no longer needed. Pod sets with none are left out."""
        ...

    # --- how it is --------------------------------------------------------------------------------------------------

    def is_suspended(self, job: Job) -> bool: ...

    def active(self, job: Job, now: float) -> bool:
        """Whether pods of it still run: quota is given back only when none does. now is in seconds since 1970."""
        ...

    def pods_ready(self, job: Job) -> bool: ...

    def finished(self, job: Job) -> Finished | None: ...

    # --- what is done to it -----------------------------------------------------------------------------------------

    def suspend(self, obj: Json) -> Json:
        """One object as it must be when it is first seen and not admitted: held back before anything of it runs."""
        ...

    def start(self, job: Job, infos: Sequence[PodSetInfo]) -> list[Change]:
        """Let it run where it was admitted. Raises AdapterError where the admission contradicts the job."""
        ...

    def stop(
        self, job: Job, original: Sequence[PodSetInfo], reason: StopReason, message: str, now: str
    ) -> list[Change]:
        """The next changes that end its run and restore it, to be made in order. Ask again after each round until there are none."""
        ...

    def missing(self, job: Job, counts: Mapping[str, int]) -> int:
        """Objects that the workload's pod sets (by name, with their counts) rest on and that are not there any more."""
        ...

    def tidy(self, job: Job, counts: Mapping[str, int]) -> list[Change]:
        """What of it must go though the job goes on: more than its workload counts on, or what has been replaced."""
        ...

    def finalize(self, job: Job) -> list[Change]:
        """What lets go of a job that is finished, or whose workload is gone."""
        ...

    # --- on another cluster -----------------------------------------------------------------------------------------

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json:
        """The object to create on another cluster, tied to the workload that is there already."""
        ...

    def mirror_status(self, local: Json, remote: Json) -> Json | None:
        """The local object with what its copy has become; None while nothing may be taken over."""
        ...

    def at_rest(self, obj: Json) -> Json:
        """An object that only mirrors a copy, as it is once nothing of that copy runs any more though the copy could not say so."""
        ...
