"""The record of a run: a slot in a file (fairway.engines.books), to which everything that happens to it adds a line.

    spec      what to run                        the engine, durable before anybody is asked to run it
    claim     who runs it                        its shim, durable before the payload starts
    payload   which process it is                its shim
    status    how it ended                       its shim; where that was killed, the engine; durable before anybody is told

The shim holds a lock on the slot's first byte from before its claim to its end: a claim with no lock and no status is that of a shim that was
killed. Behind the lines there are zeros, as room for those to come: they are written over, so that a full disk cannot keep a run from saying how it
ended, and making a line durable touches no more of the disk than the line. A line counts once it is whole. Of an unwhole claim no more is known
than that there was one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import time
from collections.abc import Callable

from fairway.engines.machine import LINUX, reach

SLOT_BYTES = 8192
ROOM_BYTES = 4096
"""For all lines after the spec."""
_LOOK_AGAIN_S = 0.001
_ZEROS = bytes(SLOT_BYTES)
_FLOCK = "hhqqi4x" if LINUX else "qqihh"


def begin(spec: bytes) -> bytes:
    """What a record is when nobody has claimed the run yet."""
    return spec + b"\n"


class Record:
    """An open record, as of the last look. A line that its slot has no room for says less in its message."""

    def __init__(self, path: str, base: int, size: int, flags: int = os.O_RDWR) -> None:
        self.fd = os.open(path, flags | os.O_CLOEXEC)
        self._base = base
        self._size = size
        self.spec = b""
        self.lines: list[bytes] = []
        self.claimed = False
        self._end = 0
        self._torn = False
        self.look()

    def close(self) -> None:
        """Lets go of the lock."""
        os.close(self.fd)

    def look(self) -> None:
        data = _lines(os.pread(self.fd, self._size, self._base))
        self.spec, *self.lines = data.split(b"\n")
        self.claimed = bool(self.lines and self.lines[0])
        # A line that is not whole is ended by the next.
        self._torn = bool(self.lines and self.lines.pop())
        self._end = len(data)

    @property
    def whole(self) -> bool:
        """Whether the spec is."""
        return self._end > len(self.spec)

    def is_locked(self) -> bool:
        """By another process, as a shim does for as long as it lives."""
        wanted = (fcntl.F_WRLCK, os.SEEK_SET, self._base, 1, 0)
        if not LINUX:
            wanted = (self._base, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
        found = struct.unpack(_FLOCK, fcntl.fcntl(self.fd, fcntl.F_GETLK, struct.pack(_FLOCK, *wanted)))
        return bool(found[0 if LINUX else 3] != fcntl.F_UNLCK)

    def claim(self, who: dict[str, object]) -> bool:
        """Whether the run is ours: nobody claimed it before, and it is durable that we did. Closing the record lets go of the lock."""
        spec = self.spec
        while not self.claimed and self.spec == spec:
            if not self._lock():
                time.sleep(_LOOK_AGAIN_S)  # Somebody else is about to claim it.
                self.look()
                continue
            # Only now is it sure what we look at: meanwhile the run may have ended, and the slot be that of another.
            self.look()
            if self.claimed or self.spec != spec:
                break
            reach("shim-locked")
            self.add(who)
            self.sync()
            return True
        return False

    def _lock(self) -> bool:
        try:
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._base)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        return True

    def add(self, line: dict[str, object]) -> None:
        data = (b"\n" if self._torn else b"") + json.dumps(line).encode() + b"\n"
        if self._end + len(data) > self._size:
            message = str(line.get("message", ""))
            if not message:
                raise OSError(errno.EFBIG, "a record's line is too long for its slot")
            self.add({**line, "message": message[: len(message) * 3 // 4]})
            return
        os.pwrite(self.fd, data, self._base + self._end)
        self._end += len(data)
        self._torn = False

    def sync(self) -> None:
        os.fdatasync(self.fd) if LINUX else os.fsync(self.fd)

    def finish(self, status: dict[str, object]) -> None:
        """Durably. Should there be no room after all it waits for some: the run stays unfinished rather than being lost."""
        reach("shim-recording")
        _patiently(lambda: self.add(status))
        reach("shim-wrote")
        # From here on the run may be forgotten and its slot be another's: we do not write again.
        _patiently(self.sync)


def _patiently(work: Callable[[], None]) -> None:
    while True:
        try:
            return work()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(1)


def _lines(data: bytes) -> bytes:
    """Without the zeros behind them. After a crash of the machine there may be some within."""
    end = data.find(b"\0")
    if end < 0:
        return data
    return data[:end] if data[end:] == _ZEROS[: len(data) - end] else data.rstrip(b"\0")
