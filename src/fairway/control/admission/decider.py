"""Decide and render: a pass of the core, as writes to Workloads that carry the revision they were decided from.

A plan rests on more than the workloads it changes: on the quotas, limits and gates of the queues and cohorts of a tree. It is given along which
versions of these were seen, and what changed before the plan is written makes it be decided again. So nothing is admitted to a queue after
somebody was told that it is stopped or smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.api.client import Known, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.admission.lifecycle import begin_pods_ready
from fairway.control.admission.observer import Observer
from fairway.control.apply import Note, Write
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror, Table
from fairway.control.outcome import Event, Outcomes
from fairway.control.resources import CLUSTER_QUEUES, COHORTS, FLAVORS, LOCAL_QUEUES, WORKLOADS
from fairway.core.admit.cycle import settle
from fairway.core.admit.plan import Admit, Evict, Plan
from fairway.core.model import Time

_ACTIONS = 250
"""Of a pass, about: what is decided in one tree is not kept from being written, nor told apart from what changed, by what a hundred others hold."""


class _View(Mapping[str, Json]):
    """Stored objects, decoded when somebody looks."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, key: str) -> Json:
        found = self._table.view(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class Decider:
    def __init__(
        self,
        config: Configuration,
        observer: Observer,
        mirror: Mirror,
    ) -> None:
        self._config = config
        self._observer = observer
        self._view = _View(mirror[WORKLOADS])
        self._mirror = mirror
        self.given: list[Known] = []
        """What the last plan rests on, beside the workloads that it changes."""
        self.plan = Plan()
        """The last one."""

    @property
    def busy(self) -> bool:
        return bool(self._observer.state.dirty)

    def decide(self, now: Time) -> list[Write]:
        state = self._observer.state
        plan = self.plan = settle(state, now, _ACTIONS)
        self.given = self._rests_on(plan) if plan.actions else []
        if not plan.actions:
            return []
        outcome = Outcomes(self._view, state.tree, self._config.observable).of(plan, now)
        admitted = {action.workload.key for action in plan.actions if isinstance(action, Admit)}
        gone = admitted - outcome.changed.keys()
        told = _told(outcome.events, admitted)
        writes: list[Write] = []
        for key, obj in outcome.changed.items():
            if key in admitted:
                obj["status"].pop("resourceRequests", None)
            elif obj.get("status") == self._view[key].get("status"):
                told.pop(key, None)
                continue
            begin_pods_ready(obj, self._config, now)
            notes = [Note(obj, e.type, e.reason, e.message) for e in told.pop(key, ())]
            writes.append(self._write(key, obj, notes, key in admitted, now))
        self._attach(writes, told)
        for key in gone:
            state.remove(key, now)
        return writes

    def _rests_on(self, plan: Plan) -> list[Known]:
        """Everything that has a say in the trees in which something is admitted or evicted."""
        tree, names = self._observer.state.tree, dict[Resource, dict[str, None]]()
        queues: dict[str, None] = {}
        for action in plan.actions:
            if isinstance(action, Admit):
                names.setdefault(LOCAL_QUEUES, {})[action.workload.tenant_queue] = None
                queues[action.workload.queue] = None
            elif isinstance(action, Evict):
                queues[action.by_queue] = None
        for root in dict.fromkeys(tree.queues[queue].root for queue in queues if queue in tree.queues):
            for node in tree.queues_under(root):
                names.setdefault(CLUSTER_QUEUES, {})[f"/{node.name}"] = None
                flavors = (f for group in self._observer.state.queues[node.name].groups for f in group.flavors)
                names.setdefault(FLAVORS, {}).update(dict.fromkeys(f"/{flavor}" for flavor in flavors))
                names.setdefault(COHORTS, {}).update(dict.fromkeys(f"/{above.name}" for above in node.path()))
        return [self._mirror[resource].known(key) for resource, keys in names.items() for key in keys]

    def _write(self, key: str, obj: Json, notes: list[Note], admits: bool, now: Time) -> Write:
        write = Write("updateStatus", WORKLOADS, obj, notes)
        if admits:
            write.done = lambda: self._observer.state.committed(key)
            write.failed = lambda error: self._rejected(key, error, now)
        else:
            write.failed = lambda error: self._again(key, error)
        return write

    def _attach(self, writes: list[Write], told: dict[str, list[Event]]) -> None:
        """What is to be told about workloads that did not change themselves."""
        for key, events in told.items():
            about = self._view.get(key)
            if about is not None and writes:
                writes[-1].notes += [Note(about, e.type, e.reason, e.message) for e in events]

    def _rejected(self, key: str, error: ApiError, now: Time) -> None:
        """Not committed: decided again from what is there now. What can never be stored is left until it changes."""
        state = self._observer.state
        if error.code in (404, 409) or error.code >= 500:
            state.rejected(key, now)
        else:
            state.remove(key, now)

    def _again(self, key: str, error: ApiError) -> None:
        """An eviction or a reason that was not stored: whatever is there now counts, and its queue is looked at again."""
        state = self._observer.state
        held = state.ledger.by_key.get(key) or state.lines.waiting.get(key)
        if held is not None and error.code != 422:
            self._observer.enter(key)
            state.wake((held.reservation.queue if held.reservation is not None else held.queue,))


def _told(events: list[Event], admitted: set[str]) -> dict[str, list[Event]]:
    """By workload, each once; of several reasons to wait only the last, and none for what was admitted after all."""
    told: dict[str, list[Event]] = {}
    for event in events:
        known = told.setdefault(event.key, [])
        if event.type == "Warning":
            known[:] = [each for each in known if each.type != "Warning"]
            if event.key in admitted:
                continue
        if event not in known:
            known.append(event)
    return told
