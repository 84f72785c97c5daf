"""kill -9 at any moment: nothing acknowledged is lost, revisions never go back, streams stay whole."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fairway.store import Store
from fairway.store.sqlite import SqliteLog

ROUNDS = 10
WRITERS = 8
SLOTS = 40


class Report(msgspec.Struct):
    """What the writing process says after a write was acknowledged."""

    path: str
    revision: int
    deleted: bool
    sequence: int
    writer: int


WRITER = """
import asyncio, os, random, sys
from pathlib import Path
import msgspec
from fairway.runtime.disk import ThreadDisk
from fairway.store import Append, Delete, Put, Store, Trim
from fairway.store.sqlite import SqliteLog

folder, pipe, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
WRITERS, SLOTS = int(sys.argv[4]), int(sys.argv[5])
encode = msgspec.json.Encoder().encode

async def write(store, number, chance):
    stream = f"runs-{number}"
    while True:
        path = f"ns-{number}/{chance.randrange(SLOTS)}"
        text = b"x" * chance.choice((10, 1000, 20_000))
        value = b'{"metadata":{"resourceVersion":""},"data":"%s"}' % text
        there = store.latest("things", path)
        delete = there is not None and chance.random() < 0.3
        op = Delete("things", path) if delete else Put("things", path, value, labels=("writer", str(number)))
        ops = [op, Append(stream, path.encode()), Put("beats", f"ns/{number}", b"{}", volatile=True)]
        staged = store.stage(ops)
        sequence = staged.sequences[0]
        if sequence % 50 == 0:
            ops = store.stage([Trim(stream, sequence - 40)])
        await staged.durable()
        os.write(pipe, encode([path, staged.records[0].revision, delete, sequence, number]) + b"\\n")

async def main():
    store = Store(SqliteLog(folder / "s.db"), ThreadDisk(), history_events=200)
    await store.open()
    os.write(pipe, encode(["", store.revision, False, 0, 0]) + b"\\n")
    await asyncio.gather(*(write(store, number, random.Random(seed + number)) for number in range(WRITERS)))

asyncio.run(main())
"""


def reports(pipe: int) -> Iterator[Report]:
    """Whole lines only: the last one may have been cut by the kill."""
    with os.fdopen(pipe, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield Report(*msgspec.json.decode(line, type=tuple[str, int, bool, int, int]))


def write_and_kill(folder: Path, seed: int, chance: random.Random) -> list[Report]:
    reading, writing = os.pipe()
    arguments = [str(folder), str(writing), str(seed), str(WRITERS), str(SLOTS)]
    source = Path(__file__).parents[2] / "src"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], pass_fds=[writing], env={**os.environ, "PYTHONPATH": str(source)}
    )
    os.close(writing)
    # The moment is counted in acknowledged writes, so that a slow machine is killed in the middle of work too.
    remaining = chance.choice((1, 2, chance.randrange(3, 400)))
    told: list[Report] = []
    for report in reports(reading):
        told.append(report)
        remaining -= 1
        if remaining == 0:
            process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the writer ended by itself"
    return told


async def opened(folder: Path) -> Store:
    store = Store(SqliteLog(folder / "s.db"))
    await store.open()
    return store


def test_nothing_acknowledged_is_lost_over_many_kills(tmp_path: Path) -> None:
    chance = random.Random(4711)
    folder = tmp_path / "data"
    folder.mkdir()
    newest = 0
    acknowledged: dict[str, Report] = {}
    streams: dict[int, dict[int, str]] = {number: {} for number in range(WRITERS)}

    for seed in range(ROUNDS):
        told = write_and_kill(folder, seed * 1000, chance)
        assert told[0].revision >= newest, "a start goes on above everything that was acknowledged"
        for report in told[1:]:
            assert report.revision > told[0].revision
            newest = max(newest, report.revision)
            if report.path not in acknowledged or acknowledged[report.path].revision < report.revision:
                acknowledged[report.path] = report
            assert report.sequence not in streams[report.writer], "a sequence number is never used twice"
            streams[report.writer][report.sequence] = report.path
        # A copy is looked at: opening and closing the folder itself would tidy up what the kill left behind.
        copy = tmp_path / f"after-{seed}"
        shutil.copytree(folder, copy)
        asyncio.run(verify(copy, newest, acknowledged, streams))
        shutil.rmtree(copy)


async def verify(
    folder: Path, newest: int, acknowledged: dict[str, Report], streams: dict[int, dict[int, str]]
) -> None:
    store = await opened(folder)
    assert store.revision >= newest
    for path, report in list(acknowledged.items()):
        record = store.get("things", path)
        unheard = untold(store, path, report)
        if unheard is not None:
            acknowledged[path] = report = unheard
        if report.deleted:
            assert record is None, f"{path} was deleted at {report.revision} and is back"
            continue
        assert record is not None, f"{path} was acknowledged at {report.revision} and is lost"
        assert record.revision == report.revision
        assert b'"resourceVersion":"%d"' % record.revision in record.value
    for writer, told in streams.items():
        items = dict(store.read(f"runs-{writer}", limit=10**9))
        numbers = list(items)
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else not told
        for sequence in [number for number in told if numbers and number >= numbers[0]]:
            assert items[sequence].decode() == told[sequence]
        if told:
            assert numbers[-1] >= max(told)
    await store.close()


def untold(store: Store, path: str, report: Report) -> Report | None:
    """A later change of the same object that was committed, and killed before it was told: among the last in the history."""
    for event in reversed(store.bucket("things").events):
        if event.record.path == path:
            if event.revision <= report.revision:
                return None
            return Report(path, event.revision, event.deleted, 0, report.writer)
    return None
