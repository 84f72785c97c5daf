"""What queueing measures, under Kueue's names: what happened is counted as it happens, what is so is looked up when somebody asks.

What happened to a workload is counted for its ClusterQueue and, if wanted (`metrics.localQueueMetrics`, gate LocalQueueMetrics), for its
LocalQueue under the same name with `local_queue_` before it. Cohorts (gate MetricsForCohorts) add up what is below them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fairway.api.client import Item
from fairway.control.adapters import Json
from fairway.control.admission.observer import Observer
from fairway.control.admission.sketch import glimpse
from fairway.control.apply import Note
from fairway.control.conditions import find_condition, is_true
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror
from fairway.control.resources import LOCAL_QUEUES, WORKLOADS
from fairway.control.times import parse_time
from fairway.core.admit.plan import Plan
from fairway.core.labels import Selector
from fairway.core.model import SECOND, Amounts, Quota, Time, split_cell
from fairway.core.quota.node import Node
from fairway.core.quota.share import dominant_share

Measure = tuple[str, str, str, dict[str, str], Any]
_Labels = tuple[tuple[str, str], ...]
_PREFIX = "kueue_"
_LOCAL = "local_queue_"
_WAITS = (1.0, *(2.5 * 2**step for step in range(13)))
_QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TEXTS = {
    "admission_attempts_total": "Passes of the scheduler, by whether they admitted anything",
    "quota_reserved_workloads_total": "Workloads that got quota",
    "admitted_workloads_total": "Workloads that were admitted",
    "finished_workloads_total": "Workloads that finished",
    "evicted_workloads_total": "Evictions, by reason",
    "evicted_workloads_once_total": "Workloads that were evicted for the first time, by reason",
    "preempted_workloads_total": "Workloads that made room for others, by who took it",
    "preemption_target_recomputations_total": "Who has to make room was worked out again, by what came of it",
    "cohort_subtree_admitted_workloads_total": "Workloads that were admitted in queues below",
    "admission_attempt_duration_seconds": "How long a pass took",
    "quota_reserved_wait_time_seconds": "From submission or return to the queue to quota",
    "admission_wait_time_seconds": "From submission or return to the queue to admission",
    "admission_checks_wait_time_seconds": "From quota to admission",
    "ready_wait_time_seconds": "From submission or return to the queue to pods that are ready",
    "admitted_until_ready_wait_time_seconds": "From admission to pods that are ready",
    "pods_ready_to_evicted_time_seconds": "From pods that are ready to eviction",
    "execution_time_seconds": "From admission to the end",
    "workload_creation_latency_seconds": "From a job to its workload",
}


class _Name(msgspec.Struct, gc=False):
    name: str = ""


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    status: str = ""
    last_transition_time: str = ""


class _Admission(msgspec.Struct, rename="camel", gc=False):
    cluster_queue: str = ""


class _Status(msgspec.Struct, rename="camel", gc=False):
    conditions: list[_Condition] = []
    admission: _Admission | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    queue_name: str = ""
    priority_class_ref: _Name | None = None


class _Meta(msgspec.Struct, rename="camel", gc=False):
    namespace: str = ""
    creation_timestamp: str = ""


class _Workload(msgspec.Struct, gc=False):
    """Of a Workload, what is measured."""

    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def subject(self) -> _Subject:
        queue = self.status.admission.cluster_queue if self.status.admission is not None else ""
        priority = self.spec.priority_class_ref.name if self.spec.priority_class_ref is not None else ""
        return _Subject(queue, self.metadata.namespace, self.spec.queue_name, priority)

    def since(self, *kinds: str) -> Time:
        """When the latest of these conditions became true, else when the workload was made."""
        times = [parse_time(c.last_transition_time) for c in self.status.conditions if c.type in kinds]
        return max(times) if times else parse_time(self.metadata.creation_timestamp)


_decode = msgspec.json.Decoder(_Workload).decode
_NO_TIME: Mapping[str, Time] = {}
_FINISHED, _STARTED = b'"type":"Finished"', b'"reason":"Started"'


class _Subject(NamedTuple):
    """Whom a number is about."""

    queue: str
    namespace: str
    local: str
    priority: str

    @property
    def of_queue(self) -> _Labels:
        return (("cluster_queue", self.queue), ("priority_class", self.priority))

    @property
    def of_tenant(self) -> _Labels:
        return (("name", self.local), ("namespace", self.namespace), ("priority_class", self.priority))

    @classmethod
    def of(cls, workload: Json) -> _Subject:
        spec, admission = workload.get("spec") or {}, (workload.get("status") or {}).get("admission") or {}
        return cls(
            str(admission.get("clusterQueue", "")),
            str(workload["metadata"].get("namespace", "")),
            str(spec.get("queueName", "")),
            str((spec.get("priorityClassRef") or {}).get("name", "")),
        )


class _Waits:
    """Counts of times by bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> Iterator[tuple[str, int]]:
        so_far = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            so_far += count
            yield bound, so_far


