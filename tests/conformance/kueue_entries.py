"""Suite A, parts of a cycle: order of heads, what is kept for those that wait, what becomes of those put back."""

from __future__ import annotations

import copy

from fairway.control import compile as compiler
from fairway.control.outcome import Outcomes
from fairway.control.times import parse_time
from fairway.core.admit.assignment import Assignment, Choice, PodSetAssignment, ScanProgress
from fairway.core.admit.cycle import pays_on_entry, to_reserve
from fairway.core.admit.entry import Entry
from fairway.core.admit.order import classical_key, fair_key
from fairway.core.admit.plan import Pending, Plan, Status
from fairway.core.admit.reasons import QuotaInUse
from fairway.core.model import Mode, Queue, Shape
from fairway.core.quota.node import Node
from fairway.core.quota.share import Share
from tests.conformance.kueue_compare import check_same
from tests.conformance.kueue_schedule import Cluster
from tests.conformance.kueue_world import Json, World, check, nonzero
from tests.conformance.runner import adapter


def _entry(world: World, given: Json) -> Entry:
    entry = Entry(world.workload(given["workload"]), Queue("cq"), Node("cq", is_queue=True))
    entry.assignment = Assignment(borrowing=given.get("borrowing", 0))
    entry.is_preemptor = given.get("isPreemptor", False)
    return entry


@adapter("entryOrdering", suites="A")
def entry_ordering(vector: Json) -> None:
    world = World(vector)
    entries = [_entry(world, given) for given in vector["input"]["entries"]]
    # What Kueue leaves open, we order by uid and name; the vectors list such ties as they came.
    entries.sort(key=lambda entry: classical_key(entry, world.settings)[:-2])
    names = [entry.workload.key.partition("/")[2] for entry in entries]
    check(names, vector["expect"]["order"], "order")


@adapter("entryComparerLess", suites="A")
def entry_comparer_less(vector: Json) -> None:
    world, given = World(vector), vector["input"]
    keys = []
    for side in ("a", "b"):
        entry = _entry(world, given[side])
        key = entry.workload.key
        drs = next((d["drs"] for d in given["drs"] if d["workload"] == key), {})
        borrowed = tuple(f"{fr['flavor']}/{fr['resource']}" for fr in drs.get("borrowedFRs") or ())
        share = Share(float(drs.get("unweightedRatio", 0)), float(drs.get("fairWeight", 0)), borrowed=borrowed)
        entry.assignment.usage = dict((given.get("requested") or {}).get(key) or {})
        keys.append(fair_key(entry, share, world.settings))
    check(keys[0][:-2] < keys[1][:-2], vector["expect"]["less"], "less")


@adapter("resourcesToReserve", suites="A")
def resources_to_reserve(vector: Json) -> None:
    world, given = World(vector).load(), vector["input"]
    name = given["clusterQueue"]
    node = world.tree.queues[name]
    node.add_all(given["clusterQueueUsage"])
    mode = Mode.PREEMPT if given["assignmentMode"] == "Preempt" else Mode.FIT
    assignment = Assignment(usage=dict(given["assignmentUsage"]), borrowing=given["borrowing"])
    reasons = [QuotaInUse("a/b", 0)] if mode is Mode.PREEMPT else []
    assignment.pod_sets.append(PodSetAssignment("main", 1, {}, {"b": Choice("a", mode)}, list(reasons)))
    entry = Entry(world.workload({"metadata": {"name": "wl"}}), world.queues[name], node, assignment=assignment)
    check(nonzero(to_reserve(entry, node)), nonzero(vector["expect"]["reserved"]), "reserved")


@adapter("lastAssignmentOutdated", suites="A")
def last_assignment_outdated(vector: Json) -> None:
    given = vector["input"]
    arguments, last = given["args"], given["args"]["last"]
    shapes: dict[str, Shape] = {}

    def shape(name: str | None) -> Shape | None:
        return shapes.setdefault(name, Shape(name, 0, ())) if name else None

    progress = ScanProgress(
        [],
        last.get("clusterQueueGeneration", 0),
        last.get("schedulingCycle", 0),
        shape(last.get("schedulingHash")),
    )
    outdated = progress.outdated(
        arguments.get("currentCQGeneration", 0),
        arguments.get("currentSchedulingCycle", 0),
        shape(arguments.get("currentSchedulingHash")),
        given["preserveProgress"],
    )
    check(outdated, vector["expect"]["want"], "outdated")


@adapter("entryMarkPreemptionOutcome", suites="A")
def entry_mark_preemption_outcome(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    entry = _entry(World(vector), {"workload": {"metadata": {"name": "wl"}}})
    entry.detail = given.get("initialMessage", "")
    entry.preempted(given.get("preempted", 0), given.get("errors", 0))
    check(entry.to_wait().message, want["wantMessage"], "message")
    check(entry.requeue.value, want["wantRequeueReason"], "requeue reason")
    check(not entry.keeps_progress, want["wantLastAssignmentNil"], "progress dropped")


@adapter("requeueAndUpdate", suites="A")
def requeue_and_update(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    cluster = Cluster(vector)
    now, state = parse_time(vector["now"]), cluster.state
    (workload,) = state.lines.heads(list(state.queues))
    check(workload.key, given["workload"], "head")
    node = state.tree.queues[workload.queue]
    entry = Entry(workload, state.queues[workload.queue], node)
    entry.status = Status(given["entry"].get("status", ""))
    entry.detail = given["entry"].get("inadmissibleMsg", "")
    entry.pending = Pending(given["entry"].get("quotaReservedReason", ""))
    wait = entry.to_wait()
    state.lines.restore(workload, wait.requeue, now)
    updates = 0
    for _ in range(2):
        before = copy.deepcopy(cluster.objects[workload.key])
        if wait.status is not Status.ASSUMED:
            outcome = Outcomes(cluster.objects, state.tree).of(Plan(actions=[wait]), now)
            cluster.objects.update(outcome.changed)
        updates += before != cluster.objects[workload.key]
    cluster.check({key: want[key] for key in ("left", "inadmissible")})
    check(updates, want["statusUpdates"], "status updates")
    check_same(cluster.objects[workload.key].get("status"), want["workloadStatus"], {"lastTransitionTime"})


@adapter("shouldApplyEntryPenalty", suites="A")
def should_apply_entry_penalty(vector: Json) -> None:
    given = vector["input"]
    config = {**vector["config"], "admissionFairSharing": given.get("afsConfig")}
    world = World({**vector, "config": config})
    workload = world.workload(given["wl"])
    scope = {"admissionMode": given.get("admissionMode")}
    queue = compiler.queue({"metadata": {"name": "cq"}, "spec": {"admissionScope": scope}})
    applies = pays_on_entry(world.settings, queue, had_quota=workload.reservation is not None)
    check(applies, vector["expect"]["want"], "penalty")
