"""Corners of the store: history at its limits, giving up, closing, odd input."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.runtime.disk import ThreadDisk
from fairway.store import Append, Compacted, Delete, Put, Store, StoreBroken, StoreError, StoreFull, Trim
from fairway.store import sqlite as sqlite_module
from fairway.store.bucket import Bucket
from fairway.store.record import Record
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


def test_sequence_numbers_are_never_used_again_even_when_nothing_is_left_of_the_stream(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        await store.commit([Append("runs", b"1"), Append("runs", b"2")])
        await store.commit([Trim("runs", 2)])
        await store.close()
        store = await opened(tmp_path / "s.db")
        staged = store.stage([Append("runs", b"3")])
        await staged.durable()
        assert staged.sequences == [3]
        assert store.read("runs") == [(3, b"3")]
        await store.close()

    asyncio.run(body())


def test_a_trim_takes_only_what_was_there_when_it_was_staged(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        store.stage([Append("runs", b"1")])
        store.stage([Trim("runs", 100)])
        await store.commit([Append("runs", b"2")])
        assert store.read("runs") == [(2, b"2")]
        await store.close()
        store = await opened(tmp_path / "s.db")
        assert store.read("runs") == [(2, b"2")]
        await store.close()

    asyncio.run(body())


def test_an_operation_that_cannot_be_staged_changes_nothing() -> None:
    async def body() -> None:
        store = Store()
        (a,) = await store.commit([put("a")])
        odd = Put("things", "ns/odd", None)  # type: ignore[arg-type]
        for ops in ([put("a", "y"), Append("runs", b"1"), odd], [put("a", "y"), "nonsense"]):
            with pytest.raises((TypeError, AttributeError)):
                store.stage(ops)  # type: ignore[arg-type]
        assert store.latest("things", "ns/a") == a
        staged = store.stage([Append("runs", b"1")])
        await staged.durable()
        assert staged.sequences == [1]
        assert [record.name for record in store.records("things")] == ["a"]

    asyncio.run(body())


def test_a_writer_that_gives_up_takes_nobody_with_it(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"), ThreadDisk())
        await store.open()
        writers = [asyncio.ensure_future(store.commit([put(str(number))])) for number in range(10)]
        await asyncio.sleep(0)
        writers[3].cancel()
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
        assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)] == [3]
        assert len(store.records("things")) == 10
        await store.close()

    asyncio.run(body())


def test_closing_while_writers_keep_coming_ends_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"), ThreadDisk())
        await store.open()
        acknowledged: list[str] = []

        async def write(writer: int) -> None:
            number = 0
            while True:
                (record,) = await store.commit([put(f"{writer}-{number}")])
                acknowledged.append(record.path)
                number += 1

        watch = store.watch("things", store.revision)
        writers = [asyncio.ensure_future(write(number)) for number in range(8)]
        seen = {event.record.path for event in await asyncio.wait_for(watch.next(), 30)}
        await asyncio.wait_for(asyncio.gather(store.close(), store.close()), 5)
        for outcome in await asyncio.gather(*writers, return_exceptions=True):
            assert isinstance(outcome, StoreBroken)
        while events := await watch.next():
            seen |= {event.record.path for event in events}
        store = await opened(tmp_path / "s.db")
        assert {record.path for record in store.records("things")} == set(acknowledged) == seen
        await store.close()

    asyncio.run(body())


def test_watchers_that_give_up_leave_nothing_behind() -> None:
    async def body() -> None:
        store = Store()
        await store.commit([put("a")])
        watch = store.watch("things", store.revision)
        for _ in range(5):
            waiting = asyncio.ensure_future(watch.next())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        assert len(store.bucket("things").waiters) == 0
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0)
        await store.commit([put("b")])
        assert [event.record.name for event in await waiting] == ["b"]

    asyncio.run(body())


def test_volatile_records_that_come_and_go_reach_the_log_before_they_pile_up(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        for number in range(10_000):
            await store.commit([put(str(number), bucket="events", volatile=True)])
            await store.commit([Delete("events", f"ns/{number}", volatile=True)])
        assert len(store._unlogged) <= 5_000
        assert store.commits < 10
        await store.close()

    asyncio.run(body())


def test_a_watcher_of_volatile_records_relists_after_a_crash_that_lost_them_all(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        await store.commit([put("first", bucket="events", volatile=True)])
        await store.commit([put("lost", bucket="events", volatile=True)])
        seen = store.revision
        assert store._log is not None
        store._log.close()  # as if killed: nothing more is written

        store = await opened(tmp_path / "s.db")
        assert store.get("events", "ns/lost") is None
        with pytest.raises(Compacted):
            store.watch("events", seen)
        assert store.revision > seen
        await store.close()

    asyncio.run(body())


def test_the_log_stays_bounded_under_large_batches_that_never_pause(tmp_path: Path) -> None:
    async def body() -> None:
        log = SqliteLog(tmp_path / "s.db")
        store = Store(log, ThreadDisk(), history_events=100)
        await store.open()
        staged = store.stage([put("a")])
        for _ in range(10):
            waiting, staged = staged, store.stage([put(f"{number}") for number in range(3000)])
            await waiting.durable()
        await staged.durable()
        rows = log._connection.execute("SELECT count(*) FROM log").fetchone()[0]
        assert rows < 13_000  # 3,000 records, what one batch supersedes, and what may wait
        await store.close()

    asyncio.run(body())


@given(st.lists(st.tuples(st.sampled_from(["put", "drop", "ask"]), st.integers(0, 40)), max_size=60), st.booleans())
@settings(max_examples=100, deadline=None)
def test_paths_are_in_order_whatever_came_and_went_since_they_were_asked_for(
    steps: list[tuple[str, int]], large: bool
) -> None:
    bucket = Bucket("things", 0)
    names = {f"many/{number:05}" for number in range(3000)} if large else set()
    for name in names:
        bucket.put(Record("things", name, 1, b""))
    for step, number in steps:
        name = f"many/{number * 70:05}" if number % 2 else f"some/{number}"
        if step == "put":
            names.add(name)
            bucket.put(Record("things", name, 1, b""))
        elif step == "drop":
            names.discard(name)
            bucket.drop(name)
        else:
            assert bucket.paths() == sorted(names)
    assert bucket.paths() == sorted(names)


def test_the_write_ahead_log_stays_bounded_while_writers_never_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "_WAL_BYTES_MAX", 1 << 20)

    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"), ThreadDisk())
        await store.open()
        staged, largest = store.stage([put("a")]), 0
        for number in range(60):
            waiting, staged = staged, store.stage([put(f"{number}", "x" * 100_000)])
            await waiting.durable()
            largest = max(largest, (tmp_path / "s.db-wal").stat().st_size)
        await staged.durable()
        assert largest < 2 << 20
        await store.close()

    asyncio.run(body())


def test_a_row_that_cannot_be_read_is_reported_with_what_to_do(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        await store.commit([put("a")])
        await store.close()
        db = sqlite3.connect(tmp_path / "s.db")
        db.execute("UPDATE log SET head = x'c1'")
        db.commit()
        db.close()
        with pytest.raises(StoreBroken, match="restore it from a backup"):
            await opened(tmp_path / "s.db")

    asyncio.run(body())


def test_a_database_with_tables_of_somebody_else_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "s.db")
    db.execute("CREATE TABLE theirs (x)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="another program"):
        asyncio.run(opened(tmp_path / "s.db"))


def test_a_second_store_on_the_same_file_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async def body() -> None:
        store = await opened(tmp_path / "s.db")
        await store.commit([put("a")])
        with pytest.raises(StoreBroken, match="in use by another process"):
            await opened(tmp_path / "s.db")
        await store.commit([put("b")])
        await store.close()

    asyncio.run(body())


def test_every_writer_of_a_failed_batch_gets_an_error_of_its_own(tmp_path: Path) -> None:
    async def body() -> None:
        log = SqliteLog(tmp_path / "s.db")
        store = Store(log, ThreadDisk())
        await store.open()
        pages = log._connection.execute("PRAGMA page_count").fetchone()[0]
        log._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        writes = [store.commit([put(str(number), "x" * 100_000)]) for number in range(5)]
        errors = await asyncio.gather(*writes, return_exceptions=True)
        assert all(isinstance(error, StoreFull) for error in errors)
        assert len({id(error) for error in errors}) == 5
        log._connection.execute("PRAGMA max_page_count = 1000000")
        await store.close()

    asyncio.run(body())
