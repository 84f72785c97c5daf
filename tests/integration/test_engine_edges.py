"""The process engine where the machine is unkind: a full disk, a clock that jumps, no cgroups, no zygote at all, another event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop
from tests.integration.engine_support import (
    PATIENCE_S,
    disk_of,
    engine_in,
    final,
    output,
    processes_of,
    reached,
    record_of,
    recorded,
    seen,
)
from tests.integration.support import ROOT, asynchronous, eventually

from fairway.engines import places, shim
from fairway.engines.books import SLOTS
from fairway.engines.engine import Limits, RunSpec, RunState
from fairway.engines.process import ProcessEngine
from fairway.engines.record import ROOM_BYTES, SLOT_BYTES, begin


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of("1m", tmp_path / "disk") as disk:
        yield disk


@asynchronous
async def test_a_run_that_fills_the_disk_is_recorded_all_the_same(small_disk: Path) -> None:
    async with engine_in(small_disk) as engine:
        script = "dd if=/dev/zero of=big bs=4k 2>/dev/null; yes | head -c 300000; exit 6"
        await engine.start(RunSpec("full", ("/bin/sh", "-c", script)))
        [status] = await final(engine, "full")
        assert (status.state, status.exit_code) == (RunState.EXITED, 6)
        with pytest.raises(OSError, match="No space left"):
            await engine.start(RunSpec("more", ("true",), env={"LONG": "x" * 100_000}))
        await engine.forget("full")
        await engine.start(RunSpec("more", ("true",)))
        assert [status.exit_code for status in await final(engine, "more")] == [0]


@asynchronous
async def test_a_run_that_filled_the_disk_can_be_stopped(small_disk: Path) -> None:
    async with engine_in(small_disk) as engine:
        script = "trap '' TERM; dd if=/dev/zero of=big bs=4k 2>/dev/null; sleep 1000"
        await engine.start(RunSpec("full", ("/bin/sh", "-c", script)))
        await asyncio.to_thread(eventually, lambda: os.statvfs(small_disk).f_bavail == 0, "the disk is full")
        await engine.stop("full", 1000)
        await engine.stop("full", 0.1)
        [status] = await final(engine, "full")
        assert (status.exit_code, status.message) == (137, "stopped on request, killed when its grace was over")


def written_run(folder: Path, run_id: str, **spec: object) -> list[str]:
    """The program that runs it."""
    folder.mkdir(exist_ok=True)
    places.make(str(folder))
    record = begin(json.dumps({"id": run_id, **spec}).encode()) + bytes(ROOM_BYTES)
    (folder / "runs" / run_id).write_bytes(record)
    return [sys.executable, "-I", "-S", shim.__file__, str(folder), *order(run_id, len(record)).split()]


def order(run_id: str, size: int) -> str:
    """Of a run whose record is a file of its own."""
    return f"{run_id} {run_id} 0 {size}"


def test_the_shim_is_a_program_of_its_own_for_other_engines(tmp_path: Path) -> None:
    program = written_run(tmp_path, "alone", argv=["/bin/sh", "-c", "echo hello; exit 3"])
    assert subprocess.run(program, check=False, timeout=PATIENCE_S, env={}).returncode == shim.DONE
    assert recorded(tmp_path, "alone")[-1]["exit_code"] == 3
    assert (tmp_path / "logs" / "alone").read_bytes() == b"hello\n"
    assert subprocess.run(program, check=False, timeout=PATIENCE_S).returncode == shim.CLAIMED_BEFORE
    assert (tmp_path / "logs" / "alone").read_bytes() == b"hello\n"
    for wrong, code in ((["alone", "no"], shim.UNABLE), (["other", "alone"], shim.CLAIMED_BEFORE)):
        command = [*program[:-4], *wrong, *program[-2:]]
        assert subprocess.run(command, check=False, capture_output=True).returncode == code


def test_a_shim_that_is_told_to_stop_by_another_engine_stops_its_payload_and_records_it(tmp_path: Path) -> None:
    program = written_run(
        tmp_path / "engine", "told", argv=["/bin/sh", "-c", f"touch {tmp_path}/up; sleep 1000 & wait"]
    )
    alone = subprocess.Popen(program)
    eventually((tmp_path / "up").exists, "the payload runs")
    alone.terminate()
    assert alone.wait(PATIENCE_S) == shim.DONE
    status = recorded(tmp_path / "engine", "told")[-1]
    assert (status["exit_code"], status["signal"], status["message"]) == (143, 15, "stopped on request")


PROGRAM = """
import errno, os, sys
sys.path.insert(0, sys.argv[1])
from fairway.engines import shim
line, lacks = shim.Line(), sys.argv[3]
before = os.listdir("/proc/self/fd")
def refuse(*_):
    raise OSError(errno.EMFILE if lacks == "pipe2" else errno.EAGAIN, "there is none left")
