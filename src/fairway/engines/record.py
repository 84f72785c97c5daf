"""The record of a run: one file, to which everything that happens to it adds a line.

    spec      what to run                        the engine, durable before anybody is asked to run it
    claim     who runs it                        its shim, durable before the payload starts
    payload   which process it is                its shim
    status    how it ended                       its shim; where that was killed, the engine; durable before anybody is told

The shim holds a lock on it from before its claim to its end: a claim with no lock and no status is that of a shim that was killed. Behind the
lines there are zeros, as room for those to come: they are written over, so that a full disk cannot keep a run from saying how it ended, and
making a line durable touches no more of the disk than the line. A line counts once it is whole. Of an unwhole claim no more is known than that
there was one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time

from fairway.engines.machine import LINUX, reach, read_all

ROOM_BYTES = 4096
_LOOK_AGAIN_S = 0.001


def begin(spec: bytes) -> bytes:
    """What a record is when nobody has claimed the run yet."""
    return spec + b"\n" + bytes(ROOM_BYTES)


class Record:
    """An open record. Its spec does not change; the other lines are as of the last look."""

    def __init__(self, path: str, flags: int = os.O_RDWR) -> None:
        self.fd = os.open(path, flags | os.O_CLOEXEC)
        self.spec = b""
        self.lines: list[bytes] = []
        self.claimed = False
        self._end = 0
        self._torn = False
        self.look()

    def close(self) -> None:
        os.close(self.fd)

    def look(self) -> None:
        data = read_all(self.fd).rstrip(b"\0")
        self.spec, *self.lines = data.split(b"\n")
        self.claimed = bool(self.lines and self.lines[0])
        rest = self.lines.pop() if self.lines else b""
        # A line that is not whole is ended by the next.
        self._end = len(data)
        self._torn = bool(rest)

    @property
    def whole(self) -> bool:
        """Whether the spec is."""
        return self._end > len(self.spec)

    def lock(self, kind: int = fcntl.LOCK_EX) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def claim(self, who: dict[str, object]) -> bool:
        """Whether the run is ours: nobody claimed it before, and it is durable that we did. Closing the record lets go of the lock."""
        while not self.claimed:
            if not self.lock():
                time.sleep(_LOOK_AGAIN_S)  # Somebody else is about to claim it.
                self.look()
                continue
            if os.pread(self.fd, 1, self._end).strip(b"\0"):
                break  # Meanwhile somebody did.
            reach("shim-locked")
            self.add(who)
            self.sync()
            return True
        return False

    def add(self, line: dict[str, object]) -> None:
        data = (b"\n" if self._torn else b"") + json.dumps(line).encode() + b"\n"
        if os.pwrite(self.fd, data, self._end) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._end += len(data)
        self._torn = False

    def sync(self) -> None:
        os.fdatasync(self.fd) if LINUX else os.fsync(self.fd)

    def finish(self, status: dict[str, object]) -> None:
        """Durably. Where there is no room after all it waits for some: the run stays unfinished rather than being lost."""
        while True:
            try:
                return self.try_to_finish(status)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                time.sleep(1)

    def try_to_finish(self, status: dict[str, object]) -> None:
        reach("shim-recording")
        self.add(status)
        reach("shim-wrote")
        self.sync()
