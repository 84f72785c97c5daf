"""One cycle: a head of every queue, what it would take to run it, in which order, and what comes of it.

`cycle` is one round over the given queues. `settle` repeats rounds until nothing changes any more, tree by tree and
only where something happened, which is how several workloads of one queue are admitted in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from fairway.core.admit.assignment import Assignment, ScanProgress
from fairway.core.admit.caps import cap_reached
from fairway.core.admit.contest import Cause, Field, Victim
from fairway.core.admit.entry import Entry
from fairway.core.admit.line import Requeue
from fairway.core.admit.nominate import Nominator
from fairway.core.admit.order import classical_key, fair_order
from fairway.core.admit.plan import Admit, Evict, Migrate, Note, Pending, Plan, Status, Wait
from fairway.core.admit.state import AdmitState
from fairway.core.admit.usage import in_units
from fairway.core.admit.variants import admitted_sibling, may_migrate
from fairway.core.model import Amounts, Mode, Queue, Reservation, Settings, Time, Workload
from fairway.core.quota.node import Node


def cycle(state: AdmitState, now: Time, queues: Iterable[str] | None = None) -> Plan:
    """One round over all active queues, or over those named."""
    names = list(state.queues if queues is None else queues)
    state.flush(now)
    plan = Plan()
    _Round(state, now, plan, {}).run(names)
    return plan


def settle(state: AdmitState, now: Time, most: int | None = None) -> Plan:
    """Rounds until nothing changes, for every tree in which something happened since the last time.

    most: after so many actions the trees that are left stay dirty, and have their turn the next time.
    """
    plan = Plan()
    state.flush(now)
    while state.dirty and (most is None or len(plan.actions) < most):
        name = next(iter(state.dirty))
        node = state.tree.queues.get(name)
        members = [member.name for member in state.tree.queues_under(node.root)] if node is not None else [name]
        for member in members:
            state.dirty.pop(member, None)
        names = [member for member in members if member in state.queues]
        _run_to_rest(state, now, plan, names)
    return plan


# What a head that was put back would take, as of a number of changes to who holds quota.
Known = dict[str, tuple[int, Assignment, list[Victim]]]


class Step(Enum):
    """What a round brought: a decision, only heads that will look at other flavors next time, or nothing."""

    NOTHING = 0
    STIRRED = 1
    CHANGED = 2


def _run_to_rest(state: AdmitState, now: Time, plan: Plan, names: list[str]) -> None:
    """Scans may start at another flavor each time, so as many rounds without a decision as there are flavors are tried."""
    flavors = max((len(g.flavors) for name in names for g in state.queues[name].groups), default=0)
    patience = flavors + 2
    known: Known = {}
    while patience:
        match _Round(state, now, plan, known).run(names):
            case Step.NOTHING:
                return
            case Step.STIRRED:
                patience -= 1
            case Step.CHANGED:
                patience = flavors + 2


class _Round:
    """State of one round: who was told to go in it, and what is set aside only for its duration."""

    __slots__ = (
        "_changed",
        "_field",
        "_keeps_out",
        "_known",
        "_nominator",
        "_now",
        "_plan",
        "_set_aside",
        "_state",
        "_stirred",
        "_taken",
    )

    def __init__(self, state: AdmitState, now: Time, plan: Plan, known: Known) -> None:
        self._known = known
        self._state = state
        self._now = now
        self._plan = plan
        self._field: Field = state.field(now)
        self._nominator = Nominator(state, self._field)
        self._taken: dict[str, Victim] = {}
        # Shares are compared with everybody still in place, so where they decide, victims come and go at each look.
        self._keeps_out = not state.settings.fair_sharing
        self._set_aside: list[tuple[Node, Amounts]] = []
        self._changed = False
        self._stirred = False

    def run(self, names: list[str]) -> Step:
        """Says whether another round could come to anything new."""
        state = self._state
        active = [name for name in names if name in state.ready and state.ready[name].active]
        heads = state.lines.heads(active)
        if not heads:
            return Step.NOTHING
        self._plan.cycles += 1
        self._count_round(heads)
        entries, refused = self._nominate(heads)
        ordered = list(self._process_in_order(entries))
        self._give_back()
        for entry in (*ordered, *refused):
            if entry.status is not Status.ASSUMED:
                self._put_back(entry)
        if self._changed:
            return Step.CHANGED
        return Step.STIRRED if self._stirred else Step.NOTHING

    def _count_round(self, heads: list[Workload]) -> None:
        """Trees do not see each other, so each has its own count of rounds."""
        state = self._state
        roots = dict.fromkeys(state.tree.queues[workload.queue].root.name for workload in heads)
        for root in roots:
            state.rounds[root] = state.rounds.get(root, 0) + 1

    def _nominate(self, heads: list[Workload]) -> tuple[list[Entry], list[Entry]]:
        entries: list[Entry] = []
        refused: list[Entry] = []
        for workload in heads:
            if workload.key in self._state.ledger.by_key:
                self._state.lines.remove(workload.key)
                continue
            entry = self._nominator.entry(workload)
            if self._nominator.is_refused(entry):
                refused.append(entry)
                continue
            entry.assignment, entry.victims = self._answer(entry)
            if self._state.progress:
                entry.scanned_from = self._nominator.progress(workload, entry.node)
            entries.append(entry)
        return entries, refused

    def _answer(self, entry: Entry) -> tuple[Assignment, list[Victim]]:
        """A head that was put back in an earlier round is not worked out again if nobody came or went since."""
        state, key = self._state, entry.workload.key
        changes = state.ledger.changes
        known = self._known.get(key)
        if known is not None and known[0] == changes and key not in state.progress:
            return known[1], known[2]
        assignment, victims = self._nominator.assign(entry)
        if key in state.progress:
            self._known.pop(key, None)
        else:
            self._known[key] = (changes, assignment, victims)
        return assignment, victims

    def _process_in_order(self, entries: list[Entry]) -> Iterator[Entry]:
        settings = self._state.settings
        if settings.fair_sharing:
            for candidate in fair_order(list(entries), settings):
                assert isinstance(candidate, Entry)
                self._process(candidate)
                yield candidate
            return
        entries.sort(key=lambda entry: classical_key(entry, settings))
        for entry in entries:
            self._process(entry)
            yield entry

    def _process(self, entry: Entry) -> None:
        state, settings = self._state, self._state.settings
        if settings.variants and admitted_sibling(state.ledger, entry.workload, entry.queue, better=True) is not None:
            entry.skip(Note.VARIANT_ADMITTED, Pending.PENDING_EVALUATION, settings.preserve_scan)
            return
        fits = self._reconsider(entry)
        mode = entry.mode
        if mode is Mode.NO_FIT:
            entry.requeue, entry.pending = Requeue.NO_FIT, Pending.refused(entry.assignment.no_fit)
            if settings.rescan and entry.scanned_from is not None:
                # Only the flavors behind the last one were looked at: the first may be free by now.
                entry.requeue, entry.keeps_progress = Requeue.FAILED_AFTER_NOMINATION, False
                self._stirred = True
        elif mode is Mode.PREEMPT and not entry.victims:
            self._keep_a_claim(entry)
        elif mode is Mode.PREEMPT and settings.preemption_gates and _gate_closed(entry.workload):
            entry.status, entry.note, entry.pending = Status.GATED, Note.GATED, Pending.GATED
            entry.requeue, entry.keeps_progress = Requeue.PREEMPTION_GATED, False
        elif mode is Mode.DEFERRED_FIT:
            entry.note, entry.pending = Note.DEFERRED, Pending.WAITING_FOR_PREEMPTED
            entry.requeue, entry.keeps_progress = Requeue.PENDING_PREEMPTION, False
            self._reserve_for_now(entry.node, entry.net_usage)
        elif self._overlaps(entry):
            entry.skip(Note.OVERLAP, Pending.WAITING_FOR_QUOTA, settings.preserve_scan)
            self._plan.count_skip(entry.queue.name)
        elif not fits:
            entry.skip(Note.NO_LONGER_FITS, Pending.WAITING_FOR_QUOTA, settings.preserve_scan)
            if mode is Mode.PREEMPT:
                self._plan.count_skip(entry.queue.name)
        else:
            self._go_ahead(entry, mode)

    def _go_ahead(self, entry: Entry, mode: Mode) -> None:
        state = self._state
        capped = cap_reached(entry.queue, state.ledger, entry.workload, entry.net_usage)
        if capped is not None:
            entry.detail, entry.pending, entry.requeue = str(capped), Pending.CAPPED, Requeue.NO_FIT
            return
        if mode is Mode.FIT and state.settings.block_admission and state.unready:
            entry.note, entry.pending, entry.requeue = (
                Note.PODS_NOT_READY,
                Pending.WAITING_FOR_PODS_READY,
                Requeue.NO_FIT,
            )
            return
        if mode is Mode.PREEMPT and not self._may_preempt(entry):
            entry.note, entry.pending = Note.KEPT_BACK, Pending.WAITING_FOR_QUOTA
            return
        self._take(entry.victims)
        if mode is Mode.PREEMPT:
            self._reserve_for_now(entry.node, entry.net_usage)
            self._preempt(entry)
        elif not self._migrates(entry):
            self._admit(entry)

    def _reconsider(self, entry: Entry) -> bool:
        """Whether it still fits; if others of this round took its victims, look again as if those were gone."""
        settings = self._state.settings
        if not (settings.recompute_on_overlap and self._overlaps(entry)):
            return self._fits(entry)
        victims = [] if self._keeps_out else list(self._taken.values())
        for victim in victims:
            self._take_out(victim.workload)
        nominated = entry.assignment.nominated()
        self._state.progress.pop(entry.workload.key, None)
        entry.scanned_from = None
        self._field.gone = frozenset(self._taken)
        entry.assignment, entry.victims = self._nominator.assign(entry, nominated)
        self._field.gone = frozenset()
        for victim in victims:
            self._put_in(victim.workload)
        if entry.mode is Mode.FIT:
            entry.assignment.defer()
        fits = self._fits(entry)
        if entry.mode is Mode.DEFERRED_FIT:
            result = "deferred_fit"
        elif entry.victims and fits and not self._overlaps(entry):
            result = "new_targets"
        else:
            result = "skipped"
        self._plan.count_recomputation(entry.queue.name, result)
        return fits

    def _overlaps(self, entry: Entry) -> bool:
        return bool(self._taken) and any(victim.workload.key in self._taken for victim in entry.victims)

    def _fits(self, entry: Entry) -> bool:
        if not self._taken and not entry.victims:
            return entry.node.fits(entry.net_usage)
        gone = {victim.workload.key: victim for victim in entry.victims}
        if self._keeps_out:
            gone = {key: victim for key, victim in gone.items() if key not in self._taken}
        else:
            gone.update(self._taken)
        for victim in gone.values():
            self._take_out(victim.workload)
        fits = entry.node.fits(entry.net_usage)
        for victim in gone.values():
            self._put_in(victim.workload)
        return fits

    def _take(self, victims: list[Victim]) -> None:
        """Whoever was told to go in this round does not count any more for those who come after."""
        for victim in victims:
            if victim.workload.key not in self._taken:
                self._taken[victim.workload.key] = victim
                if self._keeps_out:
                    self._take_out(victim.workload)

    def _give_back(self) -> None:
        """At the end of the round all is as it is: victims hold their quota until they are gone."""
        if self._keeps_out:
            for victim in self._taken.values():
                self._put_in(victim.workload)
        for node, amounts in self._set_aside:
            node.remove_all(amounts)

    def _take_out(self, workload: Workload) -> None:
        reservation = workload.reservation
        if reservation is not None and workload.key in self._state.ledger.by_key:
            self._state.tree.queues[reservation.queue].remove_all(reservation.usage)

    def _put_in(self, workload: Workload) -> None:
        reservation = workload.reservation
        if reservation is not None and workload.key in self._state.ledger.by_key:
            self._state.tree.queues[reservation.queue].add_all(reservation.usage)

    def _keep_a_claim(self, entry: Entry) -> None:
        """Nobody can make room now. Unless it could always reclaim, lower priorities must not take what there is."""
        entry.requeue, entry.pending = Requeue.NO_CANDIDATES, Pending.WAITING_FOR_QUOTA
        waits = self._state.settings.preemptors_first and entry.is_preemptor
        if entry.queue.preemption.always_reclaims and not waits:
            return
        own = [v.workload for v in self._taken.values() if self._keeps_out and _held_in(v.workload, entry.node)]
        for workload in own:
            self._put_in(workload)
        claim = to_reserve(entry, entry.node)
        for workload in own:
            self._take_out(workload)
        self._reserve_for_now(entry.node, claim)

    def _reserve_for_now(self, node: Node, amounts: Amounts) -> None:
        amounts = dict(amounts)
        node.add_all(amounts)
        self._set_aside.append((node, amounts))

    def _may_preempt(self, entry: Entry) -> bool:
        new = any(not victim.workload.evicted and victim.cause is not Cause.REPLACED for victim in entry.victims)
        if not new:
            return True
        if not self._state.may_preempt(entry.workload, entry.node):
            return False
        self._state.spend(entry.workload, entry.node)
        return True

    def _preempt(self, entry: Entry) -> None:
        entry.pending = Pending.WAITING_FOR_PREEMPTED
        victims = [victim for victim in entry.victims if victim.cause is not Cause.REPLACED]
        for victim in victims:
            if not victim.workload.evicted:
                self._state.ledger.evict(victim.workload)
                self._changed = True
                self._plan.actions.append(Evict(victim.workload, entry.workload, entry.queue.name, victim.cause))
        entry.preempted(len(victims))

    def _migrates(self, entry: Entry) -> bool:
        """A variant that fits on a better flavor first lets its sibling on a worse one go."""
        state = self._state
        if not state.settings.variants:
            return False
        worse = admitted_sibling(state.ledger, entry.workload, entry.queue, better=False)
        if worse is None:
            return False
        self._reserve_for_now(entry.node, entry.net_usage)
        if not may_migrate(entry.workload, entry.queue):
            entry.note, entry.pending = Note.BELOW_LAST_FLAVOR, Pending.PENDING_EVALUATION
            return True
        entry.pending, entry.requeue = Pending.WAITING_FOR_PREEMPTED, Requeue.PENDING_MIGRATION
        entry.keeps_progress, entry.migrating = False, True
        if not worse.evicted:
            state.ledger.evict(worse)
            self._changed = True
            self._plan.actions.append(Migrate(worse, entry.workload))
        return True

    def _admit(self, entry: Entry) -> None:
        state, workload = self._state, entry.workload
        holding = entry.assignment.holding()
        replaced = entry.replaced() if entry.victims else None
        if replaced is not None:
            if self._keeps_out and self._taken.pop(replaced.key, None) is not None:
                self._put_in(replaced)
            state.ledger.empty(replaced)
        workload.reservation = Reservation(
            entry.queue.name, holding.uses, holding.usage, holding.cells, self._now, admitted=not entry.queue.checks
        )
        workload.evicted = False
        state.lines.remove(workload.key)
        state.ledger.add(workload)
        state.progress.pop(workload.key, None)
        state.lines.by_queue[entry.queue.name].served(workload.tenant_queue)
        if pays_on_entry(state.settings, entry.queue, had_quota=False):
            requests = _requests_of(workload, entry.queue if state.settings.ignore_undeclared else None)
            state.usage.penalize(workload.tenant_queue, workload.key, in_units(requests), self._now)
        entry.status = Status.ASSUMED
        self._changed = True
        self._plan.actions.append(Admit(workload, entry.queue, holding.uses, holding.usage, entry.assignment, replaced))

    def _put_back(self, entry: Entry) -> None:
        state, workload = self._state, entry.workload
        wait = entry.to_wait()
        progress = self._new_progress(entry)
        if progress is not None:
            self._stirred = self._stirred or progress.tried != _tried(entry.scanned_from)
            state.progress[workload.key] = progress
        else:
            state.progress.pop(workload.key, None)
        state.lines.restore(workload, wait.requeue, self._now, progress is not None, wait.pending.value)
        line = state.lines.by_queue.get(workload.queue)
        if line is not None and line.is_parked(workload):
            self._changed = True
        self._plan.actions.append(wait)

    def _new_progress(self, entry: Entry) -> ScanProgress | None:
        if not entry.keeps_progress or not entry.assignment.tried:
            return None
        progress = ScanProgress(
            entry.assignment.tried,
            entry.node.version,
            self._state.rounds.get(entry.node.root.name, 0),
            entry.workload.shape,
        )
        return progress if progress.pending else None


def pays_on_entry(settings: Settings, queue: Queue, had_quota: bool) -> bool:
    """Whether a reservation counts against the tenant at once: only where usage orders, and once per reservation."""
    return settings.usage_decay is not None and queue.usage_based_order and not had_quota


def to_reserve(entry: Entry, node: Node) -> Amounts:
    """How much of what it wants a head that waits for others' quota may keep others from taking."""
    wanted = entry.net_usage
    if entry.mode is not Mode.PREEMPT:
        return wanted
    kept: Amounts = {}
    for at, amount in wanted.items():
        quota = node.quota(at)
        used = node.usage.get(at, 0)
        if entry.borrowing == 0:
            kept[at] = max(0, min(amount, quota.nominal - used))
        elif quota.borrowing_limit is None:
            kept[at] = amount
        else:
            kept[at] = min(amount, quota.nominal + quota.borrowing_limit - used)
    return kept


def _requests_of(workload: Workload, only_of: Queue | None) -> Amounts:
    covered = only_of.covered() if only_of is not None else None
    total: Amounts = {}
    for pod_set in workload.shape.pod_sets:
        for resource, amount in pod_set.total().items():
            if covered is None or resource in covered:
                total[resource] = total.get(resource, 0) + amount
    return total


def _tried(progress: ScanProgress | None) -> list[dict[str, int]] | None:
    return progress.tried if progress is not None else None


def _held_in(workload: Workload, node: Node) -> bool:
    return workload.reservation is not None and workload.reservation.queue == node.name


def _gate_closed(workload: Workload) -> bool:
    return workload.traits is not None and workload.traits.gate_closed


__all__ = ["Wait", "cycle", "pays_on_entry", "settle", "to_reserve"]
