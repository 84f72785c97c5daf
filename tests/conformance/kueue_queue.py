"""Suite D, waiting work: order, heads, requeueing, parking, backoff."""

from __future__ import annotations

from fairway.control import compile as compiler
from fairway.control.second_pass import needs_second_pass
from fairway.control.times import parse_duration, parse_time
from fairway.core.admit.assignment import ScanProgress
from fairway.core.admit.line import Line, Requeue
from fairway.core.admit.lines import Lines, QueueMissing
from fairway.core.admit.second_pass import SecondPass
from fairway.core.admit.usage import UsageLedger, in_units
from fairway.core.model import Queue, Strategy, UsageDecay, Workload
from fairway.core.topology import Domain, TopologyAssignment, merge, truncate
from tests.conformance.kueue_world import Json, World, check
from tests.conformance.runner import adapter


def _now(vector: Json) -> int:
    return parse_time(vector["now"])


def _lines(world: World, now: int) -> Lines:
    lines = Lines()
    for obj in world.of_kind("Namespace"):
        lines.namespaces[obj["metadata"]["name"]] = obj["metadata"].get("labels") or {}
    for obj in world.of_kind("Cohort"):
        world.tree.put_cohort(compiler.cohort(obj))
    for obj in world.of_kind("ClusterQueue"):
        lines.put_queue(world.put_queue(obj), now)
    for obj in world.of_kind("LocalQueue"):
        lines.put_tenant(compiler.tenant_queue(obj), now)
    return lines


def _put(lines: Lines, world: World, obj: Json, now: int) -> str | None:
    """The error that Kueue would give, if any."""
    if not compiler.is_admissible(obj):
        return "workload is inadmissible and can't be added to a LocalQueue"
    workload = world.workload(obj)
    try:
        lines.put(workload, now)
    except QueueMissing:
        if workload.key in lines.waiting:
            return "clusterQueue doesn't exist"
        return "localQueue doesn't exist or inactive"
    return None


def _assigned(lines: Lines) -> dict[str, str]:
    return {key: workload.tenant_queue for key, workload in lines.waiting.items()}


@adapter("queueHead", suites="D")
def queue_head(vector: Json) -> None:
    world, now = World(vector), _now(vector)
    queue = Queue("cq", strategy=Strategy(world.config.get("queueingStrategy", "BestEffortFIFO")))
    for obj in world.of_kind("ClusterQueue"):
        queue = compiler.queue(obj)
    ledger = UsageLedger(world.settings.usage_decay or UsageDecay(half_life=0))
    for obj in world.of_kind("LocalQueue"):
        tenant = compiler.tenant_queue(obj)
        ledger.set_weight(tenant.key, tenant.weight)
    for key, usage in (vector["input"].get("localQueueUsage") or {}).items():
        ledger.seed(key, in_units({name: compiler.amount(name, text) for name, text in usage.items()}), now)
    by_usage = queue.usage_based_order and world.settings.usage_decay is not None
    line = Line(queue, tenant_rank=ledger.rank if by_usage else None)
    for obj in vector["input"]["push"]:
        line.push(world.workload(obj), now)
    head = line.pop()
    check(head.key.partition("/")[2] if head else None, vector["expect"]["head"], "head")


@adapter("heads", suites="D")
def heads(vector: Json) -> None:
    world, now = World(vector), _now(vector)
    lines = _lines(world, now)
    for obj in world.of_kind("Workload"):
        _put(lines, world, obj, now)
    want = vector["expect"]
    check(_assigned(lines), want["assigned"] or {}, "assigned")
    active = [name for name in lines.by_queue if name.startswith("active-")]
    names = sorted(workload.key.partition("/")[2] for workload in lines.heads(active))
    check(names, sorted(want["heads"]), "heads")


