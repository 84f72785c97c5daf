"""The plain types that go into the core: queues, cohorts, flavors and workloads, free of any API's spelling.

Amounts are integers (cpu in thousandths, everything else in whole units) and are keyed by a *cell*: the text
"flavor/resource". A flavor's name has no slash, so the first slash parts the two; one string hashes once, where a pair
would be hashed at every lookup. Times are integer nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

from fairway.core.labels import Affinity, Selector, Taint, Toleration

Cell = str
Amounts = dict[Cell, int]
Time = int

SECOND: Time = 1_000_000_000

# Far above every real amount, so that sums and differences with real amounts stay unlimited without a special case.
UNLIMITED = 1 << 100
_UNLIMITED_FROM = 1 << 99


def cell(flavor: str, resource: str) -> Cell:
    return f"{flavor}/{resource}"


def split_cell(name: Cell) -> tuple[str, str]:
    flavor, _, resource = name.partition("/")
    return flavor, resource


def is_unlimited(amount: int) -> bool:
    return amount >= _UNLIMITED_FROM


class Quota(NamedTuple):
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class Strategy(Enum):
    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class PreemptionPolicy(Enum):
    UNSET = ""
    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class StopPolicy(Enum):
    """The dispatch gate of a queue: run, hold, or hold and evict what runs."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class Preference(Enum):
    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class ShareStrategy(Enum):
    FINAL_SHARE = "LessThanOrEqualToFinalShare"
    INITIAL_SHARE = "LessThanInitialShare"


@dataclass(slots=True, frozen=True)
class Preemption:
    within_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim: PreemptionPolicy = PreemptionPolicy.NEVER
    borrow_lower_priority: bool = False
    borrow_priority_threshold: int | None = None

    @property
    def always_reclaims(self) -> bool:
        return self.reclaim is PreemptionPolicy.ANY


@dataclass(slots=True, frozen=True)
class Fungibility:
    """Whether the scan of flavors goes on past one that would do only by borrowing, or only by preempting."""

    try_next_when_borrowing: bool = False
    try_next_when_preempting: bool = True
    preference: Preference = Preference.BORROWING_OVER_PREEMPTION


@dataclass(slots=True, frozen=True)
class ResourceGroup:
    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Flavor:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None
    levels: tuple[str, ...] | None = None


@dataclass(slots=True, frozen=True)
class Cohort:
    name: str
    parent: str | None = None
    quotas: Mapping[Cell, Quota] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(slots=True, frozen=True)
class Caps:
    """Hard caps of a queue, apart from quota: never lent, never borrowed, never preempted for. None is no cap."""

    runs: int | None = None
    actions: int | None = None
    depth: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Queue:
    """Where work waits and what it may use (a ClusterQueue, or a Queue compiled to the same thing).

    Two gates: `accepts` is submission (open or closed), `stop` is dispatch (run, hold, hold and evict).
    """

    name: str
    cohort: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[Cell, Quota] = field(default_factory=dict)
    strategy: Strategy = Strategy.BEST_EFFORT_FIFO
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    stop: StopPolicy = StopPolicy.NONE
    weight: float = 1.0
    namespaces: Selector | None = None
    usage_based_order: bool = False
    checks: tuple[AdmissionCheckRef, ...] = ()
    last_acceptable_flavor: str | None = None
    caps: Caps = Caps()
    priority: int = 0
    round_robin: bool = False
    accepts: bool = True

    def group_of(self, resource: str) -> ResourceGroup | None:
        for group in self.groups:
            if resource in group.resources:
                return group
        return None

    def covered(self) -> frozenset[str]:
        return frozenset(resource for group in self.groups for resource in group.resources)


@dataclass(slots=True, frozen=True)
class AdmissionCheckRef:
    name: str
    flavors: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class TenantQueue:
    """A tenant's door to a queue (a LocalQueue); its weight counts where admission is ordered by past usage."""

    key: str
    queue: str
    weight: float = 1.0
    stop: StopPolicy = StopPolicy.NONE


