"""Suite A, whole cycles: objects in, one cycle or more, objects and events out."""

from __future__ import annotations

import copy

from fairway.control import compile as compiler
from fairway.control.conditions import is_true
from fairway.control.limits import with_defaults
from fairway.control.outcome import Event, Outcome, Outcomes
from fairway.control.render import admission
from fairway.control.times import parse_time
from fairway.core.admit.cycle import cycle
from fairway.core.admit.lines import QueueMissing
from fairway.core.admit.plan import Admit, Plan
from fairway.core.admit.state import AdmitState
from fairway.core.admit.usage import in_units
from fairway.core.model import Workload
from tests.conformance.kueue_compare import check_admission, check_workloads
from tests.conformance.kueue_world import Json, World, check
from tests.conformance.runner import Unsupported, adapter


class Cluster:
    """A vector's objects as an API would hold them, with the core's state beside them."""

    def __init__(self, vector: Json, observable: bool = True) -> None:
        self.world = World(vector)
        self.now = parse_time(vector["now"])
        self.state = AdmitState(self.world.settings)
        self.objects: dict[str, Json] = {}
        self.events: list[Event] = []
        self.skips: dict[str, int] = {}
        self.recomputations: dict[str, dict[str, int]] = {}
        self.observable = observable
        self._load(vector)

    def _load(self, vector: Json) -> None:
        world, state, now = self.world, self.state, self.now
        for obj in world.of_kind("Namespace"):
            state.put_namespace(obj["metadata"]["name"], obj["metadata"].get("labels") or {}, now)
        for name in world.topologies():
            state.put_topology(name, now)
        for check_ in world.checks().values():
            state.put_check(check_, now)
        for obj in world.of_kind("ResourceFlavor"):
            state.put_flavor(compiler.flavor(obj), now)
        for obj in world.of_kind("Cohort"):
            state.put_cohort(compiler.cohort(obj), now)
        for obj in world.of_kind("ClusterQueue"):
            state.put_queue(compiler.queue(obj), now)
        for obj in world.of_kind("LocalQueue"):
            state.put_tenant(compiler.tenant_queue(obj), now)
        for key, usage in ((vector.get("input") or {}).get("localQueueUsage") or {}).items():
            state.usage.seed(key, in_units({n: compiler.amount(n, t) for n, t in usage.items()}), now)
        for obj in world.of_kind("Workload"):
            self.put_workload(obj)

    def compile(self, obj: Json) -> Workload:
        ranges = [r for r in self.world.of_kind("LimitRange") if r["metadata"].get("namespace") == _namespace(obj)]
        return compiler.workload(
            with_defaults(obj, ranges),
            self.world.shapes,
            self.world.settings,
            rules=self.world.rules,
            boosted=self.world.gates.get("PriorityBoost", False),
            reclaim=self.world.gates.get("ReclaimablePods", True),
            limit_ranges=ranges,
        )

    def put_workload(self, obj: Json) -> None:
        self.objects[compiler.key_of(obj)] = copy.deepcopy(obj)
        workload = self.compile(obj)
        if workload.reservation is not None and is_true(obj, "QuotaReserved"):
            if not is_true(obj, "Finished"):
                self.state.reserve(workload)
        elif compiler.is_admissible(obj):
            workload.reservation = None
            try:
                self.state.submit(workload, self.now)
            except QueueMissing:
                return

    def schedule(self) -> None:
        plan = cycle(self.state, self.now)
        for name, count in plan.skipped_preemptions.items():
            self.skips[name] = self.skips.get(name, 0) + count
        for name, results in plan.recomputations.items():
            known = self.recomputations.setdefault(name, {})
            for result, count in results.items():
                known[result] = known.get(result, 0) + count
        self._commit(plan)

    def _commit(self, plan: Plan) -> None:
        config = self.world.config
        error = config.get("admissionError") or config.get("statusPatchError")
        outcome = Outcomes(self.objects, self.state.tree, self.observable).of(plan, self.now)
        if error:
            self._fail(plan, error)
            return
        self._store(outcome)
        for action in plan.actions:
            if isinstance(action, Admit):
                self.state.committed(action.workload.key)

    def _fail(self, plan: Plan, error: Json) -> None:
        for action in plan.actions:
            if isinstance(action, Admit):
                self.state.rejected(action.workload.key, self.now)
                if error.get("reason") == "NotFound":
                    self.state.remove(action.workload.key, self.now)

    def _store(self, outcome: Outcome) -> None:
        self.objects.update(outcome.changed)
        self.events += outcome.events

    def step(self, step: Json) -> None:
        match step["op"]:
            case "schedule":
                self.schedule()
            case "expect":
                self.check(step["expect"])
            case "delete":
                self._delete(step)
            case "update":
                self._update(step["object"], step.get("scope"))
            case "requeueInadmissible":
                self.state.wake(list(self.state.queues))
            case other:
                raise AssertionError(f"unknown step {other}")
        self.state.flush(self.now)

    def _delete(self, step: Json) -> None:
        if step.get("scope") == "apiOnly":
            self.objects.pop(step["key"], None)
        elif step["kind"] == "Workload":
            self.objects.pop(step["key"], None)
            self.state.remove(step["key"], self.now)
        elif step["kind"] == "LocalQueue":
            self.state.remove_tenant(step["key"])
        elif step["kind"] == "ClusterQueue":
            self.state.remove_queue(step["key"].rpartition("/")[2], self.now)

    def _update(self, obj: Json, scope: str | None) -> None:
        if scope == "schedulerCacheOnly" and obj["kind"] == "ClusterQueue":
            queue = compiler.queue(obj)
            changed = queue.quotas != self.state.queues[queue.name].quotas
            self.state.queues[queue.name] = queue
            self.state.tree.put_queue(queue).version += changed
        elif obj["kind"] == "ClusterQueue":
            self.state.put_queue(compiler.queue(obj), self.now)
        elif obj["kind"] == "Cohort":
            self.state.put_cohort(compiler.cohort(obj), self.now)
        elif obj["kind"] == "Workload":
            self.put_workload(obj)

    def check(self, want: Json) -> None:
        if "assignments" in want:
            self._check_assignments(want["assignments"])
        for field, of in (("left", "active"), ("inadmissible", "parked")):
            if field in want:
                lists = {n: sorted(w.key for w in getattr(ln, of)()) for n, ln in self.state.lines.by_queue.items()}
                expected = {name: sorted(keys) for name, keys in (want[field] or {}).items() if keys}
                check({name: keys for name, keys in lists.items() if keys}, expected, field)
        if "workloads" in want:
            check_workloads(list(self.objects.values()), want["workloads"], set(want.get("ignoreFields") or ()))
        if "events" in want:
            self._check_events(want["events"], want.get("eventMatch") or {})
        for name, count in (want.get("skippedPreemptions") or {}).items():
            check(self.skips.get(name, 0), count, f"skipped preemptions of {name}")
        for name, results in (want.get("preemptionTargetRecomputations") or {}).items():
            check(self.recomputations.get(name, {}), results, f"recomputations of {name}")
        for key, flavor in (want.get("admittedFlavor") or {}).items():
            workload = self.state.ledger.by_key.get(key)
            use = workload.reservation.pod_sets[0] if workload and workload.reservation else None
            check(next(iter(use.flavors.values())) if use else None, flavor, f"flavor of {key}")

    def _check_assignments(self, want: Json) -> None:
        held = self.state.ledger.by_key
        check(sorted(held), sorted(want or {}), "workloads that hold quota")
        for key, expected in (want or {}).items():
            reservation = held[key].reservation
            assert reservation is not None
            check_admission(admission(reservation.queue, reservation.pod_sets), expected, key)

    def _check_events(self, want: list[Json], match: Json) -> None:
        ours: list[tuple[str, ...]] = []
        theirs: list[tuple[str, ...]] = []
        for event in self.events:
            text = (event.message,) if match.get("messages") else ()
            ours.append((event.key, event.type, event.reason, *text))
        for entry in want:
            text = (entry.get("message", ""),) if match.get("messages") else ()
            theirs.append((entry["key"], entry["type"], entry["reason"], *text))
        if not match.get("ordered"):
            ours.sort()
            theirs.sort()
        check(ours, theirs, "events")


@adapter("schedule", suites="A")
def schedule(vector: Json) -> None:
    _run(vector, vector["expect"], observable=True)
    for alternate in vector["expect"].get("alternates") or ():
        if alternate["when"] == {"UnadmittedWorkloadsObservability": False}:
            want = {k: v for k, v in {**vector["expect"], **alternate}.items() if k not in ("when", "alternates")}
            steps = [step for step in vector["steps"] if step["op"] != "expect"]
            _run({**vector, "steps": steps}, want, observable=False)


def _run(vector: Json, want: Json, observable: bool) -> None:
    cluster = Cluster(vector, observable)
    if list(cluster.world.of_kind("Node")):
        raise Unsupported("what is free on nodes decides here: topology-aware placement is not part of the core yet")
    for step in vector["steps"]:
        cluster.step(step)
    cluster.check(want)


def _namespace(obj: Json) -> str:
    return str((obj.get("metadata") or {}).get("namespace", ""))
