"""All waiting work: a line per queue, and which tenant queue leads to which line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from fairway.core.admit.line import Line, Requeue, TenantRank
from fairway.core.model import Queue, Shape, Spot, StopPolicy, TenantQueue, Time, Workload
from fairway.core.quota.tree import QuotaTree


class QueueMissing(Exception):
    """A workload names a queue that is not there; the message says which."""


class Lines:
    __slots__ = ("_rank", "_shape_parking", "_stranded", "by_queue", "namespaces", "tenants", "waiting")

    def __init__(self, shape_parking: bool = True, rank: TenantRank | None = None) -> None:
        self._shape_parking = shape_parking
        self._rank = rank
        self.by_queue: dict[str, Line] = {}
        self.tenants: dict[str, TenantQueue] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.waiting: dict[str, Workload] = {}
        self._stranded: dict[str, Workload] = {}

    def put_queue(self, queue: Queue, now: Time) -> Line:
        """A new or changed queue; a change of how it orders its work sorts the line anew."""
        line = self.by_queue.get(queue.name)
        rank = self._rank if queue.usage_based_order else None
        if line is None:
            line = self.by_queue[queue.name] = Line(queue, self._shape_parking, rank)
            line.stopped = self._stopped_tenants(queue.name)
            self._adopt(line, now)
        elif line.queue.round_robin != queue.round_robin or line.tenant_rank is not rank:
            fresh = Line(queue, self._shape_parking, rank)
            fresh.preemptor, fresh.pops, fresh.woken_at = line.preemptor, line.pops, line.woken_at
            fresh.stopped = line.stopped
            for workload in [*line.active(), *line.parked()]:
                workload.spot = Spot.NOWHERE
                fresh.push(workload, now)
            fresh.in_flight = line.in_flight
            line = self.by_queue[queue.name] = fresh
        else:
            line.queue = queue
        return line

    def remove_queue(self, name: str) -> None:
        line = self.by_queue.pop(name, None)
        if line is not None:
            for workload in [*line.active(), *line.parked()]:
                workload.spot = Spot.NOWHERE
                self._stranded[workload.key] = workload

    def put_tenant(self, tenant: TenantQueue, now: Time) -> None:
        old = self.tenants.get(tenant.key)
        self.tenants[tenant.key] = tenant
        self._gate(tenant)
        if old is not None and old.queue == tenant.queue:
            return
        line = self.by_queue.get(tenant.queue)
        for workload in self._of_tenant(tenant.key, old.queue if old is not None else None):
            self._leave(workload)
            workload.queue = tenant.queue
            if line is not None:
                self._stranded.pop(workload.key, None)
                line.push(workload, now)
            else:
                self._stranded[workload.key] = workload

    def _gate(self, tenant: TenantQueue) -> None:
        line = self.by_queue.get(tenant.queue)
        if line is None:
            return
        if tenant.stop is StopPolicy.NONE:
            line.stopped.discard(tenant.key)
        else:
            line.stop_tenant(tenant.key)

    def _stopped_tenants(self, queue: str) -> set[str]:
        return {t.key for t in self.tenants.values() if t.queue == queue and t.stop is not StopPolicy.NONE}

    def remove_tenant(self, key: str) -> None:
        tenant = self.tenants.pop(key, None)
        if tenant is not None:
            for workload in self._of_tenant(key, tenant.queue):
                self.remove(workload.key)

    def put(self, workload: Workload, now: Time) -> None:
        """A workload arrives or changed. Raises QueueMissing when there is nowhere to wait yet."""
        old = self.waiting.get(workload.key)
        tenant = self.tenants.get(workload.tenant_queue)
        if tenant is None:
            if old is not None:
                self.remove(workload.key)
            raise QueueMissing(f"tenant queue {workload.tenant_queue} does not exist or is inactive")
        workload.queue = tenant.queue
        line = self.by_queue.get(tenant.queue)
        if old is not None and self._keeps_place(old, workload, line):
            return
        sticky = line is not None and line.preemptor is old and old is not None
        if old is not None:
            self._leave(old)
        self.waiting[workload.key] = workload
        self._stranded.pop(workload.key, None)
        if line is None:
            self._stranded[workload.key] = workload
            raise QueueMissing(f"queue {tenant.queue!r} of tenant queue {tenant.key} does not exist")
        if sticky:
            line.preemptor = workload
        line.push(workload, now)

    def remove(self, key: str) -> Workload | None:
        workload = self.waiting.pop(key, None)
        self._stranded.pop(key, None)
        if workload is not None:
            line = self.by_queue.get(workload.queue)
            if line is not None:
                line.remove(workload)
        return workload

    def heads(self, queues: Iterable[str]) -> list[Workload]:
        heads: list[Workload] = []
        for name in queues:
            line = self.by_queue[name]
            workload = line.pop() if line.has_active() else None
            if workload is not None:
                heads.append(workload)
        return heads

    def restore(
        self, workload: Workload, reason: Requeue, now: Time, pending_flavors: bool = False, why: str = ""
    ) -> bool:
        """Give a head back; one that meanwhile left, or is waiting in a newer version, is not put back as it was."""
        current = self.waiting.get(workload.key)
        if current is None:
            return False
        line = self.by_queue.get(current.queue)
        return line is not None and line.restore(current, reason, now, pending_flavors, why)

    def wake(
        self, tree: QuotaTree, queues: Iterable[str], now: Time, hopeless: Callable[[str, Shape], bool] | None = None
    ) -> int:
        """Quota may have come free in these queues' trees: try again whatever waits in them and has a chance."""
        woken = 0
        seen: set[int] = set()
        for name in queues:
            node = tree.queues.get(name)
            if node is None or tree.is_cyclic(name) or id(node.root) in seen:
                continue
            seen.add(id(node.root))
            for member in tree.queues_under(node.root):
                line = self.by_queue.get(member.name)
                if line is None:
                    continue
                if line.is_idle:
                    line.woken_at = line.pops
                else:
                    woken += self.wake_queue(member.name, now, hopeless)
        return woken

    def wake_queue(self, name: str, now: Time, hopeless: Callable[[str, Shape], bool] | None = None) -> int:
        line = self.by_queue.get(name)
        if line is None:
            return 0
        return line.wake(
            now,
            lambda namespace: self.namespace_matches(line.queue, namespace),
            None if hopeless is None else lambda shape: hopeless(name, shape),
        )

    def namespace_matches(self, queue: Queue, namespace: str) -> bool:
        labels = self.namespaces.get(namespace)
        selector = queue.namespaces
        if labels is None or selector is None:
            return False
        return not selector.requirements or selector.matches(labels)

    def members(self, tenant: str) -> list[Workload]:
        known = self.tenants.get(tenant)
        return self._of_tenant(tenant, known.queue if known is not None else None)

    def by_tenant(self, queues: Iterable[str]) -> Counter[str]:
        """How many of each tenant wait for these queues, or for one that is not there."""
        counts = Counter(w.tenant_queue for w in self._stranded.values())
        for name in queues:
            line = self.by_queue.get(name)
            if line is not None:
                counts.update(line.by_tenant())
        return counts

    def _of_tenant(self, tenant: str, queue: str | None) -> list[Workload]:
        """What a tenant has waiting: in its queue's line, or stranded because that queue is not there."""
        line = self.by_queue.get(queue or "")
        found = [w for w in self._stranded.values() if w.tenant_queue == tenant]
        return found + (line.of_tenant(tenant) if line is not None else [])

    def _keeps_place(self, old: Workload, new: Workload, line: Line | None) -> bool:
        """In flight: whoever holds it gives it back in its new version. Parked and unchanged: nothing new to try."""
        if line is None or old.queue != new.queue:
            return False
        if old.spot is Spot.IN_FLIGHT:
            new.spot = Spot.IN_FLIGHT
            line.in_flight[new.key] = new
            self.waiting[new.key] = new
            if line.preemptor is old:
                line.preemptor = new
            return True
        return line.is_parked(old) and _same_chances(old, new)

    def _leave(self, workload: Workload) -> None:
        line = self.by_queue.get(workload.queue)
        if line is not None:
            line.take(workload)

    def _adopt(self, line: Line, now: Time) -> None:
        for workload in [w for w in self._stranded.values() if w.queue == line.queue.name]:
            del self._stranded[workload.key]
            line.push(workload, now)


def _same_chances(old: Workload, new: Workload) -> bool:
    return (
        old.shape is new.shape
        and old.tenant_queue == new.tenant_queue
        and old.order == new.order
        and old.backoff == new.backoff
        and old.evicted == new.evicted
        and old.traits == new.traits
    )
