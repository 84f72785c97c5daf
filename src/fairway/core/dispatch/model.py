"""The facts about one workload, its copies and the links, and what may be done about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from fairway.core.model import Time

OUT_OF_SYNC = "OutOfSync"
BY_JOB = ("Succeeded", "Failed")
"""Reasons of a workload that is finished because its job is."""


class CheckState(StrEnum):
    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True)
class Local:
    """The workload on the hub."""

    check: CheckState
    reserved: bool = False
    finished: bool = False
    evicted: bool = False
    gone: bool = False
    """Deleted, or on its way out."""
    other_checks_ready: bool = True
    cluster: str = ""
    """Where it was admitted. Final until it is evicted."""
    nominated: tuple[str, ...] = ()
    again: bool = False
    """Whether it had attempts before, so that something of it may still be somewhere."""
    job_active: bool = False
    """Whether the job here still says that pods of it run."""
    refusal: str = ""
    """Why it cannot be dispatched at all; empty if it can."""


class End(NamedTuple):
    reason: str
    message: str
    at: Time


Difference = Literal["", "priority", "other"]


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate that keeps a copy from preempting others until its hub says so."""

    open: bool
    opened_at: Time = 0
    blocked_since: Time | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """A copy of the workload on a cluster."""

    finished: End | None = None
    evicted: bool = False
    eviction_asked: bool = False
    admitted_at: Time | None = None
    difference: Difference = ""
    """What the copy's spec no longer has in common with the workload's."""
    has_job: bool = False
    job_runs: bool = False
    """Whether the job there does not say yet that it has ended: it and its workload are told of by different watches."""
    leaving: bool = False
    """Being deleted."""
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """What the hub knows of its connection to a cluster."""

    connected: bool
    safe_at: Time | None = None
    """For a cluster out of reach: from when on nothing of ours can run there any more."""
    may_run: bool = False
    """Whether a job of this workload is, or may be, there from an attempt before."""

    def unsafe(self, now: Time) -> bool:
        return self.may_run and (self.connected or self.safe_at is None or self.safe_at > now)


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that one decision rests on. remotes: copies on clusters that can be reached; links: every cluster of the configuration."""

    local: Local
    remotes: Mapping[str, Remote]
    links: Mapping[str, Link]
    gates: bool = False
    """Whether copies may preempt only one at a time."""
    look_every: Time = 0
    """How often to look again at what waits for a cluster that is out of reach."""


# --- actions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetCheck:
    """Write the state of the check; the old state is appended to the message."""

    state: CheckState
    message: str
    tell: Literal["", "Normal", "Warning"] = ""
    again_after: int = 0
    """Seconds to wait before it is tried again."""


@dataclass(frozen=True, slots=True)
class Bind:
    """This cluster has it: the check is ready, and the cluster's name is final."""

    cluster: str


@dataclass(frozen=True, slots=True)
class SyncJob:
    """Create the job on the cluster, or copy its status back."""

    cluster: str
    create: bool = True
    """Not when it is being taken off the cluster: what is gone there stays gone."""


@dataclass(frozen=True, slots=True)
class Finish:
    cluster: str
    end: End


@dataclass(frozen=True, slots=True)
class DeleteRemote:
    """Take job and workload off a cluster."""

    cluster: str


@dataclass(frozen=True, slots=True)
class UpdatePriority:
    cluster: str


@dataclass(frozen=True, slots=True)
class EvictRemote:
    """Tell a cluster that the hub evicts what runs there."""

    cluster: str


@dataclass(frozen=True, slots=True)
class OpenGate:
    cluster: str


@dataclass(frozen=True, slots=True)
class ForgetRun:
    """Whatever ran on a lost cluster has ended for certain: the job here is told so."""


@dataclass(frozen=True, slots=True)
class Nominate:
    """Ask the dispatcher which clusters are to get a copy, and see to it that they, and only they, have one."""


Action: TypeAlias = (
    SetCheck | Bind | SyncJob | Finish | DeleteRemote | UpdatePriority | EvictRemote | OpenGate | ForgetRun | Nominate
)


@dataclass(slots=True)
class Decision:
    actions: list[Action] = field(default_factory=list)
    due: Time | None = None
    """When to look again though nothing changed."""

    def look_at(self, at: Time) -> None:
        self.due = at if self.due is None else min(self.due, at)
