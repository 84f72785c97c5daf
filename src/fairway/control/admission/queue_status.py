"""What queues tell about themselves: whether they admit, how much waits, how much is held. Written together, not at every change."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.control import usage
from fairway.control.adapters import Json
from fairway.control.admission.observer import Observer
from fairway.control.apply import Write
from fairway.control.conditions import set_condition, with_own_status
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror
from fairway.control.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from fairway.control.times import render_time
from fairway.core.admit.ledger import Ledger
from fairway.core.admit.usage import Units, in_units
from fairway.core.model import Amounts, Queue, Reservation, StopPolicy, TenantQueue, Time, split_cell
from fairway.core.quantity import NANO, render
from fairway.core.quota.node import Node
from fairway.core.quota.share import dominant_share

_CYCLE = ("CohortCycle", "Can't admit new workloads: the cohort is its own ancestor.")


@dataclass(slots=True)
class _Held:
    """How much workloads hold together."""

    reserving: int = 0
    admitted: int = 0
    reservation: Amounts = field(default_factory=dict)
    usage: Amounts = field(default_factory=dict)

    def add(self, held: Reservation) -> None:
        self.reserving += 1
        _add(self.reservation, held.usage)
        if held.admitted:
            self.admitted += 1
            _add(self.usage, held.usage)


class _Books:
    """Who holds what in queues: each is gone through once, however many tenants it has."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._queues: dict[str, tuple[_Held, dict[str, _Held]]] = {}

    def of(self, queue: str, tenant: str | None = None) -> _Held:
        known = self._queues.get(queue)
        if known is None:
            known = self._queues[queue] = self._read(queue)
        return known[0] if tenant is None else known[1].get(tenant) or _Held()

    def _read(self, queue: str) -> tuple[_Held, dict[str, _Held]]:
        total, tenants = _Held(), dict[str, _Held]()
        for workload in self._ledger.of_queue(queue).values():
            if workload.reservation is not None:
                total.add(workload.reservation)
                tenants.setdefault(workload.tenant_queue, _Held()).add(workload.reservation)
        return total, tenants


