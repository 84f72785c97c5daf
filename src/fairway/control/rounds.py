"""What to look at next, and when: things that changed are looked at together, in rounds; others when their time has come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from heapq import heappop, heappush

from fairway.api.worker import Worker
from fairway.control.agenda import Agenda
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
ALARM_MAX_SECONDS = 5.0
"""The wall clock may jump, so timers are looked at now and then even if none should be due."""
BACK_SECONDS = 1.0
"""A clock that fell back by more than this was set: times that were meant to be soon are not any more."""


def report_failure(task: asyncio.Task[None]) -> None:
    """A task that should run for ever has ended by an error: say so, for nobody waits for it."""
    if not task.cancelled() and task.exception() is not None:
        log.error("%s ended; what it looks after stands still", task.get_name(), exc_info=task.exception())


class Rounds:
    """Hands keys over, each once per round however often it was named. One round at a time."""

    def __init__(self, name: str, clock: Clock, step: Callable[[list[str]], Awaitable[None]], most: int) -> None:
        """most: keys of a round."""
        self._clock = clock
        self._step = step
        self._most = most
        self._agenda: Agenda[str] = Agenda(starting=True)
        self._timers: list[tuple[float, str]] = []
        self._set_for: dict[str, float] = {}
        self._alarm = asyncio.Event()
        self._worker = Worker(name, self._round)
        self._clockwork: asyncio.Task[None] | None = None

    def start(self) -> None:
        """What was named before was found, not news."""
        self._agenda.starting = False
        self._worker.start()
        self._clockwork = asyncio.get_running_loop().create_task(self._ring())

    async def stop(self) -> None:
        if self._clockwork is not None:
            self._clockwork.cancel()
            await asyncio.gather(self._clockwork, return_exceptions=True)
        await self._worker.stop()

    def look(self, keys: Iterable[str], *, urgent: bool = False) -> None:
        """Look at these in the next round; what is found before the start waits behind the rest unless it is urgent. Empty keys are nobody's."""
        for key in keys:
            if key:
                self._agenda.add(key, urgent=urgent)
                self._worker.wake()

    def look_at(self, key: str, at: float) -> None:
        """Look at that time. Of several times the earliest counts: looking tells when to look next."""
        known = self._set_for.get(key)
        if known is None or at < known:
            self._set_for[key] = at
            heappush(self._timers, (at, key))
            self._alarm.set()

    async def _round(self) -> bool:
        keys = self._agenda.take(self._most, max(1, self._most // 4))
        if keys:
            await self._step(keys)
        return bool(self._agenda)

    async def _ring(self) -> None:
        ahead = self._clock.now - self._clock.monotonic
        while True:
            self._alarm.clear()
            now = self._clock.now
            was, ahead = ahead, now - self._clock.monotonic
            everything = ahead < was - BACK_SECONDS
            while self._timers and (everything or self._timers[0][0] <= now):
                at, key = heappop(self._timers)
                if self._set_for.get(key) == at:
                    del self._set_for[key]
                    self.look((key,))
            wait = min(self._timers[0][0] - now, ALARM_MAX_SECONDS) if self._timers else None
            try:
                async with asyncio.timeout(wait):
                    await self._alarm.wait()
            except TimeoutError:
                pass
