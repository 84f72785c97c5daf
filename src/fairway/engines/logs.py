"""Reading what a run printed, while it prints and its two files take turns."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

_CHUNK_BYTES = 1 << 16
_LOOK_AGAIN_S = 0.05


class Reader:
    """A place in the output. It stays valid when files take turns, for an open file keeps its content."""

    def __init__(self, newer: Path, older: Path) -> None:
        self._newer, self._older = newer, older
        self._fd = -1
        self._offset = 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self) -> bytes:
        """The next piece; empty where there is nothing more yet."""
        while True:
            if self._fd >= 0 and (data := self._here()):
                return data
            if self._fd >= 0 and _inode(self._newer) in (os.fstat(self._fd).st_ino, None):
                return b""
            # The file that we are in is not the newest any more: nobody writes to it now, so one more look shows its end.
            if self._fd >= 0 and (data := self._here()):
                return data
            if not self._advance():
                return b""

    def _here(self) -> bytes:
        data = os.pread(self._fd, _CHUNK_BYTES, self._offset)
        self._offset += len(data)
        return data

    def _advance(self) -> bool:
        """To the file after this one; to the oldest that there is, when the next is gone already."""
        before = os.fstat(self._fd).st_ino if self._fd >= 0 else None
        while True:
            follows = before is not None and _inode(self._older) == before
            candidates = (self._newer,) if follows else (self._older, self._newer)
            fd = next((fd for path in candidates if (fd := _open(path)) is not None), None)
            if fd is None:
                return False
            inode = os.fstat(fd).st_ino
            if (follows and _inode(self._older) != before) or inode == before:
                # They took turns while we looked.
                os.close(fd)
                if inode == before:
                    return False
                continue
            if not follows and before is None and _inode(self._older) not in (inode, None):
                os.close(fd)
                continue
            self.close()
            self._fd, self._offset = fd, 0
            return True

    def skip_to_last_lines(self, count: int) -> None:
        """Start at the last so many lines of what there is now."""
        # The newer first: should they take turns now, we have the same file twice and miss none in between.
        opened = [fd for path in (self._newer, self._older) if (fd := _open(path)) is not None]
        pieces = [(fd, os.fstat(fd).st_size) for fd in reversed(opened)]
        if len(pieces) == 2 and os.fstat(pieces[0][0]).st_ino == os.fstat(pieces[1][0]).st_ino:
            os.close(pieces.pop()[0])
        chosen, offset = _last_lines(pieces, count)
        for number, (fd, _) in enumerate(pieces):
            if number == chosen:
                self._fd, self._offset = fd, offset
            else:
                os.close(fd)


def _last_lines(pieces: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """In which of the files the last lines begin, and where. A newline at the very end ends the last line, it begins none."""
    wanted = count
    last = True
    for number in range(len(pieces) - 1, -1, -1):
        fd, end = pieces[number]
        if wanted <= 0:
            return number, end
        while end > 0:
            begin = max(end - _CHUNK_BYTES, 0)
            block = os.pread(fd, end - begin, begin)
            at = len(block)
            while (at := block.rfind(b"\n", 0, at)) >= 0:
                if last and begin + at + 1 == pieces[-1][1] and number == len(pieces) - 1:
                    last = False
                    continue
                wanted -= 1
                if wanted == 0:
                    return number, begin + at + 1
            end = begin
    return 0, 0


async def read(
    newer: Path, older: Path, *, follow: bool, tail_lines: int | None, ended: Callable[[], bool], end: asyncio.Event
) -> AsyncIterator[bytes]:
    reader = Reader(newer, older)
    try:
        if tail_lines is not None:
            reader.skip_to_last_lines(tail_lines)
        while True:
            # Asked before we read: what is printed before the end is then surely read.
            over = ended() or not follow
            while data := reader.read():
                yield data
                await asyncio.sleep(0)
            if over:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), _LOOK_AGAIN_S)
    finally:
        reader.close()


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
