"""Suite C: flavor assignment, with the preemption simulation stubbed as the vectors ask."""

from __future__ import annotations

from fairway.control import compile as compiler
from fairway.control.settings import settings as kueue_settings
from fairway.core.admit.assign import Assigner
from fairway.core.admit.assignment import Assignment, Attempt, Choice, Grade, Possibility, is_preferred
from fairway.core.admit.reduce import search
from fairway.core.model import Mode, PodSetUse
from fairway.core.quantity import render_amount
from tests.conformance.kueue_world import Json, World, check, nonzero, same_quantity
from tests.conformance.runner import Unsupported, adapter

MODES = {Mode.FIT: "Fit", Mode.PREEMPT: "Preempt", Mode.NO_FIT: "NoFit", Mode.DEFERRED_FIT: "DeferredFit"}
POSSIBILITIES = {
    "NoCandidates": Possibility.NO_CANDIDATES,
    "Preempt": Possibility.PREEMPT,
    "Reclaim": Possibility.RECLAIM,
}
GRADES = {
    "": Possibility.NO_FIT,
    "noFit": Possibility.NO_FIT,
    "noPreemptionCandidates": Possibility.NO_CANDIDATES,
    "preempt": Possibility.PREEMPT,
    "reclaim": Possibility.RECLAIM,
    "fit": Possibility.FIT,
}


@adapter("assignFlavors", suites="C")
def assign_flavors(vector: Json) -> None:
    world, given = World(vector).load(), vector["input"]
    if given.get("quotaCheckStrategy") == "IgnoreUndeclared":
        config = {**world.config, "quotaCheckStrategy": "IgnoreUndeclared"}
        world.settings = kueue_settings(world.gates, config, exactly_kueue=True)
    for name, amounts in (given.get("usage") or {}).items():
        world.tree.queues[name].add_all(amounts)
    for name in given.get("deletedFlavors") or ():
        world.flavors.pop(name, None)
    oracle = given["oracle"]
    workload = world.workload(given["workload"])

    def simulate(cell: str, amount: int) -> tuple[Possibility, int]:
        answer = (oracle.get("results") or {}).get(cell) or oracle["default"]
        return POSSIBILITIES[answer["preemptionPossibility"]], answer.get("borrowing", 0)

    queue = world.queues[given["clusterQueue"]]
    assigner = Assigner(
        workload.shape,
        queue,
        world.tree.queues[queue.name],
        world.flavors,
        world.settings,
        simulate,
        replaced=_replaced(world, given.get("replacedWorkloadSlice")),
    )
    assignment = assigner.assign()
    if assignment.mode is not Mode.NO_FIT and any(ps.wants_topology for ps in workload.shape.pod_sets):
        _needs_no_placement(world, given)
    _check_assignment(assignment, vector["expect"])


@adapter("isPreferred", suites="C")
def preferred(vector: Json) -> None:
    given = vector["input"]
    a, b = (
        Grade(GRADES[given[key].get("preemptionMode", "")], given[key].get("borrowingLevel", 0)) for key in ("a", "b")
    )
    queue = compiler.queue({"metadata": {"name": "cq"}, "spec": {"flavorFungibility": given.get("config")}})
    check(is_preferred(a, b, queue.fungibility), vector["expect"]["wantPreferred"], "preferred")


@adapter("podSetReducerSearch", suites="C")
def pod_set_reducer_search(vector: Json) -> None:
    given, want = vector["input"], vector["expect"]
    pod_sets = compiler.pod_sets({"spec": {"podSets": given.get("podSets") or []}})
    found = search(pod_sets, lambda counts: sum(counts) if sum(counts) <= given["countLimit"] else None)
    check(found is not None, want["wantFound"], "found")
    check(found or 0, want["wantCount"] if want["wantFound"] else 0, "count")


def _needs_no_placement(world: World, given: Json) -> None:
    """Where nodes have room for every pod, quota alone decides; otherwise topology placement would have to."""
    if given.get("tasUsage") or not list(world.of_kind("Node")):
        raise Unsupported("what is free on nodes decides here: topology-aware placement is not part of the core yet")


def _replaced(world: World, given: Json | None) -> list[PodSetUse] | None:
    if not given:
        return None
    if "workload" in given or given.get("kind") == "Workload":
        workload = world.workload(given.get("workload", given))
        if workload.reservation is not None:
            return list(workload.reservation.pod_sets)
        return [PodSetUse(ps.name, {}, ps.total(), ps.count) for ps in workload.shape.pod_sets]
    return [
        PodSetUse(
            entry.get("name", ""),
            entry.get("flavors") or {},
            {name: int(amount) for name, amount in (entry.get("requests") or {}).items()},
            entry.get("count", 0),
        )
        for entry in given["totalRequests"]
    ]


