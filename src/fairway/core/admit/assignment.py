"""What flavor assignment finds out: a flavor for every resource of every pod set, or what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from fairway.core.admit.reasons import NoFit, Reason, worst
from fairway.core.model import Amounts, Cell, Fungibility, Mode, PodSetUse, Preference, Queue, Shape, cell


class Possibility(IntEnum):
    """How one flavor could be had, worst first; it tells apart what `Mode.PREEMPT` lumps together."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def mode(self) -> Mode:
        if self is Possibility.FIT:
            return Mode.FIT
        return Mode.NO_FIT if self is Possibility.NO_FIT else Mode.PREEMPT


class Grade(NamedTuple):
    possibility: Possibility
    borrow: int


WORST = Grade(Possibility.NO_FIT, 1 << 62)
BEST = Grade(Possibility.FIT, 0)


def is_preferred(a: Grade, b: Grade, fungibility: Fungibility) -> bool:
    if a.possibility is Possibility.NO_FIT:
        return False
    if b.possibility is Possibility.NO_FIT:
        return True
    hopeless_a = a.possibility is Possibility.NO_CANDIDATES
    hopeless_b = b.possibility is Possibility.NO_CANDIDATES
    if hopeless_a != hopeless_b:
        return hopeless_b
    if fungibility.preference is Preference.PREEMPTION_OVER_BORROWING and a.borrow != b.borrow:
        return a.borrow < b.borrow
    if a.possibility != b.possibility:
        return a.possibility > b.possibility
    return a.borrow < b.borrow


def tries_next(grade: Grade, fungibility: Fungibility) -> bool:
    if grade.possibility <= Possibility.NO_CANDIDATES:
        return True
    if grade.possibility is not Possibility.FIT and fungibility.try_next_when_preempting:
        return True
    return grade.borrow > 0 and fungibility.try_next_when_borrowing


@dataclass(slots=True)
class Choice:
    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = 0


@dataclass(slots=True)
class Attempt:
    """One flavor that was looked at, with the worst outcome over its resources."""

    flavor: str
    mode: Mode
    borrow: int = 0
    possibility: Possibility | None = None
    reasons: list[Reason] = field(default_factory=list)
    no_fit: NoFit = NoFit.NONE


@dataclass(slots=True)
class PodSetAssignment:
    name: str
    count: int
    requests: dict[str, int]
    choices: dict[str, Choice]
    reasons: list[Reason] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    error: str | None = None

    @property
    def mode(self) -> Mode:
        if self.error is not None:
            return Mode.NO_FIT
        if not self.reasons:
            return Mode.FIT
        if not self.choices:
            return Mode.NO_FIT
        return min(choice.mode for choice in self.choices.values())


@dataclass(slots=True)
class ScanProgress:
    """Where the scan of flavors stopped, to go on from there; it is dropped when it no longer describes the world."""

    tried: list[dict[str, int]]
    version: int
    cycle: int
    shape: Shape | None

    @property
    def pending(self) -> bool:
        return any(index != -1 for tried in self.tried for index in tried.values())

    def next_flavor(self, pod_set: int, resource: str) -> int:
        if pod_set >= len(self.tried):
            return 0
        return self.tried[pod_set].get(resource, -1) + 1

    def outdated(self, version: int, cycle: int, shape: Shape | None, preserve: bool) -> bool:
        if preserve:
            if self.shape is not None and shape is not None and self.shape is not shape:
                return True
            if cycle - self.cycle <= 1:
                return False
        return version > self.version


class Holding(NamedTuple):
    uses: tuple[PodSetUse, ...]
    usage: Amounts
    cells: frozenset[Cell]


@dataclass(slots=True, eq=False)
class Assignment:
    pod_sets: list[PodSetAssignment] = field(default_factory=list)
    usage: Amounts = field(default_factory=dict)
    borrowing: int = 0
    tried: list[dict[str, int]] = field(default_factory=list)
    no_fit: NoFit = NoFit.NONE
    override: Mode | None = None
    held: Holding | None = None

    @property
    def mode(self) -> Mode:
        if self.override is not None:
            return self.override
        if not self.pod_sets:
            return Mode.NO_FIT
        return min(pod_set.mode for pod_set in self.pod_sets)

    def defer(self) -> None:
        """It fits, but only once victims of others are gone."""
        self.override = Mode.DEFERRED_FIT
        for pod_set in self.pod_sets:
            for choice in pod_set.choices.values():
                choice.mode = Mode.DEFERRED_FIT

    def message(self) -> str:
        parts: list[str] = []
        for pod_set in self.pod_sets:
            if pod_set.error is not None:
                return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.error}"
            if pod_set.reasons:
                reasons = ", ".join(sorted(str(reason) for reason in pod_set.reasons))
                parts.append(f"couldn't assign flavors to pod set {pod_set.name}: {reasons}")
        return "; ".join(parts)

    def cells_to_preempt(self) -> frozenset[Cell]:
        return frozenset(
            cell(choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.choices.items()
            if choice.mode is Mode.PREEMPT
        )

    def total_usage(self) -> Amounts:
        return {at: amount for at, amount in self.usage.items() if amount != 0}

    def nominated(self) -> dict[str, dict[str, str]]:
        return {ps.name: {r: choice.flavor for r, choice in ps.choices.items()} for ps in self.pod_sets}

    def holding(self) -> Holding:
        """What the workload will hold; for a slice that is more than what it adds. Worked out once."""
        if self.held is None:
            uses = self._uses()
            usage: Amounts = {}
            for use in uses:
                for resource, flavor in use.flavors.items():
                    at = cell(flavor, resource)
                    usage[at] = usage.get(at, 0) + use.amounts[resource]
            self.held = Holding(uses, usage, frozenset(usage))
        return self.held

    def _uses(self) -> tuple[PodSetUse, ...]:
        """Only resources that got a flavor are written down."""
        return tuple(
            PodSetUse(
                pod_set.name,
                {resource: choice.flavor for resource, choice in pod_set.choices.items()},
                {resource: pod_set.requests.get(resource, 0) for resource in pod_set.choices},
                pod_set.count,
            )
            for pod_set in self.pod_sets
        )

    def resolve_no_fit(self, queue: Queue) -> None:
        """Of alternatives the one easiest to help counts, of things needed together the hardest."""
        if self.mode is not Mode.NO_FIT:
            return
        overall = NoFit.NONE
        for pod_set in self.pod_sets:
            if pod_set.mode is Mode.NO_FIT:
                overall = worst(overall, _no_fit_of(pod_set, queue))
        self.no_fit = overall


def _no_fit_of(pod_set: PodSetAssignment, queue: Queue) -> NoFit:
    if not pod_set.attempts:
        return NoFit.NO_MATCHING_FLAVOR
    by_group: dict[int, NoFit] = {}
    for at, attempt in enumerate(pod_set.attempts):
        if attempt.mode is not Mode.NO_FIT:
            continue
        groups = [index for index, group in enumerate(queue.groups) if attempt.flavor in group.flavors]
        for index in groups or [-1 - at]:
            known = by_group.get(index)
            if known is None or attempt.no_fit.severity < known.severity:
                by_group[index] = attempt.no_fit
    overall = NoFit.NONE
    for no_fit in by_group.values():
        overall = worst(overall, no_fit)
    return overall


Nominated = Mapping[str, Mapping[str, str]]

__all__ = [
    "BEST",
    "WORST",
    "Assignment",
    "Attempt",
    "Choice",
    "Grade",
    "Holding",
    "Nominated",
    "PodSetAssignment",
    "Possibility",
    "ScanProgress",
    "is_preferred",
    "tries_next",
]
