"""The short way for the common case: one pod set that fits the first flavor of each of its resource groups.

What does not depend on usage (which flavors match, which cells are asked for) is worked out once per queue and shape;
the answer itself is shared by all workloads that get it. Whatever is not that simple goes the long way, by `assign`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.core.admit.assign import PODS, Oracle, flavor_mismatch, grade_cells, preempts_while_borrowing
from fairway.core.admit.assignment import BEST, Assignment, Attempt, Choice, PodSetAssignment, Possibility
from fairway.core.admit.reasons import NoFit
from fairway.core.model import Cell, Flavor, Mode, Preemption, Queue, Settings, Shape, cell
from fairway.core.quota.node import Node


class Recipe:
    __slots__ = (
        "_answers",
        "_borrows",
        "_cells",
        "_count",
        "_name",
        "_only",
        "_queue",
        "_requests",
        "_while_borrowing",
    )

    def __init__(
        self,
        name: str,
        count: int,
        requests: dict[str, int],
        cells: list[tuple[str, str, Cell, int, int]],
        queue: Queue,
        settings: Settings,
    ) -> None:
        self._queue = queue
        self._while_borrowing = preempts_while_borrowing(queue, settings)
        one_flavor = len({flavor for _, flavor, _, _, _ in cells}) == 1
        self._only = cells[0][1] if one_flavor and all(tried == -1 for *_, tried in cells) else None
        self._name = name
        self._count = count
        self._requests = requests
        self._cells = cells
        self._borrows = not queue.fungibility.try_next_when_borrowing
        self._answers: dict[tuple[int, ...], Assignment] = {}

    def try_on(self, node: Node) -> Assignment | None:
        """The assignment, if everything fits right now; None says nothing but that the long way has to be gone."""
        heights: list[int] = []
        for _, _, at, amount, _ in self._cells:
            if amount > node.available(at):
                return None
            height = 0
            if node.parent is not None and node.usage.get(at, 0) + amount > node.nominal(at):
                height, _ = node.lowest_fit(at, amount)
                if height and not self._borrows:
                    return None
            heights.append(height)
        key = tuple(heights)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._answer(key)
        return answer

    def try_hard(self, node: Node, oracle: Oracle) -> Assignment | None:
        """The same as the long way would say, where there is only one flavor to choose."""
        flavor = self._only
        if flavor is None:
            return None
        attempt = Attempt(flavor, Mode.FIT)
        asked = [(resource, at, 0, amount) for resource, _, at, amount, _ in self._cells]
        choices, grade = grade_cells(asked, attempt, BEST, node, self._queue.fungibility, self._while_borrowing, oracle)
        refused = grade.possibility is Possibility.NO_FIT
        own: dict[str, Choice] = {} if refused else choices
        for choice in own.values():
            choice.tried = -1
        reasons = [] if grade.possibility is Possibility.FIT else list(attempt.reasons)
        pod_set = PodSetAssignment(self._name, self._count, self._requests, own, reasons, [attempt])
        usage = {} if refused else {at: amount for resource, _, at, amount, _ in self._cells if resource in own}
        borrowing = max((choice.borrow for choice in own.values()), default=0)
        assignment = Assignment([pod_set], usage, borrowing, [dict.fromkeys(own, -1)])
        assignment.override = pod_set.mode
        assignment.no_fit = attempt.no_fit if refused else NoFit.NONE
        return assignment

    def is_hopeless(self, node: Node, preemption: Preemption, lower_running: bool) -> bool:
        """Whether it is plain, without trying, that it neither fits nor could preempt: classical rules, flat cohort.

        A queue at or above its nominal quota, with nobody of lower priority in it, has no claim on anybody, unless it
        may preempt while borrowing; and one that could always reclaim keeps nothing from others while it waits.
        """
        if lower_running or preemption.borrow_lower_priority or not preemption.always_reclaims:
            return False
        parent = node.parent
        if parent is not None and parent.parent is not None:
            return False
        for _, _, at, amount, tried in self._cells:
            if tried != -1:
                return False
            nominal = node.nominal(at)
            if amount > node.available(at) and node.usage.get(at, 0) >= nominal:
                return True
        return False

    def _answer(self, heights: tuple[int, ...]) -> Assignment:
        choices: dict[str, Choice] = {}
        attempts: dict[str, Attempt] = {}
        usage: dict[Cell, int] = {}
        for (resource, flavor, at, amount, tried), height in zip(self._cells, heights, strict=True):
            choices[resource] = Choice(flavor, Mode.FIT, height, tried)
            attempt = attempts.setdefault(flavor, Attempt(flavor, Mode.FIT))
            attempt.borrow = max(attempt.borrow, height)
            usage[at] = usage.get(at, 0) + amount
        pod_set = PodSetAssignment(
            self._name, self._count, self._requests, choices, [], [attempts[name] for name in sorted(attempts)]
        )
        tried_by = {resource: choice.tried for resource, choice in choices.items()}
        return Assignment([pod_set], usage, max(heights, default=0), [tried_by], override=Mode.FIT)


def recipe_for(shape: Shape, queue: Queue, flavors: Mapping[str, Flavor], settings: Settings) -> Recipe | None:
    """None where the first flavor does not match, or more than one pod set has to be seen together."""
    if len(shape.pod_sets) != 1 or not settings.fungibility or settings.variants:
        return None
    pod_set = shape.pod_sets[0]
    if pod_set.wants_topology:
        return None
    requests = pod_set.total()
    if queue.group_of(PODS) is not None:
        requests[PODS] = pod_set.count
    cells: list[tuple[str, str, Cell, int, int]] = []
    for resource in sorted(requests):
        group = queue.group_of(resource)
        if group is None:
            if requests[resource] == 0 or settings.ignore_undeclared:
                continue
            return None
        first = group.flavors[0]
        if flavor_mismatch(pod_set, flavors.get(first), first, settings, needs_topology=False) is not None:
            return None
        tried = -1 if len(group.flavors) == 1 else 0
        cells.append((resource, first, cell(first, resource), requests[resource], tried))
    if not cells and requests:
        return None
    return Recipe(pod_set.name, pod_set.count, requests, cells, queue, settings)