def _check_assignment(assignment: Assignment, want: Json) -> None:
    if "representativeMode" in want:
        check(MODES[assignment.mode], want["representativeMode"], "mode")
    if "assignment" in want:
        _check_full(assignment, want["assignment"], want.get("attemptsMatch", "exact"))
    for name, flavors in (want.get("podSetFlavors") or {}).items():
        pod_set = next(ps for ps in assignment.pod_sets if ps.name == name)
        check({r: c.flavor for r, c in pod_set.choices.items()}, flavors, f"flavors of {name}")
    if "noFitReason" in want:
        check(assignment.no_fit.value, want["noFitReason"], "no-fit reason")
    if "attemptNoFitReasons" in want:
        reasons = {a.flavor: a.no_fit.value for ps in assignment.pod_sets for a in ps.attempts}
        for flavor, reason in (want["attemptNoFitReasons"] or {}).items():
            check(reasons.get(flavor, reason), reason, f"no-fit reason of {flavor}")
    if "podSetErrors" in want:
        errors = {ps.name: ps.error for ps in assignment.pod_sets if ps.error is not None}
        check(errors, want["podSetErrors"], "errors")
    for name, choices in (want.get("podSetFlavorAssignments") or {}).items():
        pod_set = next(ps for ps in assignment.pod_sets if ps.name == name)
        check(_choices(pod_set.choices), choices, f"flavors of {name}")
    if "lastTriedFlavorIdx" in want:
        check(assignment.tried[0], want["lastTriedFlavorIdx"], "last tried flavors")


def _choices(choices: dict[str, Choice]) -> Json:
    return {
        resource: {"name": choice.flavor, "mode": MODES[choice.mode], "triedFlavorIdx": choice.tried}
        for resource, choice in choices.items()
    }


def _check_full(assignment: Assignment, want: Json, match: str) -> None:
    check(assignment.borrowing, want.get("borrowing", 0), "borrowing")
    check(nonzero(assignment.usage), nonzero(want.get("usage")), "usage")
    check(assignment.no_fit.value, want.get("noFitReason", ""), "no-fit reason")
    check([ps.name for ps in assignment.pod_sets], [ps["name"] for ps in want["podSets"]], "pod sets")
    for ours, theirs in zip(assignment.pod_sets, want["podSets"], strict=True):
        name = ours.name
        check(ours.count, theirs.get("count", 0), f"count of {name}")
        choices = {r: {"triedFlavorIdx": 0, **c} for r, c in (theirs.get("flavors") or {}).items()}
        check(_choices(ours.choices), choices, f"flavors of {name}")
        requests = theirs.get("requests") or {}
        check(sorted(ours.requests), sorted(requests), f"requested resources of {name}")
        for resource, amount in ours.requests.items():
            assert same_quantity(render_amount(resource, amount), requests[resource]), f"{name} {resource}: {amount}"
        status = theirs.get("status") or {}
        check({str(r) for r in ours.reasons}, set(status.get("reasons") or ()), f"reasons of {name}")
        check(ours.error, status.get("error"), f"error of {name}")
        if "attempts" in theirs:
            _check_attempts(ours.attempts, theirs["attempts"], match)


def _check_attempts(ours: list[Attempt], theirs: list[Json], match: str) -> None:
    got = {attempt.flavor: _attempt(attempt) for attempt in ours}
    want = {
        entry["flavor"]: {
            "mode": entry["mode"],
            "borrow": entry.get("borrow", 0),
            "possibility": entry.get("preemptionPossibility"),
            "reasons": sorted(entry.get("reasons") or []),
            "noFit": entry.get("noFitReason", ""),
        }
        for entry in theirs
    }
    if match == "flexible" and any(attempt.mode is Mode.FIT for attempt in ours):
        want = {flavor: entry for flavor, entry in want.items() if flavor in got}
    check(got, want, "attempts")


def _attempt(attempt: Attempt) -> Json:
    names = {value: key for key, value in POSSIBILITIES.items()}
    return {
        "mode": MODES[attempt.mode],
        "borrow": attempt.borrow,
        "possibility": names[attempt.possibility] if attempt.possibility is not None else None,
        "reasons": sorted(str(reason) for reason in attempt.reasons),
        "noFit": attempt.no_fit.value,
    }
