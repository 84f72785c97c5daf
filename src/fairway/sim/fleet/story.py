"""One history: nodes start, people submit, things go wrong, then everything has to come to its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.control.conditions import is_true
from fairway.control.pods.machine import Declared
from fairway.runtime import virtual
from fairway.runtime.virtual import Process, Stuck, VirtualLoop
from fairway.sim.chance import Chance
from fairway.sim.fleet.chronicle import Broken, Chronicle
from fairway.sim.fleet.faults import Climate, Faults
from fairway.sim.fleet.machine import PAYLOAD
from fairway.sim.fleet.node import SimNode
from fairway.sim.fleet.world import Golden, Hearing, World

JOBS = Resource("batch", "v1", "jobs")
Json = dict[str, Any]
_LOOK_S = 1.0


@dataclass(frozen=True)
class Plan:
    """What a history is about, apart from its seed."""

    clusters: int = 1
    jobs: int = 10
    submit_s: float = 30.0
    """In which time jobs are submitted."""
    rage_s: float = 60.0
    """For how long things go wrong."""
    patience_s: float = 3600.0
    """By when everything must be finished after that."""
    climate: Climate = field(default_factory=Climate)


@dataclass(frozen=True, slots=True)
class Told:
    seed: int
    broken: str
    lines: list[str]
    digest: str
    steps: int


def tell(seed: int, plan: Plan) -> Told:
    golden = _golden_cluster()
    with virtual.quietly():
        return _told(seed, plan, golden)


def _told(seed: int, plan: Plan, golden: Golden) -> Told:
    chronicles: list[Chronicle] = []

    async def story(loop: VirtualLoop) -> Told:
        world = World(loop, seed)
        chronicles.append(world.chronicle)
        with Hearing(world):
            await _tell(world, plan, golden)
        return Told(seed, "", world.chronicle.lines, world.chronicle.digest, loop.steps)

    try:
        return virtual.run(story)
    except (Broken, Stuck) as error:
        chronicle, steps = chronicles[0], 0
        return Told(seed, f"{type(error).__name__}: {error}", chronicle.lines, chronicle.digest, steps)


async def _tell(world: World, plan: Plan, golden: Golden) -> None:
    for index in range(plan.clusters):
        node = world.add(f"cluster-{index + 1}", _declared())
        golden.put(node.machine)
        node.start()
    for node in world.nodes.values():
        await node.up.wait()
    people = Process(world.loop, "user")
    submitting = people.spawn(_submit(world, plan))
    faults = Faults(world, plan.climate)
    raging = world.loop.create_task(faults.rage(world.loop.time() + plan.rage_s))
    await asyncio.gather(raging)
    await faults.relent()
    world.chronicle.note("world", "no more faults")
    await submitting
    await _finish(world, plan)


def _declared() -> Declared:
    return Declared(cpu="8", memory="32Gi")


@cache
def _golden_cluster() -> Golden:
    async def set_up(loop: VirtualLoop) -> Golden:
        world = World(loop, 0)
        node = world.add("golden", _declared())
        node.start()
        await node.up.wait()
        await asyncio.sleep(1.0)
        await node.stop()
        return Golden.of(node.machine)

    return virtual.run(set_up)


# --- people -----------------------------------------------------------------------------------------------------------


async def _submit(world: World, plan: Plan) -> None:
    chance = world.chance("people")
    moments = sorted(chance.between(0.0, plan.submit_s) for _ in range(plan.jobs))
    names = list(world.nodes)
    async with asyncio.TaskGroup() as group:
        for index, moment in enumerate(moments):
            target = names[chance.below(len(names))]
            group.create_task(_submit_one(world, target, moment, _job(f"job-{index + 1}", chance)))


def _job(name: str, chance: Chance) -> Json:
    seconds = chance.between(0.5, 30.0) if chance.below(3) else chance.between(0.01, 1.0)
    container = {
        "name": "main",
        "image": "none",
        "command": [PAYLOAD, name, f"{seconds:.3f}", "0"],
        "resources": {"requests": {"cpu": str(1 + chance.below(4)), "memory": "1Gi"}},
    }
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"backoffLimit": 20, "template": {"spec": pod}},
    }


async def _submit_one(world: World, target: str, moment: float, job: Json) -> None:
    await asyncio.sleep(moment)
    client = world.client("user", target)
    name = job["metadata"]["name"]
    while True:
        try:
            await client.create(JOBS, job, "default")
            break
        except ApiError as error:
            if error.code == 409:
                break  # an earlier try got through, and its answer did not
            if error.code not in (0, 429, 500, 503, 504):
                world.chronicle.breaks("no-errors", f"{name} is refused: {error.code} {error.message}")
            await asyncio.sleep(1.0)
    world.acknowledged[target][f"default/{name}"] = None
    world.chronicle.note("user", f"{name} is acknowledged by {target}")


# --- the end ----------------------------------------------------------------------------------------------------------


async def _finish(world: World, plan: Plan) -> None:
    """Without faults everything must end, and by what the objects say as by what was seen."""
    deadline = world.loop.time() + plan.patience_s
    waiting = _unfinished(world)
    while waiting and world.loop.time() < deadline:
        await asyncio.sleep(_LOOK_S)
        waiting = _unfinished(world)
    if waiting:
        world.chronicle.breaks("everything-finishes", f"after {plan.patience_s:.0f} s without faults: {waiting}")
    await asyncio.sleep(5.0)
    for name, witness in world.witnesses.items():
        if world.nodes[name].node is not None:
            witness.at_rest()
    for node in world.nodes.values():
        for key in world.acknowledged[node.name]:
            job = key.partition("/")[2]
            count = len(world.payloads.successes(job))
            if count != 1:
                world.chronicle.breaks("one-attempt", f"{job} completed {count} times")
    world.chronicle.note("world", "the end")
    world.chronicle.insist()


def _unfinished(world: World) -> list[str]:
    return [f"{key} on {node.name}" for node in world.nodes.values() for key in _open_jobs(world, node)]


def _open_jobs(world: World, node: SimNode) -> list[str]:
    acknowledged = world.acknowledged[node.name]
    if node.node is None:
        return list(acknowledged)
    store = node.node.spaces[0].store
    found = []
    for key in acknowledged:
        record = store.get("jobs.batch", key)
        if record is None or not is_true(msgspec.json.decode(record.value), "Complete"):
            found.append(key)
    return found
