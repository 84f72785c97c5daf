"""The records of runs as the engine has them: what it writes into them, what it can tell from them, and what is beside them.

Where everything is: fairway.engines.places. What a record is: fairway.engines.record; where: fairway.engines.books.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fairway.engines import places, procs
from fairway.engines.books import Books, Slot
from fairway.engines.engine import RunState, RunStatus
from fairway.engines.group import Group
from fairway.engines.machine import BOOT_ID, boot_clock, reach
from fairway.engines.record import ROOM_BYTES, Record, begin

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


class Named(msgspec.Struct):
    """What of a spec says whose it is."""

    id: str


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


@dataclass(frozen=True, slots=True)
class Look:
    """What a run's record tells."""

    status: RunStatus
    claimed: bool = False
    orphaned: bool = False
    """Claimed, and neither alive nor finished: to be settled."""
    shim: Claim | None = None
    payload: Payload | None = None


_NAMED = msgspec.json.Decoder(Named)
_CLAIM = msgspec.json.Decoder(Claim)
_PAYLOAD = msgspec.json.Decoder(Payload)


class Runs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = str(folder)
        self._runs = f"{folder}/{places.RUNS}"
        self._books = Books(self._runs)
        self._slots: dict[str, Slot] = {}
        self._boot = BOOT_ID

    def order(self, run_id: str) -> str:
        """By which a shim finds the run's record."""
        slot = self._slots[run_id]
        return f"{run_id} {slot.book} {slot.base} {slot.size}"

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
        unused = []
        for slot in self._books.open():
            record = Record(self._books.path(slot.book), slot.base, slot.size, os.O_RDONLY)
            run_id = _id(record)
            spoilt = run_id is None and record.is_locked()
            record.close()
            if spoilt:  # Whoever runs there will still write how it ended.
                continue
            # One that could not be written durably may be there beside what was written later; at most one was ever claimed.
            if run_id is None or (run_id in self._slots and not record.claimed):
                unused.append(slot)
                continue
            if run_id in self._slots:
                unused.append(self._slots[run_id])
            self._slots[run_id] = slot
        self._books.give_back(unused)
        self._clear({name for place in _BESIDE for name in os.listdir(f"{self._root}/{place}")} - self._slots.keys())
        return sorted(self._slots)

    def spec(self, run_id: str) -> dict[str, object] | None:
        """None: it is forgotten."""
        try:
            record = self._record(run_id, os.O_RDONLY)
        except FileNotFoundError:
            return None
        record.close()
        spec: dict[str, object] = msgspec.json.decode(record.spec, type=dict)
        return spec

    def _record(self, run_id: str, flags: int = os.O_RDWR) -> Record:
        try:
            slot = self._slots[run_id]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), run_id) from None
        record = Record(self._books.path(slot.book), slot.base, slot.size, flags)
        # It may have been forgotten this instant, and its slot be that of another.
        if _id(record) != run_id:
            record.close()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), run_id)
        return record

    @property
    def runs_short(self) -> bool:
        return self._books.runs_short

    def make_room(self) -> None:
        """For records to come. Where there is none, whoever wants it will be told."""
        with contextlib.suppress(OSError):
            if self.runs_short:
                self._books.add()

    def write(self, specs: Sequence[tuple[str, bytes]]) -> None:
        """Durably, all of them."""
        taken: dict[str, Slot] = {}
        try:
            for run_id, spec in specs:
                taken[run_id] = self._books.take(len(begin(spec)) + ROOM_BYTES)
            self._books.write((taken[run_id], begin(spec)) for run_id, spec in specs)
        except OSError:
            with contextlib.suppress(OSError):
                self._books.give_back(taken.values())
            raise
        self._slots |= taken
        reach("engine-wrote-spec")

    def look(self, run_id: str) -> Look:
        """Finished, running, never started, or orphaned."""
        starting = RunStatus(run_id, RunState.STARTING)
        try:
            record = self._record(run_id, os.O_RDONLY)
        except OSError:
            return Look(starting)
        try:
            if not record.claimed:
                return Look(starting)
            if (status := _status(record)) is not None:
                return Look(status, claimed=True)
            claim, payload = _claim(record), _payload(record)
            if (claim is None or claim.boot == self._boot) and record.is_locked():
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
            record = self._record(run_id)
        except OSError:
            return None
        try:
            if record.is_locked():
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
            record.add(msgspec.to_builtins(status))
            record.sync()
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
        place, draft = f"{self._root}/{places.STOPS}/{run_id}", f"{self._root}/stop.new"
        until = boot_clock() + max(grace_s, 0.0)
        with contextlib.suppress(OSError, ValueError):
            until = min(until, float(os.readlink(place)))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        os.symlink(repr(until), draft)
        os.rename(draft, place)

    def remove(self, run_ids: Iterable[str]) -> None:
        """Their records, durably, before anything else of them: what is left of a run must never look like one to start."""
        removed = list(run_ids)
        by_book: dict[str, list[str]] = {}
        for run_id in removed:
            if run_id in self._slots:
                by_book.setdefault(self._slots[run_id].book, []).append(run_id)
        for theirs in by_book.values():
            # Once it is given back it is anybody's: should the next book fail, this one is done with.
            self._books.give_back([self._slots[run_id] for run_id in theirs])
            for run_id in theirs:
                del self._slots[run_id]
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


def _id(record: Record) -> str | None:
    """None: there is no whole spec."""
    try:
        return _NAMED.decode(record.spec).id if record.whole else None
    except msgspec.DecodeError:
        return None


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
