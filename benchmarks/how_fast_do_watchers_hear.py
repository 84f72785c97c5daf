"""How fast do a hundred watchers in the same process hear of every write?

Beside it: the same number of plain asyncio queues, each handed the same events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks import probes, stores
from benchmarks.result import Result, Rounds, Sample, Stopwatch
from benchmarks.sample import put_job
from fairway.store import Store

WATCHERS = 100
QUEUES = "events/s, asyncio queues"


def run(quick: bool) -> list[Result]:
    count = 300 if quick else 2_000
    single, batched = "events to 100 watchers, one by one", "events to 100 watchers, bursts of 50"
    rounds = Rounds(
        {
            QUEUES: lambda: stores.run(lambda: _through_queues(count)),
            single: lambda: stores.run(lambda: _through_watches(count, 1)),
            batched: lambda: stores.run(lambda: _through_watches(count, 50)),
        },
        quick=quick,
    )
    return [rounds.result(single, "events/s", beside=QUEUES), rounds.result(batched, "events/s", beside=QUEUES)]


async def _through_queues(count: int) -> Sample:
    queues: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(WATCHERS)]

    async def read(queue: asyncio.Queue[int]) -> None:
        for _ in range(count):
            await queue.get()

    readers = [asyncio.ensure_future(read(queue)) for queue in queues]
    await asyncio.sleep(0)
    watch = Stopwatch()
    for number in range(count):
        for queue in queues:
            queue.put_nowait(number)
        await asyncio.sleep(0)
    await asyncio.gather(*readers)
    return watch.per_second(count * WATCHERS)


async def _through_watches(count: int, burst: int) -> Sample:
    with probes.folder() as folder:
        async with stores.durable_store(folder) as store:
            readers = [asyncio.ensure_future(_read(store, count)) for _ in range(WATCHERS)]
            await asyncio.sleep(0)
            watch = Stopwatch()
            for number in range(0, count, burst):
                await store.commit([put_job(number + offset) for offset in range(burst)])
            heard: Sequence[int] = await asyncio.gather(*readers)
            return watch.per_second(sum(heard))


async def _read(store: Store, count: int) -> int:
    watch, heard = store.watch("jobs.batch", store.revision), 0
    while heard < count:
        heard += len(await watch.next())
    return heard
