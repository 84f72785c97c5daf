"""Where blocking disk work runs: on a thread of its own, or inline for stores that live in memory and for simulations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Disk(Protocol):
    async def run(self, work: Callable[[], T]) -> T:
        """The result of work, done after all work given before it."""
        ...

    def close(self) -> None: ...


class InlineDisk:
    async def run(self, work: Callable[[], T]) -> T:
        return work()

    def close(self) -> None:
        return None


class ThreadDisk:
    """One thread, so that work is done in order."""

    def __init__(self, name: str = "disk") -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def close(self) -> None:
        self._executor.shutdown(wait=True)
