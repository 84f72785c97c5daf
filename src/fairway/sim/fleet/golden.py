"""Disks of nodes that have just been set up: histories begin with them, for setting up takes longer than what follows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

from fairway.api import patching
from fairway.api.client import Client, Resource
from fairway.control.configuration import Configuration, MultiKueue
from fairway.control.pods.machine import Declared
from fairway.control.resources import CLUSTER_QUEUES
from fairway.fleet import access, joining
from fairway.fleet.joining import Joining, Way
from fairway.runtime import virtual
from fairway.runtime.virtual import VirtualLoop
from fairway.sim.fleet.disk import Image
from fairway.sim.fleet.machine import SimMachine
from fairway.sim.fleet.node import HUB
from fairway.sim.fleet.plan import Plan
from fairway.sim.fleet.world import World

SIZES = (8, 4, 6)
"""CPUs of the clusters: different, so that where a job can run is a question."""
PRIORITIES = {"low": -10, "high": 10}
_CLASSES = Resource("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", namespaced=False)
_SETTLED_S = 3.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Golden:
    """One machine's."""

    images: dict[str, Image]
    files: dict[str, str]
    boots: int

    @staticmethod
    def of(machine: SimMachine) -> Golden:
        images = {name: image.copy() for name, image in machine.images.items()}
        return Golden(images, dict(machine.files), machine.boots)

    def put(self, machine: SimMachine) -> None:
        machine.images = {name: image.copy() for name, image in self.images.items()}
        machine.files = dict(self.files)
        machine.boots = self.boots
        machine.boot()


def populate(world: World, plan: Plan) -> None:
    """The nodes of a history, not started yet."""
    if plan.hub:
        multi = MultiKueue(origin=HUB, dispatcher_name=plan.dispatcher)
        world.add(HUB, None, Configuration(multi_kueue=multi))
    for index in range(plan.clusters):
        world.add(f"cluster-{index + 1}", Declared(cpu=str(SIZES[index % len(SIZES)]), memory="32Gi"))


@cache
def disks(clusters: int, *, hub: bool) -> tuple[dict[str, Golden], float]:
    """By the name of the machine; and when they were taken: clocks go on from there."""

    async def set_up(loop: VirtualLoop) -> tuple[dict[str, Golden], float]:
        world = World(loop, 0)
        populate(world, Plan(hub=hub, clusters=clusters))
        for node in world.nodes.values():
            node.start()
        for node in world.nodes.values():
            await node.up.wait()
        for name in world.nodes:
            await _furnish(world.client("user", name))
        for name in world.nodes if hub else ():
            if name != HUB:
                await join(world, name)
        await asyncio.sleep(_SETTLED_S)
        for node in world.nodes.values():
            await node.stop()
        return {name: Golden.of(node.machine) for name, node in world.nodes.items()}, loop.time()

    with virtual.quietly():
        return virtual.run(set_up)


async def join(world: World, name: str) -> None:
    """As `fairway cluster join` does. Doing it again renews the hub's token. With a short lease: more of them end in the same time."""
    hub, cluster = world.client("user", HUB), world.client("user", name)
    await access.ensure_namespace(hub)
    described = Joining(name, identity=await joining.identity(cluster), lease_s=15)
    await joining.join(hub, cluster, described, Way(world.network.address(name)))


async def _furnish(client: Client) -> None:
    """Priorities, and queues that give way to them."""
    for name, value in PRIORITIES.items():
        await client.create(_CLASSES, {"metadata": {"name": name}, "value": value})
    change = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
    await client.patch(CLUSTER_QUEUES, "default", change, media=patching.MERGE_PATCH)
