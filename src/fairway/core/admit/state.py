"""What the admit room knows, changed only by events: queues, flavors, who waits, who holds quota.

Remembered beyond the objects themselves, and safely forgotten at a restart: parked lanes and shapes (all is tried
again), scan progress (scans start over), sticky preemptors and round-robin turns (order restarts), usage history
(sampled again from the tenant queues' stored status), preemptions spent, the count of rounds per tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.core.admit.assignment import ScanProgress
from fairway.core.admit.contest import Field
from fairway.core.admit.ledger import Ledger
from fairway.core.admit.lines import Lines, QueueMissing
from fairway.core.admit.readiness import Check, Readiness, readiness
from fairway.core.admit.recipe import Recipe, recipe_for
from fairway.core.admit.reduce import can_reduce
from fairway.core.admit.usage import UsageLedger
from fairway.core.model import (
    Cohort,
    Flavor,
    PreemptionPolicy,
    Queue,
    Settings,
    Shape,
    StopPolicy,
    TenantQueue,
    Time,
    Workload,
)
from fairway.core.quota.node import Node
from fairway.core.quota.tree import QuotaTree

PREEMPTIONS_MAX = 3


class AdmitState:
    __slots__ = (
        "_recipes",
        "_to_wake",
        "checks",
        "dirty",
        "flavors",
        "inactive",
        "ledger",
        "lines",
        "progress",
        "queues",
        "ready",
        "rounds",
        "settings",
        "spent",
        "terminating",
        "topologies",
        "tree",
        "unready",
        "usage",
    )

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.tree = QuotaTree()
        self.ledger = Ledger(self.tree)
        self.usage = UsageLedger(self.settings.usage_decay)
        self.lines = Lines(self.settings.shape_parking, self.usage.rank if self.usage.enabled else None)
        self.queues: dict[str, Queue] = {}
        self.flavors: dict[str, Flavor] = {}
        self.checks: dict[str, Check] = {}
        self.topologies: set[str] = set()
        self.terminating: set[str] = set()
        self.ready: dict[str, Readiness] = {}
        self.inactive: set[str] = set()
        self.unready: set[str] = set()
        self.progress: dict[str, ScanProgress] = {}
        self.spent: dict[str, dict[str, int]] = {}
        self.rounds: dict[str, int] = {}
        self.dirty: dict[str, None] = {}
        self._to_wake: dict[str, None] = {}
        self._recipes: dict[tuple[str, Shape], Recipe | None] = {}

    def put_queue(self, queue: Queue, now: Time) -> None:
        known = queue.name in self.queues
        self._recipes.clear()
        self.queues[queue.name] = queue
        node = self.tree.put_queue(queue, None if known else self.ledger.usage_of(queue.name))
        node.version += 1
        self.lines.put_queue(queue, now)
        self._refresh(queue.name)
        self.changed((queue.name,))

    def remove_queue(self, name: str, now: Time) -> None:
        node = self.tree.queues.get(name)
        beside = [member.name for member in self.tree.queues_under(node.root)] if node is not None else []
        self.queues.pop(name, None)
        self.tree.remove_queue(name)
        self.lines.remove_queue(name)
        self.ready.pop(name, None)
        self.inactive.discard(name)
        self.dirty.pop(name, None)
        self.changed(other for other in beside if other != name)

    def put_cohort(self, cohort: Cohort, now: Time) -> None:
        self._restructured(self.tree.put_cohort(cohort), now)

    def remove_cohort(self, name: str, now: Time) -> None:
        node = self.tree.cohorts.get(name)
        if node is not None:
            members = [member.name for member in self.tree.queues_under(node)]
            self.tree.remove_cohort(name)
            self._recheck_cycles()
            self.changed(members)

    def put_flavor(self, flavor: Flavor, now: Time) -> None:
        self.flavors[flavor.name] = flavor
        self._refresh_all(now)

    def remove_flavor(self, name: str, now: Time) -> None:
        self.flavors.pop(name, None)
        self._refresh_all(now)

    def put_check(self, check: Check, now: Time) -> None:
        self.checks[check.name] = check
        self._refresh_all(now)

    def remove_check(self, name: str, now: Time) -> None:
        self.checks.pop(name, None)
        self._refresh_all(now)

    def put_topology(self, name: str, now: Time) -> None:
        self.topologies.add(name)
        self._refresh_all(now)

    def remove_topology(self, name: str, now: Time) -> None:
        self.topologies.discard(name)
        self._refresh_all(now)

    def put_tenant(self, tenant: TenantQueue, now: Time) -> None:
        self.usage.set_weight(tenant.key, tenant.weight)
        self.lines.put_tenant(tenant, now)
        self.changed((tenant.queue,))

    def remove_tenant(self, key: str) -> None:
        self.usage.forget(key)
        self.lines.remove_tenant(key)

    def put_namespace(self, name: str, labels: Mapping[str, str], now: Time) -> None:
        self.lines.namespaces[name] = labels
        for queue in self.queues:
            self.lines.wake_queue(queue, now)
            self.dirty[queue] = None

    def submit(self, workload: Workload, now: Time) -> None:
        """A workload without quota arrives or changed. Raises QueueMissing when it cannot wait anywhere yet."""
        self.lines.put(workload, now)
        self.dirty[workload.queue] = None
        self._news(workload.queue)

    def reserve(self, workload: Workload) -> None:
        """A workload holds quota, as its object says."""
        self.lines.remove(workload.key)
        self.ledger.add(workload)

    def release(self, key: str, now: Time) -> Workload | None:
        """A workload no longer holds quota: finished, gone, or stopped after an eviction. Others may go on."""
        workload = self.ledger.discard(key)
        self.unready.discard(key)
        if workload is not None and workload.reservation is not None:
            self.usage.drop_penalty(workload.tenant_queue, key)
            self.wake((workload.reservation.queue,))
            self._news(workload.reservation.queue)
        return workload

    def remove(self, key: str, now: Time) -> None:
        """A workload is gone altogether."""
        waiting = self.lines.remove(key)
        self.progress.pop(key, None)
        if waiting is not None:
            self.usage.drop_penalty(waiting.tenant_queue, key)
        self.release(key, now)

    def requeue(self, key: str, now: Time) -> Workload | None:
        """An evicted workload stopped: it gives its quota back and waits again.

        That is no news but what was decided, so it gives nobody the right to preempt anew (see `may_preempt`).
        """
        workload = self.ledger.discard(key)
        self.unready.discard(key)
        if workload is None or workload.reservation is None:
            return workload
        self.usage.drop_penalty(workload.tenant_queue, key)
        self.wake((workload.reservation.queue,))
        workload.reservation = None
        workload.evicted = False
        self.lines.put(workload, now)
        self.dirty[workload.queue] = None
        return workload

    def may_preempt(self, workload: Workload, node: Node) -> bool:
        """Priority, reclaiming and fairness can contradict each other in a circle, in which everybody may displace the
        next. So as long as nothing new happens in a tree, a workload may preempt only a few times in it."""
        return self.spent.get(node.root.name, {}).get(workload.key, 0) < PREEMPTIONS_MAX

    def spend(self, workload: Workload, node: Node) -> None:
        spent = self.spent.setdefault(node.root.name, {})
        spent[workload.key] = spent.get(workload.key, 0) + 1

    def _news(self, queue: str) -> None:
        node = self.tree.queues.get(queue)
        if node is not None and self.spent:
            self.spent.pop(node.root.name, None)

    def rejected(self, key: str, now: Time) -> None:
        """Apply could not commit an assumed reservation: take it back and try again."""
        workload = self.ledger.discard(key)
        if workload is None:
            return
        self.usage.drop_penalty(workload.tenant_queue, key)
        workload.reservation = None
        try:
            self.submit(workload, now)
        except QueueMissing:
            return

    def committed(self, key: str) -> None:
        """Apply stored an assumed reservation."""
        workload = self.ledger.by_key.get(key)
        if workload is not None and workload.reservation is not None and workload.reservation.admitted:
            self.usage.settle(workload.tenant_queue, key)

    def changed(self, queues: Iterable[str]) -> None:
        """Quotas or rules changed there."""
        names = list(queues)
        self.wake(names)
        for name in names:
            self._news(name)

    def wake(self, queues: Iterable[str]) -> None:
        """Quota may have come free there. What waits is woken at the next decision, once for all that happened."""
        for name in queues:
            if name in self.tree.queues:
                self._to_wake[name] = None
                self.dirty[name] = None

    def flush(self, now: Time) -> int:
        names, self._to_wake = self._to_wake, {}
        if not names:
            return 0
        return self.lines.wake(self.tree, names, now, None if self.settings.fair_sharing else self._is_hopeless)

    def _is_hopeless(self, name: str, shape: Shape) -> bool:
        queue = self.queues[name]
        recipe = self.recipe(queue, shape)
        if recipe is None or (self.settings.preemptors_first and self.lines.by_queue[name].preemptor is not None):
            return False
        if can_reduce(shape.pod_sets):
            return False
        ranked = self.ledger.ranked.get(name)
        equal_counts = queue.preemption.within_queue is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
        lower = bool(self.ledger.evicted.get(name))
        if ranked:
            lower = lower or ranked[0][0] < shape.priority + equal_counts
        return recipe.is_hopeless(self.tree.queues[name], queue.preemption, lower)

    def recipe(self, queue: Queue, shape: Shape) -> Recipe | None:
        key = (queue.name, shape)
        try:
            return self._recipes[key]
        except KeyError:
            found = self._recipes[key] = recipe_for(shape, queue, self.flavors, self.settings)
            return found

    def is_active(self, queue: str) -> bool:
        return queue in self.queues and queue not in self.inactive

    def tenant_stopped(self, tenant: str) -> bool:
        known = self.lines.tenants.get(tenant)
        return known is not None and known.stop is not StopPolicy.NONE

    def field(self, now: Time) -> Field:
        rank = self.usage.rank if self.usage.enabled else None
        return Field(self.tree, self.ledger, self.queues, self.settings, rank, self.inactive, now)

    def _restructured(self, node: Node, now: Time) -> None:
        for above in (node, *(() if node.name in self.tree.cyclic else node.path())):
            above.version += 1
        self._recheck_cycles()
        self.changed([member.name for member in self._members(node)])

    def _members(self, node: Node) -> list[Node]:
        if node.name in self.tree.cyclic:
            return []
        return list(self.tree.queues_under(node.root))

    def _recheck_cycles(self) -> None:
        for name in self.queues:
            self._refresh(name)

    def _refresh_all(self, now: Time) -> None:
        self._recipes.clear()
        for name in self.queues:
            self._refresh(name)
        self.changed(list(self.queues))

    def _refresh(self, name: str) -> None:
        ready = readiness(
            self.queues[name],
            self.flavors,
            self.checks,
            frozenset(self.topologies),
            name in self.terminating,
            self.settings.topology,
        )
        self.ready[name] = ready
        if ready.active and not self.tree.is_cyclic(name):
            self.inactive.discard(name)
        else:
            self.inactive.add(name)
