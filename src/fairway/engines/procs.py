"""Processes of this machine, from its table: what runs use, and what a killed shim left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from fairway.engines.machine import start_ticks
from fairway.engines.shim import MARK

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_END_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Of all processes of a run together."""

    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    cpu_ticks: int
    memory_bytes: int
    start: int
    zombie: bool


def table() -> dict[int, Process]:
    found: dict[int, Process] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
                # Of its own and of the children that it has waited for.
                ticks = sum(int(field) for field in fields[11:15])
                memory = int(fields[21]) * _PAGE_BYTES
                found[int(name)] = Process(
                    int(name), int(fields[1]), ticks, memory, int(fields[19]), fields[0] in (b"Z", b"X")
                )
    return found


def usage(shims: Mapping[str, int]) -> dict[str, Usage]:
    """What the runs of these shims use now: one look at the table, however many there are."""
    processes = table()
    below: dict[int, list[Process]] = {}
    for process in processes.values():
        below.setdefault(process.parent, []).append(process)
    return {run: _sum(below, shim) for run, shim in shims.items()}


def _sum(below: Mapping[int, list[Process]], shim: int) -> Usage:
    ticks = memory = count = 0
    waiting = list(below.get(shim, ()))
    while waiting:
        process = waiting.pop()
        ticks += process.cpu_ticks
        memory += process.memory_bytes
        count += 1
        waiting += below.get(process.pid, ())
    return Usage(ticks / _TICKS_PER_SECOND, memory, count)


def end_marked(mark: str, payload: int, payload_start: int) -> None:
    """Kills every process of a run whose shim is gone: those below its payload, and those that carry the run's mark."""
    until = time.monotonic() + _END_PATIENCE_S
    while left := _marked(mark, payload, payload_start):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return
        time.sleep(0.005)


def _marked(mark: str, payload: int, payload_start: int) -> set[int]:
    processes = {pid: process for pid, process in table().items() if not process.zombie}
    wanted = f"{MARK}={mark}".encode()
    found = {pid for pid in processes if wanted in _environment(pid)}
    if payload and start_ticks(payload) == payload_start and payload in processes:
        found.add(payload)
    grown = True
    while grown:
        more = {pid for pid, process in processes.items() if process.parent in found} - found
        found |= more
        grown = bool(more)
    return found - {os.getpid()}


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
