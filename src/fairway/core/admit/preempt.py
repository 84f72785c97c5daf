"""Who has to make room for a workload, by the rules in force, and whether anybody could."""

from __future__ import annotations

from fairway.core.admit.assignment import Assignment, Possibility
from fairway.core.admit.classical import classical_victims
from fairway.core.admit.contest import Contest, Field, Victim
from fairway.core.admit.fair import fair_victims
from fairway.core.model import Amounts, Cell, Queue, Workload
from fairway.core.quota.node import Node


class Search:
    """Searches for one workload while the tree stands still, so an answer found once is not looked for again."""

    __slots__ = ("_field", "_found", "_node", "_queue", "_workload")

    def __init__(self, field: Field, workload: Workload, queue: Queue, node: Node) -> None:
        self._field = field
        self._workload = workload
        self._queue = queue
        self._node = node
        self._found: list[tuple[frozenset[Cell], Amounts, list[Victim]]] = []

    def victims_for(self, assignment: Assignment) -> list[Victim]:
        return self._victims(assignment.cells_to_preempt(), assignment.total_usage())[1]

    def simulate(self, cell: Cell, amount: int) -> tuple[Possibility, int]:
        """Tries preemption for one cell alone, to compare flavors before one is chosen."""
        contest, victims = self._victims(frozenset((cell,)), {cell: amount})
        if not victims:
            return Possibility.NO_CANDIDATES, self._node.lowest_fit(cell, amount)[0]
        for victim in victims:
            contest.take_out(victim.workload)
        borrow, _ = self._node.lowest_fit(cell, amount)
        contest.put_all_back(victims)
        own = self._node.name
        in_own = any(v.workload.reservation is not None and v.workload.reservation.queue == own for v in victims)
        return (Possibility.PREEMPT if in_own else Possibility.RECLAIM), borrow

    def _victims(self, cells: frozenset[Cell], usage: Amounts) -> tuple[Contest, list[Victim]]:
        contest = Contest(self._field, self._workload, self._queue, self._node, cells, usage)
        for known_cells, known_usage, known in self._found:
            if known_cells == cells and known_usage == usage:
                return contest, list(known)
        find = fair_victims if self._field.settings.fair_sharing else classical_victims
        victims = find(contest)
        self._found.append((cells, usage, victims))
        return contest, list(victims)


def find_victims(field: Field, workload: Workload, queue: Queue, node: Node, assignment: Assignment) -> list[Victim]:
    return Search(field, workload, queue, node).victims_for(assignment)
