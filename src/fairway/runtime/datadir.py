"""The one folder that holds everything: where things are in it, whose it is at the moment, what its launcher last wrote.

The lock is the truth about who owns the folder. Launcher and node both hold it, so that a store is never opened twice, not even
in the moment after a launcher was killed and before its node noticed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from fairway.runtime import process, sockets
from fairway.runtime.status import Problem, SpaceInfo

_ORPHAN_PATIENCE_S = 5.0
_ORPHAN_KILL_AFTER_S = 3.0
_RETRY_S = 0.02

Phase = Literal["starting", "serving", "restarting", "stopping", "stopped"]


class LauncherState(msgspec.Struct, rename="camel", kw_only=True):
    """What a launcher writes about itself. The port outlives it: the folder keeps its address."""

    pid: int = 0
    identity: str = ""
    phase: Phase = "starting"
    host: str = ""
    port: int = 0
    tls: bool = True
    version: str = ""
    started_at: float = 0.0
    node_pid: int = 0
    node_identity: str = ""
    restarts: int = 0
    spaces: tuple[SpaceInfo, ...] = ()

    @property
    def alive(self) -> bool:
        return self.phase != "stopped" and process.same(self.pid, self.identity)

    @property
    def node_alive(self) -> bool:
        return process.same(self.node_pid, self.node_identity)

    @property
    def url(self) -> str:
        return sockets.url(self.host, self.port, tls=self.tls) if self.port else ""


class _Owner(msgspec.Struct):
    pid: int
    identity: str


class AlreadyRunning(Problem):
    pass


@dataclass(frozen=True, slots=True)
class DataDir:
    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None) -> DataDir:
        """The folder as given, else as the environment says, else the user's own."""
        return cls(Path(os.path.abspath(Path(path).expanduser())) if path else default_path(os.environ))

    @property
    def state_file(self) -> Path:
        return self.path / "launcher.json"

    @property
    def lock_file(self) -> Path:
        return self.path / "lock"

    @property
    def log_file(self) -> Path:
        return self.path / "node.log"

    @property
    def tls(self) -> Path:
        return self.path / "tls"

    @property
    def spaces(self) -> Path:
        return self.path / "spaces"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def fleet_file(self) -> Path:
        """What the folder was started as; without it, one cluster."""
        return self.path / "fleet.json"

    def cluster(self, name: str) -> DataDir:
        """The folder of a cluster that runs beside the hub of this one."""
        return DataDir(self.path / "clusters" / name)

    def store(self, space: str) -> Path:
        return self.spaces / space / "store.db"

    def create(self) -> None:
        """Raises Problem for a folder that cannot be used, before anything depends on it."""
        with self._explained("use"):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(self._open_lock())

    def read_state(self) -> LauncherState | None:
        """None where nothing was ever started, or what is written there cannot be read."""
        try:
            return msgspec.json.decode(self.state_file.read_bytes(), type=LauncherState)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise self._problem("read", error) from error

    def write_state(self, state: LauncherState) -> None:
        temporary = self.state_file.with_name(f".{self.state_file.name}.{os.getpid()}")
        try:
            temporary.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
            temporary.replace(self.state_file)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def running(self) -> LauncherState | None:
        """The state of the launcher that runs here now, as far as it can be told without touching its lock."""
        state = self.read_state()
        if state is not None and state.alive:
            return state
        owner = self._owner()
        if owner is None or not process.same(owner.pid, owner.identity):
            return None
        if state is not None and (state.pid, state.identity, state.phase) == (owner.pid, owner.identity, "stopped"):
            return None  # It has said goodbye, and is about to be gone.
        return LauncherState(pid=owner.pid, identity=owner.identity)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Owns the folder. Yields the lock's descriptor, to hand on to the node."""
        with self._explained("use"):
            fd = self._open_lock()
        try:
            self._acquire(fd)
            with self._explained("write to"):
                self._sign(fd)
            yield fd
        finally:
            os.close(fd)

    def _open_lock(self) -> int:
        return os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _acquire(self, fd: int) -> None:
        """Takes the lock. Refuses when a launcher has it; waits for the orphaned node of a dead one."""
        started = time.monotonic()
        while not self._try(fd):
            running = self.running()
            if running is not None:
                raise AlreadyRunning(
                    f"Fairway already runs on {self.path} (pid {running.pid}{', ' + running.url if running.url else ''})",
                    "stop it first with fairway down, or give another folder with --data DIR",
                )
            waited = time.monotonic() - started
            if waited > _ORPHAN_PATIENCE_S:
                raise AlreadyRunning(
                    f"{self.path} is locked by another process, perhaps on another machine or in another container",
                    "stop Fairway there, or give another folder with --data DIR",
                )
            if waited > _ORPHAN_KILL_AFTER_S and (state := self.read_state()):
                process.send(state.node_pid, state.node_identity, signal.SIGKILL)
            time.sleep(_RETRY_S)

    def _try(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._problem("lock", error) from error
        return True

    def _sign(self, fd: int) -> None:
        pid = os.getpid()
        os.ftruncate(fd, 0)
        os.pwrite(fd, msgspec.json.encode(_Owner(pid, process.identity(pid) or "")) + b"\n", 0)

    def _owner(self) -> _Owner | None:
        try:
            return msgspec.json.decode(self.lock_file.read_bytes(), type=_Owner)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    @contextlib.contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._problem(verb, error) from error

    def _problem(self, verb: str, error: OSError) -> Problem:
        other = "give another folder with --data DIR"
        if error.errno in (errno.EACCES, errno.EPERM):
            return Problem(
                f"cannot {verb} {self.path}: permission denied", f"make it yours (chown, chmod u+rwx), or {other}"
            )
        if error.errno == errno.EROFS:
            return Problem(f"cannot {verb} {self.path}: it is on a read-only file system", other)
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            return Problem(f"cannot {verb} {self.path}: it, or a folder above it, is a file", other)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Problem(f"cannot {verb} {self.path}: no space left", f"make room, or {other}")
        return Problem(f"cannot {verb} {self.path}: {error.strerror or error}", other)


def default_path(environment: Mapping[str, str]) -> Path:
    given = environment.get("FAIRWAY_DATA")
    if given:
        return Path(os.path.abspath(Path(given).expanduser()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "fairway"
    data_home = environment.get("XDG_DATA_HOME", "")
    # The XDG rules say to ignore a relative path.
    return (Path(data_home) if os.path.isabs(data_home) else Path.home() / ".local" / "share") / "fairway"
