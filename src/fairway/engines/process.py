"""Runs as processes of this machine.

    start ─► spec, durable ─► zygote ─► shim: claim ─► payload ─► record ─► forget

The engine may be killed between any two of these and started again: it then reads each run's record (fairway.engines.runs) and goes on from
what it finds. Whoever asks for what already happened changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import zlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from fairway.engines import checks, logs, procs, runs
from fairway.engines.cgroups import Cgroups, detect
from fairway.engines.engine import Check, RunSpec, RunState, RunStatus
from fairway.engines.machine import reach, start_ticks
from fairway.engines.runs import BadRun, Claim, Look, checked_id
from fairway.engines.shim import LOOK, MARK
from fairway.engines.zygote import NODE_SOCKET
from fairway.engines.zygotes import Zygotes, reachable
from fairway.runtime.batches import Batches
from fairway.runtime.disk import ThreadDisk

RESCAN_S = 5.0
_TRY_AGAIN_S = 0.1
_SCANNED_AT_ONCE = 200


@dataclass(slots=True)
class _Run:
    """What the engine knows of a run without looking."""

    status: RunStatus
    claimed: bool = False
    shim: Claim | None = None
    settling: bool = False
    tries: int = 0
    end: asyncio.Event = field(default_factory=asyncio.Event)


class _Watcher:
    """The ids of runs that changed since it last looked, each once."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.changed = dict.fromkeys(ids)
        self.wake = asyncio.Event()
        self.wake.set()


