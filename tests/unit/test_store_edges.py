"""Corners of the store: history at its limits, giving up, closing, odd input."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairway.store import Compacted, Delete, Put, Store
from fairway.store.sqlite import SqliteLog


def put(name: str, text: str = "x", *, bucket: str = "things", expect: int = -1, volatile: bool = False) -> Put:
    value = b'{"metadata":{"resourceVersion":"","name":"%s"},"data":"%s"}' % (name.encode(), text.encode())
    return Put(bucket, f"ns/{name}", value, expect=expect, volatile=volatile)


async def opened(path: Path, **options: int) -> Store:
    store = Store(SqliteLog(path), **options)
    await store.open()
    return store


def test_a_bucket_with_volatile_records_stays_closed_to_old_watchers_as_its_history_moves_on(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        (old,) = await store.commit([put("a")])
        for number in range(300):
            store.stage([put("a", str(number))])
        await store.commit([put("beat", volatile=True)])
        await store.close()

        store = await opened(tmp_path / "s.db", history_events=10)
        for number in range(300):
            store.stage([put("b", str(number), bucket="others")])
        await store.commit([put("b", bucket="others")])
        with pytest.raises(Compacted):
            store.watch("things", old.revision + 300)
        await store.close()

    asyncio.run(body())


def test_the_last_states_of_deleted_objects_count_towards_the_history(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(history_bytes=100_000)
        start = store.revision
        for _ in range(30):
            await store.commit([put("a", "x" * 2000)])
            await store.commit([Delete("things", "ns/a")])
        with pytest.raises(Compacted):  # 30 deletions hold 60 values of 2 kB: more than the limit
            store.watch("things", start)

    asyncio.run(body())


def test_a_store_without_a_log_collects_no_garbage() -> None:
    async def body() -> None:
        store = Store(history_events=10)
        for number in range(1000):
            store.stage([put("a", str(number))])
        await store.commit([put("b")])
        assert store._history.garbage == []

    asyncio.run(body())
