"""How fast does a whole node start with 100,000 Jobs, and what do they weigh there, controllers and all?

The Jobs name no queue, so nobody acts upon them; the controllers look at each. In a fresh process, until requests can be answered;
memory once everybody has caught up. Beside it: the same folder with a single Job.
"""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

from benchmarks import probes, stores
from benchmarks.fresh import in_fresh_process, resident_bytes
from benchmarks.how_much_does_an_object_cost import MILLISECOND, Held, Pauses
from benchmarks.result import Result, Rounds, Sample
from fairway.node import Node
from fairway.runtime.memory import keep_what_is_loaded

SETTLED_CPU = 0.01
_LOOK_SECONDS = 0.25


def run(quick: bool) -> list[Result]:
    count = 10_000 if quick else 100_000
    held: list[Held] = []
    with probes.folder() as full, probes.folder() as empty:
        for folder, number in ((full, count), (empty, 1)):
            (folder / "spaces" / "default").mkdir(parents=True)
            stores.run(lambda folder=folder, number=number: _prepare(folder / "spaces" / "default", number))  # type: ignore[misc]
            in_fresh_process(_start, folder, number)  # the first start writes what a space begins with

        def measure(folder: Path, number: int) -> Sample:
            found = in_fresh_process(_start, folder, number)
            if number == count:
                held.append(found)
            return Sample(found.seconds, found.cpu_seconds * 1e6)

        alone, start = "s with one object", f"start with {count:,} objects"
        rounds = Rounds({alone: lambda: measure(empty, 1), start: lambda: measure(full, count)}, quick=quick, count=3)
    note = f"processor time: {min(each.cpu_seconds for each in held):.2f} s"
    return [
        rounds.result(start, "s", beside=alone, more_is_better=False, aim=3.0, note=note),
        Result(
            name="memory per object, all controllers",
            value=min(each.overhead for each in held),
            unit="B",
            more_is_better=False,
            note="beyond the bytes of its value",
        ),
        Result(
            name="longest collector pause",
            value=max(each.longest_pause for each in held) / MILLISECOND,
            unit="ms",
            more_is_better=False,
            aim=50,
        ),
    ]


async def _prepare(folder: Path, count: int) -> None:
    async with stores.durable_store(folder) as store:
        await stores.fill(store, count)


def _start(folder: Path, count: int) -> Held:
    async def measure() -> Held:
        gc.collect()
        before, pauses = resident_bytes(), Pauses()
        start, cpu = time.perf_counter(), time.process_time()
        node = Node(folder)
        await node.start()
        keep_what_is_loaded()
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        await _settled()
        values = sum(len(record.value) for record in node.spaces[0].store.records("jobs.batch"))
        held = Held(seconds, (resident_bytes() - before - values) / count, pauses.longest, cpu_seconds)
        await node.stop()
        return held

    return stores.run(measure)


async def _settled() -> None:
    """Until nobody has anything to do any more."""
    quiet = 0
    while quiet < 4:
        cpu = time.process_time()
        await asyncio.sleep(_LOOK_SECONDS)
        quiet = quiet + 1 if time.process_time() - cpu < SETTLED_CPU else 0
