"""What a payload prints, as its shim keeps it."""

from __future__ import annotations

import contextlib
import os


class Log:
    """Output in two files: when the newer is full it becomes the older, and what was the older goes. A full disk costs output, never the run."""

    def __init__(self, newer: str, older: str, bytes_max: int) -> None:
        self._newer = newer
        self._older = older
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
            os.rename(self._newer, self._older)
        self._fd = os.open(self._newer, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
