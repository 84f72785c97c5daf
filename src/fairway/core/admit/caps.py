"""Hard caps of a queue: how much may be in flight at once, whatever quota would allow."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.core.admit.ledger import Ledger
from fairway.core.model import Amounts, Queue, Workload, split_cell
from fairway.core.quantity import render_amount


@dataclass(slots=True, frozen=True)
class CapReached:
    """Which cap of which queue, how much is taken, and what would have to go."""

    queue: str
    cap: str
    limit: int
    used: int
    request: int

    def __str__(self) -> str:
        if self.cap in ("runs", "actions"):
            return f"queue {self.queue} has {self.used} of at most {self.limit} {self.cap} in flight"
        used, request, limit = (render_amount(self.cap, amount) for amount in (self.used, self.request, self.limit))
        return f"queue {self.queue} is capped at {limit} of {self.cap}: {used} in flight, {request} more asked for"


def cap_reached(queue: Queue, ledger: Ledger, workload: Workload, usage: Amounts) -> CapReached | None:
    caps = queue.caps
    if caps.runs is None and caps.actions is None and not caps.resources:
        return None
    held = ledger.of_queue(queue.name)
    if caps.actions is not None and len(held) >= caps.actions:
        return CapReached(queue.name, "actions", caps.actions, len(held), 1)
    if caps.runs is not None and not _is_child(workload):
        runs = sum(1 for other in held.values() if not _is_child(other))
        if runs >= caps.runs:
            return CapReached(queue.name, "runs", caps.runs, runs, 1)
    used = _by_resource(ledger.usage_of(queue.name)) if caps.resources else {}
    for resource, request in sorted(_by_resource(usage).items()):
        limit = caps.resources.get(resource)
        if limit is not None and request > 0 and used.get(resource, 0) + request > limit:
            return CapReached(queue.name, resource, limit, used.get(resource, 0), request)
    return None


@dataclass(slots=True, frozen=True)
class QueueClosed:
    queue: str

    def __str__(self) -> str:
        return f"queue '{self.queue}' takes no new work: submit to another, or open it first"


@dataclass(slots=True, frozen=True)
class QueueFull:
    queue: str
    depth: int

    def __str__(self) -> str:
        return f"queue '{self.queue}' is full (depth {self.depth})"


def refuses_submission(queue: Queue, ledger: Ledger, waiting: int) -> QueueClosed | QueueFull | None:
    """Asked before a workload is taken in: the submission gate, and the depth of what waits and runs together."""
    if not queue.accepts:
        return QueueClosed(queue.name)
    depth = queue.caps.depth
    if depth is not None and len(ledger.of_queue(queue.name)) + waiting >= depth:
        return QueueFull(queue.name, depth)
    return None


def _is_child(workload: Workload) -> bool:
    return workload.traits is not None and workload.traits.is_child


def _by_resource(usage: Amounts) -> Amounts:
    total: Amounts = {}
    for at, amount in usage.items():
        resource = split_cell(at)[1]
        total[resource] = total.get(resource, 0) + amount
    return total
