"""How fast are jobs that a hub hands to three clusters, beside the same jobs submitted to the clusters themselves?

Everything is real: `fairway up --clusters 3` with a process for the hub and for each cluster, TLS between them, stores on disk, the hub's own
default queue, which chooses clusters by score. Direct: three clusters of the same sizes without a hub, each given a third of the same jobs at
the same times. All share the machine, so what the processor time of a job is, hub, clusters, launchers and programs together, decides.

Running is when the cluster's pod says so, seen by a watch of its own; finished is when the Job says so where it was submitted.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks import fleets, probes, stores
from benchmarks.result import Result, Rounds, Sample
from fairway.api.client import BulkItem, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.remote import RemoteClient
from fairway.sdk.request import JobRequest, job_object

JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
EQUAL = ("8:16Gi", "8:16Gi", "8:16Gi")
DIFFERENT = ("2:4Gi", "4:8Gi", "8:16Gi")
CPUS = 14
DIRECT = "jobs/s directly"
FLEET = "through the hub, submitted → running"
_BULK = 240
_SLEEP_S = 2
_STARTED = re.compile(rb'"phase":"(?:Running|Succeeded|Failed)"')
_JOB_OF = re.compile(rb'"batch.kubernetes.io/job-name":"([^"]+)"')
_COMPLETE = re.compile(rb'"type":"Complete"')


@dataclass
class Run:
    """What came of one lot of jobs. Times are those of the clock, from the first submission on."""

    submitted: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0
    calls: int = 0
    """Requests that the hub made of its clusters meanwhile, those that have nothing to do with jobs among them."""

    def rate(self, until: dict[str, float]) -> float:
        return len(until) / (max(until.values()) - min(self.submitted.values()))

    def latency_s(self, percent: int) -> float:
        waits = sorted(self.running[name] - at for name, at in self.submitted.items())
        return waits[min(len(waits) - 1, len(waits) * percent // 100)]

    @property
    def sample(self) -> Sample:
        return Sample(self.rate(self.running), self.cpu_s / len(self.submitted) * 1e6)


def run(quick: bool) -> list[Result]:
    count, times = (300, 10) if quick else (1_000, 100)
    runs: dict[str, list[Run]] = {DIRECT: [], FLEET: []}

    def measured(name: str) -> Sample:
        with _place(name, EQUAL) as (folders, processes, clusters):
            made = stores.run(lambda: _no_ops(folders, processes, clusters, count))
        runs[name].append(made)
        return made.sample

    rounds = Rounds({name: lambda name=name: measured(name) for name in runs}, quick=quick, count=3)
    return [
        rounds.result(FLEET, "jobs/s", beside=DIRECT, aim=0.45, aim_for="ratio", note=f"{count:,} jobs of /bin/true"),
        *_about(runs),
        *_alone(times),
        *_utilisation(20 if quick else 60),
    ]


def _about(runs: dict[str, list[Run]]) -> list[Result]:
    ours, theirs = runs[FLEET], runs[DIRECT]
    done, beside = ([each.rate(each.finished) for each in some] for some in (ours, theirs))
    p99, p99_beside = ([each.latency_s(99) for each in some] for some in (ours, theirs))
    return [
        _beside("through the hub, submitted → finished", done, "jobs/s", "directly", beside),
        _beside("the last of all wait, p99", p99, "s", "directly", p99_beside, more_is_better=False),
        Result(
            name="requests of the hub",
            value=median(each.calls / len(each.submitted) for each in ours),
            unit="per job",
            more_is_better=False,
            aim=10,
            note="everything that its clusters answered while the jobs ran: copies, jobs, deletions, output, leases, lists",
        ),
    ]


def _beside(
    name: str, ours: Sequence[float], unit: str, probe: str, theirs: Sequence[float], *, more_is_better: bool = True
) -> Result:
    return Result(
        name=name,
        value=median(ours),
        unit=unit,
        more_is_better=more_is_better,
        probe=probe,
        probe_value=median(theirs),
        ratio=median(each / beside for each, beside in zip(ours, theirs, strict=True)),
    )


# --- where ------------------------------------------------------------------------------------------------------------

Place = tuple[list[Path], fleets.Processes, list[Path]]
"""Where jobs are submitted, all that takes part, and where they run."""


@contextmanager
def _place(name: str, sizes: Sequence[str]) -> Iterator[Place]:
    if name == FLEET:
        with fleets.fleet(sizes) as (hub, clusters):
            yield [hub], fleets.Processes([hub]), clusters
    else:
        with fleets.alone(sizes) as clusters:
            yield clusters, fleets.Processes(clusters), clusters


class Connected:
    """Clients for a place, and watches on what happens there."""

    def __init__(self, submit: list[Path], processes: fleets.Processes, clusters: list[Path]) -> None:
        self._to, self.processes, self._clusters = submit, processes, clusters
        self._open = AsyncExitStack()
        self._watches: list[asyncio.Task[None]] = []
        self.run = Run()

    async def __aenter__(self) -> Connected:
        self.fronts = [await self._client(folder) for folder in self._to]
        self.clusters = [await self._client(folder) for folder in self._clusters]
        if self._is_fleet:
            await fleets.healthy(self.fronts[0], len(self.clusters))
        for each in self.clusters:
            self._follow(each, PODS, _STARTED, "running")
        for each in self.fronts:
            self._follow(each, JOBS, _COMPLETE, "finished")
        await asyncio.sleep(0.5)  # until the watches are there
        return self

    @property
    def _is_fleet(self) -> bool:
        return self._to != self._clusters

    async def _client(self, folder: Path) -> RemoteClient:
        made = fleets.client(folder)
        self._open.push_async_callback(made.close)
        return made

    def _follow(self, client: RemoteClient, resource: Resource, says: re.Pattern[bytes], what: str) -> None:
        async def follow() -> None:
            async for event in client.watch(resource, Query("default")):
                if event.type in ("ADDED", "MODIFIED") and says.search(event.item.value):
                    of_pod = _JOB_OF.search(event.item.value) if resource == PODS else None
                    name = of_pod[1].decode() if of_pod is not None else event.item.meta.name
                    getattr(self.run, what).setdefault(name, time.perf_counter())

        task = asyncio.get_running_loop().create_task(follow())
        self._watches.append(task)
        self._open.push_async_callback(_ended, task)

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def submit(self, jobs: Sequence[dict[str, object]]) -> None:
        """In bulk, evenly to all of the places."""
        shares = [jobs[number :: len(self.fronts)] for number in range(len(self.fronts))]
        await asyncio.gather(*(self._bulk(*each) for each in zip(self.fronts, shares, strict=True)))

    async def _bulk(self, client: RemoteClient, jobs: Sequence[dict[str, object]]) -> None:
        at = time.perf_counter()
        self.run.submitted |= dict.fromkeys((str(job["metadata"]["name"]) for job in jobs), at)  # type: ignore[index]
        for result in await client.bulk([BulkItem("create", JOBS, job) for job in jobs]):
            assert not isinstance(result, ApiError), result

    async def done(self, seconds: float = 600.0) -> None:
        async def all_are() -> bool:
            for watch in self._watches:
                if watch.done():
                    watch.result()
            return self.run.submitted.keys() <= self.run.finished.keys() & self.run.running.keys()

        await fleets.eventually(all_are, "all jobs are finished", seconds)

    async def calls(self) -> int:
        """Of the hub, of its clusters."""
        if not self._is_fleet:
            return 0
        return sum([(await fleets.requests(each)).total() for each in self.clusters])


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _job(name: str, *command: str) -> dict[str, object]:
    return job_object(JobRequest(list(command), name=name, cpu=1))


# --- many, and one ----------------------------------------------------------------------------------------------------


async def _no_ops(submit: list[Path], processes: fleets.Processes, clusters: list[Path], count: int) -> Run:
    async with Connected(submit, processes, clusters) as place:
        await place.submit([_job(f"first-{number}", "/bin/true") for number in range(3)])
        await place.done()
        place.run = Run()
        before, calls = processes.cpu_seconds(), await place.calls()
        for start in range(0, count, _BULK):
            await place.submit(
                [_job(f"true-{number}", "/bin/true") for number in range(start, min(start + _BULK, count))]
            )
        await place.done()
        place.run.cpu_s = processes.cpu_seconds() - before
        place.run.calls = await place.calls() - calls
        return place.run


def _alone(times: int) -> list[Result]:
    """One job after another, each on an idle fleet."""
    waits: dict[str, Run] = {}
    for name in (DIRECT, FLEET):
        with _place(name, EQUAL) as place:
            waits[name] = stores.run(lambda place=place: _one_by_one(*place, times))
    found = []
    for percent in (50, 99):
        ours, beside = (waits[name].latency_s(percent) * 1e3 for name in (FLEET, DIRECT))
        found.append(
            _beside(
                "one job, submitted → running", [ours], f"ms p{percent}", "directly", [beside], more_is_better=False
            )
        )
    return found


async def _one_by_one(submit: list[Path], processes: fleets.Processes, clusters: list[Path], times: int) -> Run:
    async with Connected(submit, processes, clusters) as place:
        for number in range(times + 1):
            await place._bulk(place.fronts[number % len(place.fronts)], [_job(f"one-{number}", "/bin/true")])
            await place.done()
            if number == 0:
                place.run = Run()
        return place.run


# --- are the clusters busy? -------------------------------------------------------------------------------------------


def _utilisation(seconds: int) -> list[Result]:
    """Jobs of two seconds, enough to keep every CPU of three different clusters busy for so long."""
    found: dict[str, tuple[float, float]] = {}
    count = CPUS * seconds // _SLEEP_S
    for name in (DIRECT, FLEET):
        with probes.folder() as folder, _place(name, DIFFERENT) as place:
            times = folder / "times"
            stores.run(lambda place=place, times=times: _sleepers(*place, count, times))
            found[name] = utilisation(times.read_text(), CPUS)
    note = f"{count} jobs of {_SLEEP_S} s on {CPUS} CPUs; busy is what the jobs themselves wrote down"
    return [
        Result(
            name=what,
            value=found[FLEET][index] * 100,
            unit="% of the CPUs",
            probe="directly",
            probe_value=found[DIRECT][index] * 100,
            ratio=found[FLEET][index] / found[DIRECT][index],
            aim=95 if index == 0 else None,
            note=note,
        )
        for index, what in enumerate(("busy while jobs wait", "busy from first to last"))
    ]


async def _sleepers(
    submit: list[Path], processes: fleets.Processes, clusters: list[Path], count: int, times: Path
) -> None:
    """Direct: each cluster is given as many as it has CPUs for."""
    script = f'date +"%s.%N b" >> {times}; sleep {_SLEEP_S}; date +"%s.%N e" >> {times}'
    async with Connected(submit, processes, clusters) as place:
        jobs = [_job(f"sleep-{number}", "/bin/sh", "-c", script) for number in range(count)]
        if len(place.fronts) == 1:
            await place.submit(jobs)
        else:
            parts = (jobs[: count // 7], jobs[count // 7 : count * 3 // 7], jobs[count * 3 // 7 :])
            await asyncio.gather(*(place._bulk(*each) for each in zip(place.fronts, parts, strict=True)))
        await place.done()


def utilisation(text: str, cpus: int) -> tuple[float, float]:
    """Of lines with the times when a job began and ended: the share of the CPUs that was busy from the moment when all were first busy,
    or should have been, until the last job began; and from the first moment to the last."""
    changes = sorted((float(at), 1 if what == "b" else -1) for at, what in (line.split() for line in text.splitlines()))
    begins = [at for at, what in changes if what > 0]
    full, last = begins[min(cpus, len(begins)) - 1], begins[-1]
    return _busy(changes, full, last) / (cpus * (last - full)), _busy(changes, 0, changes[-1][0]) / (
        cpus * (changes[-1][0] - changes[0][0])
    )


def _busy(changes: Sequence[tuple[float, int]], since: float, until: float) -> float:
    """CPU seconds between two moments."""
    total, running, before = 0.0, 0, changes[0][0]
    for at, change in changes:
        total += running * max(0.0, min(at, until) - max(before, since))
        running, before = running + change, at
    return total
