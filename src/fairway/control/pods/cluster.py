"""What makes a space a cluster: a node object for this machine, an engine on it, and what binds pods to it and runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from fairway.api.client import Client
from fairway.control.events import Recorder
from fairway.control.pods.binder import Binder
from fairway.control.pods.folders import Folders
from fairway.control.pods.machine import Declared, MachineNode
from fairway.control.pods.place import Place
from fairway.control.pods.preparing import Grants, Preparer
from fairway.control.pods.runner import Runner
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids

ENGINE = "process"


class Cluster:
    """`open` before `start`: then the node object is there and the engine knows what runs."""

    def __init__(
        self,
        client: Callable[[str], Client],
        folder: Path,
        declared: Declared,
        place: Place,
        clock: Clock,
        ids: Ids,
        grants: Grants | None = None,
    ) -> None:
        """client: one for each name under which something is written. grants: what lets pods run under leases."""
        self._grants = grants
        self._clock = clock
        self._ids = ids
        self._folder = folder
        self._client = client
        self._place = place
        self._disk = place.disk()
        self.engine = place.engine(folder / "engine")
        self.recorder = Recorder(client("kubelet"), clock)
        self.node = MachineNode(
            client("kubelet"),
            clock,
            place.machine,
            declared,
            engine=ENGINE,
            usage=place.usage,
            sleep=asyncio.sleep,
        )
        self.binder = Binder(client("kube-scheduler"), self.recorder, clock, sleep=asyncio.sleep, uniform=ids.uniform)
        self.runner: Runner | None = None

    async def open(self) -> None:
        await self.engine.open()
        await self.node.register()
        client = self._client("kubelet")
        preparer = Preparer(
            client,
            Folders(self._folder / "pods"),
            self._place.variables,
            self.node.capacity,
            self._grants,
            self._disk,
        )
        self.runner = Runner(
            client,
            self.engine,
            self.node.name,
            preparer,
            self.recorder,
            self._clock,
            address=self._place.machine.address,
            sleep=asyncio.sleep,
            uniform=self._ids.uniform,
        )

    def start(self) -> None:
        assert self.runner is not None, "open comes before start"
        for keeper in (self.recorder, self.node, self.runner, self.binder):
            keeper.start()

    async def stop(self) -> None:
        await self.binder.stop()
        if self.runner is not None:
            await self.runner.stop()
        await self.node.stop()
        await self.recorder.stop()
        await self.engine.close()
        self._disk.close()
