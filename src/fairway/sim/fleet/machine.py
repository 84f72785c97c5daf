"""A simulated machine: disks, clocks, and shims that run payloads whether or not a node is there to see it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fairway.engines.engine import RunSpec, RunState, RunStatus
from fairway.engines.lease import EXPIRED, Lease
from fairway.runtime.virtual import Process, VirtualClock, VirtualLoop
from fairway.sim.chance import Chance
from fairway.sim.fleet.archive import Texts
from fairway.sim.fleet.chronicle import Chronicle
from fairway.sim.fleet.disk import Image
from fairway.sim.fleet.payloads import Payloads, Stretch

LEASE_CHECK_S = 1.0
_TICK_S = 1e-6
PAYLOAD = "payload"
"""The program that a simulated machine can run: `payload JOB SECONDS FAILURES CPUS`. It fails as often before it succeeds."""
SKEW_S = 2.0
"""How far wall clocks are off, at most, when a history begins."""
DRIFT = 0.01
"""How much faster or slower a clock runs, at most: far more than the clock of any machine does, and a tenth of what leases stand."""


@dataclass(frozen=True, slots=True)
class BootClock:
    """The boot that a node started in."""

    id: str
    clock: VirtualClock

    @property
    def now(self) -> float:
        return self.clock.boot


@dataclass(slots=True)
class Run:
    """A run's folder."""

    spec: RunSpec
    claimed: bool = False
    shim: asyncio.Task[None] | None = None
    payload: Stretch | None = None
    started_at: float = 0.0
    stop_until: float | None = None
    """When the grace of a wish to stop is over, on the boot's clock."""
    record: RunStatus | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class SimMachine:
    honours_leases = True
    """A planted fault: shims that do not look at their lease."""

    def __init__(self, name: str, loop: VirtualLoop, chance: Chance, chronicle: Chronicle, payloads: Payloads) -> None:
        self.name = name
        self._loop = loop
        self._chance = chance
        self._chronicle = chronicle
        self._payloads = payloads
        self.skew = chance.between(-SKEW_S, SKEW_S)
        self._rate = chance.between(1.0 - DRIFT, 1.0 + DRIFT)
        self.boots = 0
        self.images: dict[str, Image] = {}
        self.files: dict[str, str] = {}
        """Small things that a node keeps in its folder."""
        self.texts: Texts = {}
        """Output that is kept here of what ran elsewhere."""
        self.runs: dict[str, Run] = {}
        self.leases: dict[str, Lease] = {}
        """Lease files by path. They are not synced, and gone after a boot."""
        self.heard: Callable[[str], None] | None = None
        """The socket on which an engine hears of its runs."""
        self.boot()

    def boot(self) -> None:
        self.boots += 1
        self.boot_id = f"{self.name}-boot-{self.boots}"
        self.clock = VirtualClock(self._loop, skew=self.skew, booted=self._loop.time(), rate=self._rate)
        self.leases = {}
        self._kernel = Process(self._loop, self.boot_id)

    def set_clock(self, by: float) -> None:
        """Somebody sets the wall clock."""
        self.skew += by
        self.clock.skew = self.skew

    def lose_power(self) -> None:
        """All processes are gone; disks stay as they are."""
        self._kernel.kill()
        self.heard = None
        for run in self.runs.values():
            self._die(run, "the machine lost its power")
        self.boot()

    def kill_shim(self, run_id: str) -> None:
        run = self.runs[run_id]
        if run.shim is not None:
            run.shim.cancel()
            self._die(run, "its shim was killed")

    def _die(self, run: Run, why: str) -> None:
        run.shim = None
        if run.payload is not None and run.payload.ended is None:
            self._payloads.end(run.payload, why)

    # --- shims ----------------------------------------------------------------------------------------------------

    def launch(self, run_id: str) -> None:
        """Ask the zygote for a shim; it comes after a while, and ends at once where another has claimed the run."""
        self._kernel.spawn(self._shim(run_id))

    async def _shim(self, run_id: str) -> None:
        await self._pause(0.0005, 0.02)
        run = self.runs.get(run_id)
        if run is None or run.claimed:
            return
        run.claimed, run.shim = True, asyncio.current_task()
        await self._pause(0.0002, 0.005)
        problem = self._before(run)
        if problem:
            await self._record(run, RunStatus(run_id, RunState.FAILED, exit_code=137, reason=problem, message=problem))
            return
        _program, job, seconds, failures, cpus = run.spec.argv
        index = run.spec.env.get("JOB_COMPLETION_INDEX", "")
        name = f"{job}/{index}" if index else job
        fails = self._payloads.starts(name) < int(failures)
        run.payload = self._payloads.begin(name, self.name, run_id, int(cpus))
        run.started_at = self.clock.now
        self._tell(run_id)
        why = await self._attend(run, self.clock.boot + float(seconds))
        exit_code = 137 if why else int(fails)
        self._payloads.end(run.payload, why or f"exit code {exit_code}")
        reason = why or ("Completed" if exit_code == 0 else "Error")
        ended = RunStatus(run_id, RunState.EXITED, exit_code=exit_code, reason=reason, message=why)
        await self._record(run, replace(ended, pid=1, started_at=run.started_at))

    def _before(self, run: Run) -> str:
        if run.stop_until is not None:
            return "Stopped"
        return "" if self._lease(run).until > self.clock.boot else EXPIRED

    def _lease(self, run: Run) -> Lease:
        """As it is in the file. One of a term after the run's own says nothing about it."""
        if not run.spec.lease or not self.honours_leases:
            return Lease(0.0, math.inf)
        lease = self.leases.get(run.spec.lease)
        if lease is None or (run.spec.lease_since and lease.since != run.spec.lease_since):
            return Lease(0.0, 0.0)
        return lease

    async def _attend(self, run: Run, end: float) -> str:
        """Until the payload ends; why, if not by itself."""
        why, lease = "", self._lease(run)
        until, kill_at = lease.until, math.inf
        while (now := self.clock.boot) < min(end, kill_at):
            if now >= until:
                renewed = self._lease(run)
                if now >= renewed.until:
                    why, kill_at = self._ask(run, EXPIRED), min(kill_at, self._obeys(until + lease.grace_s))
                    until = math.inf
                else:
                    lease, until = renewed, renewed.until
                continue
            if run.stop_until is not None and not why:
                why, kill_at = self._ask(run, "Stopped"), min(kill_at, self._obeys(run.stop_until))
                continue
            kill_at = min(kill_at, run.stop_until) if run.stop_until is not None else kill_at
            due = min(end, kill_at, until)
            patience = min(due - now, LEASE_CHECK_S) if run.spec.lease else due - now
            run.wake.clear()
            try:
                async with asyncio.timeout(max(patience, _TICK_S)):
                    await run.wake.wait()
            except TimeoutError:
                continue
        return why if self.clock.boot >= kill_at else ""

    def _ask(self, run: Run, why: str) -> str:
        assert run.payload is not None
        self._payloads.ask(run.payload, why)
        return why

    def _obeys(self, latest: float) -> float:
        """A payload that is asked to end does so at once, later, or never: then it is killed at the latest moment."""
        now = self.clock.boot
        return (now, self._chance.between(now, max(now, latest)), max(now, latest))[self._chance.below(3)]

    async def _record(self, run: Run, status: RunStatus) -> None:
        await self._pause(0.0002, 0.01)
        run.record = replace(status, finished_at=self.clock.now)
        if run.payload is not None:
            run.payload.recorded = status.exit_code == 0
        run.shim = None
        self._tell(run.spec.id)

    def _tell(self, run_id: str) -> None:
        """By a datagram, which nobody may hear."""
        if self.heard is not None and self._chance.below(20):
            self.heard(run_id)

    async def _pause(self, low: float, high: float) -> None:
        await asyncio.sleep(self._chance.between(low, high))
