"""What it would take to run a head: flavors, borrowing, victims; or why no quota in the world would help.

Nothing is decided here and nothing changes; the answers hold as long as the tree stands as it is.
"""

from __future__ import annotations

from fairway.core.admit.assign import Assigner
from fairway.core.admit.assignment import Assignment, Nominated, ScanProgress
from fairway.core.admit.contest import Cause, Field, Victim
from fairway.core.admit.entry import Entry
from fairway.core.admit.line import Requeue
from fairway.core.admit.plan import Note, Pending
from fairway.core.admit.preempt import Search
from fairway.core.admit.reduce import can_reduce, search
from fairway.core.admit.state import AdmitState
from fairway.core.model import Mode, Workload
from fairway.core.quota.node import Node


class Nominator:
    __slots__ = ("_field", "_state")

    def __init__(self, state: AdmitState, field: Field) -> None:
        self._state = state
        self._field = field

    def entry(self, workload: Workload) -> Entry:
        state = self._state
        preemptor = state.lines.by_queue[workload.queue].preemptor
        same = (
            preemptor is not None and preemptor.key == workload.key and _generation(preemptor) == _generation(workload)
        )
        return Entry(workload, state.queues[workload.queue], state.tree.queues[workload.queue], same)

    def is_refused(self, entry: Entry) -> bool:
        """What no quota in the world would help."""
        state, workload, queue = self._state, entry.workload, entry.queue
        traits = workload.traits
        namespace = workload.namespace
        if traits is not None and traits.failed_checks:
            entry.note, entry.pending = Note.FAILED_CHECKS, Pending.PENDING_EVALUATION
        elif queue.name in state.inactive:
            entry.detail, entry.pending = f"ClusterQueue {queue.name} is inactive", Pending.SUSPENDED
        elif namespace not in state.lines.namespaces:
            entry.detail = f'workload namespace "{namespace}" does not exist: namespaces "{namespace}" not found'
            entry.pending = Pending.MISCONFIGURED
        elif not state.lines.namespace_matches(queue, namespace):
            entry.detail = "workload namespace doesn't match ClusterQueue selector"
            entry.pending, entry.requeue = Pending.MISCONFIGURED, Requeue.NAMESPACE_MISMATCH
        elif traits is not None and traits.misconfigured is not None:
            entry.detail, entry.pending = traits.misconfigured, Pending.MISCONFIGURED
        else:
            return False
        return True

    def assign(self, entry: Entry, nominated: Nominated | None = None) -> tuple[Assignment, list[Victim]]:
        state, workload, queue, node = self._state, entry.workload, entry.queue, entry.node
        replaced = self._replaced(workload)
        progress = None if nominated is not None else self.progress(workload, node)
        recipe = (
            state.recipe(queue, workload.shape) if replaced is None and progress is None and not nominated else None
        )
        if recipe is not None:
            quick = recipe.try_on(node)
            if quick is not None:
                return quick, []
        searching = Search(self._field, workload, queue, node)
        hard = recipe.try_hard(node, searching.simulate) if recipe is not None else None
        if hard is not None and not (state.settings.partial_admission and can_reduce(workload.shape.pod_sets)):
            return _completed(searching, hard) or (hard, [])
        assigner = Assigner(
            workload.shape,
            queue,
            node,
            state.flavors,
            state.settings,
            searching.simulate,
            replaced.reservation.pod_sets if replaced is not None and replaced.reservation is not None else None,
            progress,
            nominated,
        )
        targets = [Victim(replaced, Cause.REPLACED)] if replaced is not None else []
        full = assigner.assign()
        found = _completed(searching, full)
        if found is None and state.settings.partial_admission and can_reduce(workload.shape.pod_sets):

            def probe(counts: list[int]) -> tuple[Assignment, list[Victim]] | None:
                return _completed(searching, assigner.assign(counts))

            found = search(workload.shape.pod_sets, probe)
        if found is None:
            return full, []
        return found[0], targets + found[1]

    def _replaced(self, workload: Workload) -> Workload | None:
        traits = workload.traits
        if traits is None or traits.replaces is None:
            return None
        held = self._state.ledger.of_queue(workload.queue).get(traits.replaces)
        return held if held is not None and held.namespace == workload.namespace else None

    def progress(self, workload: Workload, node: Node) -> ScanProgress | None:
        """Where the last scan stopped, unless too much happened since."""
        state = self._state
        progress = state.progress.get(workload.key) if state.progress else None
        if progress is None:
            return None
        rounds = state.rounds.get(node.root.name, 0)
        outdated = progress.outdated(node.version, rounds, workload.shape, state.settings.preserve_scan)
        return None if outdated else progress


def _completed(searching: Search, assignment: Assignment) -> tuple[Assignment, list[Victim]] | None:
    """The assignment with its victims, if it can be had at all."""
    mode = assignment.mode
    if mode is Mode.FIT:
        return assignment, []
    if mode is not Mode.PREEMPT:
        return None
    victims = searching.victims_for(assignment)
    return (assignment, victims) if victims else None


def _generation(workload: Workload) -> int:
    return workload.traits.generation if workload.traits is not None else 0
