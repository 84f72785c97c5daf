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


def test_records_share_their_labels_owners_and_fields_when_written_and_when_loaded(tmp_path: Path) -> None:
    def check(store: Store) -> None:
        one, other = store.records("things")
        assert one.labels[1] is other.labels[1]
        assert one.owners is other.owners
        assert one.fields is other.fields
        assert one.writers is other.writers

    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        for name in ("a", "b"):
            labels = ("queue", fresh("common"), "name", name)
            owners, fields = (fresh("uid"),), (fresh("phase"),)
            await store.commit([Put("things", f"ns/{name}", b"{}", -1, labels, owners, fields, fresh("writer"))])
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
        pool.each((f"{number}",))
        pool.few((f"{number}",))
    assert len(pool._texts) <= pool_module._KNOWN_MAX + 1
    assert len(pool._few) <= pool_module._KNOWN_MAX + 1
