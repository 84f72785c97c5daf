"""Processes of this machine: who a pid really is, whether it is still there, how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

_POLL_S = 0.02


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def identity(pid: int) -> str | None:
    """What tells a process from an earlier or later one with the same pid. None when there is no such process."""
    if pid <= 0:
        return None
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        # The command, in brackets, may itself contain spaces and brackets.
        fields = stat[stat.rindex(")") + 2 :].split()
        state, start_ticks = fields[0], fields[19]
        return None if state in "ZX" else f"{_boot()}:{start_ticks}"
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = shown.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def same(pid: int, known: str) -> bool:
    """Whether the process of that pid and identity still runs."""
    return bool(known) and identity(pid) == known


def send(pid: int, known: str, number: signal.Signals) -> bool:
    """Signals the process, unless it is gone and another has its pid."""
    if not same(pid, known):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def describe_exit(code: int) -> str:
    """`-9` in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