@adapter("clusterQueueHeap", suites="D")
def cluster_queue_heap(vector: Json) -> None:
    world, now, given, want = World(vector), _now(vector), vector["input"], vector["expect"]
    queue = Queue("cq", namespaces=compiler.selector(world.config["namespaceSelector"]))
    lines = Lines()
    for obj in world.of_kind("Namespace"):
        lines.namespaces[obj["metadata"]["name"]] = obj["metadata"].get("labels") or {}
    line = lines.put_queue(queue, now)

    def enter(obj: Json) -> Workload:
        workload = world.workload(obj, "cq")
        lines.tenants[workload.tenant_queue] = compiler.tenant_queue(
            {"metadata": {"name": "q"}, "spec": {"clusterQueue": "cq"}}
        )
        return workload

    for obj in given["push"]:
        lines.put(enter(obj), now)
    for field, reason in (
        ("requeueInadmissible", Requeue.GENERIC),
        ("requeueAdmissible", Requeue.FAILED_AFTER_NOMINATION),
    ):
        for obj in given[field]:
            workload = enter(obj)
            lines.waiting.setdefault(workload.key, workload)
            lines.restore(workload, reason, now)
    for obj in given["update"]:
        lines.put(enter(obj), now)
    for obj in given["delete"]:
        lines.remove(compiler.key_of(obj))
    woken = lines.wake_queue("cq", now) if given["queueInadmissibleWorkloads"] else 0
    check(sorted(w.key for w in line.active()), sorted(want["active"] or []), "active")
    check(len(line), want["pending"], "pending")
    check(woken, want["inadmissibleRequeued"], "requeued")


@adapter("requeueWorkload", suites="D")
def requeue_workload(vector: Json) -> None:
    world, now, given = World(vector), _now(vector), vector["input"]
    lines = _lines(world, now)
    workload = world.workload(given["workload"])
    tenant = lines.tenants.get(workload.tenant_queue)
    workload.queue = tenant.queue if tenant is not None else ""
    if given["inQueue"]:
        _put(lines, world, given["workload"], now)
    elif given["inClient"] and tenant is not None and compiler.is_admissible(given["workload"]):
        lines.waiting[workload.key] = workload
    requeued = lines.restore(workload, Requeue.GENERIC, now)
    check(requeued, vector["expect"]["requeued"], "requeued")


@adapter("queueInadmissibleWorkloads", suites="D")
def queue_inadmissible_workloads(vector: Json) -> None:
    world, now, want = World(vector), _now(vector), vector["expect"]
    lines = _lines(world, now)
    for obj in world.of_kind("Workload"):
        workload = world.workload(obj)
        workload.queue = lines.tenants[workload.tenant_queue].queue
        lines.waiting[workload.key] = workload
        lines.restore(workload, Requeue.GENERIC, now)
    moved = lines.wake(world.tree, vector["input"]["clusterQueues"], now)
    left = {name: sorted(w.key for w in line.active()) for name, line in lines.by_queue.items() if line.has_active()}
    parked = {name: sorted(w.key for w in line.parked()) for name, line in lines.by_queue.items()}
    check(left, {k: sorted(v) for k, v in (want["left"] or {}).items()}, "active")
    check(
        {k: v for k, v in parked.items() if v},
        {k: sorted(v) for k, v in (want["inadmissible"] or {}).items()},
        "inadmissible",
    )
    check(moved, want["moved"], "moved")


@adapter("updateWorkload", suites="D")
def update_workload(vector: Json) -> None:
    world, now, given, want = World(vector), _now(vector), vector["input"], vector["expect"]
    lines = _lines(world, now)
    for obj in world.of_kind("Workload"):
        _put(lines, world, obj, now)
    check(_assigned(lines), given["initialAssigned"] or {}, "assigned at first")
    check(_put(lines, world, given["updated"], now), want["error"], "error")
    for name, keys in want["queueOrder"].items():
        order = []
        while (head := lines.by_queue[name].pop()) is not None:
            order.append(head.key)
        check(order, keys or [], f"order of {name}")
    for tenant, keys in want["queueMembers"].items():
        check(sorted(w.key for w in lines.members(tenant)), sorted(keys or []), f"members of {tenant}")
    check(_assigned(lines), want["assigned"] or {}, "assigned")


