"""Writes on their way to the log."""

from __future__ import annotations

import asyncio

from fairway.store.log import StoreError, StreamRow
from fairway.store.record import Event, Record


class Outcome:
    """How a batch ended, and who waits for that. One that gives up takes nobody with it."""

    __slots__ = ("_error", "_settled", "_waiters")

    def __init__(self) -> None:
        self._settled = False
        self._error: StoreError | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def settle(self, error: StoreError | None = None) -> None:
        if self._settled:
            return
        self._settled, self._error = True, error
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait(self) -> None:
        if not self._settled:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        if self._error is not None:
            # Each its own: an exception collects the traces of all who raise it.
            raise type(self._error)(*self._error.args)


class Staged:
    """A write on its way: its records, and when it is durable."""

    __slots__ = ("_outcome", "records", "sequences")

    def __init__(self, records: list[Record], sequences: list[int], outcome: Outcome) -> None:
        self.records = records
        self.sequences = sequences
        self._outcome = outcome

    async def durable(self) -> list[Record]:
        await self._outcome.wait()
        return self.records


class Pending:
    """What will be committed together."""

    __slots__ = ("appended", "durable", "events", "newly_volatile", "outcome", "trimmed", "volatile")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.volatile: set[int] = set()
        self.newly_volatile: list[str] = []
        """Buckets that held no volatile record before: the log is told first, for watchers after a crash."""
        self.appended: list[StreamRow] = []
        self.trimmed: list[tuple[str, int]] = []
        self.durable = False
        self.outcome = Outcome()
