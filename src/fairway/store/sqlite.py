"""The log in SQLite: WAL, synchronous FULL, one connection, one writer.

A batch goes in with as few statements as possible: every statement hands the interpreter's lock back and forth with the event
loop's thread, and that costs more than the row itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from fairway.runtime.files import keep_room, sync_file
from fairway.store.log import Batch, Row, State, StoreBroken, StoreError, StoreFull, StreamRow
from fairway.store.pool import Pool
from fairway.store.record import NO_HEAD, Record, unpack_head

FORMAT = 1
APPLICATION_ID = 0x46574159  # "FWAY"
_ROWS_PER_STATEMENT = 128
_WAL_BYTES_MAX = 64 << 20
_RESERVE_BYTES = 8 << 20
"""Kept for what must be written when the disk is full: that a job is cancelled which filled it, and how others ended."""
_DELETED, _VOLATILE = 1, 2

_SQL = dict(
    re.findall(
        r"-- name: (\w+)\n(.*?)(?=\n-- name: |\Z)",
        (Path(__file__).parent / "sqlite.sql").read_text(encoding="utf-8"),
        re.S,
    )
)


class SqliteLog:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._wal = f"{path}-wal"
        self._db: sqlite3.Connection | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._connect()
        return self._db

    def open(self) -> State:
        with self._explained():
            db = self._connection
            marks = dict(db.execute(_SQL["marks"]).fetchall())
            newest = db.execute(_SQL["newest"]).fetchone()[0]
            return State(
                revision=newest,
                mark=marks.get("mark", 0),
                ceiling=max(marks.get("ceiling", 1), newest + 1),
                number=marks.get("number", 0),
                volatile=[bucket for (bucket,) in db.execute(_SQL["volatile"])],
                trimmed=dict(db.execute(_SQL["trimmed"]).fetchall()),
            )

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path,
            isolation_level=None,
            check_same_thread=False,
            timeout=0.5,
            cached_statements=_ROWS_PER_STATEMENT + 32,
        )
        try:
            # First of all: who has it to himself needs no file to share with others, which a full disk has no room for.
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            ours = application == APPLICATION_ID
            if not ours and (application or db.execute(_SQL["tables"]).fetchone()[0]):
                raise StoreError(
                    f"{self.path} is a database of another program; choose another data folder with --data"
                )
            if version > FORMAT:
                raise StoreError(
                    f"{self.path} was written by a newer Fairway (format {version}, this one knows {FORMAT}); "
                    "upgrade Fairway, or choose another data folder with --data"
                )
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA wal_autocheckpoint = 0")
            self._make_sure(db)
            db.execute("BEGIN IMMEDIATE")
            for statement in _SQL["schema"].split(";"):
                if statement.strip():
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _make_sure(self, db: sqlite3.Connection) -> None:
        """What a killed or failed process left in the write-ahead log may have been read from memory only: now it is on the disk for certain."""
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_FULL":
                raise
            sync_file(self._wal)  # The database cannot grow now. It is as good there, and has some room.

    def rows(self) -> Iterator[Row]:
        pool, last = Pool(), NO_HEAD
        buckets: dict[str, str] = {}
        with self._explained():
            for revision, flags, bucket, path, head, value in self._connection.execute(_SQL["rows"]):
                if head != last:
                    unpack_head(head)  # nobody should find out later that it cannot be read
                    last = pool.head(head)
                record = Record(buckets.setdefault(bucket, bucket), path, revision, value or b"", last)
                yield Row(record, bool(flags & _DELETED), bool(flags & _VOLATILE))

    def streams(self) -> Iterator[StreamRow]:
        name = Pool().name
        with self._explained():
            for stream, sequence, data in self._connection.execute(_SQL["streams"]):
                yield StreamRow(name(stream), sequence, data)

    def write(self, batch: Batch) -> None:
        with self._explained():
            if batch.is_plain and len(batch.rows) <= _ROWS_PER_STATEMENT:
                # One statement is a transaction of its own, and the interpreter's lock changes hands once.
                self._insert(self._connection, batch.rows)
            else:
                self._write_together(self._connection, batch)
        self._checkpoint(_WAL_BYTES_MAX)

    def _write_together(self, db: sqlite3.Connection, batch: Batch) -> None:
        db.execute("BEGIN IMMEDIATE")
        try:
            self._insert(db, batch.rows)
            if batch.appended:
                db.executemany(_SQL["append"], [(row.stream, row.sequence, row.data) for row in batch.appended])
            if batch.trimmed:
                db.executemany(_SQL["trim"], batch.trimmed)
                db.executemany(_SQL["set_trimmed"], batch.trimmed)
            for bucket in batch.volatile:
                db.execute(_SQL["set_volatile"], (bucket,))
            if batch.garbage:
                db.execute(_SQL["forget"], (msgspec.json.encode(list(batch.garbage)).decode(),))
                db.execute(_SQL["set_mark"], ("mark", batch.mark))
            if batch.ceiling:
                db.execute(_SQL["set_mark"], ("ceiling", batch.ceiling))
            if not batch.rows:
                db.execute(_SQL["set_mark"], ("number", batch.number))
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            raise

    def _insert(self, db: sqlite3.Connection, rows: list[Row]) -> None:
        for start in range(0, len(rows), _ROWS_PER_STATEMENT):
            part = rows[start : start + _ROWS_PER_STATEMENT]
            values: list[object] = []
            for row in part:
                record = row.record
                values += (
                    record.revision,
                    row.deleted * _DELETED | row.volatile * _VOLATILE,
                    record.bucket,
                    record.path,
                    record.head,
                    None if row.deleted else record.value,
                )
            db.execute(_insert_sql(len(part)), values)

    def tidy(self) -> None:
        """Move the write-ahead log into the database while nobody waits for a commit."""
        self._checkpoint(_WAL_BYTES_MAX // 8)

    def _checkpoint(self, wal_bytes_max: int) -> None:
        # A failure here has harmed nobody; if it is more than a mood, the next write will say so.
        with contextlib.suppress(sqlite3.Error, OSError):
            if os.stat(self._wal).st_size > wal_bytes_max:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            keep_room(self._wal, _RESERVE_BYTES)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors in words that say what to do; after a doubtful one the connection is opened anew."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            if code.startswith("SQLITE_FULL"):
                raise StoreFull(
                    f"no room left for {self.path}: free some disk space and try again; nothing of this write was kept"
                ) from None
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StoreBroken(
                    f"{self.path} is in use by another process; stop that node first (fairway down), or choose another data folder"
                ) from None
            with contextlib.suppress(sqlite3.Error):
                self.close()
            if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise StoreBroken(
                    f"{self.path} is damaged ({error}); restore it from a backup, or move it away to start with an empty space"
                ) from None
            raise StoreBroken(f"{self.path} cannot be used: {error}") from None
        except msgspec.DecodeError as error:
            raise StoreBroken(
                f"{self.path} holds a row that cannot be read ({error}); restore it from a backup, or move it away to start with an empty space"
            ) from None


@cache
def _insert_sql(count: int) -> str:
    text: str = _SQL["insert"]
    return text.rstrip(";\n") + ", (?, ?, ?, ?, ?, ?)" * (count - 1)