@dataclass(slots=True, frozen=True)
class PodSet:
    """`count` is what is still needed: pods that were reclaimed are taken off already; `spec_count` still has them."""

    name: str
    count: int
    requests: Mapping[str, int] = field(default_factory=dict)
    min_count: int | None = None
    spec_count: int = -1
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    group: str | None = None
    wants_topology: bool = False
    topology_levels: tuple[str, ...] = ()

    def total(self, count: int | None = None) -> dict[str, int]:
        times = self.count if count is None else count
        return {resource: amount * times for resource, amount in self.requests.items()}

    @property
    def full_count(self) -> int:
        return self.count if self.spec_count < 0 else self.spec_count


class Shape:
    """All that decides whether and where a workload fits; equal shapes share one object, so identity is equality.

    A refused shape is refused for every workload that has it, which is why waiting work is grouped by it.
    """

    __slots__ = ("__weakref__", "allowed_flavors", "key", "pod_sets", "priority")

    def __init__(
        self, key: object, priority: int, pod_sets: tuple[PodSet, ...], allowed_flavors: frozenset[str] | None = None
    ) -> None:
        self.key = key
        self.priority = priority
        self.pod_sets = pod_sets
        self.allowed_flavors = allowed_flavors

    def __repr__(self) -> str:
        return f"Shape(priority={self.priority}, pod_sets={self.pod_sets})"


@dataclass(slots=True, frozen=True)
class PodSetUse:
    """What one pod set of a reserving workload holds."""

    name: str
    flavors: Mapping[str, str]
    amounts: Mapping[str, int]
    count: int


@dataclass(slots=True)
class Reservation:
    """Quota that a workload holds in a queue, from the decision until the work is gone."""

    queue: str
    pod_sets: tuple[PodSetUse, ...]
    usage: Amounts
    cells: frozenset[Cell]
    since: Time
    admitted: bool = False


class Backoff(NamedTuple):
    """Not to be tried before `until`; `blocked` means not before somebody says so."""

    until: Time = 0
    blocked: bool = False

    def over(self, now: Time) -> bool:
        return not self.blocked and self.until <= now


class Spot(IntEnum):
    """Where a workload is, as its queue sees it."""

    NOWHERE = 0
    LANE = 1
    HELD = 2
    IN_FLIGHT = 3
    RESERVED = 4


@dataclass(slots=True, eq=False)
class Workload:
    """The unit that is admitted. Whatever most waiting workloads do not have is in optional fields."""

    key: str
    uid: str
    tenant_queue: str
    queue: str
    shape: Shape
    created: Time
    queued: Time
    reservation: Reservation | None = None
    evicted: bool = False
    backoff: Backoff | None = None
    traits: Traits | None = None
    spot: Spot = Spot.NOWHERE

    @property
    def priority(self) -> int:
        return self.shape.priority

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def order(self) -> tuple[Time, str, str]:
        return (self.queued, self.uid, self.key)


@dataclass(slots=True)
class Traits:
    """What few workloads have."""

    gate_closed: bool = False
    failed_checks: bool = False
    misconfigured: str | None = None
    replaces: str | None = None
    variant_parent: str | None = None
    variant_flavor: str | None = None
    generation: int = 0
    min_runtime: Time = 0
    is_child: bool = False


class Mode(IntEnum):
    """How a flavor assignment can be had, worst first."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3


@dataclass(slots=True, frozen=True)
class UsageDecay:
    """How past usage fades where admission is ordered by it."""

    half_life: Time
    sampling: Time = 300 * SECOND
    resource_weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Settings:
    """Choices that hold for the whole space."""

    fair_sharing: bool = False
    share_strategies: tuple[ShareStrategy, ...] = (ShareStrategy.FINAL_SHARE, ShareStrategy.INITIAL_SHARE)
    usage_decay: UsageDecay | None = None
    eviction_timestamp: bool = True
    ignore_undeclared: bool = False
    partial_admission: bool = True
    recompute_on_overlap: bool = True
    fungibility: bool = True
    preserve_scan: bool = True
    priority_across_queues: bool = True
    preemptors_first: bool = True
    preempt_within_nominal: bool = True
    non_borrowing_first: bool = True
    shape_parking: bool = True
    variants: bool = False
    preemption_gates: bool = False
    slices: bool = True
    topology: bool = True
    block_admission: bool = False
    rescan: bool = True
    recheck_spared: bool = True
