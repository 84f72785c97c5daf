"""Weather: hub, clusters and the network between them break at random, alone and together, and are put right again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from fairway.api.errors import ApiError
from tests.chaos.nodes import NodeProcess
from tests.chaos.proxy import Proxy
from tests.chaos.stage import Stage

Fault = Callable[[float], Awaitable[None]]
"""For so many seconds."""


class Storm:
    """`blow` it over a stage; `counts` says what happened."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.jobs: list[str] = []

    async def blow(self, seconds: float, jobs: int) -> None:
        """Each node and each wire has its own misfortunes; meanwhile jobs come. In the end everything is whole again."""
        over = asyncio.get_running_loop().time() + seconds
        nodes = (self._stage.hub, *self._stage.clusters.values())
        await asyncio.gather(
            *(self._trouble(over, self._of_node(node)) for node in nodes),
            *(self._trouble(over, self._of_wire(proxy)) for proxy in self._stage.proxies.values()),
            self._submit(over, seconds / jobs, jobs),
        )

    async def _trouble(self, over: float, faults: dict[str, Fault]) -> None:
        loop = asyncio.get_running_loop()
        while (left := over - loop.time()) > 0:
            await asyncio.sleep(min(left, self._chance.uniform(0.5, 6.0)))
            name = self._chance.choice(sorted(faults))
            self.counts[name] += 1
            await faults[name](self._chance.choice((0.2, 1.0, self._stage.terms.hold_s + 1)))

    def _of_node(self, node: NodeProcess) -> dict[str, Fault]:
        async def kill(seconds: float) -> None:
            node.kill()
            await asyncio.sleep(seconds)
            await node.start()

        async def stop(seconds: float) -> None:
            node.stop()
            await asyncio.sleep(seconds)
            node.go_on()

        what = "hub" if node is self._stage.hub else "cluster"
        return {f"kill {what}": kill, f"stop {what}": stop}

    def _of_wire(self, proxy: Proxy) -> dict[str, Fault]:
        def gone(break_it: Callable[[], None]) -> Fault:
            async def fault(seconds: float) -> None:
                break_it()
                await asyncio.sleep(seconds)
                proxy.heal(late=self._chance.random() < 0.5)

            return fault

        async def twice(seconds: float) -> None:
            proxy.twice = self._chance.choice(("first", "second"))
            await asyncio.sleep(seconds)
            proxy.twice = ""

        async def slow(seconds: float) -> None:
            proxy.delay = lambda: self._chance.uniform(0, 0.3)
            await asyncio.sleep(seconds)
            proxy.delay = lambda: 0.0

        ways = (proxy.cut, proxy.hole, proxy.mute, proxy.deaf, proxy.forget)
        return {"twice": twice, "slow": slow, **{each.__name__: gone(each) for each in ways}}

    async def _submit(self, over: float, pause: float, jobs: int) -> None:
        for number in range(jobs):
            name = f"storm-{number}"
            seconds = self._chance.choice((0.0, 0.5, 2.0, 5.0))
            options = ("deaf",) if self._chance.random() < 0.3 else ()
            while True:
                try:
                    async with asyncio.timeout(3):
                        self.jobs.append(await self._stage.submit(seconds, *options, name=name))
                    break
                except (ApiError, TimeoutError) as error:
                    if isinstance(error, ApiError) and error.reason == "AlreadyExists":
                        self.jobs.append(name)
                        break
                await asyncio.sleep(0.2)
            await asyncio.sleep(pause * self._chance.random())
