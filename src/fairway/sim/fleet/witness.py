"""Sees every change of a node's objects the moment it is published, and checks what must hold then."""

from __future__ import annotations

import msgspec

from fairway.control import compile as compiler
from fairway.control.adapters.names import PREBUILT_WORKLOAD
from fairway.control.conditions import is_true
from fairway.core.admit.state import AdmitState
from fairway.core.model import Workload
from fairway.core.shapes import Shapes
from fairway.fleet.resources import EPOCH, LOCAL_UID
from fairway.node import Node
from fairway.sim import invariants
from fairway.sim.fleet.chronicle import Chronicle
from fairway.sim.fleet.dispatches import Dispatches
from fairway.sim.fleet.payloads import Payloads
from fairway.sim.invariants import Broken, Json
from fairway.store.record import Event, Record

JOBS, WORKLOADS = "jobs.batch", "workloads.kueue.x-k8s.io"
QUEUES, COHORTS = "clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io"


class Witness:
    """Of one life of a node: the quota is counted here once more, by what the objects say alone."""

    def __init__(
        self,
        name: str,
        node: Node,
        chronicle: Chronicle,
        acknowledged: dict[str, None],
        dispatches: Dispatches,
        payloads: Payloads | None,
    ) -> None:
        """payloads: told of evictions and completions, where jobs are submitted to this node."""
        self._name = name
        self._node = node
        self._chronicle = chronicle
        self._acknowledged = acknowledged
        self._dispatches = dispatches
        self._payloads = payloads
        self._store = node.spaces[0].store
        self._state = AdmitState()
        self._shapes = Shapes()
        self._check(lambda: invariants.nothing_lost(acknowledged, {record.path: None for record in self._all(JOBS)}))
        for record in self._all(COHORTS):
            self._state.put_cohort(compiler.cohort(_json(record)), 0)
        for record in self._all(QUEUES):
            self._state.put_queue(compiler.queue(_json(record)), 0)
        for record in self._all(WORKLOADS):
            self._count(record)
            self._follow(record, None)
        for record in self._all(JOBS):
            self._follow_job(_json(record))
        self._store.listen(self._on_any)
        self._store.listen(self._on_queue, QUEUES)
        self._store.listen(self._on_cohort, COHORTS)
        self._store.listen(self._on_workload, WORKLOADS)
        self._store.listen(self._on_job, JOBS)

    def at_rest(self) -> None:
        """What must hold when nothing is on its way."""
        workloads = [_json(record) for record in self._all(WORKLOADS)]
        queues, cohorts = map(_json, self._all(QUEUES)), map(_json, self._all(COHORTS))
        live = self._node.queueing[self._node.spaces[0].name].observer.state
        self._check(lambda: invariants.quota_held(queues, cohorts, workloads, live))
        self._check(lambda: invariants.admitted_once(workloads, live))

    def _all(self, bucket: str) -> list[Record]:
        return self._store.records(bucket)

    def _on_any(self, event: Event) -> None:
        record = event.record
        self._chronicle.mix(f"{self._name} {record.bucket} {record.path} {event.deleted}".encode())
        self._chronicle.mix(record.value)

    def _on_queue(self, event: Event) -> None:
        if event.deleted:
            self._state.remove_queue(_json(event.record)["metadata"]["name"], 0)
        else:
            self._state.put_queue(compiler.queue(_json(event.record)), 0)

    def _on_cohort(self, event: Event) -> None:
        if not event.deleted:
            self._state.put_cohort(compiler.cohort(_json(event.record)), 0)

    def _on_workload(self, event: Event) -> None:
        key = event.record.path
        if event.deleted:
            self._state.ledger.discard(key)
            return
        self._tell(event)
        self._follow(event.record, event.previous)
        held = key in self._state.ledger.by_key
        workload = self._count(event.record)
        if workload is not None and not held:
            self._check(lambda: self._within_quota(workload))
        if event.previous is not None:
            before, after = _json(event.previous), _json(event.record)
            self._check(lambda: invariants.cluster_final(before, after))

    def _follow(self, record: Record, previous: Record | None) -> None:
        """What became of it, to those who remember it through all lives. Without a previous one: it was there when this life began."""
        after, before = _json(record), _json(previous) if previous is not None else {}
        metadata = after["metadata"]
        cluster = (after.get("status") or {}).get("clusterName")
        if cluster:
            self._dispatches.bound(metadata["uid"], cluster)
        if self._payloads is not None and is_true(after, "Evicted") and not is_true(before, "Evicted"):
            for owner in metadata.get("ownerReferences") or ():
                self._payloads.evicted(owner["name"])
        epoch = _notes(after).get(EPOCH)
        if epoch and previous is None:
            self._dispatches.copy_came(self._name, record.path, metadata["uid"], int(epoch))

    def _follow_job(self, job: Json) -> None:
        if self._payloads is not None and is_true(job, "Complete"):
            self._payloads.completed(job["metadata"]["name"])
        workload = (job["metadata"].get("labels") or {}).get(PREBUILT_WORKLOAD)
        copy = self._store.get(WORKLOADS, f"{job['metadata']['namespace']}/{workload}") if workload else None
        uid = _notes(_json(copy)).get(LOCAL_UID) if copy is not None else None
        if uid:
            self._dispatches.job_came(self._name, job["metadata"]["name"], job["metadata"]["uid"], uid)

    def _tell(self, event: Event) -> None:
        """Which conditions it has now and had not, and where it is."""
        before = _standing(_json(event.previous)) if event.previous is not None else []
        news = [what for what in _standing(_json(event.record)) if what not in before]
        if news:
            self._chronicle.note(self._name, f"workload {event.record.path.partition('/')[2]}: {', '.join(news)}")

    def _on_job(self, event: Event) -> None:
        path = event.record.path
        if event.deleted and path in self._acknowledged:
            self._chronicle.breaks("nothing-lost", f"job {path} was deleted on {self._name}, and nobody asked for it")
        if not event.deleted:
            self._follow_job(_json(event.record))
        elif self._payloads is not None:
            self._payloads.gone(path.partition("/")[2])

    def _count(self, record: Record) -> Workload | None:
        """The workload, if it holds quota."""
        obj = _json(record)
        if not invariants.holds_quota(obj):
            self._state.ledger.discard(record.path)
            return None
        workload = compiler.workload(obj, self._shapes, self._state.settings)
        self._state.ledger.add(workload)
        return workload

    def _within_quota(self, workload: Workload) -> None:
        """Just admitted: nothing of what it took was taken before."""
        assert workload.reservation is not None
        node = self._state.tree.queues.get(workload.reservation.queue)
        for cell in workload.reservation.usage if node is not None else ():
            over = -node.available(cell) if node is not None else 0
            if over > 0:
                raise Broken("quota-held", f"{workload.key} takes {workload.reservation.queue} {over} over in {cell}")

    def _check(self, check: object) -> None:
        try:
            check()  # type: ignore[operator]
        except Broken as error:
            self._chronicle.breaks(error.invariant, f"on {self._name}: {error.what}")


def _json(record: Record) -> Json:
    found: Json = msgspec.json.decode(record.value)
    return found


def _notes(obj: Json) -> Json:
    found: Json = obj["metadata"].get("annotations") or {}
    return found


def _standing(workload: Json) -> list[str]:
    status = workload.get("status") or {}
    said = [
        f"{condition['type']}" + (f" ({condition['reason']})" if condition["type"] != condition.get("reason") else "")
        for condition in status.get("conditions") or ()
        if condition.get("status") == "True"
    ]
    cluster = status.get("clusterName")
    nominated = status.get("nominatedClusterNames")
    return [*said, *([f"on {cluster}"] if cluster else []), *([f"nominated {nominated}"] if nominated else [])]