class _Tally:
    """What is counted under the same labels."""

    __slots__ = ("counts", "labels", "prefix", "waits")

    def __init__(self, labels: _Labels, prefix: str = "") -> None:
        self.labels = labels
        self.prefix = prefix
        self.counts: dict[str, int] = {}
        self.waits: dict[str, _Waits] = {}

    def add(self, what: str, count: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + count

    def took(self, what: str, seconds: float, bounds: tuple[float, ...] = _WAITS) -> None:
        known = self.waits.get(what)
        if known is None:
            known = self.waits[what] = _Waits(bounds)
        known.add(seconds)

    def __iter__(self) -> Iterator[Measure]:
        labels, prefix = dict(self.labels), _PREFIX + self.prefix
        for what, count in self.counts.items():
            yield prefix + what, "counter", _TEXTS[what], labels, count
        for what, waits in self.waits.items():
            yield prefix + what, "histogram", _TEXTS[what], labels, (list(waits.cumulative()), waits.total)


class Measures:
    def __init__(self, config: Configuration, observer: Observer, mirror: Mirror) -> None:
        self._of_cohorts = config.gate("MetricsForCohorts")
        self._state = observer.state
        self._local_queues = mirror[LOCAL_QUEUES]
        self._selector = config.measured_local_queues()
        self._tallies: dict[tuple[_Labels, str], _Tally] = {}
        self._about: dict[tuple[_Subject, _Labels], tuple[_Tally, _Tally]] = {}
        """Of a workload's ClusterQueue and of its LocalQueue."""
        self._finished: Counter[_Subject] = Counter()
        self._skips: Mapping[str, int] = {}
        self._workloads = mirror[WORKLOADS]
        self._workloads.on_change(self._on_workload)

    # --- what happens -----------------------------------------------------------------------------------------------

    def attempted(self, plan: Plan, seconds: float) -> None:
        labels = (("result", "success" if plan.admissions() else "inadmissible"),)
        self._skips = plan.skipped_preemptions
        for queue, results in plan.recomputations.items():
            for result, count in results.items():
                about = (("cluster_queue", queue), ("result", result))
                self._tally(about).add("preemption_target_recomputations_total", count)
        tally = self._tally(labels)
        tally.add("admission_attempts_total")
        tally.took("admission_attempt_duration_seconds", seconds, _QUICK)

    def heard(self, note: Note, now: Time) -> None:
        """Counts what is told: each of these events is told once, after the write that it tells of."""
        about = note.about
        if note.reason == "QuotaReserved":
            subject = _Subject.of(about)
            waited = {"quota_reserved_wait_time_seconds": now - _queued(about)}
            self._happened(subject, "quota_reserved_workloads_total", waited)
        elif note.reason == "Admitted":
            self._on_admitted(about, now)
        elif note.reason.startswith("EvictedDueTo"):
            self._on_evicted(about, note.reason, now)
        elif note.reason == "Preempted":
            by = note.message.partition("preemptor path: ")[2].partition(";")[0].rpartition("/")[2]
            said = find_condition(about, "Preempted") or {}
            labels = (("preempting_cluster_queue", by), ("reason", str(said.get("reason", ""))))
            self._tally(labels).add("preempted_workloads_total")
        elif note.reason == "CreatedWorkload":
            kind = (("job_kind", str(about.get("kind", ""))),)
            seconds = max(0, now - parse_time(about["metadata"].get("creationTimestamp"))) / SECOND
            self._tally(kind).took("workload_creation_latency_seconds", seconds, _QUICK)

    def _on_admitted(self, workload: Json, now: Time) -> None:
        subject = _Subject.of(workload)
        reserved = parse_time((find_condition(workload, "QuotaReserved") or {}).get("lastTransitionTime"))
        waited = {
            "admission_wait_time_seconds": now - _queued(workload),
            "admission_checks_wait_time_seconds": now - reserved,
        }
        self._happened(subject, "admitted_workloads_total", waited)
        node = self._state.tree.queues.get(subject.queue)
        if node is not None and self._of_cohorts and not self._state.tree.is_cyclic(subject.queue):
            for above in node.path():
                self._tally((("cohort", above.name),)).add("cohort_subtree_admitted_workloads_total")

    def _on_evicted(self, workload: Json, told: str, now: Time) -> None:
        subject = _Subject.of(workload)
        reason, _, cause = told.removeprefix("EvictedDueTo").partition("DueTo")
        why = (("reason", reason), ("underlying_cause", cause))
        for tally in self._both(subject, why):
            tally.add("evicted_workloads_total")
        times = (workload.get("status") or {}).get("schedulingStats") or {}
        if sum(int(each.get("count", 0)) for each in times.get("evictions") or ()) <= 1:
            self._tally(subject.of_queue + why).add("evicted_workloads_once_total")
        if is_true(workload, "PodsReady"):
            since = parse_time((find_condition(workload, "PodsReady") or {}).get("lastTransitionTime"))
            labels = (("cluster_queue", subject.queue), ("reason", reason), ("underlying_cause", cause))
            self._tally(labels).took("pods_ready_to_evicted_time_seconds", max(0, now - since) / SECOND)

    def _on_workload(self, _key: str, before: Item | None, after: Item | None) -> None:
        if before is None and after is not None and not self._workloads.read(after, glimpse).is_over:
            return
        over = before is not None and before.value.rfind(_FINISHED) >= 0
        ends = after is not None and after.value.rfind(_FINISHED) >= 0
        if over and not ends and before is not None:
            self._finished[_decode(before.value).subject] -= 1
        elif ends and not over and after is not None:
            self._on_finished(_decode(after.value), now_seen=before is not None)
        elif after is not None and before is not None and _STARTED in after.value and _STARTED not in before.value:
            self._on_ready(_decode(after.value))

    def _on_finished(self, workload: _Workload, *, now_seen: bool) -> None:
        """now_seen: it happened now, and was not only found at a start."""
        subject = workload.subject
        self._finished[subject] += 1
        if now_seen:
            self._happened(subject, "finished_workloads_total")
            took = workload.since("Finished") - workload.since("Admitted")
            self._tally((("cluster_queue", subject.queue),)).took("execution_time_seconds", max(0, took) / SECOND)

    def _on_ready(self, workload: _Workload) -> None:
        ready = workload.since("PodsReady")
        waited = {
            "ready_wait_time_seconds": ready - workload.since("Requeued"),
            "admitted_until_ready_wait_time_seconds": ready - workload.since("Admitted"),
        }
        self._happened(workload.subject, "", waited)

    def _happened(self, subject: _Subject, what: str, waited: Mapping[str, Time] = _NO_TIME) -> None:
        """Counts what there is a name for, and how long it took."""
        for tally in self._both(subject):
            if what:
                tally.add(what)
            for name, time in waited.items():
                tally.took(name, max(0, time) / SECOND)

    def _tally(self, labels: _Labels, prefix: str = "") -> _Tally:
        found = self._tallies.get((labels, prefix))
        if found is None:
            found = self._tallies[labels, prefix] = _Tally(labels, prefix)
        return found

    def _both(self, subject: _Subject, more: _Labels = ()) -> tuple[_Tally, ...]:
        """Of its ClusterQueue and, if that is measured, of its LocalQueue."""
        found = self._about.get((subject, more))
        if found is None:
            both = self._tally(subject.of_queue + more), self._tally(subject.of_tenant + more, _LOCAL)
            found = self._about[subject, more] = both
        return found if self._is_measured(subject) else found[:1]

    def _is_measured(self, subject: _Subject) -> bool:
        return self._selector is not None and self._has_metrics(f"{subject.namespace}/{subject.local}", self._selector)

    def _has_metrics(self, tenant: str, selector: Selector) -> bool:
        if not selector.requirements:
            return True
        queue = self._local_queues.get(tenant)
        return queue is not None and selector.matches(queue["metadata"].get("labels") or {})

    # --- what is so -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Measure]:
        for tally in self._tallies.values():
            yield from tally
        for queue in self._state.queues:
            yield from self._queue(queue)
        if self._selector is not None:
            pending = self._pending_by_tenant()
            for tenant in self._state.lines.tenants:
                if self._has_metrics(tenant, self._selector):
                    yield from self._tenant(tenant, pending)
        if self._of_cohorts:
            for cohort, node in self._state.tree.cohorts.items():
                if cohort not in self._state.tree.cyclic:
                    yield from self._cohort(cohort, node)

    def _queue(self, name: str) -> Iterator[Measure]:
        state, labels = self._state, {"cluster_queue": name}
        line, ledger = state.lines.by_queue[name], state.ledger
        for status, count in (("active", line.active_count()), ("inadmissible", line.parked_count())):
            yield _gauge("pending_workloads", _PENDING, {**labels, "status": status}, count)
        yield _gauge("reserving_active_workloads", "Workloads that hold quota", labels, ledger.count_of(name))
        admitted = ledger.count_of(name, admitted_only=True)
        yield _gauge("admitted_active_workloads", "Workloads that are admitted", labels, admitted)
        skipped = self._skips.get(name, 0)
        text = "Workloads that did not get the room they asked for, as others wanted the same in the last pass"
        yield _gauge("admission_cycle_preemption_skips", text, labels, skipped)
        over = sum(count for subject, count in self._finished.items() if subject.queue == name)
        yield _gauge("finished_workloads", "Workloads that are finished and still there", labels, over)
        now = "terminating" if name in state.terminating else "active" if state.is_active(name) else "pending"
        for status in ("pending", "active", "terminating"):
            yield _gauge("cluster_queue_status", _STATE, {**labels, "status": status}, float(status == now))
        queue, node = state.queues[name], state.tree.queues[name]
        own = {**labels, "cohort": queue.cohort or ""}
        yield _gauge("cluster_queue_info", "Where a queue is in the tree", {**own, **self._place(node)}, 1.0)
        if state.settings.fair_sharing and not state.tree.is_cyclic(name):
            yield _gauge("cluster_queue_weighted_share", _SHARE, own, dominant_share(node).rounded)
        for what, amounts in (
            ("resource_usage", ledger.usage_of(name, admitted_only=True)),
            ("resource_reservation", ledger.usage_of(name)),
            ("nominal_quota", _limits(queue.quotas, "nominal")),
            ("borrowing_limit", _limits(queue.quotas, "borrowing_limit")),
            ("lending_limit", _limits(queue.quotas, "lending_limit")),
        ):
            cells = amounts if what.endswith("_limit") else queue.quotas
            yield from _amounts(f"cluster_queue_{what}", own, cells, amounts)

    def _pending_by_tenant(self) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for line in self._state.lines.by_queue.values():
            found.update((workload.tenant_queue, "inadmissible") for workload in line.parked())
        waiting = Counter(workload.tenant_queue for workload in self._state.lines.waiting.values())
        for tenant, count in waiting.items():
            found[tenant, "active"] = count - found[tenant, "inadmissible"]
        return found

    def _tenant(self, key: str, pending: Counter[tuple[str, str]]) -> Iterator[Measure]:
        namespace, _, name = key.partition("/")
        labels, tenant = {"name": name, "namespace": namespace}, self._state.lines.tenants[key]
        for status in ("active", "inadmissible"):
            yield _gauge(_LOCAL + "pending_workloads", _PENDING, {**labels, "status": status}, pending[key, status])
        held = [w for w in self._state.ledger.of_queue(tenant.queue).values() if w.tenant_queue == key]
        admitted = sum(w.reservation is not None and w.reservation.admitted for w in held)
        yield _gauge(_LOCAL + "reserving_active_workloads", "Workloads that hold quota", labels, len(held))
        yield _gauge(_LOCAL + "admitted_active_workloads", "Workloads that are admitted", labels, admitted)
        over = sum(count for s, count in self._finished.items() if (s.namespace, s.local) == (namespace, name))
        yield _gauge(_LOCAL + "finished_workloads", "Workloads that are finished and still there", labels, over)
        obj = self._local_queues.get(key) or {}
        said = str((find_condition(obj, "Active") or {}).get("status", "Unknown"))
        for value in ("True", "False", "Unknown"):
            yield _gauge(_LOCAL + "status", _STATE, {**labels, "active": value}, float(value == said))
        queue = self._state.queues.get(tenant.queue)
        if queue is not None:
            ledger = self._state.ledger
            held_now, used = ledger.usage_of(queue.name, tenant=key), ledger.usage_of(queue.name, True, key)
            yield from _amounts(_LOCAL + "resource_reservation", labels, queue.quotas, held_now)
            yield from _amounts(_LOCAL + "resource_usage", labels, queue.quotas, used)
        past = self._state.usage.tenants.get(key) if self._state.usage.enabled else None
        for resource, amount in (past.consumed if past is not None else {}).items():
            text = "What it used in the past, as far as it still counts"
            yield _gauge(_LOCAL + "admission_fair_sharing_usage", text, {**labels, "resource": resource}, float(amount))

    def _cohort(self, name: str, node: Node) -> Iterator[Measure]:
        state, labels = self._state, {"cohort": name}
        yield _gauge("cohort_info", "Where a cohort is in the tree", {**labels, **self._place(node)}, 1.0)
        if state.settings.fair_sharing:
            yield _gauge("cohort_weighted_share", _SHARE, labels, dominant_share(node).rounded)
        held: Amounts = {}
        admitted = 0
        for below in state.tree.queues_under(node):
            admitted += state.ledger.count_of(below.name, admitted_only=True)
            for cell, amount in state.ledger.usage_of(below.name).items():
                held[cell] = held.get(cell, 0) + amount
        text = "Workloads that are admitted in queues below"
        yield _gauge("cohort_subtree_admitted_active_workloads", text, labels, admitted)
        yield from _amounts("cohort_subtree_quota", labels, node.subtree, node.subtree)
        yield from _amounts("cohort_subtree_resource_reservations", labels, node.subtree, held)

    def _place(self, node: Node) -> dict[str, str]:
        if node.parent is None or (node.is_queue and self._state.tree.is_cyclic(node.name)):
            return {"parent_cohort": "", "root_cohort": "" if node.is_queue else node.name}
        above = node.parent.parent if node.is_queue else node.parent
        return {"parent_cohort": above.name if above is not None else "", "root_cohort": node.root.name}


_PENDING = "Workloads that wait: active are tried next, inadmissible when something changes"
_STATE = "1 for the state it is in"
_SHARE = "How much is borrowed of what could be, weighed"


def _queued(workload: Json) -> Time:
    """Since when a workload waits: since it was put back, else since it was made."""
    back = find_condition(workload, "Requeued")
    if back is not None and back.get("status") == "True":
        return parse_time(back.get("lastTransitionTime"))
    return parse_time(workload["metadata"].get("creationTimestamp"))


def _limits(quotas: Mapping[str, Quota], what: str) -> Amounts:
    found = {cell: getattr(quota, what) for cell, quota in quotas.items()}
    return {cell: amount for cell, amount in found.items() if amount is not None}


def _gauge(name: str, text: str, labels: dict[str, str], value: float) -> Measure:
    return _PREFIX + name, "gauge", text, labels, value


def _amounts(metric: str, labels: dict[str, str], cells: Iterable[str], amounts: Amounts) -> Iterator[Measure]:
    for at in cells:
        flavor, resource = split_cell(at)
        value = amounts.get(at, 0) / (1000 if resource == "cpu" else 1)
        where = {**labels, "flavor": flavor, "resource": resource}
        yield _gauge(metric, "In whole units, per flavor and resource", where, value)
