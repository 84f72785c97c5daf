"""What goes wrong in a history: kills and stops between any two steps, cuts, storms, lost power."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairway.sim.chance import Chance
from fairway.sim.fleet.network import CALM, Weather
from fairway.sim.fleet.node import HUB, SimNode
from fairway.sim.fleet.plan import Climate, pick
from fairway.sim.fleet.world import World

STEPS_MAX = 300
JUMP_S = 30.0
ARMED_S = 5.0
"""A node that takes fewer steps than that is struck when this time is over."""


class Faults:
    def __init__(self, world: World, climate: Climate) -> None:
        self._world = world
        self._climate = climate
        self._chance: Chance = world.chance("faults")
        self._tasks: list[asyncio.Task[None]] = []

    async def rage(self, until: float) -> None:
        loop = self._world.loop
        kinds: dict[str, Callable[[], object]] = {
            "kill": self._kill,
            "stop": self._stop,
            "shim": self._shim,
            "power": self._power,
            "cut": self._cut,
            "storm": self._storm,
            "clock": self._clock,
        }
        while loop.time() < until:
            await asyncio.sleep(self._chance.between(0.0, 2 * self._climate.every_s))
            name = pick(self._climate, self._chance)
            if name:
                self._world.chronicle.counts[f"fault {name}"] += 1
                work = kinds[name]()
                if asyncio.iscoroutine(work):
                    self._tasks.append(loop.create_task(work))

    async def relent(self) -> None:
        """No more faults: what is down comes up, what is cut is joined."""
        self._world.disarm()
        for task in self._tasks:
            if not task.done():
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._world.network.heal()
        self._world.network.weather = CALM
        for node in self._world.nodes.values():
            if node.process is None:
                node.start()
            elif node.process.stopped:
                node.process.go_on()

    def _someone(self) -> SimNode:
        nodes = list(self._world.nodes.values())
        return nodes[self._chance.below(len(nodes))]

    async def _strike(self, node: SimNode, do: Callable[[], None]) -> bool:
        """Does it between two steps of a node's process, not at a moment when it happens to rest."""
        process = node.process
        if process is None or process.stopped:
            return False
        struck = asyncio.Event()

        def now() -> None:
            if not struck.is_set():
                struck.set()
                if node.process is process and not process.stopped:
                    do()

        self._world.arm(process, self._chance.below(STEPS_MAX), now)
        try:
            async with asyncio.timeout(ARMED_S):
                await struck.wait()
        except TimeoutError:
            now()
        return True

    async def _kill(self) -> None:
        node, refuses = self._someone(), self._chance.below(2) == 0
        if await self._strike(node, lambda: node.kill(refuses=refuses)):
            await self._back(node)

    async def _power(self) -> None:
        node = self._someone()
        if await self._strike(node, lambda: node.kill(power=True)):
            await self._back(node)

    async def _back(self, node: SimNode) -> None:
        await asyncio.sleep(self._long())
        if node.process is None:
            node.start()

    async def _stop(self) -> None:
        node = self._someone()
        if not await self._strike(node, lambda: self._hold(node)):
            return
        process = node.process
        await asyncio.sleep(self._long())
        if process is not None and process.alive and process.stopped:
            self._world.chronicle.note(node.name, "goes on")
            process.go_on()

    def _hold(self, node: SimNode) -> None:
        assert node.process is not None
        self._world.chronicle.note(node.name, "is stopped")
        node.process.stop()

    def _shim(self) -> None:
        machine = self._someone().machine
        live = [run_id for run_id, run in machine.runs.items() if run.shim is not None]
        if live:
            machine.kill_shim(live[self._chance.below(len(live))])

    def _clock(self) -> None:
        node = self._someone()
        by = self._chance.between(-JUMP_S, JUMP_S)
        self._world.chronicle.note(node.name, f"its wall clock is set by {by:.1f} s")
        node.machine.set_clock(by)

    def _cut(self) -> None:
        """Between any two who talk to each other: a hub and a cluster, mostly."""
        names = list(self._world.nodes)
        one, other = names[self._chance.below(len(names))], "user"
        if HUB in names and self._chance.below(4):
            one, other = HUB, names[1 + self._chance.below(len(names) - 1)]
        ways = ((one, other), (other, one)) if self._chance.below(2) else ((other, one), (one, other))
        until = self._world.loop.time() + self._long()
        how = self._chance.below(3)
        for source, target in ways if how == 0 else ways[:1]:
            self._world.chronicle.note("network", f"nothing gets from {source} to {target} until {until:.1f}")
            self._world.network.cut(source, target, until)

    async def _storm(self) -> None:
        chance = self._chance
        self._world.network.weather = Weather(chance.below(300), chance.below(150), chance.below(100))
        self._world.chronicle.note("network", f"storm: {self._world.network.weather}")
        await asyncio.sleep(self._long())
        self._world.network.weather = CALM

    def _long(self) -> float:
        """Mostly short, sometimes longer than any patience."""
        chance = self._chance
        ranges = ((0.01, 1.0), (0.5, 10.0), (5.0, 40.0), (30.0, 120.0))
        low, high = ranges[(0, 0, 1, 1, 1, 2, 2, 3)[chance.below(8)]]
        return chance.between(low, high)
