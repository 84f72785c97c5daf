"""All there is in one history: loop, network, machines and their nodes, and what was seen of them."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairway.api.remote import RemoteClient
from fairway.control.configuration import Configuration
from fairway.control.pods.machine import Declared
from fairway.runtime import virtual
from fairway.runtime.virtual import Process, VirtualLoop
from fairway.sim.chance import Chance
from fairway.sim.fleet.chronicle import Chronicle
from fairway.sim.fleet.dispatches import Dispatches
from fairway.sim.fleet.machine import SimMachine
from fairway.sim.fleet.network import Network
from fairway.sim.fleet.node import SimNode
from fairway.sim.fleet.payloads import Payloads
from fairway.sim.fleet.witness import Witness


@dataclass(slots=True)
class _Armed:
    """Something that happens after a number of a process's steps: so that it may happen between any two of them."""

    process: Process
    at: int
    do: Callable[[], None]


class World:
    def __init__(self, loop: VirtualLoop, seed: int) -> None:
        self.loop = loop
        self.seed = seed
        self.chronicle = Chronicle(loop.time)
        self.dispatches = Dispatches(self.chronicle, loop.time)
        self.payloads = Payloads(self.chronicle, loop.time, self.dispatches.came_at)
        self.network = Network(loop, self.chance("network"), self.chronicle)
        self.nodes: dict[str, SimNode] = {}
        self.witnesses: dict[str, Witness] = {}
        self.acknowledged: dict[str, dict[str, None]] = {}
        """Jobs by node and key, of which somebody was told that they are there."""
        self.cancelled: dict[str, None] = {}
        """Names of jobs that somebody wants gone."""
        self._armed: list[_Armed] = []
        loop.after_step = self._after_step
        loop.troubles = self._trouble

    def chance(self, what: str) -> Chance:
        """Its own sequence for each concern: a draw more in one leaves the others as they are."""
        return Chance(zlib.crc32(what.encode()) << 32 ^ self.seed)

    def add(self, name: str, declared: Declared | None, config: Configuration | None = None) -> SimNode:
        chance = self.chance(name)
        machine = SimMachine(name, self.loop, chance, self.chronicle, self.payloads)
        node = SimNode(
            machine,
            self.loop,
            chance,
            self.network,
            self.chronicle,
            declared=declared,
            config=config,
            serving=self._witness,
        )
        self.nodes[name] = node
        self.acknowledged[name] = {}
        if declared is not None:
            self.payloads.capacity[name] = int(declared.cpu or 0)
        self.network.address(name)
        return node

    def _witness(self, node: SimNode) -> None:
        assert node.node is not None
        master = node.is_hub or not any(each.is_hub for each in self.nodes.values())
        self.witnesses[node.name] = Witness(
            node.name,
            node.node,
            self.chronicle,
            self.acknowledged[node.name],
            self.dispatches,
            self.payloads if master else None,
        )

    def client(self, source: str, target: str) -> RemoteClient:
        node = self.nodes[target]
        return RemoteClient(self.network.transport(source, target), lambda: node.token, source)

    # --- between two steps ------------------------------------------------------------------------------------------

    def arm(self, process: Process, steps: int, do: Callable[[], None]) -> None:
        self._armed.append(_Armed(process, process.steps + steps, do))

    def disarm(self) -> None:
        self._armed.clear()

    def _after_step(self) -> None:
        if self._armed:
            due = [armed for armed in self._armed if armed.process.steps >= armed.at]
            for armed in due:
                self._armed.remove(armed)
                armed.do()
        self.chronicle.insist()

    # --- what nobody takes care of ----------------------------------------------------------------------------------

    def _trouble(self, message: str, error: BaseException | None) -> None:
        self.chronicle.breaks("no-errors", f"{message}: {error!r}")

    def hear(self, record: logging.LogRecord) -> None:
        process = virtual.current()
        who = process.name if process is not None else "world"
        text = record.getMessage().partition("\n")[0]
        if record.levelno >= logging.ERROR or " is invalid: " in text:
            error = record.exc_info[1] if record.exc_info else None
            self.chronicle.breaks("no-errors", f"{who} logs: {text} {error!r}")
        else:
            self.chronicle.note(who, f"logs: {text}")


class Hearing(logging.Handler):
    """What the program logs is part of the history; an error that it logs is one that it did not expect."""

    def __init__(self, worlds: Sequence[World]) -> None:
        """worlds: the one that is told of, once it is there."""
        super().__init__(logging.WARNING)
        self._worlds = worlds
        self._logger = logging.getLogger("fairway")

    def emit(self, record: logging.LogRecord) -> None:
        for world in self._worlds:
            world.hear(record)

    def __enter__(self) -> None:
        self._logger.addHandler(self)
        self._before, self._logger.propagate = self._logger.propagate, False

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._before
