"""The launchers of clusters that run beside a hub: started before it, looked after while it runs, stopped after it.

Each is a process with a folder, a port and a fate of its own. One that is killed is started again; one that somebody stopped stays
stopped; and one that outlived the launcher that started it is taken over as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fairway.runtime import process
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Event, Fatal, Notice, Problem, Progress, Ready, decode

_LOOK_S = 0.3
_POLL_S = 0.05
_BACKOFF_FIRST_S = 0.5
_BACKOFF_MAX_S = 30.0
_STABLE_AFTER_S = 10.0
_STOP_S = 20.0
"""Longer than a launcher gives its node."""


@dataclass(frozen=True, slots=True)
class Companion:
    name: str
    data: DataDir
    command: Sequence[str]
    """Its launcher's program; `--report-fd N` is added to it."""


@dataclass(slots=True)
class _Life:
    """What is known of one of them."""

    companion: Companion
    child: asyncio.subprocess.Process | None = None
    """None: it was there before us."""
    starting: asyncio.Task[None] | None = None
    failures: int = 0
    due: float = 0.0
    served_since: float = 0.0
    told_stopped: bool = False


@dataclass(slots=True)
class Companions:
    wanted: Callable[[], Sequence[Companion]]
    """Asked again and again: one that is no longer wanted is stopped."""
    environment: Mapping[str, str]
    tell: Callable[[Event], None]
    _lives: dict[str, _Life] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def running(self, stop: asyncio.Event, kill: asyncio.Event) -> AsyncIterator[None]:
        """From when all have started, or said why they cannot, until the block ends."""
        await self._start_all(stop)
        keeper = asyncio.ensure_future(self._keep())
        try:
            yield
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await self._stop_all(kill)

    # --- start ------------------------------------------------------------------------------------------------------

    async def _start_all(self, stop: asyncio.Event) -> None:
        for companion in self.wanted():
            life = self._lives[companion.name] = _Life(companion)
            life.starting = asyncio.ensure_future(self._start(life))
        tasks = [life.starting for life in self._lives.values() if life.starting is not None]
        if not tasks:
            return
        self.tell(Progress(f"starting {', '.join(self._lives)}"))
        stopped = asyncio.ensure_future(stop.wait())
        everything = asyncio.ensure_future(asyncio.wait(tasks))
        await asyncio.wait((stopped, everything), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        everything.cancel()

    async def _start(self, life: _Life) -> None:
        name = life.companion.name
        try:
            problem = await self._launch(life)
        except OSError as error:
            problem = f"cannot start its launcher: {error.strerror or error}"
        if problem:
            life.failures += 1
            delay_s = min(_BACKOFF_FIRST_S * 2 ** (life.failures - 1), _BACKOFF_MAX_S)
            life.due = time.monotonic() + delay_s
            self.tell(
                Notice(f"{name} did not start: {problem}; the others go on, it is tried again in {delay_s:.1f} s")
            )
        else:
            life.served_since = time.monotonic()
            life.told_stopped = False

    async def _launch(self, life: _Life) -> str:
        """Why not; empty once it serves."""
        if life.companion.data.running() is not None:
            life.child = None
            return ""
        read_fd, write_fd = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
        )
        try:
            life.child = await asyncio.create_subprocess_exec(
                *life.companion.command,
                "--report-fd",
                str(write_fd),
                pass_fds=(write_fd,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=self.environment,
                start_new_session=True,
            )
        finally:
            os.close(write_fd)
        try:
            async for line in reader:
                event = decode(line)
                if isinstance(event, Ready):
                    return ""
                if isinstance(event, Fatal):
                    await life.child.wait()
                    return event.message
        finally:
            transport.close()
        return f"its launcher {process.describe_exit(await life.child.wait())} without a word"

    # --- keep -------------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                wanted = self.wanted()
            except Problem as problem:
                self.tell(Notice(problem.message))
                await asyncio.sleep(_STABLE_AFTER_S)
                continue
            for companion in wanted:
                self._look_after(companion)
            for name in [name for name in self._lives if name not in {each.name for each in wanted}]:
                await self._stop(self._lives.pop(name), asyncio.Event())
                self.tell(Notice(f"{name} is no longer part of the fleet: it was stopped, its folder is kept"))

    def _look_after(self, companion: Companion) -> None:
        life = self._lives.setdefault(companion.name, _Life(companion))
        life.companion = companion
        if life.starting is not None and not life.starting.done():
            return
        now = time.monotonic()
        if companion.data.running() is not None:
            life.served_since = life.served_since or now
            if now - life.served_since > _STABLE_AFTER_S:
                life.failures = 0
            return
        if life.served_since and life.child is not None and life.child.returncode is None:
            return  # It is ending, and how it ends says whether it is to be started again.
        if life.served_since and _asked_to_stop(life):
            if not life.told_stopped:
                self.tell(Notice(f"{companion.name} was stopped; it stays so until it, or the fleet, is started again"))
            life.told_stopped = True
            return
        if life.served_since:
            self.tell(Notice(f"the launcher of {companion.name} is gone; starting it again"))
            life.failures += now - life.served_since < _STABLE_AFTER_S
            life.due = now + (_BACKOFF_FIRST_S * 2**life.failures if life.failures > 1 else 0.0)
            life.served_since = 0.0
        if now >= life.due:
            life.starting = asyncio.ensure_future(self._start(life))

    # --- stop -------------------------------------------------------------------------------------------------------

    async def _stop_all(self, kill: asyncio.Event) -> None:
        await asyncio.gather(*(self._stop(life, kill) for life in self._lives.values()))

    async def _stop(self, life: _Life, kill: asyncio.Event) -> None:
        if life.starting is not None and not life.starting.done():
            life.starting.cancel()
            await asyncio.gather(life.starting, return_exceptions=True)
        _signal(life, signal.SIGTERM)
        deadline, again = time.monotonic() + _STOP_S, False
        while _alive(life):
            if kill.is_set() and not again:
                _signal(life, signal.SIGTERM)
                again = True
            if time.monotonic() > deadline:
                self.tell(Notice(f"{life.companion.name} did not stop in time; killing its launcher"))
                _signal(life, signal.SIGKILL)
                deadline += _STOP_S
            await asyncio.sleep(_POLL_S)


def _asked_to_stop(life: _Life) -> bool:
    state = life.companion.data.read_state()
    ended_well = life.child is None or life.child.returncode == 0
    return ended_well and state is not None and state.phase == "stopped"


def _alive(life: _Life) -> bool:
    if life.child is not None and life.child.returncode is None:
        return True
    state = life.companion.data.running()
    return state is not None and process.same(state.pid, state.identity)


def _signal(life: _Life, number: signal.Signals) -> None:
    if life.child is not None and life.child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            life.child.send_signal(number)
        return
    state = life.companion.data.running()
    if state is not None:
        with contextlib.suppress(PermissionError):
            process.send(state.pid, state.identity, number)
