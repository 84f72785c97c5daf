"""What a shim needs to know of the machine: its boot, its clock, its table of processes.

Light, like all that a shim imports: it is forked by the thousand, and started afresh by other engines.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None) if LINUX else None
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_clock() -> float:
    """Seconds since the machine started, asleep or awake: what no change of the date moves."""
    return time.clock_gettime(_BOOT_CLOCK)


def read_small(path: str, folder: int | None = None) -> bytes:
    """With none of the machinery of file objects, which costs a forked shim more than the reading."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def _boot_id() -> str:
    try:
        return read_small("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""


BOOT_ID = _boot_id()


def start_ticks(pid: int) -> int:
    """When a process started, in the kernel's ticks: together with the pid it names one process. 0: there is none, or no telling."""
    try:
        return int(read_small(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def reach(point: str) -> None:
    """A place where tests let the process die: FAIRWAY_FAULT=POINT:FILE kills it there once, for the file is then there."""
    wanted, _, marker = os.environ.get("FAIRWAY_FAULT", "").partition(":")
    if wanted == point:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.kill(os.getpid(), signal.SIGKILL)


def _families() -> dict[int, list[int]]:
    """The children of every process, from one look at the machine's table."""
    below: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    parent = int(read_small(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
                    below.setdefault(parent, []).append(int(name))
    return below


def children(parent: int) -> list[int]:
    return _families().get(parent, [])


def descendants(root: int) -> list[int]:
    below = _families()
    found, waiting = [], [root]
    while waiting:
        under = below.get(waiting.pop(), [])
        found += under
        waiting += under
    return found


def adopt_orphans() -> None:
    """From now on every process below us whose parent dies is our child: nothing that a payload starts can slip away."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def be_called(name: str) -> None:
    """In `ps` and `top`."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def die_with(parent: int) -> None:
    """Should the parent be killed, so are we. It may have been already."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
