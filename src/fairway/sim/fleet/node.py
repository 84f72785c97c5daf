"""A node of the simulation: the production node, on a simulated machine, in a process that can be stopped and killed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from pathlib import Path

from fairway.api.client import Client
from fairway.api.kubeconfig import Access
from fairway.api.remote import RemoteClient
from fairway.control.configuration import Configuration
from fairway.control.pods.machine import Declared
from fairway.control.pods.place import Place
from fairway.node import Node
from fairway.runtime.ids import SeededIds
from fairway.runtime.machine import Machine, Usage
from fairway.runtime.virtual import Process, VirtualLoop
from fairway.sim.chance import Chance
from fairway.sim.fleet.archive import SimArchive
from fairway.sim.fleet.chronicle import Chronicle
from fairway.sim.fleet.disk import Image, ImageLog, SlowDisk
from fairway.sim.fleet.engine import SimEngine, SimLeases
from fairway.sim.fleet.machine import BootClock, SimMachine
from fairway.sim.fleet.network import Network
from fairway.store import Store

HUB = "hub"
_TOKEN = "token"


class SimNode:
    """One space on one machine; a life lasts from a start to a kill."""

    def __init__(
        self,
        machine: SimMachine,
        loop: VirtualLoop,
        chance: Chance,
        network: Network,
        chronicle: Chronicle,
        *,
        declared: Declared | None,
        config: Configuration | None = None,
        serving: Callable[[SimNode], None],
    ) -> None:
        """declared: what it runs things on; a node without is a hub. serving: called at each start, before the first request is answered."""
        self.name = machine.name
        self.machine = machine
        self._loop = loop
        self._chance = chance
        self._network = network
        self._chronicle = chronicle
        self._declared = declared
        self._config = config
        self._serving = serving
        self._disks: list[SlowDisk] = []
        self.lives = 0
        self.process: Process | None = None
        self.node: Node | None = None
        """Once it serves."""
        self.up = asyncio.Event()

    @property
    def is_hub(self) -> bool:
        return self._declared is None

    @property
    def token(self) -> str:
        return self.machine.files.get(_TOKEN, "")

    def start(self) -> None:
        self.lives += 1
        self.process = Process(self._loop, f"{self.name}.{self.lives}")
        self._chronicle.note(self.name, f"starts, life {self.lives}")
        self.process.spawn(self._live(self.process))

    async def _live(self, process: Process) -> None:
        self._disks = []
        node = Node(
            Path("/simulated") / self.name,
            (HUB,) if self.is_hub else ("default",),
            hub=HUB if self.is_hub else "",
            connect=self._connect,
            clock=self.machine.clock,
            ids=SeededIds(zlib.crc32(f"{process.name}/{self._chance.bits()}".encode())),
            machine=self._declared,
            config=self._config,
            place=self._place(),
            store=self._store,
            archive=lambda _space: SimArchive(self.machine.texts, self._chance),
        )
        app = await node.start()
        self.machine.files[_TOKEN] = await node.admin_token(node.spaces[0], self.token)
        self.node = node
        self._chronicle.note(self.name, "serves")
        self._serving(self)
        self.up.set()
        self._network.listen(self.name, app, process)

    async def stop(self) -> None:
        """In good order."""
        assert self.node is not None
        await self.node.stop()

    def kill(self, *, power: bool = False, refuses: bool = False) -> None:
        """The process dies at once. power: the machine with all its shims too."""
        if self.process is None:
            return
        self._chronicle.note(self.name, "loses its power" if power else "is killed")
        self.process.kill()
        self.process, self.node = None, None
        self.up.clear()
        for disk in self._disks:
            disk.crash()
        self._network.down(self.name, refuses=refuses or power, silent=power)
        if power:
            self.machine.lose_power()

    def _connect(self, access: Access) -> Client:
        """As a kubeconfig says, through the simulated network."""
        target = self._network.at(access.server)
        return RemoteClient(self._network.transport(self.name, target), access.token, "fairway-hub")

    def _store(self, space: str) -> Store:
        image = self.machine.images.setdefault(space, Image())
        disk = SlowDisk(self._loop, self._chance)
        self._disks.append(disk)
        return Store(ImageLog(image), disk)

    def _place(self) -> Place:
        return Place(
            machine=Machine(
                hostname=self.name,
                address="192.0.2.1",
                cpus=8,
                memory_bytes=32 << 30,
                system="linux",
                architecture="amd64",
                kernel="simulated",
                image="simulated",
                boot_id=self.machine.boot_id,
                machine_id=self.name,
            ),
            usage=lambda: Usage(0.0, 1 << 30),
            variables={},
            engine=lambda _folder: SimEngine(self.machine, self._loop, self._chance),
            boot=BootClock(self.machine.boot_id, self.machine.clock),
            leases=lambda folder: SimLeases(self.machine, str(folder), self._chance),
        )