class QueueStatus:
    def __init__(self, config: Configuration, observer: Observer, mirror: Mirror) -> None:
        self._config = config
        self._observer = observer
        self._state = observer.state
        self._queues = mirror[CLUSTER_QUEUES]
        self._tenants = mirror[LOCAL_QUEUES]
        self._cohorts = mirror[COHORTS]

    @property
    def due(self) -> bool:
        seen = self._observer
        return bool(seen.queues_touched or seen.tenants_touched or seen.cohorts_touched)

    def writes(self, now: Time) -> list[Write]:
        seen, state = self._observer, self._state
        queues, seen.queues_touched = list(seen.queues_touched), {}
        tenants, seen.tenants_touched = list(seen.tenants_touched), {}
        cohorts, seen.cohorts_touched = dict(seen.cohorts_touched), {}
        leads_to = {known.queue: None for key in tenants if (known := state.lines.tenants.get(key)) is not None}
        waiting, books = state.lines.by_tenant(leads_to), _Books(state.ledger)
        found: list[Write] = []
        for name in queues:
            found += self._queue(name, books.of(name), now)
            node = state.tree.queues.get(name)
            if node is not None and state.settings.fair_sharing and not state.tree.is_cyclic(name):
                cohorts.update(dict.fromkeys(above.name for above in node.path()))
        for key in tenants:
            found += self._tenant(key, waiting[key], books, now)
        for name in cohorts:
            found += self._cohort(name, now)
        return found

    # --- cluster queues ---------------------------------------------------------------------------------------------

    def _queue(self, name: str, held: _Held, now: Time) -> list[Write]:
        obj, queue = self._queues.get(f"/{name}"), self._state.queues.get(name)
        if obj is None or queue is None:
            return []
        state = self._state
        changed = with_own_status(obj)
        status: Json = changed.setdefault("status", {})
        line, ready = state.lines.by_queue.get(name), state.ready[name]
        reason, message = (
            (ready.reason, ready.message) if not state.tree.is_cyclic(name) or not ready.active else _CYCLE
        )
        value = "True" if state.is_active(name) else "False"
        set_condition(changed, "Active", value, reason, message, render_time(now), _generation(obj))
        status |= {
            "flavorsReservation": usage.queue_usage(queue, held.reservation),
            "flavorsUsage": usage.queue_usage(queue, held.usage),
            "pendingWorkloads": len(line) if line is not None else 0,
            "reservingWorkloads": held.reserving,
            "admittedWorkloads": held.admitted,
        }
        if state.settings.fair_sharing:
            status["fairSharing"] = {"weightedShare": dominant_share(state.tree.queues[name]).rounded}
        return self._write(CLUSTER_QUEUES, obj, changed, self._observer.queues_touched, name)

    # --- local queues -----------------------------------------------------------------------------------------------

    def _tenant(self, key: str, pending: int, books: _Books, now: Time) -> list[Write]:
        obj, tenant = self._tenants.get(key), self._state.lines.tenants.get(key)
        if obj is None or tenant is None:
            return []
        changed = with_own_status(obj)
        status: Json = changed.setdefault("status", {})
        queue = self._state.queues.get(tenant.queue)
        value, reason, message = self._tenant_active(tenant, queue)
        set_condition(changed, "Active", value, reason, message, render_time(now), _generation(obj))
        held = books.of(tenant.queue, key)
        status |= {
            "pendingWorkloads": pending,
            "reservingWorkloads": held.reserving,
            "admittedWorkloads": held.admitted,
        }
        if queue is None:
            status.pop("flavorsReservation", None)
            status.pop("flavorsUsage", None)
        else:
            status["flavorsReservation"] = usage.tenant_usage(queue, held.reservation)
            status["flavorsUsage"] = usage.tenant_usage(queue, held.usage)
            self._past_usage(key, status, held.usage, now)
        return self._write(LOCAL_QUEUES, obj, changed, self._observer.tenants_touched, key)

    def _tenant_active(self, tenant: TenantQueue, queue: Queue | None) -> tuple[str, str, str]:
        if tenant.stop is not StopPolicy.NONE:
            return "False", "Stopped", "LocalQueue is stopped"
        if queue is None:
            return "False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"
        if not self._state.is_active(queue.name):
            return "False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
        return "True", "Ready", "Can submit new workloads to localQueue"

    def _past_usage(self, key: str, status: Json, used: Amounts, now: Time) -> None:
        """Where admission is ordered by past usage, the tenant's queue remembers it."""
        ledger = self._state.usage
        if not ledger.enabled:
            return
        due = ledger.next_sample(key)
        if due is None or due <= now:
            ledger.sample(key, _by_resource(used), now)
        past = ledger.tenants[key]
        status.setdefault("fairSharing", {})["admissionFairSharingStatus"] = {
            "consumedResources": {name: render(round(units * NANO)) for name, units in past.consumed.items()},
            "lastUpdate": render_time(past.sampled),
        }
        status["fairSharing"].setdefault("weightedShare", 0)

    # --- cohorts ----------------------------------------------------------------------------------------------------

    def _cohort(self, name: str, now: Time) -> list[Write]:
        obj, node = self._cohorts.get(f"/{name}"), self._state.tree.cohorts.get(name)
        if obj is None or node is None or not self._state.settings.fair_sharing or name in self._state.tree.cyclic:
            return []
        changed = with_own_status(obj)
        changed.setdefault("status", {})["fairSharing"] = {"weightedShare": _share(node)}
        return self._write(COHORTS, obj, changed, self._observer.cohorts_touched, name)

    def _write(self, resource: Resource, obj: Json, changed: Json, touched: dict[str, None], name: str) -> list[Write]:
        if changed.get("status") == obj.get("status"):
            return []

        def failed(error: ApiError) -> None:
            if error.code == 409:
                touched[name] = None

        return [Write("updateStatus", resource, changed, failed=failed)]


def _add(total: Amounts, more: Amounts) -> None:
    for at, amount in more.items():
        total[at] = total.get(at, 0) + amount


def _share(node: Node) -> int:
    return dominant_share(node).rounded


def _by_resource(amounts: Amounts) -> Units:
    total: dict[str, int] = {}
    for at, amount in amounts.items():
        resource = split_cell(at)[1]
        total[resource] = total.get(resource, 0) + amount
    return in_units(total)


def _generation(obj: Json) -> int:
    return int(obj["metadata"].get("generation") or 0)
