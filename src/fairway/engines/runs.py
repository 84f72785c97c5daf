"""The folders of runs: what the engine writes into them and what it can tell from them.

runs/ID/  spec      what to run, durable before anybody is asked to run it
          claim     who runs it; locked while its shim lives
          stop      a wish to end it
          status    how it ended
          log.0 log.1 work/
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fairway.engines import procs
from fairway.engines.engine import RunState, RunStatus
from fairway.engines.folder import Folder
from fairway.engines.group import Group
from fairway.engines.machine import BOOT_ID, boot_clock, reach, read_small

_SYNCED_AT_ONCE = 16
_STATUS = msgspec.json.Decoder(RunStatus)
_ID = re.compile(r"[A-Za-z0-9._-]{1,200}", re.ASCII)


class BadRun(ValueError):
    """What was asked for can never be run, by whomever it is asked again."""


def checked_id(run_id: str) -> str:
    if not _ID.fullmatch(run_id) or run_id in (".", ".."):
        raise BadRun(
            f"{run_id[:80]!r} cannot name a run: use 1 to 200 letters, digits, '.', '_' and '-', and not '.' or '..'"
        )
    return run_id


class Claim(msgspec.Struct):
    """The claim's first line."""

    boot: str
    pid: int
    start: int


class Payload(msgspec.Struct):
    """Its second line, there once the payload runs."""

    pid: int
    start: int
    at: float


class Stop(msgspec.Struct):
    """A wish to end a run: when its grace is over, on the boot's clock."""

    until: float


@dataclass(frozen=True, slots=True)
class Look:
    """What a run's folder tells."""

    status: RunStatus
    claimed: bool = False
    orphaned: bool = False
    """Claimed, and neither alive nor finished: to be settled."""
    shim: Claim | None = None
    payload: Payload | None = None


