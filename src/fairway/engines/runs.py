"""The records of runs as the engine has them: what it writes into them, what it can tell from them, and what is beside them.

Where everything is: fairway.engines.places. What a record is: fairway.engines.record.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fairway.engines import places, procs
from fairway.engines.engine import RunState, RunStatus
from fairway.engines.group import Group
from fairway.engines.machine import BOOT_ID, boot_clock, reach
from fairway.engines.record import Record, begin

_SYNCED_AT_ONCE = 16
_BESIDE = (places.STOPS, places.LOGS, places.OLDER_LOGS, places.WORK)
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
    """Who runs it."""

    boot: str
    pid: int
    start: int


class Payload(msgspec.Struct):
    """Which process it is."""

    pid: int
    start: int
    at: float


class Stop(msgspec.Struct):
    """A wish to end a run: when its grace is over, on the boot's clock."""

    until: float


@dataclass(frozen=True, slots=True)
class Look:
    """What a run's record tells."""

    status: RunStatus
    claimed: bool = False
    orphaned: bool = False
    """Claimed, and neither alive nor finished: to be settled."""
    shim: Claim | None = None
    payload: Payload | None = None


_CLAIM = msgspec.json.Decoder(Claim)
_PAYLOAD = msgspec.json.Decoder(Payload)


class Runs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = str(folder)
        self._runs = f"{folder}/{places.RUNS}"
        self._boot = BOOT_ID
        self._syncing = ThreadPoolExecutor(_SYNCED_AT_ONCE, thread_name_prefix="engine-sync")

    def output(self, run_id: str) -> tuple[Path, Path]:
        """The newer and the older."""
        return self.folder / places.LOGS / run_id, self.folder / places.OLDER_LOGS / run_id

    def work(self, run_id: str) -> Path:
        return self.folder / places.WORK / run_id

    def mark(self, run_id: str) -> str:
        """What its processes carry in their environment."""
        return f"{self._runs}/{run_id}"

    def open(self) -> list[str]:
        """The ids of all runs. What was being made or removed when the engine was killed goes now."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        places.make(self._root)
        found = []
        for run_id in sorted(os.listdir(self._runs)):
            if self.spec(run_id) is not None:
                found.append(run_id)
            else:
                os.unlink(f"{self._runs}/{run_id}")
        known = set(found)
        self._clear({name for place in _BESIDE for name in os.listdir(f"{self._root}/{place}")} - known)
        return found

    def spec(self, run_id: str) -> dict[str, object] | None:
        try:
            record = Record(f"{self._runs}/{run_id}", os.O_RDONLY)
        except FileNotFoundError:
            # Any other trouble is raised: what cannot be read now must not be taken for what was never written.
            return None
        record.close()
        try:
            spec: dict[str, object] = msgspec.json.decode(record.spec, type=dict)
        except msgspec.DecodeError:
            return None
        return spec if record.whole else None

    def write(self, specs: Sequence[tuple[str, bytes]]) -> None:
        """Durably, all of them. Synced side by side, for the disk then takes many at the price of one."""
        opened: list[int] = []
        try:
            for run_id, spec in specs:
                opened.append(
                    os.open(f"{self._runs}/{run_id}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
                )
                reach("engine-made-record")
                _write_all(opened[-1], begin(spec))
            if len(opened) == 1:
                os.fsync(opened[0])
            else:
                list(self._syncing.map(os.fsync, opened))
            reach("engine-wrote-spec")
        finally:
            for fd in opened:
                os.close(fd)
        _sync(self._runs)

    def close(self) -> None:
        self._syncing.shutdown()

    def look(self, run_id: str) -> Look:
        """Finished, running, never started, or orphaned."""
        starting = RunStatus(run_id, RunState.STARTING)
        try:
            record = Record(f"{self._runs}/{run_id}", os.O_RDONLY)
        except OSError:
            return Look(starting)
        try:
            if not record.claimed:
                return Look(starting)
            if (status := _status(record)) is not None:
                return Look(status, claimed=True)
            claim, payload = _claim(record), _payload(record)
            if (claim is None or claim.boot == self._boot) and not record.lock(fcntl.LOCK_SH):
                if payload is None:
                    return Look(starting, claimed=True, shim=claim)
                running = replace(starting, state=RunState.RUNNING, pid=payload.pid, started_at=payload.at)
                return Look(running, claimed=True, shim=claim, payload=payload)
            # It may have recorded and gone between our look at the record and our look at the lock.
            record.look()
            if (status := _status(record)) is not None:
                return Look(status, claimed=True)
            return Look(starting, claimed=True, orphaned=True, shim=claim, payload=_payload(record))
        finally:
            record.close()

    def settle(self, run_id: str) -> RunStatus | None:
        """Ends what an orphaned run left behind and records it as lost. None where it is not orphaned after all. OSError: try again later."""
        try:
            record = Record(f"{self._runs}/{run_id}")
        except OSError:
            return None
        try:
            if not record.lock():
                return None
            record.look()
            if (status := _status(record)) is not None:
                return status
            claim, payload = _claim(record), _payload(record)
            here = claim is None or claim.boot == self._boot
            if here:
                self._end_leftovers(run_id, record, payload)
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
            record.try_to_finish(msgspec.to_builtins(status))
            return status
        finally:
            record.close()

    def _end_leftovers(self, run_id: str, record: Record, payload: Payload | None) -> None:
        group = Group(msgspec.json.decode(record.spec, type=dict).get("cgroup"))
        group.adopt()
        group.kill()
        procs.end_marked(self.mark(run_id), payload.pid if payload else 0, payload.start if payload else 0)
        group.remove()

    def ask_to_stop(self, run_id: str, grace_s: float) -> None:
        """For the shim to find, now or when it claims the run; a later wish never prolongs. Not synced: no run outlives the machine."""
        place, draft = self.folder / places.STOPS / run_id, self.folder / "stop.new"
        until = boot_clock() + max(grace_s, 0.0)
        with contextlib.suppress(OSError, msgspec.DecodeError):
            until = min(until, msgspec.json.decode(place.read_bytes(), type=Stop).until)
        draft.write_bytes(msgspec.json.encode(Stop(until)))
        draft.replace(place)

    def remove(self, run_ids: Iterable[str]) -> None:
        """Their records, durably, before anything else of them: what is left of a run must never look like one to start."""
        removed = list(run_ids)
        for run_id in removed:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._runs}/{run_id}")
        _sync(self._runs)
        reach("engine-forgetting")
        self._clear(removed)

    def _clear(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            for place in (places.STOPS, places.LOGS, places.OLDER_LOGS):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{self._root}/{place}/{run_id}")
            try:
                os.rmdir(f"{self._root}/{places.WORK}/{run_id}")
            except FileNotFoundError:
                pass
            except OSError:
                shutil.rmtree(f"{self._root}/{places.WORK}/{run_id}", ignore_errors=True)


def _status(record: Record) -> RunStatus | None:
    """The last line, if that is what it is: the others have no state."""
    if not record.lines:
        return None
    try:
        return _STATUS.decode(record.lines[-1])
    except msgspec.DecodeError:
        return None


def _claim(record: Record) -> Claim | None:
    """None: it is not whole."""
    try:
        return _CLAIM.decode(record.lines[0])
    except (IndexError, msgspec.DecodeError):
        return None


def _payload(record: Record) -> Payload | None:
    """None: it has not started, as far as is known."""
    try:
        return _PAYLOAD.decode(record.lines[1])
    except (IndexError, msgspec.DecodeError):
        return None


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
