"""What every engine can do, and what a run is.

A run (a *PodRun*) is one start of one container. Its id is chosen by the caller and remembered by the engine, so that after any crash the
caller asks what became of the id instead of guessing. Starting the same id twice starts it once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class RunState(StrEnum):
    """Where a run is. EXITED, FAILED and LOST are final."""

    STARTING = "starting"
    """Asked for; whether the command runs is not known yet."""
    RUNNING = "running"
    EXITED = "exited"
    """The command ended; exit_code or signal says how."""
    FAILED = "failed"
    """The command never ran: not found, not executable, no such folder; reason and message say why."""
    LOST = "lost"
    """It was claimed and did not leave a record: the machine or the shim died. It may or may not have run to its end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use; None is no limit."""

    cpu_millis: int | None = None
    memory_bytes: int | None = None
    open_files: int | None = None
    processes: int | None = None
    log_bytes: int = 64 << 20
    """Of output kept, in two files that take turns."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the machine that the run finds at a path below its working folder, or at an absolute path where that can be."""

    source: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class RunSpec:
    id: str
    """Letters, digits, '.', '_' and '-'; at most 200."""
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    """Empty: the run's own folder."""
    limits: Limits = Limits()
    mounts: tuple[Mount, ...] = ()
    lease: str = ""
    """A file that must be renewed while the run goes on; empty: none. The shim ends the run when it is out of date."""
    lease_since: float = 0.0
    """The term of the lease that the run was granted in (see fairway.engines.lease): it never runs in a later one. 0: in any."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    id: str
    state: RunState
    pid: int = 0
    started_at: float = 0.0
    """Seconds since 1970; 0: not started."""
    finished_at: float = 0.0
    exit_code: int | None = None
    """As Kubernetes counts: 128 + signal for a run that was killed."""
    signal: int = 0
    reason: str = ""
    """Completed, Error, OOMKilled, LeaseExpired, StartError, ContainerCannotRun …"""
    message: str = ""
    cpu_seconds: float = 0.0
    memory_bytes_max: int = 0

    @property
    def final(self) -> bool:
        return self.state in (RunState.EXITED, RunState.FAILED, RunState.LOST)


@dataclass(frozen=True, slots=True)
class Check:
    """A look at how a run does: a command beside it, or a request to a port, or only a connection."""

    argv: tuple[str, ...] = ()
    """With the run's variables, in its folder."""
    host: str = ""
    port: int = 0
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    secure: bool = False


class Engine(Protocol):
    async def start(self, run: RunSpec) -> None:
        """Returns when the engine will remember the id. Repeating it is harmless, at any time, after any crash."""
        ...

    async def stop(self, run_id: str, grace_seconds: float) -> None:
        """Ask the run to end, and end it with all its processes when the grace is over. Returns at once; the status tells."""
        ...

    async def list(self) -> list[RunStatus]:
        """Every run that the engine remembers."""
        ...

    def watch(self) -> AsyncIterator[RunStatus]:
        """First every remembered run, then each change, for ever. A consumer that is slow sees the latest state of each run."""
        ...

    def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        """Output in pieces as it was written, stdout and stderr together. Ends at the end of the run, or of what there is."""
        ...

    async def check(self, run_id: str, check: Check, seconds: float) -> str:
        """Empty if all is well; otherwise what is not, also if there is no answer in time."""
        ...

    async def forget(self, run_id: str) -> None:
        """Remove all trace of a final run."""
        ...
