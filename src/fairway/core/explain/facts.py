"""Facts that keep a workload waiting. Each has its numbers and says itself in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairway.core.admit.caps import CapReached
from fairway.core.admit.reasons import Reason
from fairway.core.model import SECOND, Cell, Time, split_cell
from fairway.core.quantity import render_amount


class Where(Enum):
    """Where the workload is now."""

    UNKNOWN = "unknown"
    WAITING = "waiting"
    PARKED = "parked"
    HELD = "held"
    RESERVED = "reserved"


class Bound(Enum):
    """What at a node of the tree is used up."""

    QUOTA = "quota"
    BORROWING_LIMIT = "borrowing limit"


@dataclass(slots=True, frozen=True)
class QueueNotReady:
    queue: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"queue {self.queue} does not admit: {self.message}"


@dataclass(slots=True, frozen=True)
class TenantQueueStopped:
    tenant_queue: str

    def __str__(self) -> str:
        return f"tenant queue {self.tenant_queue} is stopped"


@dataclass(slots=True, frozen=True)
class BackingOff:
    until: Time
    left: Time
    blocked: bool

    def __str__(self) -> str:
        if self.blocked and self.left <= 0:
            return "it was put back and waits for a sign to try again"
        return f"it was put back and is tried again in {-(-self.left // SECOND)} s"


@dataclass(slots=True, frozen=True)
class NotAcceptable:
    """Nothing about quota: the workload or its namespace does not qualify."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, frozen=True)
class Behind:
    """Others of the queue are tried first; in a strict queue the head blocks all behind it."""

    queue: str
    ahead: int
    strict: bool
    head: str | None

    def __str__(self) -> str:
        others = "1 other is" if self.ahead == 1 else f"{self.ahead} others are"
        text = f"{others} ahead in queue {self.queue}"
        if not self.strict:
            return text
        return f"{text}, and {self.head or 'its head'} blocks the line until it fits"


@dataclass(slots=True, frozen=True)
class Holder:
    key: str | None
    queue: str
    amount: int


@dataclass(slots=True, frozen=True)
class Short:
    """What is missing of a flavor, at which node, and who has it."""

    pod_set: str
    cell: Cell
    requested: int
    available: int
    missing: int
    node: str
    bound: Bound
    never: bool
    holders: tuple[Holder, ...] = ()
    holders_left_out: int = 0

    def __str__(self) -> str:
        flavor, resource = split_cell(self.cell)
        missing, requested, free = (
            render_amount(resource, amount) for amount in (self.missing, self.requested, max(0, self.available))
        )
        if self.never:
            return f"{requested} of {resource} in flavor {flavor} is {missing} more than {self.node} can ever give"
        return (
            f"{missing} more of {resource} needed in flavor {flavor}: {requested} requested, {free} free under the "
            f"{self.bound.value} of {self.node}"
        )


@dataclass(slots=True, frozen=True)
class NotOffered:
    """The queue has no quota of a resource, in any flavor: waiting does not help."""

    pod_set: str
    queue: str
    resource: str
    requested: int

    def __str__(self) -> str:
        return f"{render_amount(self.resource, self.requested)} {self.resource} requested, and queue {self.queue} offers none"


@dataclass(slots=True, frozen=True)
class FlavorUnusable:
    pod_set: str
    reason: Reason

    def __str__(self) -> str:
        return str(self.reason)


@dataclass(slots=True, frozen=True)
class WaitsForVictims:
    """Those who make room for it have been told and are not gone yet."""

    victims: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.victims)} workload(s) that make room for it have not stopped yet"


@dataclass(slots=True, frozen=True)
class Claimed:
    """What is free is kept for heads of other queues that cannot count on getting it back once it is lent."""

    claimants: tuple[str, ...]

    def __str__(self) -> str:
        return f"what is free is kept for {len(self.claimants)} workload(s) at the head of other queues"


@dataclass(slots=True, frozen=True)
class WaitsForPodsReady:
    not_ready: int

    def __str__(self) -> str:
        return f"{self.not_ready} admitted workload(s) are not ready yet, and one starts after the other"


Blocker = (
    QueueNotReady
    | TenantQueueStopped
    | BackingOff
    | NotAcceptable
    | Behind
    | Short
    | NotOffered
    | FlavorUnusable
    | WaitsForVictims
    | Claimed
    | WaitsForPodsReady
    | CapReached
)


class ChangeKind(Enum):
    LOWER_REQUEST = "lower request"
    FEWER_PODS = "fewer pods"
    RAISE_QUOTA = "raise quota"
    RAISE_BORROWING_LIMIT = "raise borrowing limit"


@dataclass(slots=True, frozen=True)
class Change:
    """One number to change, from what to what; one unit less would not do."""

    kind: ChangeKind
    what: str
    resource: str
    before: int
    after: int
    flavor: str = ""

    @property
    def fraction(self) -> float:
        """How big a change it is of the thing it changes."""
        return abs(self.after - self.before) / max(1, self.before)

    def __str__(self) -> str:
        before, after = render_amount(self.resource, self.before), render_amount(self.resource, self.after)
        match self.kind:
            case ChangeKind.LOWER_REQUEST if not self.after:
                return f"without {self.resource} in {self.what}"
            case ChangeKind.LOWER_REQUEST:
                return f"with {after} {self.resource} per pod of {self.what} instead of {before}"
            case ChangeKind.FEWER_PODS:
                return f"with {self.after} pods of {self.what} instead of {self.before}"
            case ChangeKind.RAISE_QUOTA:
                return f"with a nominal quota of {after} {self.resource} of {self.flavor} instead of {before} in {self.what}"
        return f"with a borrowing limit of {after} {self.resource} of {self.flavor} instead of {before} in {self.what}"


@dataclass(slots=True, frozen=True)
class Explanation:
    key: str
    queue: str
    where: Where
    blockers: tuple[Blocker, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def smallest_change(self) -> Change | None:
        return self.changes[0] if self.changes else None