class Runs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"
        self._root = str(self.folder)
        self._trash = folder / "trash"
        self._boot = BOOT_ID
        self._syncing = ThreadPoolExecutor(_SYNCED_AT_ONCE, thread_name_prefix="engine-sync")

    def path(self, run_id: str) -> Path:
        return self.folder / checked_id(run_id)

    def open(self) -> list[str]:
        """The ids of all runs. What was being made or removed when the engine was killed goes now."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._trash.mkdir(exist_ok=True, mode=0o700)
        self._empty_trash()
        found = []
        for entry in sorted(os.scandir(self.folder), key=lambda entry: entry.name):
            if self.spec(entry.name) is not None or os.path.exists(f"{entry.path}/claim"):
                found.append(entry.name)
            else:
                shutil.rmtree(entry.path, ignore_errors=True)
        return found

    def spec(self, run_id: str) -> dict[str, object] | None:
        try:
            spec: dict[str, object] = msgspec.json.decode(read_small(f"{self._root}/{run_id}/spec"), type=dict)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            # Any other trouble is raised: what cannot be read now must not be taken for what was never written.
            return None
        return spec

    def write(self, specs: Sequence[tuple[str, bytes]]) -> None:
        """Durably, all of them. Synced side by side, for the disk then takes many at the price of one."""
        opened: list[tuple[int, int]] = []
        try:
            for run_id, spec in specs:
                folder = f"{self._root}/{run_id}"
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o700)
                reach("engine-made-folder")
                fd = os.open(f"{folder}/spec", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
                opened.append((fd, os.open(folder, os.O_RDONLY)))
                _write_all(fd, spec)
            list(self._syncing.map(_sync_both, opened))
            reach("engine-wrote-spec")
        finally:
            for pair in opened:
                for fd in pair:
                    os.close(fd)
        _sync(self.folder)

    def close(self) -> None:
        self._syncing.shutdown()

    def look(self, run_id: str) -> Look:
        """Record, lock and claim, in that order: finished, running, never started, or orphaned."""
        path = f"{self._root}/{run_id}"
        if (status := self._recorded(run_id)) is not None:
            return Look(status, claimed=True)
        starting = RunStatus(run_id, RunState.STARTING)
        try:
            fd = os.open(f"{path}/claim", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return Look(starting)
        try:
            claim, payload = _read_claim(fd)
            if (claim is None or claim.boot == self._boot) and not _lockable(fd, fcntl.LOCK_SH):
                if payload is None:
                    return Look(starting, claimed=True, shim=claim)
                running = replace(starting, state=RunState.RUNNING, pid=payload.pid, started_at=payload.at)
                return Look(running, claimed=True, shim=claim, payload=payload)
        finally:
            os.close(fd)
        # It may have recorded and gone between our look at the record and our look at the lock.
        if (status := self._recorded(run_id)) is not None:
            return Look(status, claimed=True)
        return Look(starting, claimed=True, orphaned=True, shim=claim, payload=payload)

    def _recorded(self, run_id: str) -> RunStatus | None:
        try:
            data = read_small(f"{self._root}/{run_id}/status")
        except OSError:
            return None
        try:
            return _STATUS.decode(data)
        except msgspec.DecodeError:
            return RunStatus(run_id, RunState.LOST, reason="Lost", message="its record cannot be read")

    def settle(self, run_id: str) -> RunStatus | None:
        """Ends what an orphaned run left behind and records it as lost. None where it is not orphaned after all. OSError: try again later."""
        path = self.folder / run_id
        try:
            fd = os.open(path / "claim", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if not _lockable(fd, fcntl.LOCK_EX):
                return None
            if (status := self._recorded(run_id)) is not None:
                return status
            claim, payload = _read_claim(fd)
            here = claim is None or claim.boot == self._boot
            if here:
                self._end_leftovers(run_id, payload)
            reach("engine-settling")
            status = RunStatus(
                run_id,
                RunState.LOST,
                pid=payload.pid if payload else 0,
                started_at=payload.at if payload else 0.0,
                finished_at=time.time(),
                reason="Lost",
                message="its shim was killed; whether it did its work is not known"
                if here
                else "the machine restarted while it ran; whether it did its work is not known",
            )
            folder = Folder(str(path))
            try:
                folder.try_to_record(json.loads(msgspec.json.encode(status)))
            finally:
                folder.close()
            return status
        finally:
            os.close(fd)

    def _end_leftovers(self, run_id: str, payload: Payload | None) -> None:
        group = Group((self.spec(run_id) or {}).get("cgroup"))
        group.adopt()
        group.kill()
        procs.end_marked(str(self.folder / run_id), payload.pid if payload else 0, payload.start if payload else 0)
        group.remove()

    def ask_to_stop(self, run_id: str, grace_s: float) -> None:
        """For the shim to find, now or when it claims the run; a later wish never prolongs. Not synced: no run outlives the machine."""
        path = self.folder / run_id
        until = boot_clock() + max(grace_s, 0.0)
        with contextlib.suppress(OSError, msgspec.DecodeError):
            until = min(until, msgspec.json.decode((path / "stop").read_bytes(), type=Stop).until)
        draft = path / f"stop.{os.getpid()}"
        draft.write_bytes(msgspec.json.encode(Stop(until)))
        draft.replace(path / "stop")

    def remove(self, run_ids: Iterable[str]) -> None:
        """Gone under their names, durably, before anything of them is deleted: half a folder must never look like a run to start."""
        moved = []
        for run_id in run_ids:
            target = self._trash / f"{run_id}.{time.time_ns()}"
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.folder / run_id, target)
                moved.append(target)
        _sync(self.folder)
        reach("engine-forgetting")
        for target in moved:
            shutil.rmtree(target, ignore_errors=True)

    def _empty_trash(self) -> None:
        for entry in os.scandir(self._trash):
            shutil.rmtree(entry.path, ignore_errors=True)


def _read_claim(fd: int) -> tuple[Claim | None, Payload | None]:
    """Either may be missing: the file may be looked at while it is written."""
    first, _, rest = os.pread(fd, 4096, 0).partition(b"\n")
    claim = payload = None
    with contextlib.suppress(msgspec.DecodeError):
        claim = msgspec.json.decode(first, type=Claim)
    with contextlib.suppress(msgspec.DecodeError):
        payload = msgspec.json.decode(rest, type=Payload)
    return claim, payload


def _sync_both(fds: tuple[int, int]) -> None:
    for fd in fds:
        os.fsync(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _lockable(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