setattr(os, lacks, refuse)
code = shim.main(sys.argv[2], " ".join(sys.argv[4:]), line)
sys.exit(code if os.listdir("/proc/self/fd") == before else 99)
"""


@pytest.mark.parametrize("lacks", ["pipe2", "fork"])
def test_a_shim_that_cannot_start_its_payload_for_want_of_something_says_so_and_keeps_nothing(
    tmp_path: Path, lacks: str
) -> None:
    words = written_run(tmp_path, "poor", argv=["true"], open_files=50)[-4:]
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT / "src"), str(tmp_path), lacks, *words]
    assert subprocess.run(command, check=False, timeout=PATIENCE_S).returncode == shim.DONE
    status = recorded(tmp_path, "poor")[-1]
    assert status["state"] == "failed"
    assert "there is none left" in status["message"]


def test_many_shims_for_one_run_start_it_once(tmp_path: Path) -> None:
    program = written_run(tmp_path / "engine", "race", argv=["/bin/sh", "-c", f"echo x >> {tmp_path}/ran"])
    racers = [subprocess.Popen(program) for _ in range(6)]
    codes = sorted(racer.wait(PATIENCE_S) for racer in racers)
    assert codes == [shim.DONE] + [shim.CLAIMED_BEFORE] * 5
    assert (tmp_path / "ran").read_text() == "x\n"


def test_a_shim_that_served_long_enough_says_so_and_goes(tmp_path: Path) -> None:
    for run_id in ("a", "b", "c"):
        written_run(tmp_path, run_id, argv=["true"])
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from fairway.engines import shim; shim.RUNS_MAX = 2; sys.exit(shim.serve(0, sys.argv[2], 1))"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(ROOT / "src"), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        for run_id, word in (("a", shim.FREE), ("b", shim.LEAVES)):
            served.stdin.write(order(run_id, 5000).encode())
            said = served.stdout.readline().decode()
            while said == f"{served.pid}{shim.RUNS}\n":
                said = served.stdout.readline().decode()
            assert said == f"{served.pid}{word}\n"
        assert served.wait(PATIENCE_S) == shim.DONE
    assert recorded(tmp_path, "c") == []


def test_a_clock_that_jumps_back_does_not_make_a_run_end_before_it_began(tmp_path: Path) -> None:
    written_run(tmp_path, "jump", argv=["true"])
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import time; moments = iter(range(1000000, 0, -3600)); time.time = lambda: float(next(moments))\n"
        "from fairway.engines import shim; sys.exit(shim.main(sys.argv[2], sys.argv[3], shim.Line()))"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(ROOT / "src"), str(tmp_path), order("jump", 5000)]
    assert subprocess.run(command, check=False, timeout=PATIENCE_S).returncode == shim.DONE
    status = recorded(tmp_path, "jump")[-1]
    assert 0 <= status["finished_at"] - status["started_at"] < PATIENCE_S


def test_it_works_on_the_event_loop_that_servers_use(tmp_path: Path) -> None:
    async def use() -> None:
        async with engine_in(tmp_path) as engine:
            await engine.start(RunSpec("a", ("/bin/sh", "-c", "echo hi; exit 2"), limits=Limits(memory_bytes=64 << 20)))
            assert await output(engine, "a", follow=True) == b"hi\n"
            assert [status.exit_code for status in await final(engine, "a")] == [2]

    uvloop.run(use())


@pytest.mark.parametrize("how", ["at once", "held still"])
@asynchronous
async def test_a_fork_bomb_stays_within_its_limit_and_ends_when_it_is_stopped(tmp_path: Path, how: str) -> None:
    """By the kernel's own way to kill a group, and by that of older kernels."""
    # The shell itself forks nothing once the bomb goes off: it would fail, and end by itself.
    bomb = "b() { b | b & }; sleep 1000 & (b) & : > $0; wait"
    async with engine_in(tmp_path / "engine") as engine:
        if "pids" not in engine.controllers:
            pytest.skip("no cgroups that we may write")
        if how == "held still":
            if "freezer" not in engine._cgroups.v1:
                pytest.skip("no freezer that we may write")
            whole = engine._cgroups
            engine._cgroups = replace(whole, v2=None)
        argv = ("/bin/sh", "-c", bomb, str(tmp_path / "up"))
        await engine.start(RunSpec("bomb", argv, limits=Limits(processes=30, cpu_millis=200, log_bytes=1 << 16)))
        await seen(tmp_path / "up")
        await engine.stop("bomb", 0)
        [status] = await final(engine, "bomb")
        assert status.exit_code == 137
        if how == "held still":
            engine._cgroups = whole


