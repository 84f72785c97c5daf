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
_fault = ("", "", "")
_NO_PROCESS = [b"0"] * 20
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
    return int(_stat(pid)[19])


def _stat(pid: int | str) -> list[bytes]:
    """What the kernel says of a process after its name, in one read; zeros, if there is none."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return _NO_PROCESS
    try:
        return os.read(fd, 4096).rpartition(b")")[2].split() or _NO_PROCESS
    except OSError:
        return _NO_PROCESS
    finally:
        os.close(fd)


def arm() -> None:
    """Takes FAIRWAY_FAULT=POINT:FILE from the environment, as every process does that loads this."""
    global _fault
    _fault = os.environ.get("FAIRWAY_FAULT", "").partition(":")


arm()


def reach(point: str) -> None:
    """A place where tests let the process die: a fault kills it there once, for its file is then there."""
    if point == _fault[0]:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(_fault[2], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.kill(os.getpid(), signal.SIGKILL)


def _families() -> dict[int, list[int]]:
    """The children of every process, from one look at the machine's table."""
    below: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                below.setdefault(int(_stat(name)[1]), []).append(int(name))
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
