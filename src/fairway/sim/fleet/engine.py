"""The engine of a simulated machine: what the process engine does with folders, sockets and a zygote, done with those of the simulation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import copy_context

from fairway.engines.engine import Check, RunSpec, RunState, RunStatus
from fairway.engines.lease import Lease
from fairway.runtime.virtual import VirtualLoop
from fairway.sim.chance import Chance
from fairway.sim.fleet.machine import Run, SimMachine

RESCAN_S = 5.0


class SimLeases:
    """The files in which shims find their leases."""

    def __init__(self, machine: SimMachine, folder: str, chance: Chance) -> None:
        self._machine = machine
        self._folder = folder
        self._chance = chance

    def known(self) -> dict[str, Lease]:
        return {path.removeprefix(f"{self._folder}/"): lease for path, lease in sorted(self._machine.leases.items())}

    def path(self, origin: str) -> str:
        return f"{self._folder}/{origin}"

    async def write(self, origin: str, granted: Lease) -> None:
        await asyncio.sleep(self._chance.between(0.0001, 0.003))
        self._machine.leases[self.path(origin)] = granted

    def close(self) -> None:
        return None


class SimEngine:
    """One for each life of a node."""

    def __init__(self, machine: SimMachine, loop: VirtualLoop, chance: Chance) -> None:
        self._machine = machine
        self._loop = loop
        self._chance = chance
        self._known: dict[str, RunStatus] = {}
        self._changed: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._rescanning: asyncio.Task[None] | None = None

    async def open(self) -> None:
        context = copy_context()
        self._machine.heard = lambda run_id: self._hear(run_id, context)
        for run_id in list(self._machine.runs):
            self._look(run_id)
            if not self._machine.runs[run_id].claimed:
                self._machine.launch(run_id)
        self._rescanning = self._loop.create_task(self._rescan())

    async def close(self) -> None:
        self._machine.heard = None
        if self._rescanning is not None:
            self._rescanning.cancel()

    async def start(self, run: RunSpec) -> None:
        if run.id in self._known:
            return
        await self._synced()
        self._machine.runs.setdefault(run.id, Run(run))
        await self._synced()
        self._look(run.id)
        self._machine.launch(run.id)

    async def stop(self, run_id: str, grace_seconds: float) -> None:
        run = self._machine.runs.get(run_id)
        if run is None or run.record is not None:
            return
        until = self._machine.clock.boot + max(0.0, grace_seconds)
        run.stop_until = until if run.stop_until is None else min(run.stop_until, until)
        run.wake.set()

    async def list(self) -> list[RunStatus]:
        return list(self._known.values())

    async def watch(self) -> AsyncIterator[RunStatus]:
        self._changed = dict.fromkeys(self._known)
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            changed, self._changed = self._changed, {}
            for run_id in changed:
                status = self._known.get(run_id)
                if status is not None:
                    yield status

    async def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        if run_id not in self._known:
            raise KeyError(run_id)
        yield f"output of {run_id}\n".encode()

    async def check(self, _run_id: str, _check: Check, _seconds: float) -> str:
        return ""

    async def forget(self, run_id: str) -> None:
        known = self._known.get(run_id)
        if known is None:
            return
        if not known.final:
            raise ValueError(f"run {run_id} is {known.state}")
        del self._known[run_id]
        await self._synced()
        self._machine.runs.pop(run_id, None)

    async def _synced(self) -> None:
        await asyncio.sleep(self._chance.between(0.0002, 0.004))

    def _hear(self, run_id: str, context: object) -> None:
        # In the node's own context: a node that is stopped hears it when it goes on.
        self._loop.call_later(0.0001, self._look, run_id, context=context)  # type: ignore[arg-type]

    async def _rescan(self) -> None:
        while True:
            await asyncio.sleep(RESCAN_S)
            for run_id, run in list(self._machine.runs.items()):
                self._look(run_id)
                if not run.claimed:
                    self._machine.launch(run_id)

    def _look(self, run_id: str) -> None:
        """Record, lock and claim, in that order: finished, running, never started, or lost."""
        run = self._machine.runs.get(run_id)
        if run is None:
            return
        status = run.record
        if status is None and run.claimed and run.shim is None:
            lost = "its shim was killed; whether it did its work is not known"
            status = run.record = RunStatus(
                run_id, RunState.LOST, started_at=run.started_at, finished_at=self._machine.clock.now, message=lost
            )
        if status is None:
            running = run.payload is not None and run.payload.ended is None
            state = RunState.RUNNING if running else RunState.STARTING
            status = RunStatus(run_id, state, pid=int(running), started_at=run.started_at)
        known = self._known.get(run_id)
        if known is not None and (known.final or known == status):
            return
        if known is not None and known.state is RunState.RUNNING and status.state is RunState.STARTING:
            return
        self._known[run_id] = status
        self._changed[run_id] = None
        self._wake.set()
