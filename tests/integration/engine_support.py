"""Real engines for tests, and a way to be sure that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.engines.books import Slot
from fairway.engines.engine import RunState, RunStatus
from fairway.engines.machine import read_small
from fairway.engines.process import ProcessEngine
from fairway.engines.record import SLOT_BYTES, Record
from fairway.runtime import process

PATIENCE_S = 30.0
CGROUPS = "/sys/fs/cgroup"


@contextlib.contextmanager
def disk_of(size: str, path: Path) -> Iterator[Path]:
    """A disk of its own, like 1m, that a test can fill."""
    path.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("may not mount a disk here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@contextlib.asynccontextmanager
async def engine_in(folder: Path, *, use_cgroups: bool = True, rescan_s: float = 5.0) -> AsyncIterator[ProcessEngine]:
    """An engine whose zygote does not outlive the test, and which must leave no process and no cgroup."""
    engine = ProcessEngine(folder, use_cgroups=use_cgroups, rescan_s=rescan_s)
    async with engine:
        await asyncio.wait_for(engine.ready(), PATIENCE_S)
        try:
            yield engine
        except BaseException:
            for status in await engine.list():
                await engine.stop(status.id, 0)
            raise
    end_zygote(folder)
    assert processes_of(folder) == []
    assert cgroups_of(engine) == []


def end_zygote(folder: Path) -> None:
    """The one that holds the folder's lock, and none of the shims that it forked."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((folder / "zygote.lock").read_text())
        if os.fsencode(folder.resolve()) in read_small(f"/proc/{pid}/cmdline").split(b"\0"):
            os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def processes_of(folder: Path) -> list[str]:
    """Every process that was started for a run in the folder and still lives."""
    found = []
    mark = f"FAIRWAY_RUN={folder.resolve()}/".encode()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if mark in read_small(f"/proc/{name}/environ"):
                    found.append(read_small(f"/proc/{name}/cmdline").replace(b"\0", b" ").decode(errors="replace"))
    return found


def cgroups_of(engine: ProcessEngine) -> list[str]:
    return [path for path, _, _ in os.walk(CGROUPS) if os.path.basename(path) == engine.cgroup_name]


async def final(engine: ProcessEngine, *ids: str) -> list[RunStatus]:
    """How the runs ended, once they did."""
    return [await reached(engine, run_id) for run_id in ids]


async def reached(engine: ProcessEngine, run_id: str, *states: RunState) -> RunStatus:
    async with asyncio.timeout(PATIENCE_S):
        async with contextlib.aclosing(engine.watch()) as changes:
            async for status in changes:
                if status.id == run_id and (status.state in states if states else status.final):
                    return status
    raise AssertionError("a watch never ends")


async def output(engine: ProcessEngine, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return b"".join([piece async for piece in engine.logs(run_id, follow=follow, tail_lines=tail_lines)])


async def seen(path: Path) -> None:
    """Until a payload made the file. It has no other way to tell us."""
    assert await asyncio.to_thread(process.wait_until, path.exists, PATIENCE_S), f"waited in vain for {path.name}"


def alive(pid: int) -> bool:
    try:
        return read_small(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def shim_of(folder: Path, run_id: str) -> int:
    """The process that claimed the run."""
    return int(recorded(folder, run_id)[0]["pid"])


def recorded(folder: Path, run_id: str) -> list[dict[str, Any]]:
    """What is in a run's record after its spec."""
    return [json.loads(line) for line in record_of(folder, run_id)[1].lines]


def record_of(folder: Path, run_id: str) -> tuple[Slot, Record]:
    """The record, as it is now, and where."""
    for path in (folder / "runs").iterdir():
        size = SLOT_BYTES if path.suffix == ".book" else path.stat().st_size
        for base in range(0, path.stat().st_size, size):
            record = Record(str(path), base, size, os.O_RDONLY)
            record.close()
            if record.whole and json.loads(record.spec)["id"] == run_id:
                return Slot(path.name, base, size), record
    raise KeyError(f"there is no record of {run_id} in {folder}")
