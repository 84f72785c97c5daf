"""A log file that cannot fill the disk."""

from __future__ import annotations

import os
from pathlib import Path


class RotatingFile:
    """Appends bytes; past the limit the file becomes `.1`, that becomes `.2`, and the oldest goes."""

    def __init__(self, path: Path, *, bytes_max: int = 10 << 20, files: int = 3) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._files = files
        self._fd = self._open()
        self._size = os.fstat(self._fd).st_size

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._bytes_max:
            self._rotate()
        self._size += os.write(self._fd, data)

    def _rotate(self) -> None:
        for number in range(self._files - 1, 0, -1):
            older = self._numbered(number)
            newer = self._numbered(number - 1)
            if newer.exists():
                newer.replace(older)
        os.close(self._fd)
        self._fd = self._open()
        self._size = 0

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def close(self) -> None:
        os.close(self._fd)
