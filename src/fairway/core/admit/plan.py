"""What the admit room decides: who gets quota, who has to go, who waits and why. Plain data, in the order decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fairway.core.admit.assignment import Assignment
from fairway.core.admit.contest import Cause
from fairway.core.admit.line import Requeue
from fairway.core.admit.reasons import NoFit
from fairway.core.model import Amounts, PodSetUse, Queue, Workload


class Pending(Enum):
    """Why a workload has no quota yet, as its condition says it."""

    NONE = ""
    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    TOPOLOGY = "TopologyPlacementFailed"
    WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
    WAITING_FOR_PODS_READY = "WaitingForPodsReady"
    MISCONFIGURED = "Misconfigured"
    SUSPENDED = "Suspended"
    PENDING_EVALUATION = "PendingEvaluation"
    GATED = "AdmissionGated"
    CAPPED = "QueueCapReached"

    @classmethod
    def refused(cls, no_fit: NoFit) -> Pending:
        """What no flavor was even tried for, no flavor matches: users are never left without a reason."""
        return cls.NO_MATCHING_FLAVOR if no_fit is NoFit.NONE else cls(no_fit.value)


class Status(Enum):
    """How far a head came in a cycle."""

    NOT_NOMINATED = ""
    SKIPPED = "skipped"
    GATED = "preemptionGated"
    NOMINATED = "nominated"
    ASSUMED = "assumed"


class Note(Enum):
    """The fixed sentences about heads that were put back."""

    NONE = ""
    FAILED_CHECKS = "The workload has failed admission checks"
    VARIANT_ADMITTED = "A more favorable variant is already admitted"
    BELOW_LAST_FLAVOR = "Target flavor is below LastAcceptableFlavorName"
    GATED = "Workload requires preemption, but it's gated"
    DEFERRED = (
        "Workload has overlapping preemption targets with another workload, "
        "but will fit after these preemptions complete"
    )
    OVERLAP = "Workload has overlapping preemption targets with another workload"
    NO_LONGER_FITS = "Workload no longer fits after processing another workload"
    KEPT_BACK = "Workload preempted others several times without being able to stay, and waits for something to change"
    PODS_NOT_READY = "waiting for all admitted workloads to be in PodsReady condition"


@dataclass(slots=True)
class Admit:
    """A workload reserves quota. The state assumes it at once; a rejected plan takes it back."""

    workload: Workload
    queue: Queue
    uses: tuple[PodSetUse, ...]
    usage: Amounts
    assignment: Assignment
    replaces: Workload | None = None


@dataclass(slots=True)
class Evict:
    """A workload is told to go, to make room for another. Its quota is free once it is gone."""

    victim: Workload
    by: Workload
    by_queue: str
    cause: Cause


@dataclass(slots=True)
class Migrate:
    """A variant on a worse flavor is told to go, as a better one fits now."""

    victim: Workload
    by: Workload


@dataclass(slots=True)
class Wait:
    """A head went back to its line."""

    workload: Workload
    pending: Pending
    status: Status
    requeue: Requeue
    note: Note = Note.NONE
    detail: str = ""
    assignment: Assignment | None = None
    preempting: int = 0
    failing: int = 0
    migrating: bool = False

    @property
    def message(self) -> str:
        """Rendered when asked for: most heads that are put back are never read about."""
        text = self.detail or self.note.value
        if not text and self.assignment is not None:
            text = self.assignment.message()
        if self.preempting:
            return f"{text}. Pending the preemption of {self.preempting} workload(s)"
        if self.failing:
            return f"{text}. Preempting {self.failing} workload(s) failed, will retry."
        if self.migrating:
            return f"{text}. Pending the migration of 1 workload(s)"
        return text


Action = Admit | Evict | Migrate | Wait


@dataclass(slots=True)
class Plan:
    actions: list[Action] = field(default_factory=list)
    skipped_preemptions: dict[str, int] = field(default_factory=dict)
    recomputations: dict[str, dict[str, int]] = field(default_factory=dict)
    cycles: int = 0

    def admissions(self) -> list[Admit]:
        return [action for action in self.actions if isinstance(action, Admit)]

    def evictions(self) -> list[Evict]:
        return [action for action in self.actions if isinstance(action, Evict)]

    def waits(self) -> list[Wait]:
        return [action for action in self.actions if isinstance(action, Wait)]

    def count_skip(self, queue: str) -> None:
        self.skipped_preemptions[queue] = self.skipped_preemptions.get(queue, 0) + 1

    def count_recomputation(self, queue: str, result: str) -> None:
        results = self.recomputations.setdefault(queue, {})
        results[result] = results.get(result, 0) + 1
