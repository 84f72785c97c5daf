"""Stores to measure: opened, filled, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import uvloop

from benchmarks.sample import put_jobs
from fairway.runtime.disk import ThreadDisk
from fairway.store import Store
from fairway.store.sqlite import SqliteLog

T = TypeVar("T")


def run(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """On the event loop that the node uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work())


@asynccontextmanager
async def durable_store(folder: Path) -> AsyncIterator[Store]:
    """As a node opens it: SQLite, on a thread of its own."""
    store = Store(SqliteLog(folder / "store.db"), ThreadDisk())
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def fill(store: Store, count: int) -> None:
    staged = None
    for number, put in enumerate(put_jobs(count)):
        staged = store.stage([put])
        if number % 1000 == 999:
            await staged.durable()
    if staged is not None:
        await staged.durable()
