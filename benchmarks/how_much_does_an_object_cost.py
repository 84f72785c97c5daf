"""How long does a start take, and how much memory does an object cost, with 100,000 Jobs?

Each in a fresh process, with objects of 1 kB and four labels. Beside the start: reading the same rows with bare sqlite3.
"""

from __future__ import annotations

import gc
import sqlite3
import time
from pathlib import Path

import msgspec

from benchmarks import probes, stores
from benchmarks.fresh import in_fresh_process, resident_bytes
from benchmarks.result import Result, Rounds, Sample
from fairway.store import Store

MILLISECOND = 0.001


class Held(msgspec.Struct):
    seconds: float
    overhead: float
    """Bytes of memory per object beyond its value."""
    longest_pause: float
    """Of the garbage collector, in seconds."""
    cpu_seconds: float = 0.0


def run(quick: bool) -> list[Result]:
    count = 10_000 if quick else 100_000
    with probes.folder() as folder:
        stores.run(lambda: _prepare(folder, count))
        loaded: list[Held] = []
        written: list[Held] = []

        def load() -> Sample:
            loaded.append(in_fresh_process(_load, folder, count))
            return Sample(loaded[-1].seconds, loaded[-1].cpu_seconds * 1e6)

        def write() -> float:
            written.append(in_fresh_process(_write, count))
            return written[-1].seconds

        raw, start, fill = "s, rows read with bare sqlite3", f"start with {count:,} objects", f"write {count:,} objects"
        rounds = Rounds(
            {raw: lambda: in_fresh_process(_raw_read, folder), start: load, fill: write}, quick=quick, count=3
        )
    return [
        rounds.result(start, "s", beside=raw, more_is_better=False, aim=3.0),
        _overhead("memory per object after a start", loaded),
        _overhead("memory per object after writing them", written),
        _pause("longest collector pause during a start", loaded),
        _pause("longest collector pause while writing", written),
    ]


def _overhead(name: str, held: list[Held]) -> Result:
    value = max(each.overhead for each in held)
    note = "beyond the bytes of its value; the greatest of all rounds"
    return Result(name=name, value=value, unit="B", more_is_better=False, aim=600, note=note)


def _pause(name: str, held: list[Held]) -> Result:
    value = max(each.longest_pause for each in held) / MILLISECOND
    return Result(name=name, value=value, unit="ms", more_is_better=False, aim=50, note="the longest of all rounds")


async def _prepare(folder: Path, count: int) -> None:
    async with stores.durable_store(folder) as store:
        await stores.fill(store, count)


def _raw_read(folder: Path) -> Sample:
    start, cpu = time.perf_counter(), time.process_time()
    db = sqlite3.connect(folder / "store.db")
    rows = db.execute("SELECT revision, flags, bucket, path, head, value FROM log ORDER BY revision").fetchall()
    db.close()
    assert rows
    return Sample(time.perf_counter() - start, (time.process_time() - cpu) * 1e6)


class Pauses:
    """The collector's pauses. In time of this thread: that another process was given the processor is not a pause of ours."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._start = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._start = time.thread_time()
        else:
            self.longest = max(self.longest, time.thread_time() - self._start)


def _load(folder: Path, count: int) -> Held:
    async def measure() -> Held:
        gc.collect()
        before, pauses, start, cpu = resident_bytes(), Pauses(), time.perf_counter(), time.process_time()
        async with stores.durable_store(folder) as store:
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
            held = _held(store, count, before, pauses, seconds)
            held.cpu_seconds = cpu_seconds
            return held

    return stores.run(measure)


def _write(count: int) -> Held:
    async def measure() -> Held:
        gc.collect()
        with probes.folder() as folder:
            before, pauses, start = resident_bytes(), Pauses(), time.perf_counter()
            async with stores.durable_store(folder) as store:
                await stores.fill(store, count)
                seconds = time.perf_counter() - start
                return _held(store, count, before, pauses, seconds)

    return stores.run(measure)


def _held(store: Store, count: int, before: int, pauses: Pauses, seconds: float) -> Held:
    records = store.records("jobs.batch")
    assert len(records) == count
    values = sum(len(record.value) for record in records)
    del records
    gc.collect()
    return Held(seconds, (resident_bytes() - before - values) / count, pauses.longest)
