"""How fast do short processes start, end and leave their record?

2,000 × /bin/true through the process engine: spec, claim and record durable, output kept, every exit heard of. Beside it, in the same rounds: a
bare loop of our shim (forked, claims and records, nobody asks or listens), and a bare loop of posix_spawn (no record, no log, nothing durable).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import probes, stores
from benchmarks.result import Result, Rounds, Sample
from fairway.engines import places
from fairway.engines.engine import RunSpec, RunState
from fairway.engines.machine import descendants
from fairway.engines.process import ProcessEngine
from fairway.engines.runs import Runs

IN_FLIGHT = 32
SOURCE = Path(__file__).resolve().parents[1] / "src"
SPAWN, SHIM, ENGINE = "bare posix_spawn loop", "bare shim loop", "through the engine"
FIRST = "an idle engine, asked → known to run"

BARE_SHIM = """
import gc, os, sys
sys.path.insert(0, sys.argv[1])
from fairway.engines import shim
gc.freeze(); gc.disable()
folder, in_flight = sys.argv[2], int(sys.argv[3])
orders = open(folder + "/orders").read().splitlines()
count = len(orders)
done, is_done = os.pipe()
pipes = {}
for number in range(min(count, in_flight)):
    reader, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for other in (pipe, *pipes.values()):
            os.close(other)
        os._exit(shim.serve(reader, folder, is_done))
    os.close(reader)
    os.write(pipe, orders[number].encode())
    pipes[pid] = pipe
for number in range(in_flight, count):
    word = b""
    while not word.endswith(b"f\\n"):
        word = b"" if word.endswith(b"\\n") else word
        word += os.read(done, 1)
    os.write(pipes[int(word[:-2])], orders[number].encode())
for pipe in pipes.values():
    os.close(pipe)
for pid in pipes:
    os.waitpid(pid, 0)
"""


def run(quick: bool) -> list[Result]:
    count = 200 if quick else 2_000
    rounds = Rounds(
        {
            SPAWN: lambda: spawned_per_second(count),
            SHIM: lambda: shims_per_second(count),
            ENGINE: lambda: stores.run(lambda: _runs_per_second(count)),
            FIRST: lambda: stores.run(lambda: _ms_to_running(10 if quick else 50)),
        },
        quick=quick,
        count=3,
    )
    return [
        rounds.result(SHIM, "runs/s", beside=SPAWN),
        rounds.result(
            ENGINE, "runs/s", beside=SHIM, aim=0.7, aim_for="ratio", note=f"{IN_FLIGHT} in flight in all three"
        ),
        rounds.result(FIRST, "ms", more_is_better=False, note="the median of runs asked for one after another"),
    ]


class Watch:
    """Clock, and the processor time of all that took part: ourselves, all processes below us, and those that each of them waited for."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), _cpu_s()

    def per_second(self, count: int) -> Sample:
        cpu_s = _cpu_s() - self._cpu
        return Sample(count / (time.perf_counter() - self._clock), cpu_s / count * 1e6)


def _cpu_s() -> float:
    """Who is waited for moves from its own account to that of its parent: the sum stays."""
    ourselves = os.getpid()
    return sum(_cpu_of_s(pid) for pid in (ourselves, *descendants(ourselves)))


def _cpu_of_s(pid: int) -> float:
    """Of a process and of those that it waited for; nothing of one that ended just now."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def spawned_per_second(count: int) -> Sample:
    watch, running = Watch(), 0
    for _ in range(count):
        if running == IN_FLIGHT:
            os.wait()
            running -= 1
        os.posix_spawn("/bin/true", ["true"], {})
        running += 1
    while running:
        os.wait()
        running -= 1
    return watch.per_second(count)


def shims_per_second(count: int) -> Sample:
    with probes.folder() as folder:
        places.make(str(folder))
        runs = Runs(folder)
        runs.write(
            [(str(number), json.dumps({"id": str(number), "argv": ["/bin/true"]}).encode()) for number in range(count)]
        )
        (folder / "orders").write_text("\n".join(runs.order(str(number)) for number in range(count)))
        command = [sys.executable, "-I", "-S", "-c", BARE_SHIM, str(SOURCE), str(folder), str(IN_FLIGHT)]
        watch = Watch()
        subprocess.run(command, check=True)
        sample = watch.per_second(count)
        ended = sum(runs.look(str(number)).status.final for number in range(count))
        assert ended == count, f"{count - ended} of {count} shims left no record"
        return sample


async def _runs_per_second(count: int) -> Sample:
    with probes.folder() as folder:
        async with ProcessEngine(folder) as engine:
            await engine.ready()
            room = asyncio.Semaphore(IN_FLIGHT)
            watch = Watch()

            async def ask(number: int) -> None:
                await engine.start(RunSpec(f"run-{number}", ("/bin/true",)))

            async def feed() -> None:
                asked = []
                for number in range(count):
                    await room.acquire()
                    asked.append(asyncio.create_task(ask(number)))
                await asyncio.gather(*asked)

            feeding, left = asyncio.create_task(feed()), count
            async for status in engine.watch():
                if status.final:
                    assert status.exit_code == 0, status
                    room.release()
                    left -= 1
                    if not left:
                        break
            await feeding
            return watch.per_second(count)


async def _ms_to_running(count: int) -> float:
    with probes.folder() as folder:
        async with ProcessEngine(folder) as engine:
            await engine.ready()
            heard = engine.watch()
            waits: list[float] = []
            for number in range(count):
                start = time.perf_counter()
                await engine.start(RunSpec(f"run-{number}", ("/bin/sleep", "0.02")))
                async for status in heard:
                    if status.state is RunState.RUNNING or (status.final and len(waits) == number):
                        waits.append(time.perf_counter() - start)
                    if status.final:
                        break
            return sorted(waits)[len(waits) // 2] * 1000
