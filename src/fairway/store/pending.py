"""Writes on their way to the log."""

from __future__ import annotations

import asyncio

from fairway.store.log import StreamRow
from fairway.store.record import Event, Record


class Staged:
    """A write on its way: its records, and when it is durable."""

    __slots__ = ("_done", "records", "sequences")

    def __init__(self, records: list[Record], sequences: list[int], done: asyncio.Future[None]) -> None:
        self.records = records
        self.sequences = sequences
        self._done = done

    async def durable(self) -> list[Record]:
        # The future is shared by a whole batch: a writer that gives up must not cancel the others.
        await asyncio.shield(self._done)
        return self.records


class Pending:
    """What will be committed together."""

    __slots__ = ("appended", "done", "durable", "events", "newly_volatile", "trimmed", "volatile")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.volatile: set[int] = set()
        self.newly_volatile: list[str] = []
        """Buckets that held no volatile record before: the log is told first, for watchers after a crash."""
        self.appended: list[StreamRow] = []
        self.trimmed: list[tuple[str, int]] = []
        self.durable = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
