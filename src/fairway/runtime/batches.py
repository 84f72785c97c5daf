"""Work for the disk, done together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Batches(Generic[T]):
    """What queued up while the last batch was written is the next. Each key is in it once."""

    def __init__(self, work: Callable[[Sequence[T]], Coroutine[None, None, None]]) -> None:
        self._work = work
        self._waiting: dict[str, tuple[T, asyncio.Future[None]]] = {}
        self._task: asyncio.Task[None] | None = None

    def get(self, key: str) -> asyncio.Future[None] | None:
        found = self._waiting.get(key)
        return found[1] if found else None

    def add(self, key: str, item: T) -> asyncio.Future[None]:
        done = asyncio.get_running_loop().create_future()
        self._waiting[key] = (item, done)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return done

    async def finish(self) -> None:
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while self._waiting:
            batch = dict(self._waiting)
            problem: Exception | None = None
            try:
                await self._work([item for item, _ in batch.values()])
            except Exception as error:
                problem = error
            for key, (_, done) in batch.items():
                del self._waiting[key]
                if problem is None:
                    done.set_result(None)
                elif isinstance(problem, OSError):
                    # Its own for each: several may wait, and each adds where it was raised.
                    done.set_exception(OSError(problem.errno, problem.strerror, key))
                else:
                    done.set_exception(problem)
        self._task = None
