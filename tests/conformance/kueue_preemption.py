"""Suite B: who has to make room, in what order, and what is written about it."""

from __future__ import annotations

import copy

from fairway.control import compile as compiler
from fairway.control.render import path_of, preemption_message, set_preempted
from fairway.control.times import parse_time
from fairway.core.admit.assignment import Assignment, Choice, PodSetAssignment
from fairway.core.admit.contest import Cause, Contest, Field, Victim, satisfies
from fairway.core.admit.fair import FairLine
from fairway.core.admit.preempt import find_victims
from fairway.core.admit.reasons import QuotaInUse, Reason
from fairway.core.admit.usage import UsageLedger, in_units
from fairway.core.model import Mode, PreemptionPolicy, Queue, Workload, cell
from tests.conformance.kueue_compare import check_workloads
from tests.conformance.kueue_world import Json, World, check, nonzero
from tests.conformance.runner import adapter

MODES = {"Fit": Mode.FIT, "Preempt": Mode.PREEMPT, "NoFit": Mode.NO_FIT}


@adapter("preemptionTargets", suites="B")
def preemption_targets(vector: Json) -> None:
    world, given, want = World(vector).load(), vector["input"], vector["expect"]
    now = parse_time(vector["now"])
    field = Field(world.tree, world.ledger, world.queues, world.settings, _rank(world, given, now), now=now)
    name = given["targetClusterQueue"]
    incoming = world.workload(given["incoming"], name)
    incoming.queue = name
    before = _usages(world)
    victims = find_victims(
        field, incoming, world.queues[name], world.tree.queues[name], _assignment(incoming, given["assignment"])
    )
    check(_usages(world), before, "usage after the search")
    issued = [victim for victim in victims if not victim.workload.evicted]
    _check_victims(victims, want["preempted"])
    if "workloads" in want:
        stored = {compiler.key_of(obj): copy.deepcopy(obj) for obj in world.of_kind("Workload")}
        for victim in issued:
            reservation = victim.workload.reservation
            assert reservation is not None
            ours, theirs = path_of(world.tree.queues[name]), path_of(world.tree.queues[reservation.queue])
            message = preemption_message(given["incoming"], victim.cause, ours, theirs)
            set_preempted(stored[victim.workload.key], victim.cause, message, now)
        check_workloads(list(stored.values()), want["workloads"])


@adapter("candidatesOrdering", suites="B")
def candidates_ordering(vector: Json) -> None:
    world, given, now = World(vector), vector["input"], parse_time(vector["now"])
    usages: dict[str, float] = {}
    queues: dict[str, Queue] = {}
    candidates: list[Workload] = []
    for entry in given["candidates"]:
        workload = world.workload(entry["workload"])
        if workload.reservation is not None:
            workload.reservation.queue = entry["clusterQueue"]
        workload.queue = entry["clusterQueue"]
        usage = entry.get("localQueueFSUsage")
        if usage is not None:
            usages[workload.tenant_queue] = float(usage)
        queues[entry["clusterQueue"]] = Queue(entry["clusterQueue"], usage_based_order=True)
        candidates.append(workload)
    name = given["preemptorClusterQueue"]
    node = world.tree.put_queue(Queue(name))
    rank = (lambda tenant: usages.get(tenant, 0.0)) if usages else None
    field = Field(world.tree, world.ledger, queues, world.settings, rank, now=now)
    contest = Contest(field, candidates[0], Queue(name), node, frozenset(), {})
    contest.sort(candidates)
    check([workload.key.partition("/")[2] for workload in candidates], vector["expect"]["order"], "order")


@adapter("satisfiesPreemptionPolicy", suites="B")
def satisfies_preemption_policy(vector: Json) -> None:
    world, given = World(vector), vector["input"]
    preemptor, candidate = world.workload(given["preemptor"]), world.workload(given["candidate"])
    policy = PreemptionPolicy(given["policy"])
    check(satisfies(preemptor, candidate, policy), vector["expect"]["want"], "satisfied")


