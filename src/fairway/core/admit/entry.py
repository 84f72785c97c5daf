"""One head on its way through a cycle."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.core.admit.assignment import Assignment, ScanProgress
from fairway.core.admit.contest import Cause, Victim
from fairway.core.admit.line import Requeue
from fairway.core.admit.plan import Note, Pending, Status, Wait
from fairway.core.model import Amounts, Mode, Queue, Workload
from fairway.core.quota.node import Node

_NOTHING: Amounts = {}
_NOT_YET = Assignment()


@dataclass(slots=True, eq=False)
class Entry:
    workload: Workload
    queue: Queue
    node: Node
    is_preemptor: bool = False
    assignment: Assignment = _NOT_YET
    victims: list[Victim] = field(default_factory=list)
    status: Status = Status.NOT_NOMINATED
    pending: Pending = Pending.NONE
    requeue: Requeue = Requeue.GENERIC
    note: Note = Note.NONE
    detail: str = ""
    scanned_from: ScanProgress | None = None
    keeps_progress: bool = True
    preempting: int = 0
    failing: int = 0
    migrating: bool = False

    @property
    def borrowing(self) -> int:
        return self.assignment.borrowing

    @property
    def net_usage(self) -> Amounts:
        """What admission would add: nothing for a workload that holds its quota already."""
        return self.assignment.usage if self.workload.reservation is None else _NOTHING

    @property
    def mode(self) -> Mode:
        return self.assignment.mode

    def skip(self, note: Note, pending: Pending, keep_progress: bool) -> None:
        """Lost against another head of this cycle; the scan goes on where it was unless that is not wanted."""
        self.status, self.note, self.pending = Status.SKIPPED, note, pending
        self.keeps_progress = self.keeps_progress and keep_progress

    def preempted(self, succeeded: int, failed: int = 0) -> None:
        """Victims are on their way, or could not be told; either way every flavor is looked at again next time."""
        self.keeps_progress = False
        if succeeded:
            self.preempting, self.requeue = succeeded, Requeue.PENDING_PREEMPTION
        elif failed:
            self.failing, self.requeue = failed, Requeue.PREEMPTION_FAILED

    def replaced(self) -> Workload | None:
        """The older slice of the same job that this workload takes the place of."""
        return next((victim.workload for victim in self.victims if victim.cause is Cause.REPLACED), None)

    def to_wait(self) -> Wait:
        requeue = self.requeue
        if self.status is not Status.NOT_NOMINATED and requeue is Requeue.GENERIC:
            requeue = Requeue.FAILED_AFTER_NOMINATION
        return Wait(
            self.workload,
            self.pending,
            self.status,
            requeue,
            self.note,
            self.detail,
            self.assignment if self.assignment.pod_sets else None,
            self.preempting,
            self.failing,
            self.migrating,
        )