@adapter("addWorkload", suites="D")
def add_workload(vector: Json) -> None:
    given, now = vector["input"], _now(vector)
    world = World({**vector, "objects": [given["cq"], *given["queues"]]})
    lines = _lines(world, now)
    check(_put(lines, world, given["workload"], now), vector["expect"]["wantErr"], "error")
    check(_assigned(lines), vector["expect"]["wantAssigned"] or {}, "assigned")


@adapter("pushOrUpdate", suites="D")
def push_or_update(vector: Json) -> None:
    world, now, want = World(vector), _now(vector), vector["expect"]
    line = Line(Queue("cq"))
    workload = world.workload(vector["input"]["workload"]["workload"])
    line.push(workload, now)
    active = want["wantWorkload"]
    check([w.key for w in line.active()], [compiler.key_of(active["workload"])] if active else [], "active")
    check(sorted(w.key for w in line.parked()), sorted(want["wantInAdmissibleWorkloads"] or {}), "inadmissible")


@adapter("queueSecondPass", suites="D")
def queue_second_pass(vector: Json) -> None:
    given, want, now = vector["input"], vector["expect"], _now(vector)
    waiting = SecondPass()
    latest: dict[str, Json] = {}
    for obj in given["workloads"]:
        if needs_second_pass(obj):
            waiting.add(compiler.key_of(obj), now)
            latest[compiler.key_of(obj)] = obj
    if given.get("updateWorkload"):
        obj = given["updateWorkload"]
        key = compiler.key_of(obj)
        latest[key] = obj
        needed = needs_second_pass(obj)
        queued = needed and waiting.add(key, now)
        if not needed:
            waiting.discard(key)
        if want["wantUpdateQueued"] is not None:
            check(queued, want["wantUpdateQueued"], "update queued")
    later = now + parse_duration(given["passTime"])
    ready = [key for key in waiting.take_ready(later) if needs_second_pass(latest[key])]
    check(ready, want["wantReady"] or [], "ready")


@adapter("backoffWaitingTimeExpired", suites="D")
def backoff_waiting_time_expired(vector: Json) -> None:
    workload = World(vector).workload(vector["input"]["workloadInfo"]["workload"])
    over = workload.backoff is None or workload.backoff.over(_now(vector))
    check(over, vector["expect"]["want"], "backoff is over")


@adapter("strictFIFORequeue", suites="D")
def strict_fifo_requeue(vector: Json) -> None:
    _requeue(vector, Strategy.STRICT_FIFO)


@adapter("bestEffortFIFORequeue", suites="D")
def best_effort_fifo_requeue(vector: Json) -> None:
    _requeue(vector, Strategy.BEST_EFFORT_FIFO)


@adapter("mergeTopologyAssignments", suites="D")
def merge_topology_assignments(vector: Json) -> None:
    given = vector["input"]
    check(merge(_topology(given["a"]), _topology(given["b"])), _topology(vector["expect"]["want"]), "merged")


@adapter("truncateAssignment", suites="D")
def truncate_assignment(vector: Json) -> None:
    given = vector["input"]
    short = truncate(_topology(given["assignment"]), given["newCount"])
    check(short, _topology(vector["expect"]["want"]), "truncated")


def _topology(obj: Json) -> TopologyAssignment:
    domains = tuple(Domain(tuple(d["values"]), d["count"]) for d in obj.get("domains") or ())
    return TopologyAssignment(tuple(obj.get("levels") or ()), domains)


def _requeue(vector: Json, strategy: Strategy) -> None:
    given, want, now = vector["input"], vector["expect"], _now(vector)
    world = World(vector)
    line = Line(Queue("cq", strategy=strategy))
    workload = world.workload({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {}})
    last = given.get("lastAssignment")
    progress = ScanProgress(last["lastTriedFlavorIdx"], 0, 0, None) if last else None
    line.restore(workload, Requeue(given["reason"]), now, progress is not None and progress.pending)
    check(line.is_parked(workload), want["wantInadmissible"], "inadmissible")
    if "wantSticky" in want:
        check(line.preemptor is workload, want["wantSticky"], "sticky")
