"""Equal texts of many records are one text in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fairway.store import Put, Store
from fairway.store import pool as pool_module
from fairway.store.pool import Pool
from fairway.store.sqlite import SqliteLog


def fresh(text: str) -> str:
    return "".join(list(text))


def test_records_that_are_selected_alike_share_what_selects_them_when_written_and_when_loaded(tmp_path: Path) -> None:
    def check(store: Store) -> None:
        one, other, third = store.records("things")
        assert one.head is other.head
        assert one.bucket is other.bucket is third.bucket
        assert (one.labels, one.owners, one.fields) == (("queue", "common"), ("uid",), ("phase",))
        assert (one.writers, third.writers) == ("writer", "another")

    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        for name, writer in (("a", "writer"), ("b", "writer"), ("c", "another")):
            labels = ("queue", fresh("common"))
            owners, fields = (fresh("uid"),), (fresh("phase"),)
            await store.commit([Put(fresh("things"), f"ns/{name}", b"{}", -1, labels, owners, fields, writer)])
        check(store)
        await store.close()
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        check(store)
        await store.close()

    asyncio.run(body())


def test_a_pool_forgets_what_only_one_object_has() -> None:
    pool = Pool()
    for number in range(pool_module._KNOWN_MAX * 3):
        pool.name(f"{number}")
        pool.head(b"%d" % number)
    assert len(pool._names) <= pool_module._KNOWN_MAX + 1
    assert len(pool._heads) <= pool_module._KNOWN_MAX + 1
