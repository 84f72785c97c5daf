"""Who has to make room for a workload, by the rules in force, and whether anybody could."""

from __future__ import annotations

from fairway.core.admit.assign import Oracle
from fairway.core.admit.assignment import Assignment, Possibility
from fairway.core.admit.classical import classical_victims
from fairway.core.admit.contest import Contest, Field, Victim
from fairway.core.admit.fair import fair_victims
from fairway.core.model import Cell, Queue, Workload
from fairway.core.quota.node import Node


def find_victims(field: Field, workload: Workload, queue: Queue, node: Node, assignment: Assignment) -> list[Victim]:
    cells, usage = assignment.cells_to_preempt(), assignment.total_usage()
    return _victims(Contest(field, workload, queue, node, cells, usage))


def oracle_for(field: Field, workload: Workload, queue: Queue, node: Node) -> Oracle:
    """Tries preemption for one cell alone, to compare flavors before one is chosen."""

    def simulate(cell: Cell, amount: int) -> tuple[Possibility, int]:
        contest = Contest(field, workload, queue, node, frozenset((cell,)), {cell: amount})
        victims = _victims(contest)
        if not victims:
            return Possibility.NO_CANDIDATES, node.lowest_fit(cell, amount)[0]
        for victim in victims:
            contest.take_out(victim.workload)
        borrow, _ = node.lowest_fit(cell, amount)
        contest.put_all_back(victims)
        own = any(v.workload.reservation is not None and v.workload.reservation.queue == node.name for v in victims)
        return (Possibility.PREEMPT if own else Possibility.RECLAIM), borrow

    return simulate


def _victims(contest: Contest) -> list[Victim]:
    return fair_victims(contest) if contest.field.settings.fair_sharing else classical_victims(contest)