@adapter("priorityInfo", suites="B")
def priority_info(vector: Json) -> None:
    world, obj, want = World(vector), vector["input"]["wl"], vector["expect"]
    enabled = world.gates.get("PriorityBoost", False)
    base, boost = compiler.base_priority(obj), compiler.boost(obj, enabled)
    check((base + boost, base, boost), (want["wantEffective"], want["wantBase"], want["wantBoost"]), "priority")


@adapter("preemptionMessage", suites="B")
def message(vector: Json) -> None:
    given = vector["input"]
    cause = Cause(given.get("reason", ""))
    text = preemption_message(given["preemptor"], cause, given.get("preemptorPath", ""), given.get("preempteePath", ""))
    check(text, vector["expect"]["want"], "message")


@adapter("clusterQueueOrdering", suites="B")
def cluster_queue_ordering(vector: Json) -> None:
    given = vector["input"]
    objects = [*(given.get("cohorts") or ()), *given["clusterQueues"], *given["admitted"]]
    world = World({**vector, "objects": objects}).load()
    name = given["preemptorCQ"]
    candidates = [w for queue in given["candidateCQs"] for w in world.ledger.of_queue(queue).values()]
    field = Field(world.tree, world.ledger, world.queues, world.settings, now=parse_time(vector["now"]))
    incoming = world.workload({"metadata": {"name": "incoming"}})
    contest = Contest(field, incoming, world.queues[name], world.tree.queues[name], frozenset(), {})
    contest.sort(candidates)
    line = FairLine(contest, candidates)
    order: list[str] = []
    actions = given.get("actions") or []
    for index, node in enumerate(line):
        order.append(node.name)
        if index < len(actions) and actions[index] == "drop":
            line.drop(node)
        else:
            line.pop(node)
    check(order, vector["expect"]["wantOrder"] or [], "order")


def _rank(world: World, given: Json, now: int):  # type: ignore[no-untyped-def]
    if world.settings.usage_decay is None:
        return None
    ledger = UsageLedger(world.settings.usage_decay)
    for obj in world.of_kind("LocalQueue"):
        tenant = compiler.tenant_queue(obj)
        ledger.set_weight(tenant.key, tenant.weight)
    for key, usage in (given.get("localQueueUsage") or {}).items():
        ledger.seed(key, in_units({name: compiler.amount(name, text) for name, text in usage.items()}), now)
    return ledger.rank


def _assignment(incoming: Workload, given: Json) -> Assignment:
    """The assignment that is handed to the search: amounts are the workload's, flavors and modes the vector's."""
    assignment = Assignment()
    for entry, pod_set in zip(given["podSets"], incoming.shape.pod_sets, strict=True):
        count = entry.get("count", pod_set.count)
        requests = pod_set.total(count)
        choices = {r: Choice(c["name"], MODES[c["mode"]]) for r, c in entry["flavors"].items()}
        reasons: list[Reason] = [QuotaInUse(cell(c.flavor, r), 0) for r, c in choices.items() if c.mode is Mode.PREEMPT]
        assignment.pod_sets.append(PodSetAssignment(pod_set.name, count, requests, choices, reasons))
        for resource, amount in requests.items():
            if resource in choices:
                at = cell(choices[resource].flavor, resource)
                assignment.usage[at] = assignment.usage.get(at, 0) + amount
    return assignment


def _usages(world: World) -> list[tuple[str, dict[str, int]]]:
    nodes = [*world.tree.queues.values(), *world.tree.cohorts.values()]
    return [(node.name, nonzero(node.usage)) for node in nodes]


def _check_victims(victims: list[Victim], want: list[Json] | None) -> None:
    ours = {v.workload.key: (None if v.workload.evicted else v.cause.value) for v in victims}
    theirs = {entry["key"]: entry["reason"] for entry in want or ()}
    check(ours, theirs, "victims")