class ProcessEngine:
    """One per folder. Use it as a context, or call open and close."""

    def __init__(self, folder: Path, *, rescan_s: float = RESCAN_S, use_cgroups: bool = True) -> None:
        self.folder = folder.resolve()
        self._notify = str(self.folder / NODE_SOCKET)
        self._rescan_s = rescan_s
        self._use_cgroups = use_cgroups
        self._folders = runs.Runs(self.folder)
        self._runs: dict[str, _Run] = {}
        self._watchers: set[_Watcher] = set()
        self._cgroups = Cgroups()
        self._disk = ThreadDisk("engine")
        self._starts = Batches[tuple[str, bytes]](self._write)
        self._forgets = Batches[str](self._remove)
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket: socket.socket | None = None
        self._zygotes: Zygotes | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Finds out what became of every run, and goes on with those that nobody has claimed."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._use_cgroups:
            self._cgroups = await self._disk.run(lambda: detect(self.cgroup_name))
        listener = self._listen()
        for run_id, look in await self._disk.run(self._recall):
            self._runs[run_id] = _Run(RunStatus(run_id, RunState.STARTING))
            self._take(run_id, look)
        # Only now: what was said while we looked has waited in the socket, and is about runs that we know by now.
        asyncio.get_running_loop().add_reader(listener, self._hear)
        self._zygotes = Zygotes(
            self.folder,
            unclaimed=self._unclaimed,
            order=self._folders.order,
            missed=lambda: self._spawn(self._scan()),
            look=self._look_if_known,
            gone=self._gone,
            cannot=self._cannot,
        )
        self._zygotes.open()
        self._spawn(self._rescan())

    async def close(self) -> None:
        """Runs go on without us."""
        await self._starts.finish()
        await self._forgets.finish()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._zygotes is not None:
            await self._zygotes.close()
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / NODE_SOCKET)
        self._disk.close()
        self._cgroups.remove()

    async def ready(self) -> None:
        """Until there is a zygote, for those who want to measure without its start."""
        assert self._zygotes is not None
        await self._zygotes.ready()

    @property
    def cgroup_name(self) -> str:
        """Of the group above those of our runs; each folder on a machine has its own."""
        return f"fairway-{zlib.crc32(os.fsencode(self.folder)):08x}"

    @property
    def zygote_pid(self) -> int:
        return self._zygotes.pid if self._zygotes is not None else 0

    @property
    def controllers(self) -> frozenset[str]:
        """What limits the kernel itself enforces here."""
        return self._cgroups.controllers

    # The interface

    async def start(self, run: RunSpec) -> None:
        checked_id(run.id)
        if run.id in self._runs:
            return
        _check(run)
        await asyncio.shield(self._starts.get(run.id) or self._starts.add(run.id, (run.id, self._spec(run))))

    async def stop(self, run_id: str, grace_seconds: float) -> None:
        checked_id(run_id)
        if (starting := self._starts.get(run_id)) is not None:
            with contextlib.suppress(OSError):
                await asyncio.shield(starting)
        run = self._runs.get(run_id)
        if run is None or run.status.final:
            return
        self._folders.ask_to_stop(run_id, grace_seconds)
        reach("engine-wished-stop")
        # The wish is in the folder: a shim that claims the run after this look finds it there.
        self._look(run_id)
        if run.shim is not None and not run.status.final:
            _signal(run.shim)

    async def list(self) -> list[RunStatus]:
        return [run.status for run in self._runs.values()]

    async def watch(self) -> AsyncIterator[RunStatus]:
        watcher = _Watcher(self._runs)
        self._watchers.add(watcher)
        try:
            while True:
                await watcher.wake.wait()
                watcher.wake.clear()
                changed, watcher.changed = watcher.changed, {}
                for run_id in changed:
                    run = self._runs.get(run_id)
                    if run is not None:
                        yield run.status
        finally:
            self._watchers.discard(watcher)

    def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        run = self._known(run_id)
        return logs.read(
            *self._folders.output(run_id),
            follow=follow,
            tail_lines=tail_lines,
            ended=lambda: run.status.final,
            end=run.end,
        )

    async def check(self, run_id: str, check: Check, seconds: float) -> str:
        self._known(run_id)
        spec = await self._disk.run(lambda: self._folders.spec(run_id)) if check.argv else None
        env = {MARK: self._folders.mark(run_id)}
        if spec is not None and isinstance(given := spec.get("env"), dict):
            env = {**given, **env}
        cwd = str((spec or {}).get("cwd") or self._folders.work(run_id))
        return await checks.look(check, env, cwd, seconds)

    async def forget(self, run_id: str) -> None:
        checked_id(run_id)
        run = self._runs.get(run_id)
        if run is None:
            return
        if not run.status.final:
            raise BadRun(f"run {run_id} is {run.status.state}: stop it, and forget it once it ended")
        del self._runs[run_id]
        try:
            await asyncio.shield(self._forgets.add(run_id, run_id))
        except OSError:
            self._runs[run_id] = run  # Whoever asks again finds it.
            raise

    async def status(self, run_id: str) -> RunStatus:
        return self._known(run_id).status

    async def usage(self) -> dict[str, procs.Usage]:
        """What each running run uses now, all its processes together."""
        shims = {
            run_id: run.shim.pid
            for run_id, run in self._runs.items()
            if run.shim is not None and run.status.state is RunState.RUNNING
        }
        return await asyncio.to_thread(procs.usage, shims) if shims else {}

    def _known(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise KeyError(f"there is no run {run_id[:200]!r}: it was never started, or is forgotten")
        return run

    # Starting

    async def _write(self, batch: Sequence[tuple[str, bytes]]) -> None:
        await self._disk.run(lambda: self._folders.write(batch))
        for run_id, _ in batch:
            self._runs[run_id] = _Run(RunStatus(run_id, RunState.STARTING))
            self._publish(run_id)
        if self._zygotes is not None:
            self._zygotes.ask(run_id for run_id, _ in batch)
        if self._folders.runs_short:
            self._spawn(self._disk.run(self._folders.make_room))

    async def _remove(self, batch: Sequence[str]) -> None:
        await self._disk.run(lambda: self._folders.remove(batch))

    def _spec(self, run: RunSpec) -> bytes:
        spec: dict[str, object] = {
            "id": run.id,
            "argv": run.argv,
            "env": dict(run.env),
            "cwd": run.cwd,
            "mounts": [[mount.source, mount.path, mount.read_only] for mount in run.mounts],
            "lease": os.path.abspath(run.lease) if run.lease else "",
            "lease_since": run.lease_since,
            "notify": self._notify,
            "log_bytes": run.limits.log_bytes,
            "memory_bytes": run.limits.memory_bytes,
            "open_files": run.limits.open_files,
        }
        if (plan := self._cgroups.plan(run.id, run.limits)) is not None:
            spec["cgroup"] = plan
        try:
            return msgspec.json.encode(spec)
        except UnicodeEncodeError as error:
            raise BadRun(f"run {run.id}: {error.object[:80]!r} is not text that can be stored as UTF-8") from error

    def _unclaimed(self) -> Iterable[str]:
        return (run_id for run_id, run in self._runs.items() if not run.claimed and not run.status.final)

    # Hearing

    def _listen(self) -> socket.socket:
        """Under its name only once it is bound: no shim finds a socket that nobody reads."""
        draft = f"{NODE_SOCKET}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / draft)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.setblocking(False)
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener.bind(reachable(fd, self.folder, draft))
        finally:
            os.close(fd)
        os.chmod(self.folder / draft, 0o600)
        os.rename(self.folder / draft, self.folder / NODE_SOCKET)
        self._socket = listener
        return listener

    def _hear(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(BlockingIOError):
            while True:
                self._look_if_known(self._socket.recv(256).decode(errors="replace"))

    def _look_if_known(self, run_id: str) -> None:
        if run_id in self._runs:
            self._look(run_id)

    def _gone(self, run_id: str) -> None:
        """A shim died: with its claim the run is lost, before it somebody else may try."""
        if run_id in self._runs:
            self._look(run_id)
            self._try_again(run_id, "the process that was to run it ended before it could claim it")

    def _cannot(self, run_id: str, number: int) -> None:
        if run_id in self._runs:
            self._try_again(run_id, f"cannot start a process: {os.strerror(number)}")

    def _try_again(self, run_id: str, why: str) -> None:
        run = self._runs[run_id]
        if run.claimed or run.status.final:
            return
        self._update(run_id, run, replace(run.status, message=f"{why}; trying again"))
        delay_s = min(_TRY_AGAIN_S * 2**run.tries, self._rescan_s)
        run.tries += 1
        asyncio.get_running_loop().call_later(delay_s, self._ask_if_unclaimed, run_id)

    def _ask_if_unclaimed(self, run_id: str) -> None:
        run = self._runs.get(run_id)
        if run is not None and not run.claimed and not run.status.final and self._zygotes is not None:
            self._zygotes.ask([run_id])

    async def _rescan(self) -> None:
        """For what nobody told us: a node that was stopped, a zygote that was killed with what it had heard."""
        while True:
            await asyncio.sleep(self._rescan_s)
            waited = list(self._unclaimed())
            await self._scan()
            if waited and self._zygotes is not None:
                self._zygotes.go_on()
            for run_id in waited:
                self._ask_if_unclaimed(run_id)

    async def _scan(self) -> None:
        live = [run_id for run_id, run in self._runs.items() if not run.status.final]
        for first in range(0, len(live), _SCANNED_AT_ONCE):
            some = live[first : first + _SCANNED_AT_ONCE]
            looks = await asyncio.to_thread(lambda some=some: [(run, self._folders.look(run)) for run in some])  # type: ignore[misc]
            for run_id, look in looks:
                self._take(run_id, look)

    def _recall(self) -> Sequence[tuple[str, Look]]:
        return [(run_id, self._folders.look(run_id)) for run_id in self._folders.open()]

    def _look(self, run_id: str) -> None:
        self._take(run_id, self._folders.look(run_id))

    def _take(self, run_id: str, look: Look) -> None:
        run = self._runs.get(run_id)
        if run is None or run.status.final:
            return
        # A look may be older than what we heard since: a claim never goes away.
        run.claimed, run.shim = run.claimed or look.claimed, look.shim or run.shim
        if look.orphaned:
            if not run.settling:
                run.settling = True
                self._spawn(self._settle(run_id))
            return
        self._update(run_id, run, look.status)

    async def _settle(self, run_id: str) -> None:
        status = None
        with contextlib.suppress(OSError):  # A full disk, say: the next look tries again.
            status = await self._disk.run(lambda: self._folders.settle(run_id))
        run = self._runs.get(run_id)
        if run is not None:
            run.settling = False
            if status is not None:
                self._update(run_id, run, status)

    def _update(self, run_id: str, run: _Run, status: RunStatus) -> None:
        known = run.status
        if known.final or status == known or (known.state is RunState.RUNNING and status.state is RunState.STARTING):
            return
        run.status = status
        if status.final:
            run.end.set()
        self._publish(run_id)

    def _publish(self, run_id: str) -> None:
        for watcher in self._watchers:
            watcher.changed[run_id] = None
            watcher.wake.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _check(run: RunSpec) -> None:
    texts = (*run.argv, *run.env, *run.env.values(), run.cwd, run.lease)
    if any("\0" in text for text in texts):
        raise BadRun(f"run {run.id}: no argument, variable or path can have a NUL in it")
    if any("=" in name or not name for name in run.env):
        raise BadRun(f"run {run.id}: a variable's name cannot be empty or have '=' in it")


def _signal(shim: Claim) -> None:
    """The very process that claimed the run, and no later one with its pid. It may have another run by now, and looks in its folder then."""
    try:
        fd = os.pidfd_open(shim.pid)
    except (AttributeError, OSError):
        fd = -1
    try:
        if start_ticks(shim.pid) == shim.start:
            with contextlib.suppress(ProcessLookupError):
                if fd >= 0:
                    for number in (LOOK, signal.SIGCONT):  # should somebody have stopped it, it is to go on
                        signal.pidfd_send_signal(fd, number)
                else:
                    for number in (LOOK, signal.SIGCONT):
                        os.kill(shim.pid, number)
    finally:
        if fd >= 0:
            os.close(fd)
