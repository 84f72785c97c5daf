"""Requests that take too long are ended, at the price of one timer for all of them."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

Running: TypeAlias = asyncio.Task[object]


class Deadlines:
    """Each may run for the same time, so the one that began first is the first to be looked at."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[Running, float] = {}
        self._ended: set[Running] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: Running, now: float) -> None:
        self._ends[task] = now + self._seconds
        if self._timer is None:
            self._timer = task.get_loop().call_at(now + self._seconds, self._look)

    def end(self, task: Running) -> None:
        self._ends.pop(task, None)
        self._ended.discard(task)

    def ended(self, task: Running) -> bool:
        """Whether a cancelled task was cancelled because it took too long, and by nobody else."""
        return task in self._ended and task.uncancel() == 0

    def _look(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        for task in [task for task, end in self._ends.items() if end <= now]:
            del self._ends[task]
            self._ended.add(task)
            task.cancel()
        for end in self._ends.values():
            self._timer = loop.call_at(end, self._look)
            break
