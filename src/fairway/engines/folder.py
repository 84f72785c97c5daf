"""A run's folder as its shim sees it: the claim, the record, the output."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time

from fairway.engines.machine import BOOT_ID, LINUX, reach, read_small, start_ticks

_RESERVED_BYTES = 4096


class Folder:
    """The run's folder, by descriptor: it stays reachable wherever the payload's working folder is."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        os.close(self.fd)

    def open(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CLOEXEC, 0o600, dir_fd=self.fd)

    def read(self, name: str) -> dict[str, object] | None:
        try:
            found = json.loads(read_small(name, self.fd))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def sync(self) -> None:
        os.fsync(self.fd)

    def claim(self) -> int | None:
        """The locked claim, or None where there is one already. It has its name and its lock from the same instant on."""
        pid = os.getpid()
        draft = f"claim.{pid}"
        fd = self.open(draft, os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, json.dumps({"boot": BOOT_ID, "pid": pid, "start": start_ticks(pid)}).encode() + b"\n")
            reach("shim-drafted")
            try:
                os.link(draft, "claim", src_dir_fd=self.fd, dst_dir_fd=self.fd)
            except FileExistsError:
                os.close(fd)
                return None
        finally:
            os.unlink(draft, dir_fd=self.fd)
        os.fsync(fd)
        self.sync()
        return fd

    def reserve(self) -> None:
        """Room for the record, so that a full disk cannot keep us from saying how the run ended."""
        with contextlib.suppress(OSError):
            fd = self.open("status.tmp", os.O_CREAT | os.O_RDWR)
            try:
                os.posix_fallocate(fd, 0, _RESERVED_BYTES)
            finally:
                os.close(fd)

    def record(self, status: dict[str, object]) -> None:
        """Durably. Where there is no room after all it waits for some: the run stays unfinished rather than being lost."""
        while True:
            try:
                return self.try_to_record(status)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                time.sleep(1)

    def try_to_record(self, status: dict[str, object]) -> None:
        data = json.dumps(status).encode()
        fd = self.open("status.tmp", os.O_CREAT | os.O_RDWR)
        try:
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            os.fdatasync(fd) if LINUX else os.fsync(fd)
        finally:
            os.close(fd)
        reach("shim-recording")
        os.rename("status.tmp", "status", src_dir_fd=self.fd, dst_dir_fd=self.fd)
        self.sync()


class Log:
    """Output in two files: when the newer is full it becomes the older, and what was the older goes. A full disk costs output, never the run."""

    def __init__(self, folder: Folder, bytes_max: int) -> None:
        self._folder = folder
        self._file_bytes_max = bytes_max // 2
        self._fd = -1
        self._size = 0

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with contextlib.suppress(OSError):
            while view and self._file_bytes_max:
                if self._fd < 0 or self._size >= self._file_bytes_max:
                    self._turn()
                written = os.write(self._fd, view[: self._file_bytes_max - self._size])
                self._size += written
                view = view[written:]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _turn(self) -> None:
        if self._fd >= 0:
            self.close()
            os.rename("log.0", "log.1", src_dir_fd=self._folder.fd, dst_dir_fd=self._folder.fd)
        self._fd = self._folder.open("log.0", os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND)
        self._size = 0
