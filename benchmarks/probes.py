"""What the machine itself can do, without us: the yardsticks."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.sample import put_jobs


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of its own for one measurement; under FAIRWAY_BENCH_DIR where that is set, to choose the disk."""
    with tempfile.TemporaryDirectory(prefix="fairway-bench-", dir=os.environ.get("FAIRWAY_BENCH_DIR")) as name:
        yield Path(name)


def fsyncs_per_second(seconds: float = 0.5) -> float:
    """Append a page and wait for the disk, as often as it can: what one durable write costs at least."""
    with folder() as where, open(where / "probe", "wb", buffering=0) as file:
        page, count, start = b"x" * 4096, 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            file.write(page)
            os.fdatasync(file.fileno())
            count += 1
        return count / elapsed


def sqlite_rows_per_second(count: int) -> float:
    """The same rows in one `executemany`, one commit: what SQLite takes when nobody else wants anything."""
    rows = [(number, put.bucket, put.path, put.value) for number, put in enumerate(put_jobs(count))]
    with folder() as where:
        db = sqlite3.connect(where / "probe.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, bucket TEXT, path TEXT, value BLOB)")
        start = time.perf_counter()
        db.execute("BEGIN")
        db.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
        db.execute("COMMIT")
        elapsed = time.perf_counter() - start
        db.close()
        return count / elapsed
