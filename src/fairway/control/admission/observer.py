"""Observe: every change of an object becomes an event of the core's state, and marks whoever has to be looked at because of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import msgspec

from fairway.api.client import Item
from fairway.control import compile as compiler
from fairway.control.adapters import Json
from fairway.control.admission.sketch import Sketch, Stage, glimpse, sketched
from fairway.control.agenda import Agenda
from fairway.control.conditions import find_condition, is_true
from fairway.control.configuration import Configuration
from fairway.control.limits import with_defaults
from fairway.control.mirror import Mirror
from fairway.control.resources import (
    CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    NAMESPACES,
    TOPOLOGIES,
    WORKLOADS,
)
from fairway.control.times import parse_time
from fairway.core.admit.lines import QueueMissing
from fairway.core.admit.readiness import Check
from fairway.core.admit.state import AdmitState
from fairway.core.admit.usage import in_units
from fairway.core.model import Queue, Shape, StopPolicy, TenantQueue, Time, Workload
from fairway.core.shapes import Shapes

_OVER = ("Suspended", "Misconfigured", "AdmissionGated", "PendingEvaluation", "Deactivated")
_ALIKE_MAX = 1024
_COUNTS = ("nodeSelector", "affinity", "tolerations", "resources", "overhead")
log = logging.getLogger("fairway.control")


class Observer:
    def __init__(self, config: Configuration, mirror: Mirror, now: Callable[[], Time]) -> None:
        self._config = config
        self._rules = config.request_rules()
        self._now = now
        self._workloads = mirror[WORKLOADS]
        self.state = AdmitState(config.settings())
        self.shapes = Shapes()
        self.looks: Agenda[str] = Agenda()
        """Workloads that the rules of a Workload's life have to look at."""
        self.queues_touched: dict[str, None] = {}
        self.tenants_touched: dict[str, None] = {}
        self.cohorts_touched: dict[str, None] = {}
        self.untold: dict[tuple[str, Shape], dict[str, None]] = {}
        """Who waits and was never told why, by queue and shape."""
        self._alike: dict[bytes, tuple[Shape, str | None]] = {}
        """Shapes of work by what was written: most work is like other work, and is compiled once."""
        self._keeps_finished = config.retention("after_finished") is None
        self._stranded: dict[str, None] = {}
        self._ranges: dict[str, dict[str, Json]] = {}
        for resource, handle in (
            (NAMESPACES, self._on_namespace),
            (TOPOLOGIES, self._on_topology),
            (CHECKS, self._on_check),
            (FLAVORS, self._on_flavor),
            (COHORTS, self._on_cohort),
            (CLUSTER_QUEUES, self._on_queue),
            (LOCAL_QUEUES, self._on_tenant),
            (LIMIT_RANGES, self._on_limit_range),
            (WORKLOADS, self._on_workload),
        ):
            mirror[resource].on_change(handle)

    # --- what the rules of a Workload's life may know ---------------------------------------------------------------

    def tenant(self, key: str) -> TenantQueue | None:
        return self.state.lines.tenants.get(key)

    def queue(self, name: str) -> Queue | None:
        return self.state.queues.get(name)

    def is_active(self, queue: str) -> bool:
        return self.state.is_active(queue)

    def is_terminating(self, queue: str) -> bool:
        return queue in self.state.terminating

    # --- queues and what they are made of ---------------------------------------------------------------------------

    def _on_namespace(self, key: str, _before: Item | None, after: Item | None) -> None:
        name = key[1:]
        if after is None:
            self.state.lines.namespaces.pop(name, None)
            return
        labels = after.json()["metadata"].get("labels") or {}
        if self.state.lines.namespaces.get(name) != labels:
            self.state.put_namespace(name, labels, self._now())

    def _on_topology(self, key: str, _before: Item | None, after: Item | None) -> None:
        before = set(self.state.inactive)
        if after is None:
            self.state.remove_topology(key[1:], self._now())
        else:
            self.state.put_topology(key[1:], self._now())
        self._readiness_changed(before)

    def _on_check(self, key: str, _before: Item | None, after: Item | None) -> None:
        before = set(self.state.inactive)
        if after is None:
            self.state.remove_check(key[1:], self._now())
        else:
            obj = after.json()
            controller = (obj.get("spec") or {}).get("controllerName", "")
            check = Check(key[1:], is_true(obj, "Active"), controller)
            if self.state.checks.get(check.name) != check:
                self.state.put_check(check, self._now())
        self._readiness_changed(before)

    def _on_flavor(self, key: str, _before: Item | None, after: Item | None) -> None:
        before = set(self.state.inactive)
        if after is None:
            self.state.remove_flavor(key[1:], self._now())
        else:
            flavor = compiler.flavor(after.json())
            if self.state.flavors.get(flavor.name) != flavor:
                self.state.put_flavor(flavor, self._now())
        self._readiness_changed(before)

    def _on_cohort(self, key: str, before: Item | None, after: Item | None) -> None:
        inactive = set(self.state.inactive)
        self.cohorts_touched[key[1:]] = None
        if after is None:
            self.state.remove_cohort(key[1:], self._now())
        elif before is None or before.json().get("spec") != after.json().get("spec"):
            self.state.put_cohort(compiler.cohort(after.json()), self._now())
        self._readiness_changed(inactive)

    def _on_queue(self, key: str, before: Item | None, after: Item | None) -> None:
        name = key[1:]
        self.queues_touched[name] = None
        if _same_spec(before, after):
            return
        inactive = set(self.state.inactive)
        if after is None:
            self.state.terminating.discard(name)
            self.state.remove_queue(name, self._now())
            self._look_at(name)
            return
        obj = after.json()
        queue = compiler.queue(obj)
        terminating = bool(obj["metadata"].get("deletionTimestamp"))
        if self.state.queues.get(name) == queue and terminating == (name in self.state.terminating):
            return
        if terminating:
            self.state.terminating.add(name)
        self.state.put_queue(queue, self._now())
        self._look_at(name)
        self._readiness_changed(inactive)

    def _on_tenant(self, key: str, before: Item | None, after: Item | None) -> None:
        self.tenants_touched[key] = None
        if _same_spec(before, after):
            return
        if after is None:
            left = [workload.key for workload in self.state.lines.members(key)]
            self.state.remove_tenant(key)
            self._stranded.update(dict.fromkeys(left))
            self.looks.update(left)
            return
        obj = after.json()
        tenant = compiler.tenant_queue(obj)
        if self.state.lines.tenants.get(key) == tenant:
            return
        known = key in self.state.lines.tenants
        self.state.put_tenant(tenant, self._now())
        if not known:
            self._seed_usage(key, obj)
            waiting, self._stranded = list(self._stranded), {}
            for name in waiting:
                self.enter(name)
        held = self.state.ledger.of_queue(tenant.queue).values()
        self.looks.update(w.key for w in held if w.tenant_queue == key)
        members = self.state.lines.members(key)
        self.looks.update(w.key for w in members)
        self._tell_again(members)

    def _tell_again(self, waiting: Iterable[Workload]) -> None:
        """That a queue is stopped, or not there, is what they were told last, and it is not so any more."""
        for workload in waiting:
            self.untold.setdefault((workload.queue, workload.shape), {})[workload.key] = None

    def _seed_usage(self, key: str, obj: Json) -> None:
        """Past usage survives a restart in the status of the tenant's queue."""
        past = ((obj.get("status") or {}).get("fairSharing") or {}).get("admissionFairSharingStatus")
        if past and self.state.usage.enabled:
            consumed = {
                name: compiler.amount(name, text) for name, text in (past.get("consumedResources") or {}).items()
            }
            self.state.usage.seed(key, in_units(consumed), parse_time(past.get("lastUpdate")))

    def _on_limit_range(self, key: str, _before: Item | None, after: Item | None) -> None:
        namespace = key.partition("/")[0]
        ranges = self._ranges.setdefault(namespace, {})
        if after is None:
            ranges.pop(key, None)
        else:
            ranges[key] = after.json()
        for workload in [w for w in self.state.lines.waiting.values() if w.namespace == namespace]:
            self.enter(workload.key)

    def _readiness_changed(self, inactive_before: set[str]) -> None:
        for name in sorted(inactive_before ^ self.state.inactive):
            self._look_at(name)
        ready = inactive_before - self.state.inactive
        if ready:
            self._tell_again(w for w in self.state.lines.waiting.values() if w.queue in ready)

    def _look_at(self, queue: str) -> None:
        """Everything in a queue, and the doors to it."""
        self.queues_touched[queue] = None
        lines = self.state.lines
        self.tenants_touched.update(dict.fromkeys(t.key for t in lines.tenants.values() if t.queue == queue))
        self.looks.update(self.state.ledger.of_queue(queue))
        self.looks.update(w.key for w in lines.waiting.values() if w.queue == queue)

    # --- workloads --------------------------------------------------------------------------------------------------

    def _on_workload(self, key: str, before: Item | None, after: Item | None) -> None:
        if after is not None and before is None and self.looks.starting and self._found(key, after):
            return
        self._touch(key)
        if after is None:
            self._stranded.pop(key, None)
            self.looks.discard(key)
            self.state.remove(key, self._now())
            self._ready(key, True)
            return
        sketch = self._sketch(key, after)
        if self.enter(key, sketch) or sketch is None or not self._is_quiet(key, sketch):
            self.looks.add(key, urgent=self._workloads.read(after, glimpse).is_live)
        self._touch(key)

    def _found(self, key: str, item: Item) -> bool:
        """At a start: whether one of many that only wait, and are like others, is in line now."""
        sketch = self._sketch(key, item)
        known = self._alike.get(sketch.likeness) if sketch is not None and sketch.stage is Stage.WAITS else None
        if sketch is None or known is None:
            return False
        workload = sketch.workload(key, *known)
        try:
            self.state.submit(workload, 0)  # whatever only waits has no time to wait for
        except QueueMissing:
            return False
        if not sketch.is_told(_OVER):
            self.untold.setdefault((workload.queue, workload.shape), {})[key] = None
        if not self._is_quiet(key, sketch):
            self.looks.add(key)
        self.queues_touched[workload.queue] = self.tenants_touched[workload.tenant_queue] = None
        return True

    def _is_quiet(self, key: str, sketch: Sketch) -> bool:
        """Whether the rules of a Workload's life have nothing to say about one in a usual state: whoever changes that looks at it."""
        if not sketch.is_complete:
            return False
        if sketch.stage is Stage.OVER:
            return self._keeps_finished
        tenant = self.state.lines.tenants.get(sketch.tenant)
        queue = self.state.queues.get(tenant.queue) if tenant is not None else None
        held = self.state.ledger.by_key.get(key)
        return (
            tenant is not None
            and queue is not None
            and (held is None or held.queue == queue.name)
            and tenant.stop is StopPolicy.NONE
            and queue.stop is StopPolicy.NONE
            and not queue.checks
            and self.state.is_active(queue.name)
            and queue.name not in self.state.terminating
        )

    def _touch(self, key: str) -> None:
        """Whatever counts this workload has to count again."""
        workload = self.state.lines.waiting.get(key) or self.state.ledger.by_key.get(key)
        if workload is not None:
            reserved = workload.reservation
            self.queues_touched[reserved.queue if reserved is not None else workload.queue] = None
            self.tenants_touched[workload.tenant_queue] = None

    def enter(self, key: str, sketch: Sketch | None = None) -> bool:
        """Take in what a workload says now. Says whether its whole object had to be read for that."""
        item = self._workloads.item(key)
        if item is None:
            return False
        self._stranded.pop(key, None)
        sketch = sketch or self._sketch(key, item)
        if sketch is not None and sketch.stage is Stage.OVER:
            self._over(key)
            return False
        known = self._alike.get(sketch.likeness) if sketch is not None else None
        if sketch is not None and known is not None:
            self._take_in(sketch, sketch.workload(key, *known))
            return False
        self._read_whole(key, sketch)
        return True

    def _take_in(self, sketch: Sketch, workload: Workload) -> None:
        if workload.reservation is not None:
            self._reserve(workload, sketch.is_ready)
        else:
            self._ready(workload.key, True)
            self._wait(workload, untold=not sketch.is_told(_OVER))

    def _over(self, key: str) -> None:
        self.state.remove(key, self._now())
        self._ready(key, True)

    def _read_whole(self, key: str, sketch: Sketch | None) -> None:
        obj = self._workloads.view(key) or {}
        if is_true(obj, "Finished"):
            self._over(key)
            return
        workload = self._compile(obj)
        if workload is None:
            return
        if sketch is not None:
            self._remember(sketch.likeness, workload)
        if workload.reservation is not None and is_true(obj, "QuotaReserved"):
            self._reserve(workload, is_true(obj, "PodsReady"))
            return
        workload.reservation = None
        self._ready(key, True)
        if not compiler.is_admissible(obj) or obj["metadata"].get("deletionTimestamp"):
            self.state.remove(key, self._now())
            return
        self._wait(workload, untold=is_untold(obj))

    def _wait(self, workload: Workload, *, untold: bool) -> None:
        self.submit(workload)
        if untold and workload.key in self.state.lines.waiting:
            self.untold.setdefault((workload.queue, workload.shape), {})[workload.key] = None

    def _sketch(self, key: str, item: Item) -> Sketch | None:
        """Where nothing but the workload itself has a say."""
        usual = not self.state.settings.variants and not self._ranges.get(key.partition("/")[0])
        return sketched(self._workloads.read(item, glimpse)) if usual else None

    def submit(self, workload: Workload) -> None:
        old = self.state.lines.waiting.get(workload.key)
        if old is not None and _same(old, workload):
            return
        try:
            if workload.key in self.state.ledger:
                self.state.requeue(workload.key, self._now())
                self.state.lines.put(workload, self._now())
            else:
                self.state.submit(workload, self._now())
        except QueueMissing:
            if workload.tenant_queue not in self.state.lines.tenants:
                self._stranded[workload.key] = None
            self.looks.add(workload.key)

    def _reserve(self, workload: Workload, pods_ready: bool) -> None:
        old = self.state.ledger.by_key.get(workload.key)
        assert workload.reservation is not None
        if old is None or old.reservation != workload.reservation or not _same(old, workload):
            self.state.reserve(workload)
        held = old.reservation if old is not None else None
        before = (held.usage, old.evicted) if old is not None and held is not None else None
        if before is not None and before != (workload.reservation.usage, workload.evicted):
            # Pods that ended gave quota back, or an eviction did not come about: others may go on.
            self.state.changed((workload.reservation.queue,))
        waits = self.state.settings.block_admission and workload.reservation.admitted and not workload.evicted
        self._ready(workload.key, not waits or pods_ready)

    def _ready(self, key: str, ready: bool) -> None:
        """Where admission waits for pods, the last one that becomes ready lets others go on."""
        if not ready:
            self.state.unready.add(key)
        elif key in self.state.unready:
            self.state.unready.discard(key)
            if not self.state.unready:
                self.state.wake(list(self.state.queues))

    def _compile(self, obj: Json) -> Workload | None:
        ranges: Iterable[Json] = list(self._ranges.get(obj["metadata"].get("namespace", ""), {}).values())
        alike = b"" if ranges else _likeness(obj)
        try:
            workload = compiler.workload(
                with_defaults(obj, ranges) if ranges else obj,
                self.shapes,
                self.state.settings,
                rules=self._rules,
                boosted=self._config.gate("PriorityBoost", False),
                reclaim=self._config.gate("ReclaimablePods"),
                limit_ranges=ranges,
                known=self._alike.get(alike),
            )
        except (ValueError, KeyError) as error:
            log.warning("Workload %s cannot be read, and waits for nothing: %s", compiler.key_of(obj), error)
            self.state.remove(compiler.key_of(obj), self._now())
            return None
        if alike:
            self._remember(alike, workload)
        return workload

    def _remember(self, alike: bytes, workload: Workload) -> None:
        if alike not in self._alike:
            while len(self._alike) >= _ALIKE_MAX:
                del self._alike[next(iter(self._alike))]
            traits = workload.traits
            self._alike[alike] = (workload.shape, traits.misconfigured if traits is not None else None)


