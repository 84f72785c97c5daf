"""How fast do short jobs go all the way: submitted, queued, admitted, run, finished?

Jobs of /bin/true, submitted in bulk to a node with its store on disk: Workload, admission, pod, binding, process, exit code, Finished. Beside it, in
the same rounds, a bare loop of our shim: what the processes and their records cost without any of that.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmarks import probes, stores
from benchmarks.how_fast_do_processes_start import SHIM, _shims_per_second
from benchmarks.result import Result, Rounds, Sample
from fairway.api.client import BulkItem, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.node import Node
from fairway.runtime.memory import keep_what_is_loaded
from fairway.sdk.request import JobRequest, job_object

JOBS = Resource("batch", "v1", "jobs")
ALL_THE_WAY, LATENCY = "jobs, submitted in bulk → finished", "one job on an idle node, submitted → finished"
_BULK = 250


def run(quick: bool) -> list[Result]:
    count = 100 if quick else 2_000
    rounds = Rounds(
        {
            SHIM: lambda: _shims_per_second(count),
            ALL_THE_WAY: lambda: stores.run(lambda: _jobs_per_second(count)),
            LATENCY: lambda: stores.run(lambda: _ms_to_finish(5 if quick else 30)),
        },
        quick=quick,
        count=3,
    )
    return [
        rounds.result(
            ALL_THE_WAY, "jobs/s", beside=SHIM, aim=0.7, aim_for="ratio", note=f"{count} jobs, default queue"
        ),
        rounds.result(LATENCY, "ms", more_is_better=False, note="the median of jobs submitted one after another"),
    ]


class _Cluster:
    """A node with a machine of many CPUs, so that the queue is never what holds jobs up."""

    def __init__(self, folder: Path) -> None:
        self._node = Node(folder, machine=Declared(cpu="64", memory="64Gi"))

    async def __aenter__(self) -> LocalClient:
        await self._node.start()
        keep_what_is_loaded()
        return LocalClient(self._node.spaces[0], "benchmark")

    async def __aexit__(self, *_: object) -> None:
        await self._node.stop()


def _job(number: int) -> dict[str, object]:
    return job_object(JobRequest(["/bin/true"], name=f"true-{number}", cpu=1))


async def _jobs_per_second(count: int) -> Sample:
    with probes.folder() as folder:
        async with _Cluster(folder) as client:
            clock, cpu = time.perf_counter(), time.process_time()
            finished = asyncio.ensure_future(_all_complete(client, count))
            for start in range(0, count, _BULK):
                items = [BulkItem("create", JOBS, _job(number)) for number in range(start, min(start + _BULK, count))]
                for result in await client.bulk(items):
                    assert not isinstance(result, ApiError), result
            await finished
            seconds = time.perf_counter() - clock
            return Sample(count / seconds, (time.process_time() - cpu) / count * 1e6)


async def _all_complete(client: LocalClient, count: int) -> None:
    complete: set[str] = set()
    async for event in client.watch(JOBS, Query("default")):
        status = event.item.json().get("status") or {}
        ended = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        assert "Failed" not in ended, status
        if "Complete" in ended:
            complete.add(event.item.meta.name)
        if len(complete) == count:
            return


async def _ms_to_finish(times: int) -> float:
    with probes.folder() as folder:
        async with _Cluster(folder) as client:
            taken = []
            for number in range(times):
                clock = time.perf_counter()
                ended = asyncio.ensure_future(_complete(client, f"true-{number}"))
                await asyncio.sleep(0)
                await client.create(JOBS, _job(number))
                await ended
                taken.append((time.perf_counter() - clock) * 1e3)
            return sorted(taken)[len(taken) // 2]


async def _complete(client: LocalClient, name: str) -> None:
    async for event in client.watch(JOBS, Query("default", fields=f"metadata.name={name}")):
        if b'"Complete"' in event.item.value:
            return
