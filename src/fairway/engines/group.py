"""A run's cgroups as its shim handles them: files to write, by the plan in the spec (fairway.engines.cgroups)."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from fairway.engines.machine import read_small


class Group:
    """The payload's cgroups, as the engine laid them out: which folders to make, what to write into them, how to see an OOM kill."""

    def __init__(self, plan: object) -> None:
        plan = plan if isinstance(plan, dict) else {}
        self._folders: dict[str, dict[str, str]] = plan.get("folders", {})
        self._kill: str = plan.get("kill", "")
        self._freezer: str = plan.get("freezer", "")
        self._oom: str = plan.get("oom", "")
        self._peak: str = plan.get("peak", "")
        self.made: list[str] = []

    def adopt(self) -> None:
        """Of a shim that is gone: what is there is ours now."""
        self.made = [path for path in self._folders if os.path.isdir(path)]

    def make(self) -> bool:
        """Whether every limit is in place. A machine that does not let us is no error: other limits then have to do."""
        try:
            for path, values in self._folders.items():
                # The group above goes with an engine that finds it empty; a run that starts later makes it anew.
                for place in (os.path.dirname(path), path):
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(place)
                self.made.append(path)
                for name, value in values.items():
                    # A control with a question mark is one that not every kernel has.
                    try:
                        _write(f"{path}/{name.rstrip('?')}", value)
                    except OSError:
                        if not name.endswith("?"):
                            raise
        except OSError:
            self.remove()
            return False
        return bool(self.made)

    def join(self) -> None:
        for path in self.made:
            _write(f"{path}/cgroup.procs", "0")

    @property
    def holds_memory(self) -> bool:
        return bool(self.made and self._oom)

    def kill(self) -> None:
        """All at once where the kernel can; else held still meanwhile, so that nothing multiplies faster than it dies."""
        if not self.made:
            return
        with contextlib.suppress(OSError):
            if self._kill:
                _write(self._kill, "1")
                return
        with contextlib.suppress(OSError):
            if self._freezer:
                _write(self._freezer, "FROZEN")
        for path in self.made:
            with contextlib.suppress(OSError, ValueError):
                for pid in read_small(f"{path}/cgroup.procs").split():
                    os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            if self._freezer:
                _write(self._freezer, "THAWED")

    def oom_kills(self) -> int:
        if not self.made or not self._oom:
            return 0
        with contextlib.suppress(OSError, ValueError):
            for line in read_small(self._oom).splitlines():
                name, _, value = line.partition(b" ")
                if name == b"oom_kill":
                    return int(value)
        return 0

    def peak_bytes(self) -> int:
        if not self.made or not self._peak:
            return 0
        with contextlib.suppress(OSError, ValueError):
            return int(read_small(self._peak))
        return 0

    def remove(self) -> None:
        for path in reversed(self.made):
            # The kernel empties a group a moment after its last process was waited for.
            for _ in range(50):
                try:
                    os.rmdir(path)
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break
        self.made = []


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
