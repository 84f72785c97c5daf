"""The Node object of a machine: what it says, that it comes back, and what is used of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.pods.machine import NODES, Declared, MachineNode
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.runtime.machine import Machine, Usage, node_name
from fairway.store import Store

LEASES = Resource("coordination.k8s.io", "v1", "leases")
MACHINE = Machine("host-a", "10.0.0.1", 8, 16 << 30, "linux", "amd64", "6.1", "Some Linux", "boot", "machine")


class World:
    """A space, and a clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_767_225_600.0
        self.monotonic = 0.0
        self.busy_cpus = 1.5
        self.space = Space("test", Store(), KINDS, self, SeededIds(1))
        self.client = LocalClient(self.space, "tester")

    def node(self, machine: Machine = MACHINE, beats: int = 0, **declared: Any) -> MachineNode:
        left = beats

        async def sleep(seconds: float) -> None:
            nonlocal left
            if not left:
                self.still.set()
                await asyncio.Event().wait()
            left -= 1
            self.now += seconds
            self.monotonic += seconds

        self.still = asyncio.Event()

        def usage() -> Usage:
            return Usage(self.monotonic * self.busy_cpus, 3 << 30)

        return MachineNode(self.client, self, machine, Declared(**declared), engine="process", usage=usage, sleep=sleep)

    async def get(self, name: str = "host-a") -> dict[str, Any]:
        return (await self.client.get(NODES, name)).json()


def in_a_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        world = World()
        await world.space.store.open()
        await bootstrap.ensure(world.space, bootstrap.namespaces())
        await test(world)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("declared", "capacity"),
    [
        ({}, {"cpu": "8", "memory": "16Gi", "pods": "1k"}),
        (
            {"cpu": "0.5", "memory": "2048Mi", "gpus": 3},
            {"cpu": "500m", "memory": "2Gi", "pods": "1k", "nvidia.com/gpu": "3"},
        ),
        ({"resources": {"example.com/tpu": "4"}}, {"cpu": "8", "memory": "16Gi", "pods": "1k", "example.com/tpu": "4"}),
    ],
)
def test_a_node_has_what_the_machine_has_or_what_is_declared(declared: Any, capacity: Any) -> None:
    async def test(world: World) -> None:
        await world.node(**declared).register()
        status = (await world.get())["status"]
        assert status["capacity"] == status["allocatable"] == capacity

    in_a_world(test)


def test_a_folder_keeps_the_name_of_its_node_and_what_users_set_on_it() -> None:
    async def test(world: World) -> None:
        await world.node().register()
        node = await world.get()
        node["metadata"]["labels"]["team"] = "a"
        node["spec"]["unschedulable"] = True
        await world.client.update(NODES, node)
        moved = Machine(*("host-b", *[getattr(MACHINE, name) for name in Machine.__slots__[1:]]))
        again = world.node(moved)
        await again.register()
        kept = await world.get()
        assert again.name == "host-a"
        assert (kept["metadata"]["labels"]["team"], kept["spec"]["unschedulable"]) == ("a", True)
        assert len((await world.client.list(NODES)).items) == 1

    in_a_world(test)


def test_a_heartbeat_renews_the_lease_and_writes_no_node() -> None:
    async def test(world: World) -> None:
        world.busy_cpus = 0.0
        node = world.node(beats=5)
        await node.register()
        node.start()
        await world.still.wait()
        lease = (await world.client.get(LEASES, "host-a", "kube-node-lease")).json()
        assert lease["spec"]["renewTime"] == "2026-01-01T00:00:50.000000Z"
        version = (await world.get())["metadata"]["resourceVersion"]
        await node.stop()
        await node.register()
        node = world.node(beats=5)
        await node.register()
        node.start()
        before = (await world.get())["metadata"]["resourceVersion"]
        await world.still.wait()
        assert (await world.get())["metadata"]["resourceVersion"] == before != version
        await node.stop()

    in_a_world(test)


def test_what_is_really_used_is_shown() -> None:
    async def test(world: World) -> None:
        node = world.node(beats=1)
        await node.register()
        node.start()
        await world.still.wait()
        shown = (await world.get())["metadata"]["annotations"]
        assert shown == {"fairway.dev/used-cpu": "1500m", "fairway.dev/used-memory": "3072Mi"}
        await node.stop()

    in_a_world(test)


def test_a_node_that_is_deleted_while_it_lives_comes_back_and_one_that_stops_says_so() -> None:
    async def test(world: World) -> None:
        node = world.node(beats=1)
        await node.register()
        await world.client.delete(NODES, "host-a")
        node.start()
        await world.still.wait()
        assert {c["type"]: c["status"] for c in (await world.get())["status"]["conditions"]}["Ready"] == "True"
        await node.stop()
        assert {c["type"]: c["status"] for c in (await world.get())["status"]["conditions"]}["Ready"] == "False"

    in_a_world(test)


@pytest.mark.parametrize(
    ("host", "name"), [("vm", "vm"), ("My_Host.local", "my-host.local"), ("-x-", "x"), ("???", "localhost")]
)
def test_a_hosts_name_becomes_a_nodes_name(host: str, name: str) -> None:
    assert node_name(host) == name
