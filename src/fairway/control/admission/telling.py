"""Tells those who wait why, where no decision did.

The core tries one of a shape and parks the rest with it, so the rest would never hear why they wait. They are told when there is nothing
better to do, a few at a time, and once: later reasons are those of the shape, and whoever asks gets them computed.
"""

from __future__ import annotations

from fairway.control import render
from fairway.control.admission.lifecycle import begin_pods_ready
from fairway.control.admission.observer import Observer, is_untold
from fairway.control.apply import Write
from fairway.control.conditions import find_condition, with_own_status
from fairway.control.configuration import Configuration
from fairway.control.mirror import Table
from fairway.control.resources import WORKLOADS
from fairway.core.admit.assign import Assigner
from fairway.core.admit.nominate import Nominator
from fairway.core.admit.plan import Pending
from fairway.core.admit.preempt import Search
from fairway.core.model import Mode, Time, Workload

_AT_ONCE = 200


class Telling:
    def __init__(self, config: Configuration, observer: Observer, workloads: Table) -> None:
        self._config = config
        self._observer = observer
        self._workloads = workloads

    @property
    def busy(self) -> bool:
        return bool(self._observer.untold)

    def writes(self, now: Time) -> list[Write]:
        found: list[Write] = []
        untold = self._observer.untold
        for group, keys in list(untold.items()):
            waiting = [self._observer.state.lines.waiting.get(key) for key in list(keys)[: _AT_ONCE - len(found)]]
            for key in list(keys)[: len(waiting)]:
                del keys[key]
            if not keys:
                del untold[group]
            there = [workload for workload in waiting if workload is not None and self._may_be_tried(workload)]
            nominator = Nominator(self._observer.state, self._observer.state.field(now))
            shared: tuple[str, str] | None = None
            for workload in there:
                entry = nominator.entry(workload)
                if nominator.is_refused(entry):
                    # What checks or a stopped queue keep back hears of it from those.
                    if entry.pending is Pending.MISCONFIGURED:
                        found += self._tell(workload, entry.pending.value, entry.detail, now)
                    continue
                shared = shared or self._reason(workload, now)
                if shared is None:
                    break
                found += self._tell(workload, *shared, now)
            if len(found) >= _AT_ONCE:
                break
        return found

    def _may_be_tried(self, workload: Workload) -> bool:
        """Whether no stopped or missing queue is the reason: that is told by the rules of a Workload's life."""
        state = self._observer.state
        return state.is_active(workload.queue) and not state.tenant_stopped(workload.tenant_queue)

    def _reason(self, workload: Workload, now: Time) -> tuple[str, str] | None:
        """What a decision would say now. Nothing where a decision is still to come."""
        state = self._observer.state
        queue, node = state.queues[workload.queue], state.tree.queues[workload.queue]
        search = Search(state.field(now), workload, queue, node)
        found = Assigner(workload.shape, queue, node, state.flavors, state.settings, search.simulate).assign()
        if found.mode is Mode.NO_FIT:
            return Pending.refused(found.no_fit).value, found.message()
        if found.mode is Mode.PREEMPT:
            return Pending.WAITING_FOR_QUOTA.value, found.message()
        return None

    def _tell(self, waiting: Workload, reason: str, message: str, now: Time) -> list[Write]:
        obj = self._workloads.view(waiting.key)
        if obj is None or not is_untold(obj) or waiting.backoff is not None:
            return []
        said = find_condition(obj, "QuotaReserved") or {}
        if (said.get("reason"), said.get("message")) == (reason, message):
            return []
        changed = with_own_status(obj)
        render.set_pending(changed, reason, message, waiting.shape.pod_sets, now, self._config.observable)
        begin_pods_ready(changed, self._config, now)
        return [Write("updateStatus", WORKLOADS, changed)]
