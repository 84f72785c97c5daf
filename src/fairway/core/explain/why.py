"""Collects what keeps a workload waiting, in the order in which it would have to be cleared away."""

from __future__ import annotations

from fairway.core.admit.assign import Assigner
from fairway.core.admit.assignment import Assignment
from fairway.core.admit.caps import cap_reached
from fairway.core.admit.cycle import to_reserve
from fairway.core.admit.nominate import Nominator
from fairway.core.admit.preempt import Search
from fairway.core.admit.reasons import NotCovered, OverCapacity, QuotaInUse
from fairway.core.admit.state import AdmitState
from fairway.core.explain.change import changes_that_admit
from fairway.core.explain.facts import (
    BackingOff,
    Behind,
    Blocker,
    Bound,
    Change,
    Claimed,
    Explanation,
    FlavorUnusable,
    Holder,
    NotAcceptable,
    NotOffered,
    QueueNotReady,
    Short,
    TenantQueueStopped,
    WaitsForPodsReady,
    WaitsForVictims,
    Where,
)
from fairway.core.model import Amounts, Cell, Mode, Queue, Spot, Strategy, Time, Workload
from fairway.core.quota.node import Node

_HOLDERS_MAX = 10


def explain(state: AdmitState, key: str, now: Time) -> Explanation:
    workload = state.lines.waiting.get(key)
    if workload is None:
        held = state.ledger.by_key.get(key)
        where = Where.UNKNOWN if held is None else Where.RESERVED
        return Explanation(key, held.queue if held is not None else "", where)
    queue, node = state.queues.get(workload.queue), state.tree.queues.get(workload.queue)
    if queue is None or node is None:
        missing = QueueNotReady(workload.queue, "NotFound", "it does not exist")
        return Explanation(key, workload.queue, Where.WAITING, (missing,))
    shut = [*_gates(state, workload, queue), *_own(state, workload, queue, now)]
    blockers = [*shut, *_behind(state, workload, queue)]
    changes: tuple[Change, ...] = ()
    if not state.tree.is_cyclic(queue.name):
        assignment = _assignment(state, workload, queue, node, now)
        blockers += _of_assignment(state, workload, queue, node, assignment, now)
        # No number opens what is shut; a backoff opens by itself.
        if assignment.mode is not Mode.FIT and all(isinstance(blocker, BackingOff) for blocker in shut):
            changes = tuple(changes_that_admit(state, workload, queue, node, assignment))
    return Explanation(key, queue.name, _where(state, workload, queue), tuple(blockers), changes)


def _where(state: AdmitState, workload: Workload, queue: Queue) -> Where:
    if workload.spot is Spot.HELD:
        return Where.HELD
    line = state.lines.by_queue[queue.name]
    return Where.PARKED if line.is_parked(workload) else Where.WAITING


def _gates(state: AdmitState, workload: Workload, queue: Queue) -> list[Blocker]:
    found: list[Blocker] = []
    ready = state.ready.get(queue.name)
    if ready is not None and not ready.active:
        found.append(QueueNotReady(queue.name, ready.reason, ready.message))
    elif state.tree.is_cyclic(queue.name):
        found.append(QueueNotReady(queue.name, "CohortCycle", f"cohort {queue.cohort} is its own ancestor"))
    if state.tenant_stopped(workload.tenant_queue):
        found.append(TenantQueueStopped(workload.tenant_queue))
    return found


def _own(state: AdmitState, workload: Workload, queue: Queue, now: Time) -> list[Blocker]:
    found: list[Blocker] = []
    traits, backoff = workload.traits, workload.backoff
    if backoff is not None and not backoff.over(now):
        found.append(BackingOff(backoff.until, max(0, backoff.until - now), backoff.blocked))
    if workload.namespace not in state.lines.namespaces:
        found.append(NotAcceptable(f"namespace {workload.namespace} does not exist"))
    elif not state.lines.namespace_matches(queue, workload.namespace):
        found.append(NotAcceptable(f"queue {queue.name} takes no work from namespace {workload.namespace}"))
    if traits is not None and traits.failed_checks:
        found.append(NotAcceptable("an admission check said no, or not yet"))
    if traits is not None and traits.misconfigured is not None:
        found.append(NotAcceptable(traits.misconfigured))
    return found


def _behind(state: AdmitState, workload: Workload, queue: Queue) -> list[Blocker]:
    line = state.lines.by_queue[queue.name]
    ahead = line.ahead_of(workload)
    if not ahead:
        return []
    strict = queue.strategy is Strategy.STRICT_FIFO
    head = line.peek() if strict else None
    return [Behind(queue.name, ahead, strict, head.key if head is not None else None)]


def _assignment(state: AdmitState, workload: Workload, queue: Queue, node: Node, now: Time) -> Assignment:
    """What a cycle would find out if it looked at this workload now, from the first flavor on."""
    search = Search(state.field(now), workload, queue, node)
    return Assigner(workload.shape, queue, node, state.flavors, state.settings, search.simulate).assign()


