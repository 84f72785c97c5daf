"""Where a cluster runs its pods: a machine and what starts processes on it. This one, or one that is simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairway.control.fencing.boot import Boot, MachineBoot
from fairway.control.fencing.files import FolderOfLeases, LeaseFiles
from fairway.engines.engine import Engine
from fairway.engines.process import ProcessEngine
from fairway.runtime import machine
from fairway.runtime.disk import Disk, InlineDisk, ThreadDisk
from fairway.runtime.machine import Machine, Usage


class LocalEngine(Engine, Protocol):
    """An engine that belongs to the node: opened and closed with it. What it runs goes on without it."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    machine: Machine
    usage: Callable[[], Usage]
    variables: Mapping[str, str]
    """What every process finds in its environment."""
    engine: Callable[[Path], LocalEngine]
    """The engine that keeps its runs below a folder."""
    boot: Boot
    leases: Callable[[Path], LeaseFiles]
    """Where the shims find the leases that they run under."""
    disk: Callable[[], Disk] = InlineDisk
    """Where what takes its time on the disk is done."""


def this_machine() -> Place:
    return Place(
        machine.look(),
        machine.usage,
        machine.variables(),
        ProcessEngine,
        MachineBoot(),
        lambda folder: FolderOfLeases(folder, ThreadDisk("leases")),
        lambda: ThreadDisk("bundles"),
    )
