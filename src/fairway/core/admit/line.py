"""Everything that waits for one queue: lanes that may be tried, lanes that are parked until something changes.

What costs: joining, leaving and taking the head are logarithmic; parking or waking a whole shape moves its lanes, not
their workloads. Work that was refused is parked; whatever may have changed the answer wakes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from heapq import heappop, heappush
from itertools import count

from fairway.core.admit.lane import Lane
from fairway.core.model import Queue, Shape, Spot, Strategy, Time, Workload

NamespaceTest = Callable[[str], bool]
ShapeTest = Callable[[Shape], bool]
TenantRank = Callable[[str], float]


class Requeue(Enum):
    """Why a head came back without quota."""

    GENERIC = ""
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"
    PENDING_MIGRATION = "PendingMigration"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"


_AT_ONCE = frozenset(
    {
        Requeue.FAILED_AFTER_NOMINATION,
        Requeue.PENDING_PREEMPTION,
        Requeue.PENDING_MIGRATION,
        Requeue.PREEMPTION_FAILED,
    }
)
_PREEMPTS = frozenset({Requeue.PENDING_PREEMPTION, Requeue.PENDING_MIGRATION})
_PARKS_SHAPE = frozenset({Requeue.NO_FIT, Requeue.NO_CANDIDATES})

_LaneKey = tuple[str, Shape]
_HeapEntry = tuple[int, Time, str, str, int, Lane, Workload]


class _Bucket:
    """Lanes of one tenant, or of all tenants where tenants do not count, by their heads."""

    __slots__ = ("heap", "served")

    def __init__(self) -> None:
        self.heap: list[_HeapEntry] = []
        self.served = 0


class Line:
    __slots__ = (
        "_active",
        "_buckets",
        "_by_shape",
        "_counter",
        "_parked",
        "_served",
        "held",
        "in_flight",
        "parked_shapes",
        "pops",
        "preemptor",
        "queue",
        "shape_parking",
        "stopped",
        "tenant_rank",
        "woken_at",
    )

    def __init__(self, queue: Queue, shape_parking: bool = True, tenant_rank: TenantRank | None = None) -> None:
        self.queue = queue
        self.shape_parking = shape_parking
        self.tenant_rank = tenant_rank
        self.held: dict[str, Workload] = {}
        self.in_flight: dict[str, Workload] = {}
        self.parked_shapes: dict[Shape, str] = {}
        self.preemptor: Workload | None = None
        self.pops = 0
        self.woken_at = -1
        self.stopped: set[str] = set()
        self._active: dict[_LaneKey, Lane] = {}
        self._parked: dict[_LaneKey, Lane] = {}
        self._by_shape: dict[Shape, list[Lane]] = {}
        self._buckets: dict[str, _Bucket] = {}
        self._counter = count()
        self._served = 0

    @property
    def best_effort(self) -> bool:
        return self.queue.strategy is Strategy.BEST_EFFORT_FIFO

    def push(self, workload: Workload, now: Time) -> None:
        """A workload that was not in this line joins it."""
        if workload.backoff is not None and not workload.backoff.over(now):
            self._hold(workload)
        elif self.best_effort and workload.shape in self.parked_shapes:
            self._park(workload)
        else:
            self._activate(workload)

    def pop(self) -> Workload | None:
        """Take the head; it is in flight until it is returned, removed or reserves quota."""
        self.pops += 1
        workload = self._take_head()
        if workload is not None:
            workload.spot = Spot.IN_FLIGHT
            self.in_flight[workload.key] = workload
        return workload

    def peek(self) -> Workload | None:
        """Whoever would be tried next."""
        sticky, entry = self._sticky(), self._best()[1]
        if sticky is not None and (entry is None or self._sticky_first(sticky, entry)):
            return sticky
        return entry[6] if entry is not None else None

    def restore(
        self, workload: Workload, reason: Requeue, now: Time, pending_flavors: bool = False, why: str = ""
    ) -> bool:
        """Put a head back: to be tried again at once, or parked. Says whether it went anywhere."""
        self.in_flight.pop(workload.key, None)
        if reason in _PREEMPTS:
            self.preemptor = workload
        if workload.spot is Spot.LANE or workload.spot is Spot.HELD:
            return self._restore_present(workload, reason, now, pending_flavors)
        workload.spot = Spot.NOWHERE
        if self._at_once(workload, reason, now, pending_flavors):
            self._activate(workload)
            return True
        if workload.backoff is not None and not workload.backoff.over(now):
            self._hold(workload)
            return True
        if self.best_effort and self.shape_parking and reason in _PARKS_SHAPE:
            self.park_shape(workload.shape, why)
        self._park(workload)
        return True

    def park_shape(self, shape: Shape, why: str) -> int:
        """Everything of a shape that was just refused need not be tried one by one. Says how many were parked."""
        self.parked_shapes[shape] = why
        parked = 0
        for lane in self._by_shape.get(shape, ()):
            if not lane.parked and len(lane):
                parked += len(lane)
                self._move(lane, self._active, self._parked, parked=True)
        return parked

    def wake(self, now: Time, namespace_matches: NamespaceTest | None = None, hopeless: ShapeTest | None = None) -> int:
        """Something changed: let all that is parked be tried again. Says how many will be.

        Shapes of which it is plain that nothing changed for them may be left where they are.
        """
        self.woken_at = self.pops
        kept: dict[Shape, str] = {}
        woken = 0
        for lane in list(self._parked.values()):
            if lane.tenant in self.stopped:
                continue
            refused = hopeless is not None and lane.shape in self.parked_shapes
            if refused and hopeless is not None and (lane.shape in kept or hopeless(lane.shape)):
                kept[lane.shape] = self.parked_shapes[lane.shape]
                continue
            if namespace_matches is None or namespace_matches(_namespace(lane.tenant)):
                woken += len(lane)
                self._move(lane, self._parked, self._active, parked=False)
        self.parked_shapes = kept
        for workload in list(self.held.values()):
            if workload.backoff is not None and not workload.backoff.over(now):
                continue
            if namespace_matches is None or namespace_matches(workload.namespace):
                del self.held[workload.key]
                workload.spot = Spot.NOWHERE
                self._activate(workload)
                woken += 1
        return woken

    def stop_tenant(self, tenant: str) -> None:
        """What a stopped tenant queue has waiting is out of the way until it is started and woken."""
        self.stopped.add(tenant)
        for lane in [lane for lane in self._active.values() if lane.tenant == tenant]:
            self._move(lane, self._active, self._parked, parked=True)

    def remove(self, workload: Workload) -> bool:
        """The workload no longer waits here."""
        if self.preemptor is not None and self.preemptor.key == workload.key:
            self.preemptor = None
        return self.take(workload)

    def take(self, workload: Workload) -> bool:
        """Take a workload out without forgetting that it preempts."""
        spot, workload.spot = workload.spot, Spot.NOWHERE
        if spot is Spot.HELD:
            return self.held.pop(workload.key, None) is not None
        if spot is Spot.IN_FLIGHT:
            return self.in_flight.pop(workload.key, None) is not None
        return spot is Spot.LANE and self._remove_from_lane(workload)

    def is_active(self, workload: Workload) -> bool:
        lane = self._active.get((workload.tenant_queue, workload.shape))
        return workload.spot is Spot.LANE and lane is not None and workload in lane

    def is_parked(self, workload: Workload) -> bool:
        return workload.spot is Spot.HELD or (workload.spot is Spot.LANE and not self.is_active(workload))

    def of_tenant(self, tenant: str) -> list[Workload]:
        lanes = [lane for lane in (*self._active.values(), *self._parked.values()) if lane.tenant == tenant]
        others = [w for w in (*self.held.values(), *self.in_flight.values()) if w.tenant_queue == tenant]
        return [workload for lane in lanes for workload in lane] + others

    def by_tenant(self) -> Counter[str]:
        """How many of each tenant wait here."""
        counts = Counter(w.tenant_queue for w in (*self.held.values(), *self.in_flight.values()))
        for lanes in (self._active, self._parked):
            for lane in lanes.values():
                counts[lane.tenant] += len(lane)
        return counts

    def active(self) -> Iterator[Workload]:
        for lane in self._active.values():
            yield from lane

    def parked(self) -> Iterator[Workload]:
        for lane in self._parked.values():
            yield from lane
        yield from self.held.values()

    def active_count(self) -> int:
        return sum(len(lane) for lane in self._active.values())

    def parked_count(self) -> int:
        return len(self.held) + sum(len(lane) for lane in self._parked.values())

    def __len__(self) -> int:
        return self.active_count() + self.parked_count() + len(self.in_flight)

    def has_active(self) -> bool:
        return bool(self._active)

    @property
    def is_idle(self) -> bool:
        """Nothing is parked here, so there is nothing to wake."""
        return not (self._parked or self.held or self.parked_shapes)

    def ahead_of(self, workload: Workload) -> int:
        """How many would be tried before this workload if all were woken now."""
        ahead = 0
        for lanes in (self._active, self._parked):
            for lane in lanes.values():
                if lane.shape.priority > workload.priority:
                    ahead += len(lane)
                elif lane.shape.priority == workload.priority:
                    ahead += lane.before(workload)
        return ahead

    def served(self, tenant: str) -> None:
        """A tenant got quota: where tenants take turns, the others are next."""
        bucket = self._buckets.get(tenant)
        if bucket is not None:
            self._served += 1
            bucket.served = self._served

    def ordered(self) -> list[Workload]:
        """All that waits, in the order in which it would be tried if all were woken."""
        sticky = self.preemptor.key if self.preemptor is not None and self.best_effort else None
        rank = self.tenant_rank
        waiting = [*self.active(), *self.parked(), *self.in_flight.values()]
        waiting.sort(
            key=lambda w: (
                rank(w.tenant_queue) if rank is not None else 0.0,
                w.key != sticky,
                -w.priority,
                *w.order,
            )
        )
        return waiting

    def _at_once(self, workload: Workload, reason: Requeue, now: Time, pending_flavors: bool) -> bool:
        if workload.backoff is not None and not workload.backoff.over(now):
            return False
        at_once = reason in _AT_ONCE if self.best_effort else reason is not Requeue.NAMESPACE_MISMATCH
        return at_once or self.woken_at >= self.pops or pending_flavors

    def _restore_present(self, workload: Workload, reason: Requeue, now: Time, pending_flavors: bool) -> bool:
        """A newer event may have put it back already; then only the way from parked to active is left."""
        if not self.is_parked(workload) or not self._at_once(workload, reason, now, pending_flavors):
            return False
        self.take(workload)
        self._activate(workload)
        return True

    def _hold(self, workload: Workload) -> None:
        workload.spot = Spot.HELD
        self.held[workload.key] = workload

    def _park(self, workload: Workload) -> None:
        lane = self._lane(workload, self._parked)
        lane.parked = True
        lane.add(workload)
        workload.spot = Spot.LANE

    def _activate(self, workload: Workload) -> None:
        if workload.tenant_queue in self.stopped:
            self._park(workload)
            return
        lane = self._lane(workload, self._active)
        lane.add(workload)
        workload.spot = Spot.LANE
        if lane.head is workload:
            self._list(lane)

    def _lane(self, workload: Workload, lanes: dict[_LaneKey, Lane]) -> Lane:
        key = (workload.tenant_queue, workload.shape)
        lane = lanes.get(key)
        if lane is None:
            lane = lanes[key] = Lane(workload.tenant_queue, workload.shape)
            self._by_shape.setdefault(workload.shape, []).append(lane)
        return lane

    def _move(self, lane: Lane, source: dict[_LaneKey, Lane], target: dict[_LaneKey, Lane], parked: bool) -> None:
        key = (lane.tenant, lane.shape)
        del source[key]
        there = target.get(key)
        if there is None:
            target[key] = there = lane
        else:
            there.absorb(lane)
            self._unlink(lane)
        there.parked = parked
        if not parked:
            self._list(there)

    def _unlink(self, lane: Lane) -> None:
        lanes = self._by_shape.get(lane.shape)
        if lanes is not None:
            lanes.remove(lane)
            if not lanes:
                del self._by_shape[lane.shape]

    def _drop_if_empty(self, lane: Lane) -> None:
        if not len(lane):
            (self._parked if lane.parked else self._active).pop((lane.tenant, lane.shape), None)
            self._unlink(lane)

    def _remove_from_lane(self, workload: Workload) -> bool:
        key = (workload.tenant_queue, workload.shape)
        for lanes in (self._active, self._parked):
            lane = lanes.get(key)
            if lane is not None and lane.remove(workload):
                if not lane.parked:
                    self._list(lane)
                self._drop_if_empty(lane)
                return True
        return False

    def _bucket(self, tenant: str) -> _Bucket:
        key = tenant if self.tenant_rank is not None or self.queue.round_robin else ""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket()
        return bucket

    def _list(self, lane: Lane) -> None:
        """Make the lane's head visible; entries of earlier heads are dropped when they surface."""
        head = lane.head
        if head is None or lane.listed is head:
            return
        lane.listed = head
        entry = (-lane.shape.priority, head.queued, head.uid, head.key, next(self._counter), lane, head)
        heappush(self._bucket(lane.tenant).heap, entry)

    def _top(self, bucket: _Bucket) -> _HeapEntry | None:
        heap = bucket.heap
        while heap:
            entry = heap[0]
            lane, head = entry[5], entry[6]
            if lane.listed is head and lane.head is head and not lane.parked:
                return entry
            heappop(heap)
            if lane.listed is head:
                lane.listed = None
                if not lane.parked:
                    self._list(lane)
        return None

    def _take_head(self) -> Workload | None:
        bucket, entry = self._best()
        sticky = self._sticky()
        if sticky is not None and (entry is None or self._sticky_first(sticky, entry)):
            self.take(sticky)
            return sticky
        if bucket is None or entry is None:
            return None
        heappop(bucket.heap)
        lane = entry[5]
        lane.listed = None
        workload = lane.pop()
        self._list(lane)
        self._drop_if_empty(lane)
        return workload

    def _best(self) -> tuple[_Bucket | None, _HeapEntry | None]:
        rank = self.tenant_rank
        if rank is None and not self.queue.round_robin:
            only = self._buckets.get("")
            return only, self._top(only) if only is not None else None
        best: tuple[float, int, _HeapEntry] | None = None
        found: _Bucket | None = None
        for tenant, bucket in list(self._buckets.items()):
            entry = self._top(bucket)
            if entry is None:
                if not self.queue.round_robin:
                    del self._buckets[tenant]
                continue
            turn = bucket.served if self.queue.round_robin else 0
            candidate = (rank(tenant) if rank is not None else 0.0, turn, entry)
            if best is None or candidate < best:
                best, found = candidate, bucket
        return found, best[2] if best is not None else None

    def _sticky(self) -> Workload | None:
        """The workload that waits for its victims stays at the front, so that what it frees is not given away."""
        sticky = self.preemptor
        if sticky is None or not self.best_effort or sticky.spot is not Spot.LANE:
            return None
        lane = self._active.get((sticky.tenant_queue, sticky.shape))
        return sticky if lane is not None and sticky in lane else None

    def _sticky_first(self, sticky: Workload, entry: _HeapEntry) -> bool:
        if self.tenant_rank is None:
            return True
        return self.tenant_rank(sticky.tenant_queue) <= self.tenant_rank(entry[5].tenant)


def _namespace(tenant: str) -> str:
    return tenant.partition("/")[0]
