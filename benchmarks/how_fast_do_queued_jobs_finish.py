"""How fast do short jobs go all the way: submitted, queued, admitted, run, finished?

Jobs of /bin/true, submitted in bulk to a node with its store on disk: Workload, admission, pod, binding, process, exit code, Finished; so many
running at once as the node has CPUs. And the same programs as one array: a Job with an index for each, which is one Workload, and a pod, a process
and an exit code per index. Beside them, in the same round: a bare loop of posix_spawn, a bare loop of our shim (what the processes and
their records cost without any of that), HyperQueue (all programs in one of its jobs) and a Slurm array where they are installed. Processor time is
that of everything that took part, the programs too.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmarks import peers, probes, stores
from benchmarks.how_fast_do_processes_start import IN_FLIGHT, SHIM, SPAWN, Watch, shims_per_second, spawned_per_second
from benchmarks.result import Measure, Result, Rounds, Sample
from fairway.api.client import BulkItem, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.node import Node
from fairway.runtime.memory import keep_what_is_loaded
from fairway.sdk.request import JobRequest, job_object

JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
ALL_THE_WAY = "jobs, submitted in bulk → finished"
ARRAY = "one array, submitted → finished"
FINISHED = "one job on an idle node, submitted → finished"
RUNNING = "one job on an idle node, submitted → running"
_BULK = 250
_SLURM_SHARE = 10
"""Slurm is given so much less to do, to be done in the same time."""


def run(quick: bool) -> list[Result]:
    count, times = (1_000, 20) if quick else (10_000, 200)
    missing = peers.missing()
    measures: dict[str, Measure] = {
        SPAWN: lambda: spawned_per_second(count),
        SHIM: lambda: shims_per_second(count),
        ALL_THE_WAY: lambda: stores.run(lambda: _jobs_per_second(count)),
        ARRAY: lambda: stores.run(lambda: _array_per_second(count)),
        peers.HYPERQUEUE: lambda: peers.hyperqueue(count, IN_FLIGHT),
        peers.SLURM: lambda: peers.slurm(count // _SLURM_SHARE, IN_FLIGHT),
    }
    rounds = Rounds({name: measures[name] for name in measures if name not in missing}, quick=quick, count=1)
    note = f"{count:,} jobs, {IN_FLIGHT} at once"
    results = [
        rounds.result(SHIM, "runs/s", beside=SPAWN, note=f"{count:,}, {IN_FLIGHT} at once"),
        rounds.result(ALL_THE_WAY, "jobs/s", beside=SHIM, aim=0.7, aim_for="ratio", note=note),
        rounds.result(
            ARRAY, "tasks/s", beside=SHIM, aim=0.7, aim_for="ratio", note=f"{count:,} indexes, {IN_FLIGHT} at once"
        ),
    ]
    for peer in (peers.HYPERQUEUE, peers.SLURM):
        if peer not in missing:
            results.append(rounds.result(ALL_THE_WAY, "jobs/s", beside=peer, aim=1.0, aim_for="ratio", note=note))
            results.append(rounds.result(ARRAY, "tasks/s", beside=peer, aim=1.0, aim_for="ratio"))
    absent = [f"{peer}: not measured: {why}" for peer, why in missing.items()]
    results[1].note = "; ".join([note, *absent])
    return [*results, *_alone(times)]


def _alone(times: int) -> list[Result]:
    finished, running = stores.run(lambda: _milliseconds(times))
    note = f"{times} jobs, submitted one after another"
    return [
        Result(name=FINISHED, value=_percentile(finished, 50), unit="ms p50", more_is_better=False, note=note),
        Result(name=RUNNING, value=_percentile(running, 50), unit="ms p50", more_is_better=False, note=note),
        Result(name=RUNNING, value=_percentile(running, 99), unit="ms p99", more_is_better=False, note=note),
    ]


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


class Cluster:
    """A node with as many CPUs as others get."""

    def __init__(self, folder: Path) -> None:
        self._node = Node(folder, machine=Declared(cpu=str(IN_FLIGHT), memory="64Gi"))

    async def __aenter__(self) -> LocalClient:
        await self._node.start()
        keep_what_is_loaded()
        return LocalClient(self._node.spaces[0], "benchmark")

    async def __aexit__(self, *_: object) -> None:
        await self._node.stop()


def _job(name: str, *command: str) -> dict[str, object]:
    return job_object(JobRequest(list(command), name=name, cpu=1))


async def _jobs_per_second(count: int) -> Sample:
    with probes.folder() as folder:
        async with Cluster(folder) as client:
            watch = Watch()
            finished = asyncio.ensure_future(_all_finished(client, count))
            for start in range(0, count, _BULK):
                numbers = range(start, min(start + _BULK, count))
                items = [BulkItem("create", JOBS, _job(f"true-{number}", "/bin/true")) for number in numbers]
                for result in await client.bulk(items):
                    assert not isinstance(result, ApiError), result
            await finished
            return watch.per_second(count)


async def _array_per_second(count: int) -> Sample:
    request = JobRequest(["/bin/true"], name="all", cpu=1, array=f"0-{count - 1}%{IN_FLIGHT}")
    with probes.folder() as folder:
        async with Cluster(folder) as client:
            watch = Watch()
            finished = asyncio.ensure_future(_all_finished(client, 1))
            await client.create(JOBS, job_object(request))
            await finished
            return watch.per_second(count)


async def _all_finished(client: LocalClient, count: int) -> None:
    """The last that is said of a job: its Workload is Finished."""
    finished: set[str] = set()
    async for event in client.watch(WORKLOADS, Query("default")):
        if b'"type":"Finished"' in event.item.value:
            assert b'"reason":"Succeeded"' in event.item.value, event.item.json()
            finished.add(event.item.meta.name)
            if len(finished) == count:
                return


async def _milliseconds(times: int) -> tuple[list[float], list[float]]:
    """Until one job is finished, and until its process is known to run."""
    with probes.folder() as folder:
        async with Cluster(folder) as client:
            await _one(client, "first", "/bin/true", until=b'"Complete"', of=JOBS)
            finished = [
                await _one(client, f"true-{number}", "/bin/true", until=b'"Complete"', of=JOBS)
                for number in range(times)
            ]
            running = [
                await _one(client, f"sleep-{number}", "/bin/sleep", "0.2", until=b'"phase":"Running"', of=PODS)
                for number in range(times)
            ]
            return finished, running


async def _one(client: LocalClient, name: str, *command: str, until: bytes, of: Resource) -> float:
    """Milliseconds until an object of this job says so. Returns when the job is done, so that the next one finds the node idle."""
    query = {JOBS: Query("default", fields=f"metadata.name={name}"), PODS: Query("default", f"job-name={name}")}
    said = asyncio.ensure_future(_said(client, of, query[of], until))
    done = asyncio.ensure_future(_said(client, JOBS, query[JOBS], b'"Complete"'))
    await asyncio.sleep(0)
    clock = time.perf_counter()
    await client.create(JOBS, _job(name, *command))
    at = await said
    await done
    return (at - clock) * 1e3


async def _said(client: LocalClient, resource: Resource, query: Query, what: bytes) -> float:
    async for event in client.watch(resource, query):
        if what in event.item.value:
            return time.perf_counter()
    raise RuntimeError(f"the watch on {resource.plural} ended before it said {what!r}")
