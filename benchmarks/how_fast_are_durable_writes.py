"""How fast are durable writes to the store, alone and together?

Each write creates a Job of 1 kB and waits until it is on the disk. One writer pays for a commit each time; many share it.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks import probes, stores
from benchmarks.result import Result, Rounds, Sample, Stopwatch
from benchmarks.sample import put_job, put_jobs
from fairway.store import Put, Store

FSYNC = "fsyncs/s"
RAW = "rows/s, raw SQLite batch"


def run(quick: bool) -> list[Result]:
    seconds, bulk = (0.3, 5_000) if quick else (1.0, 20_000)
    rounds = Rounds(
        {
            FSYNC: lambda: probes.fsyncs_per_second(seconds / 2),
            "1 writer": lambda: writes_per_second(1, seconds),
            "32 writers": lambda: writes_per_second(32, seconds),
            RAW: lambda: probes.sqlite_rows_per_second(bulk),
            "bulk, a transaction each": lambda: bulk_per_second(bulk, 1),
            "bulk, transactions of 100": lambda: bulk_per_second(bulk, 100),
            "bulk updates": lambda: updates_per_second(bulk),
        },
        quick=quick,
    )
    return [
        rounds.result("1 writer", "writes/s", beside=FSYNC),
        rounds.result("32 writers", "writes/s", beside=FSYNC),
        rounds.result("bulk, a transaction each", "writes/s", beside=RAW, aim=40_000),
        rounds.result("bulk, transactions of 100", "writes/s", beside=RAW, aim=40_000),
        rounds.result(
            "bulk updates", "writes/s", beside=RAW, note="each replaces what is there; old rows are removed on the way"
        ),
    ]


def writes_per_second(writers: int, seconds: float) -> Sample:
    async def write(store: Store, writer: int, until: float) -> int:
        count = 0
        while time.perf_counter() < until:
            await store.commit([put_job(count, f"writer-{writer}")])
            count += 1
        return count

    async def measure() -> Sample:
        with probes.folder() as folder:
            async with stores.durable_store(folder) as store:
                watch, until = Stopwatch(), time.perf_counter() + seconds
                counts = await asyncio.gather(*(write(store, writer, until) for writer in range(writers)))
                return watch.per_second(sum(counts))

    return stores.run(measure)


def bulk_per_second(count: int, size: int) -> Sample:
    return stores.run(lambda: _bulk(list(put_jobs(count)), size, []))


def updates_per_second(count: int) -> Sample:
    objects = max(1, count // 10)
    first = [put_job(number) for number in range(objects)]
    return stores.run(lambda: _bulk([put_job(number % objects) for number in range(count)], 1, first))


async def _bulk(puts: list[Put], size: int, first: list[Put]) -> Sample:
    """Stage all, waiting only when a lot is on its way, as a controller that applies a plan does."""
    with probes.folder() as folder:
        async with stores.durable_store(folder) as store:
            for put in first:
                store.stage([put])
            if first:
                await store.commit([first[0]])
            watch, staged, waiting = Stopwatch(), None, None
            for number in range(0, len(puts), size):
                staged = store.stage(puts[number : number + size])
                if number % 1000 == 0:
                    if waiting is not None:
                        await waiting.durable()
                    waiting = staged
            if staged is not None:
                await staged.durable()
            return watch.per_second(len(puts))
