"""The end of a history: without faults everything must come to its end, by what the objects say as by what was seen."""

from __future__ import annotations

import asyncio

import msgspec

from fairway.control.adapters.names import MULTIKUEUE_ORIGIN
from fairway.control.conditions import is_true
from fairway.node import Node
from fairway.sim.fleet.node import SimNode
from fairway.sim.fleet.plan import Plan
from fairway.sim.fleet.world import World
from fairway.sim.invariants import Json

_LOOK_S = 1.0
_STILL_S = 5.0
_CLEAN_S = 600.0
"""By when nothing is left of what ended: longer than any lease, grace or retry."""
JOBS, WORKLOADS = "jobs.batch", "workloads.kueue.x-k8s.io"


async def finish(world: World, plan: Plan) -> None:
    await _until_none(world, plan.patience_s, _unfinished, "everything-finishes")
    await _until_none(world, _CLEAN_S, _left, "nothing-left")
    await asyncio.sleep(_STILL_S)
    for name, witness in world.witnesses.items():
        if world.nodes[name].node is not None:
            witness.at_rest()
    for node in world.nodes.values():
        for key in world.acknowledged[node.name]:
            _agree(world, node, key)
    for what in _left(world):
        world.chronicle.breaks("nothing-left", what)
    world.chronicle.note("world", "the end")
    world.chronicle.insist()


async def _until_none(world: World, patience_s: float, look: object, invariant: str) -> None:
    deadline = world.loop.time() + patience_s
    waiting: list[str] = look(world)  # type: ignore[operator]
    while waiting and world.loop.time() < deadline:
        await asyncio.sleep(_LOOK_S)
        waiting = look(world)  # type: ignore[operator]
    if waiting:
        _show(world)
        world.chronicle.breaks(invariant, f"{patience_s:.0f} s without faults, and still: {'; '.join(waiting)}")


def _show(world: World) -> None:
    """Where everything stands, for whoever looks for the reason."""
    for node in world.nodes.values():
        store = node.node.spaces[0].store if node.node is not None else None
        for record in (*store.records(WORKLOADS), *store.records(JOBS)) if store is not None else ():
            obj = _decode(record.value)
            if not is_true(obj, "Finished") and not is_true(obj, "Complete"):
                spec = {key: value for key, value in obj["spec"].items() if key not in ("podSets", "template")}
                told = {"metadata": _short(obj["metadata"]), "spec": spec, "status": obj.get("status")}
                world.chronicle.note(node.name, f"{obj['kind']} {record.path}: {told}")


def _short(metadata: Json) -> Json:
    return {key: metadata[key] for key in ("annotations", "finalizers", "deletionTimestamp") if key in metadata}


# --- what is open -----------------------------------------------------------------------------------------------------


def _unfinished(world: World) -> list[str]:
    found = []
    for node in world.nodes.values():
        for key in world.acknowledged[node.name]:
            job = _object(node, JOBS, key)
            if job is None or not is_true(job, "Complete"):
                found.append(f"{key} on {node.name} is not complete")
    return found


def _left(world: World) -> list[str]:
    """Of jobs that have ended, or were cancelled: objects, processes, quota, promises."""
    found = [f"payload of {each.name} runs on {each.machine}" for each in world.payloads.running()]
    for sim in world.nodes.values():
        if sim.node is None:
            found.append(f"{sim.name} is down")
            continue
        found += [f"{what} on {sim.name}" for what in _left_on(sim.node, world.cancelled)]
        runs = sim.machine.runs.values()
        found += [f"run {run.spec.id} on {sim.name}" for run in runs if run.record is None]
    return found


def _left_on(node: Node, cancelled: dict[str, None]) -> list[str]:
    space = node.spaces[0]
    jobs, workloads = ([_decode(record.value) for record in space.store.records(each)] for each in (JOBS, WORKLOADS))
    copies = [each for each in (*jobs, *workloads) if MULTIKUEUE_ORIGIN in (each["metadata"].get("labels") or {})]
    found = [f"copy {each['kind']} {each['metadata']['name']}" for each in copies]
    again = [each for each in jobs if each["metadata"]["name"] in cancelled and not is_true(each, "Complete")]
    found += [f"cancelled {each['metadata']['name']}" for each in again]
    found += [f"open {each['metadata']['name']}" for each in workloads if not is_true(each, "Finished")]
    state = node.queueing[space.name].observer.state
    found += [f"quota of {key}" for key in state.ledger.by_key]
    if node.fleet is not None and len(node.fleet.dispatcher.nominator.ledger):
        found.append(f"{len(node.fleet.dispatcher.nominator.ledger)} promises of quota")
    return found


# --- what they say ----------------------------------------------------------------------------------------------------


def _agree(world: World, node: SimNode, key: str) -> None:
    """What the job says is what was seen: every pod ended well, once if nothing made it start again."""
    job = _object(node, JOBS, key)
    if job is None:
        return  # said before
    name, spec, status = job["metadata"]["name"], job["spec"], job.get("status") or {}
    pods = int(spec.get("completions") or 1)
    said = {each: status.get(each) or 0 for each in ("succeeded", "active", "ready", "terminating")}
    if said != {"succeeded": pods, "active": 0, "ready": 0, "terminating": 0}:
        world.chronicle.breaks("status-agrees", f"{name} of {pods} pods is complete and says {said}")
    payloads = [f"{name}/{index}" for index in range(pods)] if spec.get("completionMode") == "Indexed" else [name]
    for payload in payloads:
        ended = world.payloads.successes(payload)
        unasked = sum(
            not each.asked for each in ended
        )  # what was asked to end, by an eviction on its cluster, counts for nothing there
        if not ended or (unasked > 1 and not world.payloads.was_evicted(name)):
            world.chronicle.breaks("status-agrees", f"{payload} is complete, and ended well {len(ended)} times")


def _object(node: SimNode, bucket: str, key: str) -> Json | None:
    record = node.node.spaces[0].store.get(bucket, key) if node.node is not None else None
    return _decode(record.value) if record is not None else None


def _decode(value: bytes) -> Json:
    found: Json = msgspec.json.decode(value)
    return found
