"""How fast are durable writes to the store, alone and together?

Each write creates a Job of 1 kB and waits until it is on the disk. One writer pays for a commit each time; many share it.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks import probes, stores
from benchmarks.result import Result, rounds
from benchmarks.sample import put_job, put_jobs
from fairway.store import Put, Store


def run(quick: bool) -> list[Result]:
    seconds, bulk = (0.3, 5_000) if quick else (1.0, 20_000)
    values = rounds(
        {
            "fsync": lambda: probes.fsyncs_per_second(seconds / 2),
            "one": lambda: writes_per_second(1, seconds),
            "many": lambda: writes_per_second(32, seconds),
            "raw": lambda: probes.sqlite_rows_per_second(bulk),
            "bulk": lambda: bulk_per_second(bulk, 1),
            "bulk of 100": lambda: bulk_per_second(bulk, 100),
            "updates": lambda: updates_per_second(bulk),
        },
        quick=quick,
    )
    fsync, raw = values["fsync"], values["raw"]
    unit = "writes/s"
    fsync_probe, raw_probe = "fsyncs/s", "SQLite rows/s, raw batch"
    return [
        Result(name="durable writes, 1 writer", value=values["one"], unit=unit, probe=fsync_probe, probe_value=fsync),
        Result(
            name="durable writes, 32 writers", value=values["many"], unit=unit, probe=fsync_probe, probe_value=fsync
        ),
        Result(
            name="bulk, a transaction each",
            value=values["bulk"],
            unit=unit,
            probe=raw_probe,
            probe_value=raw,
            aim=40_000,
        ),
        Result(
            name="bulk, transactions of 100",
            value=values["bulk of 100"],
            unit=unit,
            probe=raw_probe,
            probe_value=raw,
            aim=40_000,
        ),
        Result(
            name="bulk updates with history",
            value=values["updates"],
            unit=unit,
            probe=raw_probe,
            probe_value=raw,
            note="each replaces what is there; old rows are removed on the way",
        ),
    ]


def writes_per_second(writers: int, seconds: float) -> float:
    async def write(store: Store, writer: int, until: float) -> int:
        count = 0
        while time.perf_counter() < until:
            await store.commit([put_job(count, f"writer-{writer}")])
            count += 1
        return count

    async def measure() -> float:
        with probes.folder() as folder:
            async with stores.durable_store(folder) as store:
                start = time.perf_counter()
                counts = await asyncio.gather(*(write(store, writer, start + seconds) for writer in range(writers)))
                return sum(counts) / (time.perf_counter() - start)

    return stores.run(measure)


def bulk_per_second(count: int, size: int) -> float:
    return stores.run(lambda: _bulk(list(put_jobs(count)), size, []))


def updates_per_second(count: int) -> float:
    objects = max(1, count // 10)
    first = [put_job(number) for number in range(objects)]
    return stores.run(lambda: _bulk([put_job(number % objects) for number in range(count)], 1, first))


async def _bulk(puts: list[Put], size: int, first: list[Put]) -> float:
    """Stage all, waiting only when a lot is on its way, as a controller that applies a plan does."""
    with probes.folder() as folder:
        async with stores.durable_store(folder) as store:
            for put in first:
                store.stage([put])
            if first:
                await store.commit([first[0]])
            start, staged, waiting = time.perf_counter(), None, None
            for number in range(0, len(puts), size):
                staged = store.stage(puts[number : number + size])
                if number % 1000 == 0:
                    if waiting is not None:
                        await waiting.durable()
                    waiting = staged
            if staged is not None:
                await staged.durable()
            return len(puts) / (time.perf_counter() - start)
