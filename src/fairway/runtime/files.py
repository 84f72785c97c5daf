"""Files that are there whole or not at all, and room for what is still to be written."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
import tempfile
from pathlib import Path

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_KEEP_SIZE = 1
_BLOCK_BYTES = 512
"""In which the kernel counts what a file takes, whatever the disk's own are."""


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file's content: readers, and a crash, see the old or the new. Nobody else can read it before it has its mode.

    One that is as it should be is left alone, which a full disk does not prevent.
    """
    with contextlib.suppress(OSError):
        if stat.S_IMODE(path.stat().st_mode) == mode and path.read_bytes() == data:
            return
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path | str) -> None:
    """Makes names that are new in it, or gone, as durable as content that was synced."""
    sync_file(folder, os.O_DIRECTORY)


def sync_file(path: Path | str, flags: int = 0) -> None:
    fd = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def keep_room(path: Path | str, wanted_bytes: int) -> None:
    """For so many bytes more than a file has, taken from the disk in advance: it can grow by them when others have filled the disk.

    Half of it used, it is made up for. Where the system or the disk offers nothing of the kind, or is full, there is less.
    """
    found = os.stat(path)
    if _LIBC is None or found.st_blocks * _BLOCK_BYTES - found.st_size >= wanted_bytes // 2:
        return
    fd = os.open(path, os.O_WRONLY)
    try:
        _LIBC.fallocate(fd, _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(found.st_size + wanted_bytes))
    finally:
        os.close(fd)
