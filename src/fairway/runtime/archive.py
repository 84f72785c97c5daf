"""Texts that are kept after what wrote them is gone: one file for all, and one commit for whatever came while the last one ran.

Each text belongs to somebody (an id) and goes with them. What is kept of whom is known without asking the disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from fairway.runtime.batches import Batches
from fairway.runtime.disk import Disk, InlineDisk, ThreadDisk

_COMPRESSION = 1
_SCHEMA = "CREATE TABLE IF NOT EXISTS text (owner TEXT, name TEXT, data BLOB, PRIMARY KEY (owner, name)) WITHOUT ROWID"
Row = tuple[str, str, bytes]
T = TypeVar("T")


class ArchiveError(Exception):
    """The disk does not keep it, or does not give it back."""


class Archive(Protocol):
    async def open(self) -> None: ...

    def owners(self) -> list[str]: ...

    def names(self, owner: str) -> frozenset[str]:
        """What is kept of somebody."""
        ...

    async def keep(self, owner: str, name: str, text: bytes) -> None:
        """Returns once it is durable. Raises ArchiveError."""
        ...

    async def read(self, owner: str, name: str) -> bytes:
        """Raises KeyError for what is not kept."""
        ...

    async def drop(self, owners: Iterable[str]) -> None: ...

    async def close(self) -> None: ...


class SqliteArchive:
    def __init__(self, path: str | Path = ":memory:", disk: Disk | None = None) -> None:
        self._path = path
        in_memory = str(path) == ":memory:"
        self._disk: Disk = disk or (InlineDisk() if in_memory else ThreadDisk("archive"))
        self._db: sqlite3.Connection | None = None
        self._kept: dict[str, set[str]] = {}
        self._batches: Batches[Row] = Batches(self._write)

    async def open(self) -> None:
        """Raises ArchiveError for a file that cannot be used now; it is tried again with whatever is to be kept."""
        await self._run(self._connection)

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                db.execute(_SCHEMA)
                for owner, name in db.execute("SELECT owner, name FROM text"):
                    self._kept.setdefault(owner, set()).add(name)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    async def close(self) -> None:
        await self._batches.finish()
        if self._db is not None:
            await self._run(self._db.close)
            self._db = None
        self._disk.close()

    def owners(self) -> list[str]:
        return sorted(self._kept)

    def names(self, owner: str) -> frozenset[str]:
        return frozenset(self._kept.get(owner, ()))

    async def keep(self, owner: str, name: str, text: bytes) -> None:
        await asyncio.shield(self._batches.add(f"{owner}/{name}", (owner, name, text)))
        self._kept.setdefault(owner, set()).add(name)

    async def _write(self, rows: Sequence[Row]) -> None:
        await self._run(lambda: self._insert(rows))

    def _insert(self, rows: Sequence[Row]) -> None:
        packed = [(owner, name, zlib.compress(text, _COMPRESSION)) for owner, name, text in rows]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO text VALUES (?, ?, ?)", packed)

    async def read(self, owner: str, name: str) -> bytes:
        if name not in self._kept.get(owner, ()):
            raise KeyError(f"nothing is kept of {owner} as {name}")
        return zlib.decompress(await self._run(lambda: self._select(owner, name)))

    def _select(self, owner: str, name: str) -> bytes:
        data: bytes = (
            self._connection()
            .execute("SELECT data FROM text WHERE owner = ? AND name = ?", (owner, name))
            .fetchone()[0]
        )
        return data

    async def drop(self, owners: Iterable[str]) -> None:
        known = [owner for owner in owners if owner in self._kept]
        if known:
            await self._run(lambda: self._delete(known))
        for owner in known:
            self._kept.pop(owner, None)

    def _delete(self, owners: Sequence[str]) -> None:
        with self._transaction() as db:
            db.executemany("DELETE FROM text WHERE owner = ?", [(owner,) for owner in owners])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = self._connection()
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await self._disk.run(work)
        except sqlite3.Error as error:
            raise ArchiveError(f"{self._path}: {error}") from None
