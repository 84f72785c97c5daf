"""How fast does a node go on after kill -9, with 100,000 Jobs queued and 100 running, and is each run exactly once?

A real node over HTTP. It is killed; one of the jobs that run ends while nobody looks; the node is started again. Measured: until the next queued
job runs, which takes that everything is loaded, the end noticed, its quota freed and the next one admitted and started. Jobs write their own
starts and ends to a file that the node knows nothing of, so what is lost or run twice is counted there. Beside it: the bare rows read with sqlite3.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import probes, servers, stores
from benchmarks.result import Result
from fairway.api.client import BulkItem, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.remote import RemoteClient
from fairway.runtime.datadir import DataDir
from fairway.sdk.connect import connect
from fairway.sdk.request import JobRequest, job_object

JOBS = Resource("batch", "v1", "jobs")
QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", False)
RUNNING = 100
_BULK = 500
_PATIENCE_SECONDS = 900
_LOOK_SECONDS = 0.01
_GO_ON = 200
"""Queued jobs that must have run after the restart before we count."""


def run(quick: bool) -> list[Result]:
    queued = 10_000 if quick else 100_000
    with probes.folder() as folder:
        found = stores.run(lambda: _measure(folder, queued))
    note = (
        f"{queued:,} queued, {RUNNING} running; in {found.queued_seconds:.0f} s queued; the API answered after "
        f"{found.ready_seconds:.2f} s; {found.counted:,} runs counted outside"
    )
    return [
        Result(
            name="kill -9 → the next queued job runs",
            value=found.seconds,
            unit="s",
            more_is_better=False,
            probe="s, rows read with bare sqlite3",
            probe_value=found.bare_seconds,
            ratio=found.seconds / found.bare_seconds,
            cpu_us=found.cpu_seconds * 1e6,
            aim=5.0,
            note=note,
        ),
        Result(name="lost", value=found.lost, unit="jobs", more_is_better=False, aim=0),
        Result(name="run twice", value=found.twice, unit="jobs", more_is_better=False, aim=0),
    ]


@dataclass(slots=True)
class Found:
    queued_seconds: float = 0.0
    seconds: float = 0.0
    ready_seconds: float = 0.0
    cpu_seconds: float = 0.0
    bare_seconds: float = 0.0
    lost: int = 0
    twice: int = 0
    counted: int = 0


class Outside:
    """What jobs write themselves, where no node looks: a line at their start, a line at their end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._diary = folder / "diary"
        self._diary.touch()

    def job(self, number: int, *, waits: bool) -> dict[str, object]:
        begin, end = f"echo start {number} >> {self._diary}", f"echo end {number} >> {self._diary}"
        wait = f"read line < {self._gate(number)};" if waits else ""
        if waits:
            os.mkfifo(self._gate(number))
        request = JobRequest(["/bin/sh", "-c", f"{begin}; {wait} {end}"], name=f"job-{number}", cpu=1)
        return job_object(request)

    def open_gate(self, number: int) -> None:
        """The job that waits there goes on to its end. Raises OSError if none does."""
        gate = os.open(self._gate(number), os.O_WRONLY | os.O_NONBLOCK)
        os.write(gate, b"go\n")
        os.close(gate)

    def _gate(self, number: int) -> Path:
        return self._folder / f"gate-{number}"

    def read(self) -> tuple[Counter[int], Counter[int]]:
        starts: Counter[int] = Counter()
        ends: Counter[int] = Counter()
        for line in self._diary.read_text().splitlines():
            what, _, number = line.partition(" ")
            (starts if what == "start" else ends)[int(number)] += 1
        return starts, ends

    def started(self) -> int:
        return self._diary.read_bytes().count(b"start")

    def ended(self) -> int:
        return self._diary.read_bytes().count(b"end")