def _same_spec(before: Item | None, after: Item | None) -> bool:
    """Whether an object only tells something else of itself, as queues do all the time. To be deleted counts as another spec."""
    if before is None or after is None:
        return False
    old, new = before.meta, after.meta
    return old.uid == new.uid and old.generation == new.generation > 0


def is_untold(obj: Json) -> bool:
    """Whether a workload that may be considered does not say why it waits, or gives a reason that is over."""
    said = find_condition(obj, "QuotaReserved")
    return said is None or (said.get("status") == "False" and said.get("reason") in _OVER)


def _likeness(obj: Json) -> bytes:
    """All that a workload's shape is made of, as one key."""
    annotations = obj["metadata"].get("annotations") or {}
    pod_sets = [
        (
            each.get("name"),
            each.get("count"),
            each.get("minCount"),
            each.get("topologyRequest"),
            _what_counts((each.get("template") or {}).get("spec") or {}),
        )
        for each in obj["spec"].get("podSets") or ()
    ]
    marks = (annotations.get(compiler.BOOST), annotations.get(compiler.ALLOWED_FLAVORS))
    free = (obj.get("status") or {}).get("reclaimablePods")
    return msgspec.json.encode((obj["spec"].get("priority"), marks, free, pod_sets))


def _what_counts(spec: Json) -> Json:
    """Of a pod's spec: not its commands, which are different for each."""
    counts: Json = {key: spec[key] for key in _COUNTS if key in spec}
    for kind in ("containers", "initContainers"):
        counts[kind] = [(each.get("resources"), each.get("restartPolicy")) for each in spec.get(kind) or ()]
    return counts


def _same(old: Workload, new: Workload) -> bool:
    """Whether a new version of a workload has nothing new to decide about: most changes are only about what people are told."""
    return (
        old.shape is new.shape
        and old.tenant_queue == new.tenant_queue
        and old.order == new.order
        and old.backoff == new.backoff
        and old.traits == new.traits
        and (old.evicted == new.evicted or new.reservation is None)
    )