@asynchronous
async def test_half_of_what_a_killed_engine_wrote_is_cleared_away_and_can_be_written_again(tmp_path: Path) -> None:
    for place in ("runs", "logs", "stops"):
        (tmp_path / place).mkdir()
    halves = (b'{"id": "to', b'{"id": "bare"}', b"[]\n", b'{"id": "one"}\n')
    slots = b"".join(half.ljust(SLOT_BYTES, b"\0") for half in halves).ljust(SLOT_BYTES * SLOTS, b"\0")
    for name, content in (
        ("00000001.book", slots),
        ("00000002.book", b"short"),
        ("00000003.one", bytes(20_000)),
        ("00000005.book", bytes(20_000)),
        ("00000004.book", halves[-1].ljust(SLOT_BYTES * SLOTS, b"\0")),
    ):
        (tmp_path / "runs" / name).write_bytes(content)
    (tmp_path / "work" / "old" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "old").write_bytes(b"printed")
    (tmp_path / "stops" / "torn").write_bytes(b'{"until": 0}')
    async with engine_in(tmp_path) as engine:
        # Written twice, for the first could not be made durable: there is one of it.
        assert [status.id for status in await engine.list()] == ["one"]
        assert [os.listdir(tmp_path / place) for place in ("stops", "logs")] == [[], []]
        assert "old" not in os.listdir(tmp_path / "work")
        assert sorted(os.listdir(tmp_path / "runs")) == ["00000001.book", "00000004.book"]
        [status] = await final(engine, "one")
        assert status.reason == "ContainerCannotRun"
        await engine.start(RunSpec("torn", ("true",)))
        assert [status.exit_code for status in await final(engine, "torn")] == [0]


@pytest.mark.parametrize("how", ["cut off", "cut off within it", "spoilt"])
@asynchronous
async def test_a_book_that_was_damaged_while_its_runs_go_on_is_used_with_care(tmp_path: Path, how: str) -> None:
    """What is known of a run is told; of one whose spec cannot be read nothing is, but no other is put in its place while it writes there."""
    folder, books = tmp_path / "engine", tmp_path / "engine" / "runs"
    script = f"echo x >> {tmp_path}/ran-$0; while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 7"
    async with ProcessEngine(folder) as first:
        for name in ("a", "b"):
            await first.start(RunSpec(name, ("/bin/sh", "-c", script, name)))
            await reached(first, name, RunState.RUNNING)
    (slot, _), (other, _) = record_of(folder, "a"), record_of(folder, "b")
    assert slot.book == other.book
    last = max(slot.base, other.base)
    if how == "spoilt":
        with (books / slot.book).open("r+b") as book:
            book.seek(slot.base)
            book.write(os.urandom(40).replace(b"\n", b"x"))
    else:
        os.truncate(books / slot.book, last + (1500 if how == "cut off within it" else SLOT_BYTES))
    async with engine_in(folder, rescan_s=0.1) as second:
        known = ["b"] if how == "spoilt" else ["a", "b"]
        assert [status.id for status in await second.list()] == known
        for number in range(SLOTS):
            await second.start(RunSpec(f"r{number}", ("true",)))
        ends = await final(second, *(f"r{number}" for number in range(SLOTS)))
        assert {status.exit_code for status in ends} == {0}
        (tmp_path / "go").touch()
        assert [status.exit_code for status in await final(second, *known)] == [7] * len(known)
        await asyncio.to_thread(eventually, lambda: processes_of(folder) == [], "both ended")
        assert all((tmp_path / f"ran-{name}").read_text() == "x\n" for name in ("a", "b"))


@asynchronous
async def test_a_slow_watcher_sees_the_latest_state_of_each_run_and_a_new_one_sees_all(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine, contextlib.aclosing(engine.watch()) as slow:
        ids = [f"r{number}" for number in range(10)]
        await engine.start(RunSpec("r0", ("true",)))
        assert (await anext(slow)).id == "r0"
        for run_id in ids:
            await engine.start(RunSpec(run_id, ("true",)))
        await final(engine, *ids)
        heard = [await anext(slow) for _ in ids]
        assert all(status.final for status in heard)
        assert sorted(status.id for status in heard) == ids
        async with contextlib.aclosing(engine.watch()) as fresh:
            assert sorted([(await anext(fresh)).id for _ in ids]) == ids


@asynchronous
async def test_news_that_were_lost_are_found_by_looking(tmp_path: Path) -> None:
    async with engine_in(tmp_path, rescan_s=0.05) as engine:
        assert engine._zygotes is not None
        engine._zygotes._look = lambda run_id: None
        ids = [f"r{number}" for number in range(15)]
        for run_id in ids:
            await engine.start(RunSpec(run_id, ("true",)))
        assert [status.exit_code for status in await final(engine, *ids)] == [0] * 15


@asynchronous
async def test_where_processes_cannot_be_started_runs_wait(tmp_path: Path) -> None:
    engine = ProcessEngine(tmp_path, use_cgroups=False, rescan_s=0.1)
    real = sys.executable
    sys.executable = "/no/such/python"
    try:
        async with engine:
            await engine.start(RunSpec("w", ("true",)))
            assert [status.state for status in await engine.list()] == [RunState.STARTING]
    finally:
        sys.executable = real
    async with engine_in(tmp_path) as again:
        assert [status.exit_code for status in await final(again, "w")] == [0]