async def _measure(folder: Path, queued: int) -> Found:
    data, found = folder / "node", Found()
    outside = Outside(folder)
    with _node(data) as killed:
        async with _client(data) as client:
            await _submit(client, [outside.job(number, waits=True) for number in range(RUNNING)])
            await _until(lambda: outside.started() == RUNNING, "not all jobs run that should")
            clock = time.perf_counter()
            for start in range(RUNNING, RUNNING + queued, _BULK):
                numbers = range(start, min(start + _BULK, RUNNING + queued))
                await _submit(client, [outside.job(number, waits=False) for number in numbers])
            await _all_wait(client, queued)
            found.queued_seconds = time.perf_counter() - clock
        killed.kill()
    outside.open_gate(0)
    await _until(lambda: outside.ended() == 1, "the job whose gate is open does not end")
    found.bare_seconds = _bare_seconds(data)
    clock = time.perf_counter()
    with _node(data) as server:
        found.ready_seconds = time.perf_counter() - clock
        await _until(lambda: outside.started() > RUNNING, "nothing more is started")
        found.seconds, found.cpu_seconds = time.perf_counter() - clock, server.cpu_seconds()
        for number in range(1, RUNNING):
            outside.open_gate(number)
        await _until(lambda: outside.ended() >= RUNNING + _GO_ON, "queued jobs do not go on")
        async with _client(data) as client:
            there = await _names(client)
    await _until(lambda: outside.started() == outside.ended(), "started jobs do not end")
    return _counted(found, outside, there, queued)


def _counted(found: Found, outside: Outside, there: set[str], queued: int) -> Found:
    starts, ends = outside.read()
    absent = {f"job-{number}" for number in range(RUNNING + queued)} - there
    unended = [number for number in range(RUNNING) if starts[number] and not ends[number]]
    found.lost = len(absent) + len(unended)
    found.twice = sum(times > 1 for times in starts.values())
    found.counted = sum(starts.values())
    return found


@contextmanager
def _node(folder: Path) -> Iterator[servers.Server]:
    with servers.node(folder, "--cpu", str(RUNNING), "--memory", "64Gi") as server:
        yield server


class _client:
    """To the node that serves the folder now."""

    def __init__(self, folder: Path) -> None:
        self._remote: RemoteClient = connect(DataDir.at(str(folder)).kubeconfig, servers.CONTEXT)

    async def __aenter__(self) -> RemoteClient:
        return self._remote

    async def __aexit__(self, *_: object) -> None:
        await self._remote.close()


async def _submit(client: RemoteClient, bodies: list[dict[str, object]]) -> None:
    for result in await client.bulk([BulkItem("create", JOBS, body) for body in bodies]):
        assert not isinstance(result, ApiError), result


async def _all_wait(client: RemoteClient, queued: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    pending = -1
    while pending != queued:
        if time.monotonic() > until:
            raise RuntimeError(f"{pending} of {queued} jobs are queued after {_PATIENCE_SECONDS} s")
        await asyncio.sleep(0.2)
        pending = (await client.get(QUEUES, "default")).json().get("status", {}).get("pendingWorkloads", 0)


async def _names(client: RemoteClient) -> set[str]:
    names: set[str] = set()
    resume = ""
    while True:
        page = await client.list(JOBS, limit=5_000, resume=resume)
        names.update(_name(item) for item in page.items)
        resume = page.resume
        if not resume:
            return names


def _name(item: Item) -> str:
    return item.meta.name


def _bare_seconds(data: Path) -> float:
    """Every row of the node's store, read and thrown away."""
    clock = time.perf_counter()
    with sqlite3.connect(next(data.rglob("store.db"))) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for _ in db.execute(f'SELECT * FROM "{table}"'):
                pass
    db.close()
    return time.perf_counter() - clock


async def _until(holds: Callable[[], bool], trouble: str) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > until:
            raise RuntimeError(f"{trouble}, not within {_PATIENCE_SECONDS} s")
        await asyncio.sleep(_LOOK_SECONDS)