def _of_assignment(
    state: AdmitState, workload: Workload, queue: Queue, node: Node, assignment: Assignment, now: Time
) -> list[Blocker]:
    found: list[Blocker] = []
    if assignment.mode is Mode.FIT:
        capped = cap_reached(queue, state.ledger, workload, assignment.usage)
        if capped is not None:
            found.append(capped)
        if state.settings.block_admission and state.unready:
            found.append(WaitsForPodsReady(len(state.unready)))
        return found + _claims(state, queue, node, assignment, now)
    if assignment.mode is Mode.PREEMPT:
        search = Search(state.field(now), workload, queue, node)
        told = tuple(v.workload.key for v in search.victims_for(assignment) if v.workload.evicted)
        if told:
            found.append(WaitsForVictims(told))
    for pod_set in assignment.pod_sets:
        for attempt in pod_set.attempts:
            for reason in attempt.reasons:
                if isinstance(reason, QuotaInUse):
                    found.append(_short(state, node, pod_set.name, reason))
                elif isinstance(reason, OverCapacity):
                    found.append(_never(node, pod_set.name, reason))
                else:
                    found.append(FlavorUnusable(pod_set.name, reason))
        tried = [reason for attempt in pod_set.attempts for reason in attempt.reasons]
        for reason in pod_set.reasons:
            if isinstance(reason, NotCovered):
                requested = pod_set.requests.get(reason.resource, 0)
                found.append(NotOffered(pod_set.name, queue.name, reason.resource, requested))
            elif reason not in tried:
                found.append(FlavorUnusable(pod_set.name, reason))
    return found


def _claims(state: AdmitState, queue: Queue, node: Node, assignment: Assignment, now: Time) -> list[Blocker]:
    """Heads of other queues in the tree whose claims, taken together, leave too little."""
    nominator = Nominator(state, state.field(now))
    kept: list[tuple[Node, Amounts, str]] = []
    for other in state.tree.queues_under(node.root):
        line = state.lines.by_queue.get(other.name)
        head = line.peek() if line is not None and other is not node and state.is_active(other.name) else None
        if head is None or nominator.is_refused(entry := nominator.entry(head)):
            continue
        entry.assignment, entry.victims = nominator.assign(entry)
        if entry.mode is Mode.PREEMPT and (entry.victims or not entry.queue.preemption.always_reclaims):
            amounts = entry.net_usage if entry.victims else to_reserve(entry, other)
            kept.append((other, amounts, entry.workload.key))
    for holder, amounts, _ in kept:
        holder.add_all(amounts)
    fits = node.fits(assignment.usage)
    for holder, amounts, _ in kept:
        holder.remove_all(amounts)
    return [] if fits else [Claimed(tuple(key for _, _, key in kept))]


def _short(state: AdmitState, node: Node, pod_set: str, reason: QuotaInUse) -> Short:
    at = reason.cell
    available = max(0, node.available(at))
    limiting, bound = limiting_node(node, at)
    holders = sorted(
        (
            Holder(w.key, w.reservation.queue, w.reservation.usage[at])
            for w in state.ledger.holders(frozenset((at,)), state.tree.queues_under(limiting))
            if w.reservation is not None and w.reservation.usage.get(at, 0) > 0
        ),
        key=lambda holder: (-holder.amount, holder.key or ""),
    )
    return Short(
        pod_set,
        at,
        available + reason.missing,
        available,
        reason.missing,
        limiting.name,
        bound,
        never=False,
        holders=tuple(holders[:_HOLDERS_MAX]),
        holders_left_out=max(0, len(holders) - _HOLDERS_MAX),
    )


def _never(node: Node, pod_set: str, reason: OverCapacity) -> Short:
    need = reason.before + reason.request
    limiting, bound = _potential_limit(node, reason.cell)
    return Short(
        pod_set,
        reason.cell,
        need,
        node.available(reason.cell),
        need - reason.capacity,
        limiting.name,
        bound,
        never=True,
    )


def limiting_node(node: Node, cell: Cell) -> tuple[Node, Bound]:
    """The lowest node whose borrowing limit keeps the rest of the tree out of reach, else the root."""
    current = node
    while current.parent is not None:
        quota = current.own.get(cell)
        if quota is not None and quota.borrowing_limit is not None:
            reserve = current.reserve.get(cell, 0)
            stored = max(0, current.usage.get(cell, 0) - reserve)
            most = current.subtree.get(cell, 0) - reserve - stored + quota.borrowing_limit
            if most <= current.parent.available(cell):
                return current, Bound.BORROWING_LIMIT
        current = current.parent
    return current, Bound.QUOTA


def _potential_limit(node: Node, cell: Cell) -> tuple[Node, Bound]:
    current = node
    while current.parent is not None:
        quota = current.own.get(cell)
        if quota is not None and quota.borrowing_limit is not None:
            most = current.subtree.get(cell, 0) + quota.borrowing_limit
            if most <= current.reserve.get(cell, 0) + current.parent.potential(cell):
                return current, Bound.BORROWING_LIMIT
        current = current.parent
    return current, Bound.QUOTA
