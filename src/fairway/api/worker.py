"""A background worker of a space: runs while there is something to do, sleeps until woken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("fairway.api")
_RETRY_SECONDS = 1.0
_PAUSE_SECONDS = 0.001
_BUSY_SECONDS = 0.02


async def give_way() -> None:
    """Between two pieces of work that nobody waits for. Whoever comes back late finds others busy, and waits longer."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(_PAUSE_SECONDS)
    if loop.time() - began > 2 * _PAUSE_SECONDS:
        await asyncio.sleep(_BUSY_SECONDS)


class Worker:
    """Calls a step when woken, and again while it answers that there is more. An error in a step is logged and the step tried again."""

    def __init__(self, name: str, step: Callable[[], Awaitable[bool]], every_seconds: float | None = None) -> None:
        self._name = name
        self._step = step
        self._every = every_seconds
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._wake.set()
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    def wake(self) -> None:
        self._wake.set()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._every):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                if await self._step():
                    self._wake.set()
                    await asyncio.sleep(0)
            except Exception:
                log.exception("%s: a step failed; trying again", self._name)
                await asyncio.sleep(_RETRY_SECONDS)
                self._wake.set()
