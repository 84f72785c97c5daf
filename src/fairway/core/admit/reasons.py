"""Why a flavor cannot be had, as data: every fact with its numbers, and the sentence that users of Kueue know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairway.core.labels import Taint
from fairway.core.model import Cell, split_cell
from fairway.core.quantity import render_amount


class NoFit(Enum):
    """What kind of change would help, by how much the workload or the quota would have to change."""

    NONE = ""
    TOPOLOGY = "TopologyPlacementFailed"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    NO_MATCHING_FLAVOR = "NoMatchingFlavor"

    @property
    def severity(self) -> int:
        return _SEVERITY[self]


_SEVERITY = {kind: at for at, kind in enumerate(NoFit)}


def worst(a: NoFit, b: NoFit) -> NoFit:
    return a if a.severity >= b.severity else b


@dataclass(slots=True, frozen=True)
class UnknownFlavor:
    flavor: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"flavor {self.flavor} not found"


@dataclass(slots=True, frozen=True)
class UntoleratedTaint:
    flavor: str
    taint: Taint
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"untolerated taint {self.taint} in flavor {self.flavor}"


@dataclass(slots=True, frozen=True)
class AffinityMismatch:
    flavor: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"flavor {self.flavor} doesn't match node affinity"


@dataclass(slots=True, frozen=True)
class TopologyMismatch:
    flavor: str
    wanted: bool
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        what = "does not support" if self.wanted else "supports only"
        return f'Flavor "{self.flavor}" {what} TopologyAwareScheduling'


@dataclass(slots=True, frozen=True)
class LevelMissing:
    flavor: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f'Flavor "{self.flavor}" does not contain the requested level'


@dataclass(slots=True, frozen=True)
class NotCovered:
    resource: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"resource {self.resource} unavailable in ClusterQueue"


@dataclass(slots=True, frozen=True)
class NotProvided:
    flavor: str
    resource: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"flavor {self.flavor} does not provide resource {self.resource}"


@dataclass(slots=True, frozen=True)
class NotNominated:
    flavor: str
    resource: str
    kind = NoFit.NONE

    def __str__(self) -> str:
        return (
            f"skipping flavor {self.flavor} as it is not found in the nomination mapping for resource {self.resource}"
        )


@dataclass(slots=True, frozen=True)
class NotAllowed:
    flavor: str
    kind = NoFit.NONE

    def __str__(self) -> str:
        return f"skipping flavor {self.flavor} due to WorkloadAllowedResourceFlavorAnnotation annotation"


@dataclass(slots=True, frozen=True)
class SliceElsewhere:
    flavor: str
    original: str
    kind = NoFit.NO_MATCHING_FLAVOR

    def __str__(self) -> str:
        return f"could not assign {self.flavor} flavor since the original workload is assigned: {self.original}"


@dataclass(slots=True, frozen=True)
class OverCapacity:
    """More than could be had if nothing at all were running."""

    cell: Cell
    before: int
    request: int
    capacity: int
    kind = NoFit.EXCEEDS_MAX_QUOTA

    def __str__(self) -> str:
        flavor, resource = split_cell(self.cell)
        before, request, capacity = (
            render_amount(resource, amount) for amount in (self.before, self.request, self.capacity)
        )
        return (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests ({before}) "
            f"+ current podset request ({request}) > maximum capacity ({capacity})"
        )


@dataclass(slots=True, frozen=True)
class QuotaInUse:
    """Others hold what is missing."""

    cell: Cell
    missing: int
    kind = NoFit.WAITING_FOR_QUOTA

    def __str__(self) -> str:
        flavor, resource = split_cell(self.cell)
        return (
            f"insufficient unused quota for {resource} in flavor {flavor}, "
            f"{render_amount(resource, self.missing)} more needed"
        )


Reason = (
    UnknownFlavor
    | UntoleratedTaint
    | AffinityMismatch
    | TopologyMismatch
    | LevelMissing
    | NotCovered
    | NotProvided
    | NotNominated
    | NotAllowed
    | SliceElsewhere
    | OverCapacity
    | QuotaInUse
)
