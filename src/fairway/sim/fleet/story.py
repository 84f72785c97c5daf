"""One history: nodes start, people submit, things go wrong, then everything has to come to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from fairway.runtime import virtual
from fairway.runtime.virtual import Process, Stuck, VirtualLoop
from fairway.sim.fleet import golden
from fairway.sim.fleet.chronicle import Broken
from fairway.sim.fleet.ending import finish
from fairway.sim.fleet.faults import Faults
from fairway.sim.fleet.people import People
from fairway.sim.fleet.plan import Plan
from fairway.sim.fleet.world import Hearing, World


@dataclass(frozen=True, slots=True)
class Told:
    seed: int
    broken: str
    """Which promise, and how; empty if all held."""
    lines: list[str]
    digest: str
    steps: int
    seconds: float
    """Of virtual time."""
    counts: Counter[str]


def tell(seed: int, plan: Plan) -> Told:
    golden.disks(plan.clusters, hub=plan.hub)
    with virtual.quietly():
        return _told(seed, plan)


def _told(seed: int, plan: Plan) -> Told:
    worlds: list[World] = []

    async def story(loop: VirtualLoop) -> None:
        world = World(loop, seed)
        worlds.append(world)
        await _tell(world, plan)

    broken = ""
    try:
        with Hearing(worlds):
            virtual.run(story)
    except (Broken, Stuck) as error:
        broken = f"{type(error).__name__}: {error}"
    (world,) = worlds
    chronicle, loop = world.chronicle, world.loop
    chronicle.counts["payloads"] = sum(len(stretches) for stretches in world.payloads.all.values())
    return Told(seed, broken, chronicle.lines, chronicle.digest, loop.steps, loop.time(), chronicle.counts)


async def _tell(world: World, plan: Plan) -> None:
    disks, taken_at = golden.disks(plan.clusters, hub=plan.hub)
    await asyncio.sleep(taken_at)
    world.chronicle.note("world", plan.about)
    golden.populate(world, plan)
    for name, node in world.nodes.items():
        disks[name].put(node.machine)
        node.start()
    for node in world.nodes.values():
        await node.up.wait()
    people, user = People(world, plan), Process(world.loop, "user")
    living = user.spawn(people.live())
    faults = Faults(world, plan.climate)
    await faults.rage(world.loop.time() + plan.rage_s)
    await faults.relent()
    world.chronicle.note("world", "no more faults")
    await living
    await user.spawn(people.tidy())
    await finish(world, plan)
