"""Find a flavor for every resource of every pod set.

Pod sets of one group, and resources of one resource group, take one flavor together. Flavors are scanned in the
queue's order; which one wins when several would do only by borrowing or preempting is the queue's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairway.core.admit.assignment import (
    BEST,
    WORST,
    Assignment,
    Attempt,
    Choice,
    Grade,
    Nominated,
    PodSetAssignment,
    Possibility,
    ScanProgress,
    is_preferred,
    tries_next,
)
from fairway.core.admit.reasons import (
    AffinityMismatch,
    LevelMissing,
    NoFit,
    NotAllowed,
    NotCovered,
    NotNominated,
    NotProvided,
    OverCapacity,
    QuotaInUse,
    Reason,
    SliceElsewhere,
    TopologyMismatch,
    UnknownFlavor,
    UntoleratedTaint,
    worst,
)
from fairway.core.labels import matches_flavor, untolerated
from fairway.core.model import (
    Amounts,
    Cell,
    Flavor,
    Fungibility,
    Mode,
    PodSet,
    PodSetUse,
    PreemptionPolicy,
    Queue,
    ResourceGroup,
    Settings,
    Shape,
    cell,
)
from fairway.core.quota.node import Node

Oracle = Callable[[Cell, int], tuple[Possibility, int]]
PODS = "pods"


class Assigner:
    """One workload against one queue, as the tree stands now."""

    __slots__ = (
        "_can_preempt_while_borrowing",
        "_flavors",
        "_node",
        "_nominated",
        "_oracle",
        "_progress",
        "_queue",
        "_replaced",
        "_settings",
        "_shape",
        "_topology_only",
    )

    def __init__(
        self,
        shape: Shape,
        queue: Queue,
        node: Node,
        flavors: Mapping[str, Flavor],
        settings: Settings,
        oracle: Oracle,
        replaced: Sequence[PodSetUse] | None = None,
        progress: ScanProgress | None = None,
        nominated: Nominated | None = None,
    ) -> None:
        self._shape = shape
        self._queue = queue
        self._node = node
        self._flavors = flavors
        self._settings = settings
        self._oracle = oracle
        self._replaced = replaced
        self._progress = progress if settings.fungibility else None
        self._nominated = nominated
        self._topology_only = bool(queue.groups) and all(
            name in flavors and flavors[name].topology is not None for group in queue.groups for name in group.flavors
        )
        self._can_preempt_while_borrowing = preempts_while_borrowing(queue, settings)

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        assignment = Assignment()
        in_order: list[PodSetAssignment] = []
        for members in self._groups():
            if not self._assign_group(assignment, members, counts):
                break
        else:
            by_name = {result.name: result for result in assignment.pod_sets}
            in_order = [by_name[pod_set.name] for pod_set in self._shape.pod_sets]
        if in_order and self._settings.topology and assignment.mode is not Mode.NO_FIT:
            self._check_topologies(in_order)
        assignment.resolve_no_fit(self._queue)
        return assignment

    def _groups(self) -> list[list[int]]:
        groups: dict[object, list[int]] = {}
        for index, pod_set in enumerate(self._shape.pod_sets):
            groups.setdefault(index if pod_set.group is None else pod_set.group, []).append(index)
        return list(groups.values())

    def _assign_group(self, assignment: Assignment, members: list[int], counts: Sequence[int] | None) -> bool:
        requests = {index: self._requests(index, counts) for index in members}
        total: dict[str, int] = {}
        for request in requests.values():
            for resource, amount in request.items():
                total[resource] = total.get(resource, 0) + amount
        choices, reasons, attempts = self._choose(members, total, assignment.usage)
        complete = True
        for index in members:
            pod_set, request = self._shape.pod_sets[index], requests[index]
            count = pod_set.count if counts is None else counts[index]
            own = {resource: choice for resource, choice in choices.items() if resource in request}
            if not request and pod_set.group is not None:
                own = {r: c for r, c in choices.items() if self._has_topology(c.flavor)}
            result = PodSetAssignment(pod_set.name, count, request, own, list(reasons), attempts)
            self._append(assignment, result)
            if request and not own:
                complete = False
        return complete

    def _requests(self, index: int, counts: Sequence[int] | None) -> dict[str, int]:
        pod_set = self._shape.pod_sets[index]
        count = pod_set.count if counts is None else counts[index]
        request = pod_set.total(count)
        if self._queue.group_of(PODS) is not None:
            request[PODS] = count
        return request

    def _choose(
        self, members: list[int], total: dict[str, int], used: Amounts
    ) -> tuple[dict[str, Choice], list[Reason], list[Attempt]]:
        choices: dict[str, Choice] = {}
        reasons: list[Reason] = []
        seen: dict[str, Attempt] = {}
        for resource in sorted(total):
            group = self._queue.group_of(resource)
            if resource in choices or (group is None and self._is_ignored(total[resource])):
                continue
            if group is None:
                return {}, [NotCovered(resource)], _by_flavor(seen)
            found, why, attempts = self._scan(members, group, total, resource, used)
            _merge(seen, attempts, group, resource)
            if not found:
                return {}, why, _by_flavor(seen)
            choices.update(found)
            reasons.extend(why)
        return choices, reasons, _by_flavor(seen)

    def _is_ignored(self, amount: int) -> bool:
        return amount == 0 or self._settings.ignore_undeclared

    def _scan(
        self, members: list[int], group: ResourceGroup, total: dict[str, int], resource: str, used: Amounts
    ) -> tuple[dict[str, Choice], list[Reason], list[Attempt]]:
        wanted = {name: total[name] for name in sorted(total) if name in group.resources}
        best: dict[str, Choice] = {}
        best_grade = WORST
        reasons: list[Reason] = []
        attempts: list[Attempt] = []
        fungibility = self._queue.fungibility
        last = -1
        start = self._progress.next_flavor(members[0], resource) if self._progress is not None else 0
        for index in range(start, len(group.flavors)):
            last = index
            name = group.flavors[index]
            skip = self._skips(name, members, resource)
            if skip is not None:
                reasons.append(skip)
                continue
            mismatch = self._mismatch(name, members, group)
            if mismatch is not None:
                reasons.append(mismatch)
                attempts.append(Attempt(name, Mode.NO_FIT, reasons=[mismatch], no_fit=NoFit.NO_MATCHING_FLAVOR))
                continue
            choices, grade, attempt = self._grade(name, members, wanted, used)
            reasons.extend(attempt.reasons)
            attempts.append(attempt)
            if self._settings.fungibility:
                if not tries_next(grade, fungibility):
                    best, best_grade = choices, grade
                    break
                if is_preferred(grade, best_grade, fungibility):
                    best, best_grade = choices, grade
            elif grade.possibility > best_grade.possibility:
                best, best_grade = choices, grade
                if grade.possibility is Possibility.FIT:
                    break
        if self._settings.fungibility:
            tried = -1 if last == len(group.flavors) - 1 else last
            for choice in best.values():
                choice.tried = tried
        return best, [] if best_grade.possibility is Possibility.FIT else reasons, attempts

    def _skips(self, flavor: str, members: list[int], resource: str) -> Reason | None:
        if self._nominated:
            names = (self._shape.pod_sets[index].name for index in members)
            if all(self._nominated.get(name, {}).get(resource) != flavor for name in names):
                return NotNominated(flavor, resource)
        allowed = self._shape.allowed_flavors
        if self._settings.variants and allowed is not None and flavor not in allowed:
            return NotAllowed(flavor)
        return None

    def _mismatch(self, name: str, members: list[int], group: ResourceGroup) -> Reason | None:
        flavor = self._flavors.get(name)
        for index in members:
            pod_set = self._shape.pod_sets[index]
            if flavor is not None and self._settings.topology:
                mismatch = self._topology_mismatch(pod_set, flavor, group)
                if mismatch is not None:
                    return mismatch
            mismatch = flavor_mismatch(pod_set, flavor, name, self._settings, needs_topology=None)
            if mismatch is not None:
                return mismatch
        return None

    def _topology_mismatch(self, pod_set: PodSet, flavor: Flavor, group: ResourceGroup) -> Reason | None:
        if not pod_set.wants_topology and self._topology_only:
            return None
        if not pod_set.wants_topology:
            return TopologyMismatch(flavor.name, wanted=False) if flavor.topology is not None else None
        if flavor.topology is None:
            provides = any(resource in group.resources for resource in pod_set.requests)
            return TopologyMismatch(flavor.name, wanted=True) if provides else None
        if flavor.levels is not None and not set(pod_set.topology_levels) <= set(flavor.levels):
            return LevelMissing(flavor.name)
        return None

    def _has_topology(self, flavor: str) -> bool:
        return flavor in self._flavors and self._flavors[flavor].topology is not None

    def _check_topologies(self, results: list[PodSetAssignment]) -> None:
        """Pods are placed in one topology: none is no answer to where they go, and two are two."""
        names = {name for group in self._queue.groups for name in group.flavors}
        known = any(self._has_topology(name) for name in names)
        for pod_set, result in zip(self._shape.pod_sets, results, strict=True):
            if not (pod_set.wants_topology or self._topology_only) or result.count == 0:
                continue
            flavors = sorted({c.flavor for c in result.choices.values() if self._has_topology(c.flavor)})
            if not known:
                result.error = "workload requires Topology, but there is no TAS cache information"
            elif not flavors:
                result.error = "no TAS flavor assigned"
            elif len(flavors) > 1:
                result.error = f"more than one TAS flavor assigned: {', '.join(flavors)}"

    def _grade(
        self, flavor: str, members: list[int], wanted: dict[str, int], used: Amounts
    ) -> tuple[dict[str, Choice], Grade, Attempt]:
        attempt = Attempt(flavor, Mode.FIT)
        cells: list[tuple[str, Cell, int, int]] = []
        for resource, amount in wanted.items():
            if self._replaced is not None:
                original = self._slice_elsewhere(flavor, members, resource)
                if original is None:
                    amount -= sum(self._replaced[index].amounts.get(resource, 0) for index in members)
                elif not attempt.reasons:
                    attempt.reasons.append(SliceElsewhere(flavor, original))
                    attempt.no_fit = NoFit.NO_MATCHING_FLAVOR
            at = cell(flavor, resource)
            cells.append((resource, at, used.get(at, 0), amount))
        start = WORST if attempt.reasons else BEST
        choices, grade = grade_cells(
            cells, attempt, start, self._node, self._queue.fungibility, self._can_preempt_while_borrowing, self._oracle
        )
        return choices, grade, attempt

    def _slice_elsewhere(self, flavor: str, members: list[int], resource: str) -> str | None:
        assert self._replaced is not None
        for index in members:
            original = self._replaced[index].flavors.get(resource, "")
            if original != flavor:
                return original
        return None

    def _append(self, assignment: Assignment, result: PodSetAssignment) -> None:
        assignment.pod_sets.append(result)
        tried: dict[str, int] = {}
        for resource, choice in result.choices.items():
            assignment.borrowing = max(assignment.borrowing, choice.borrow)
            at = cell(choice.flavor, resource)
            amount = result.requests.get(resource, 0) - self._held_by_slice(result.name, resource)
            assignment.usage[at] = assignment.usage.get(at, 0) + amount
            tried[resource] = choice.tried
        assignment.tried.append(tried)

    def _held_by_slice(self, pod_set: str, resource: str) -> int:
        for use in self._replaced or ():
            if use.name == pod_set:
                return use.amounts.get(resource, 0)
        return 0


def grade_cells(
    cells: Sequence[tuple[str, Cell, int, int]],
    attempt: Attempt,
    grade: Grade,
    node: Node,
    fungibility: Fungibility,
    while_borrowing: bool,
    oracle: Oracle,
) -> tuple[dict[str, Choice], Grade]:
    """How a flavor could be had for several resources: as its worst. The cells come with what others took before."""
    choices: dict[str, Choice] = {}
    for resource, at, before, amount in cells:
        possibility, borrow, reason = ask_quota(node, at, before, amount, while_borrowing, oracle)
        if reason is not None:
            attempt.reasons.append(reason)
            if possibility is Possibility.NO_FIT:
                attempt.no_fit = worst(attempt.no_fit, reason.kind)
        if borrow > attempt.borrow:
            attempt.borrow = borrow
        own = Grade(possibility, borrow)
        if is_preferred(grade, own, fungibility):
            grade = own
        if grade.possibility is not Possibility.NO_FIT:
            choices[resource] = Choice(attempt.flavor, possibility.mode, borrow)
    attempt.mode = grade.possibility.mode
    if attempt.mode is Mode.PREEMPT:
        attempt.possibility = grade.possibility
    return choices, grade


def ask_quota(
    node: Node, at: Cell, before: int, request: int, while_borrowing: bool, oracle: Oracle
) -> tuple[Possibility, int, Reason | None]:
    """Whether an amount can be had of a cell, with how much borrowing, or by preempting if that may be."""
    need = before + request
    capacity = node.potential(at)
    if need > capacity:
        return Possibility.NO_FIT, 0, OverCapacity(at, before, request, capacity)
    borrow, smaller = node.lowest_fit(at, need)
    available = max(0, node.available(at))
    if need <= available:
        return Possibility.FIT, borrow, None
    reason = QuotaInUse(at, need - available)
    if node.nominal(at) >= need or smaller or while_borrowing:
        possibility, borrow = oracle(at, need)
        return possibility, borrow, reason
    return Possibility.NO_FIT, borrow, reason


def preempts_while_borrowing(queue: Queue, settings: Settings) -> bool:
    rules = queue.preemption
    return rules.borrow_lower_priority or (settings.fair_sharing and rules.reclaim is not PreemptionPolicy.NEVER)


def flavor_mismatch(
    pod_set: PodSet, flavor: Flavor | None, name: str, settings: Settings, needs_topology: bool | None
) -> Reason | None:
    """Why pods could not go to nodes of a flavor, whatever its quota."""
    if flavor is None:
        return UnknownFlavor(name)
    if needs_topology is False and settings.topology and flavor.topology is not None:
        return TopologyMismatch(name, wanted=False)
    if flavor.taints:
        taint = untolerated(flavor.taints, pod_set.tolerations + flavor.tolerations)
        if taint is not None:
            return UntoleratedTaint(name, taint)
    if (pod_set.node_selector or pod_set.affinity is not None) and not matches_flavor(
        pod_set.node_selector, pod_set.affinity, flavor.labels, flavor.labels.keys()
    ):
        return AffinityMismatch(name)
    return None


def _by_flavor(seen: dict[str, Attempt]) -> list[Attempt]:
    return [seen[name] for name in sorted(seen)]


def _merge(seen: dict[str, Attempt], attempts: list[Attempt], group: ResourceGroup, resource: str) -> None:
    """A flavor is as good as the worst that any resource found out about it."""
    for attempt in attempts:
        known = seen.get(attempt.flavor)
        if known is None:
            seen[attempt.flavor] = attempt
            continue
        known.mode = min(known.mode, attempt.mode)
        known.borrow = max(known.borrow, attempt.borrow)
        if attempt.possibility is not None and (known.possibility is None or attempt.possibility < known.possibility):
            known.possibility = attempt.possibility
        known.reasons.extend(reason for reason in attempt.reasons if reason not in known.reasons)
        known.no_fit = worst(known.no_fit, attempt.no_fit)
    if not attempts:
        return
    present = {attempt.flavor for attempt in attempts}
    for name, known in seen.items():
        if name in group.flavors and name not in present:
            known.mode = Mode.NO_FIT
            missing = NotProvided(name, resource)
            if missing not in known.reasons:
                known.reasons.append(missing)
            known.no_fit = NoFit.NO_MATCHING_FLAVOR
