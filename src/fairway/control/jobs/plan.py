"""What the rules of Jobs say should happen next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from fairway.control.jobs.view import NO_INDEX
from fairway.kinds.k8s.batch.types import JobStatus


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create; for an indexed Job, of which index and after how many failures of it."""

    index: int = NO_INDEX
    failures: int = 0
    ignored: int = 0


class Note(NamedTuple):
    """An Event about the Job."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """To be carried out in this order, each step only when the one before it is durable: status, create, claim, release, delete.

    A pod is released only when the status accounts for it, so that it is counted once whatever crashes in between.
    """

    status: JobStatus | None = None
    """The new status, if it changes."""
    urgent: bool = True
    """False: the status says nothing that others wait for; it may be written together with later changes."""
    create: tuple[NewPod, ...] = ()
    claim: tuple[str, ...] = ()
    """Uids of pods that get our finalizer again: they were let go to be deleted, but now they may stay."""
    release: tuple[str, ...] = ()
    """Uids of pods that lose our finalizer."""
    delete: tuple[str, ...] = ()
    """Uids of pods to delete."""
    delete_job: bool = False
    notes: tuple[Note, ...] = ()
    wake_at: float = 0.0
    """When to look again though nothing has changed; zero: no need."""
