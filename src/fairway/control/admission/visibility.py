"""What others may ask about queues: who waits in them, in order, and how much they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fairway.control.adapters import Json
from fairway.control.admission.observer import Observer
from fairway.control.apply import Note
from fairway.control.configuration import Configuration
from fairway.control.mirror import Table
from fairway.control.times import parse_time
from fairway.core.model import SECOND, Amounts, Time, Workload, split_cell

_WAITS = (1, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960)
_PREFIX = "kueue_"
_COUNTERS = {
    "quota_reserved_workloads_total": "Workloads that got quota",
    "admitted_workloads_total": "Workloads that were admitted",
    "evicted_workloads_total": "Evictions, by reason",
    "preempted_workloads_total": "Workloads that made room for others, by who took it",
}
_HISTOGRAMS = {
    "quota_reserved_wait_time_seconds": "From submission to quota",
    "admission_wait_time_seconds": "From submission to admission",
}
Measure = tuple[str, str, str, dict[str, str], Any]
_Labels = tuple[tuple[str, str], ...]


class _Waits:
    """Counts of waiting times by bound."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_WAITS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        at = next((index for index, bound in enumerate(_WAITS) if seconds <= bound), len(_WAITS))
        self.counts[at] += 1
        self.total += seconds

    def cumulative(self) -> Iterator[tuple[str, int]]:
        so_far = 0
        for bound, count in zip((*(str(float(bound)) for bound in _WAITS), "+Inf"), self.counts, strict=True):
            so_far += count
            yield bound, so_far


class QueueViews:
    def __init__(self, config: Configuration, observer: Observer, workloads: Table) -> None:
        self._config = config
        self._state = observer.state
        self._workloads = workloads
        self._counts: Counter[tuple[str, _Labels]] = Counter()
        self._waits: dict[tuple[str, _Labels], _Waits] = {}

    # --- who waits --------------------------------------------------------------------------------------------------

    def pending(self, resource: str, namespace: str, name: str, offset: int, limit: int) -> list[Json] | None:
        tenant = f"{namespace}/{name}" if resource == "localqueues" else None
        if tenant is not None:
            known = self._state.lines.tenants.get(tenant)
            if known is None:
                return None
            name = known.queue
        line = self._state.lines.by_queue.get(name)
        if line is None:
            return None if tenant is None else []
        return list(self._items(line.ordered(), tenant, offset, limit))

    def _items(self, ordered: Sequence[Workload], tenant: str | None, offset: int, limit: int) -> Iterator[Json]:
        in_tenant: Counter[str] = Counter()
        taken = 0
        for position, workload in enumerate(ordered):
            own = in_tenant[workload.tenant_queue]
            in_tenant[workload.tenant_queue] += 1
            if tenant is not None and workload.tenant_queue != tenant:
                continue
            taken += 1
            if taken <= offset:
                continue
            if taken > offset + limit:
                return
            obj = self._workloads.get(workload.key)
            if obj is not None:
                yield _item(obj, workload, position, own)

    # --- how much ---------------------------------------------------------------------------------------------------

    def heard(self, note: Note, now: Time) -> None:
        """Counts what is told: each of these events is told once, after the write that it tells of."""
        admission = (note.about.get("status") or {}).get("admission") or {}
        queue = (("cluster_queue", str(admission.get("clusterQueue", ""))),)
        waited = max(0, now - parse_time(note.about["metadata"].get("creationTimestamp"))) / SECOND
        if note.reason == "QuotaReserved":
            self._counts["quota_reserved_workloads_total", queue] += 1
            self._waits.setdefault(("quota_reserved_wait_time_seconds", queue), _Waits()).add(waited)
        elif note.reason == "Admitted":
            self._counts["admitted_workloads_total", queue] += 1
            self._waits.setdefault(("admission_wait_time_seconds", queue), _Waits()).add(waited)
        elif note.reason.startswith("EvictedDueTo"):
            reason, _, cause = note.reason.removeprefix("EvictedDueTo").partition("DueTo")
            self._counts["evicted_workloads_total", (*queue, ("reason", reason), ("underlying_cause", cause))] += 1
        elif note.reason == "Preempted":
            by = note.message.partition("preemptor path: ")[2].partition(";")[0].rpartition("/")[2]
            said: Json = next((c for c in note.about["status"]["conditions"] if c["type"] == "Preempted"), {})
            labels = (("preempting_cluster_queue", by), ("reason", str(said.get("reason", ""))))
            self._counts["preempted_workloads_total", labels] += 1

    def measures(self) -> Iterable[Measure]:
        for (name, labels), count in self._counts.items():
            yield _PREFIX + name, "counter", _COUNTERS[name], dict(labels), count
        for (name, labels), waits in self._waits.items():
            yield _PREFIX + name, "histogram", _HISTOGRAMS[name], dict(labels), (list(waits.cumulative()), waits.total)
        for name in self._state.queues:
            yield from self._queue(name)

    def _queue(self, name: str) -> Iterator[Measure]:
        state, labels = self._state, {"cluster_queue": name}
        line = state.lines.by_queue[name]
        for status, count in (("active", line.active_count()), ("inadmissible", line.parked_count())):
            text = "Workloads that wait: active are tried next, inadmissible when something changes"
            yield _PREFIX + "pending_workloads", "gauge", text, {**labels, "status": status}, count
        held = state.ledger.count_of(name)
        admitted = state.ledger.count_of(name, admitted_only=True)
        yield _PREFIX + "reserving_active_workloads", "gauge", "Workloads that hold quota", labels, held
        yield _PREFIX + "admitted_active_workloads", "gauge", "Workloads that are admitted", labels, admitted
        now = "terminating" if name in state.terminating else "active" if state.is_active(name) else "pending"
        for status in ("pending", "active", "terminating"):
            yield (
                _PREFIX + "cluster_queue_status",
                "gauge",
                "1 for the state it is in",
                {**labels, "status": status},
                float(status == now),
            )
        yield from self._resources(name)

    def _resources(self, name: str) -> Iterator[Measure]:
        ledger, queue = self._state.ledger, self._state.queues[name]
        nominal = {at: quota.nominal for at, quota in queue.quotas.items()}
        for what, amounts in (
            ("resource_usage", ledger.usage_of(name, admitted_only=True)),
            ("resource_reservation", ledger.usage_of(name)),
            ("nominal_quota", nominal),
        ):
            yield from self._amounts(f"cluster_queue_{what}", name, nominal, amounts)

    def _amounts(self, metric: str, queue: str, cells: Iterable[str], amounts: Amounts) -> Iterator[Measure]:
        cohort = self._state.queues[queue].cohort or ""
        for at in cells:
            flavor, resource = split_cell(at)
            value = amounts.get(at, 0) / (1000 if resource == "cpu" else 1)
            labels = {"cohort": cohort, "cluster_queue": queue, "flavor": flavor, "resource": resource}
            yield _PREFIX + metric, "gauge", "In whole units, per flavor and resource", labels, value


def _item(obj: Json, workload: Workload, position: int, own: int) -> Json:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "creationTimestamp", "ownerReferences")
    return {
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "priority": workload.priority,
        "localQueueName": (obj.get("spec") or {}).get("queueName", ""),
        "positionInClusterQueue": position,
        "positionInLocalQueue": own,
    }
