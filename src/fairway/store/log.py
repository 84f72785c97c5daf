"""The seam below the store: an append-only log that survives the process. SQLite is one; PostgreSQL will be another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from fairway.store.record import Record


class StoreError(Exception):
    """The store cannot do what was asked; the message says why and what to do."""


class StoreFull(StoreError):
    """No room on the disk. Nothing of the write was kept."""


class StoreBroken(StoreError):
    """The log cannot be written or read. Whether the write was kept is in doubt until the log answers again."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One change in the log. A deletion has no value."""

    record: Record
    deleted: bool = False
    volatile: bool = False


class StreamRow(msgspec.Struct, frozen=True, gc=False):
    stream: str
    sequence: int
    data: bytes


class Batch(msgspec.Struct):
    """What one commit writes, all of it or nothing."""

    rows: list[Row]
    appended: list[StreamRow]
    trimmed: list[tuple[str, int]]
    garbage: Sequence[int]
    """Revisions of rows that nobody needs any more."""
    mark: int
    """Watches from below it are refused; history from it on is complete."""
    ceiling: int
    """No revision at or above it was ever given out; the next start begins there. 0: as it was."""
    number: int
    """More than that of the last commit: how a commit in doubt that has no rows is found again."""
    volatile: list[str]
    """Buckets that hold volatile records from now on."""

    @property
    def is_plain(self) -> bool:
        """Whether it is rows and nothing else."""
        rest = self.appended or self.trimmed or self.garbage or self.ceiling or self.volatile
        return bool(self.rows) and not rest


class State(msgspec.Struct):
    """Where the log stands, read when it is opened."""

    revision: int
    mark: int
    ceiling: int
    number: int
    volatile: list[str]
    trimmed: dict[str, int]
    """How far each stream was ever trimmed: its sequence numbers go on from there, even when nothing is left of it."""


class Log(Protocol):
    """Called from one thread at a time, never from the event loop's."""

    def open(self) -> State:
        """Where the log stands. Called again after an error in doubt; what it then says is durable."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every row, in the order of revisions."""
        ...

    def streams(self) -> Iterable[StreamRow]: ...

    def write(self, batch: Batch) -> None:
        """Durable when it returns. StoreFull: nothing of the batch is there. Any other error: `open` will tell, by the newest
        revision, or by the number of a batch without rows."""
        ...

    def tidy(self) -> None:
        """Housekeeping for a quiet moment."""
        ...

    def close(self) -> None: ...
