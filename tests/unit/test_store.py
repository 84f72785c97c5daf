"""One suite for every store: in memory, and over the SQLite log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fairway.runtime.disk import InlineDisk, ThreadDisk
from fairway.store import ABSENT, Append, Compacted, Conflict, Delete, Future, Put, Store, StoreError, StoreFull, Trim
from fairway.store.sqlite import APPLICATION_ID, SqliteLog

Factory = Callable[..., Awaitable[Store]]


@pytest.fixture(params=["memory", "sqlite", "sqlite-thread"])
def factory(request: pytest.FixtureRequest, tmp_path: Path) -> Factory:
    async def make(**options: int) -> Store:
        if request.param == "memory":
            store = Store(**options)
        else:
            disk = ThreadDisk() if request.param == "sqlite-thread" else InlineDisk()
            store = Store(SqliteLog(tmp_path / "store.db"), disk, **options)
        await store.open()
        return store

    return make


def put(name: str, text: str = "x", **options: object) -> Put:
    value = b'{"metadata":{"resourceVersion":"","name":"%s"},"data":"%s"}' % (name.encode(), text.encode())
    return Put("things", f"ns/{name}", value, **options)  # type: ignore[arg-type]


def test_a_write_is_read_back_with_its_revision_inside(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        (record,) = await store.commit([put("a")])
        assert store.get("things", "ns/a") == record
        assert b'"resourceVersion":"%d"' % record.revision in record.value
        assert (record.namespace, record.name) == ("ns", "a")
        await store.close()

    asyncio.run(body())


def test_a_transaction_with_one_wrong_expectation_changes_nothing(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        (a,) = await store.commit([put("a", expect=ABSENT)])
        with pytest.raises(Conflict) as caught:
            store.stage([put("b"), put("a", "y", expect=a.revision + 1)])
        assert caught.value.actual == a.revision
        with pytest.raises(Conflict):
            store.stage([put("a", expect=ABSENT)])
        with pytest.raises(Conflict):
            store.stage([Delete("things", "ns/missing")])
        assert store.get("things", "ns/b") is None
        await store.commit([put("a", "z", expect=a.revision), put("b", expect=ABSENT)])
        assert b'"z"' in store.get("things", "ns/a").value  # type: ignore[union-attr]
        await store.close()

    asyncio.run(body())


def test_writes_staged_one_by_one_are_a_transaction_each(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        a, outcome = store.stage_one(put("a", expect=ABSENT))
        with pytest.raises(Conflict):
            store.stage_one(put("a", "y", expect=ABSENT))
        with pytest.raises(Conflict):
            store.stage_one(Delete("things", "ns/missing"))
        b, _ = store.stage_one(put("b", expect=ABSENT))
        assert store.get("things", "ns/a") is None
        await outcome.wait()
        assert (store.get("things", "ns/a"), store.latest("things", "ns/b")) == (a, b)
        gone, outcome = store.stage_one(Delete("things", "ns/a", a.revision))
        await outcome.wait()
        assert (store.get("things", "ns/a"), gone.revision) == (None, store.revision)
        await store.close()
        with pytest.raises(StoreError):
            store.stage_one(put("c"))

    asyncio.run(body())


def test_readers_see_a_write_only_when_it_is_durable_but_writers_build_on_it(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        staged = store.stage([put("a")])
        assert store.get("things", "ns/a") is None
        latest = store.latest("things", "ns/a")
        assert latest is not None
        store.stage([put("a", "y", expect=latest.revision)])
        store.stage([Delete("things", "ns/a")])
        again = store.stage([put("a", "w", expect=ABSENT)])
        await staged.durable()
        await again.durable()
        assert b'"w"' in store.get("things", "ns/a").value  # type: ignore[union-attr]
        await store.close()

    asyncio.run(body())


def test_a_watch_tells_every_change_in_order_and_resumes_anywhere(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        start = store.revision
        (a,) = await store.commit([put("a")])
        await store.commit([put("a", "y"), put("b")])
        await store.commit([Delete("things", "ns/a")])
        watch = store.watch("things", start)
        events = await watch.next()
        assert [(e.record.name, e.deleted, e.previous is not None) for e in events] == [
            ("a", False, False),
            ("a", False, True),
            ("b", False, False),
            ("a", True, True),
        ]
        revisions = [e.revision for e in events]
        assert revisions == sorted(set(revisions))
        assert b'"resourceVersion":"%d"' % events[-1].revision in events[-1].record.value
        resumed = await store.watch("things", a.revision).next()
        assert [e.revision for e in resumed] == revisions[1:]
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        await store.commit([put("c")])
        assert [e.record.name for e in await waiting] == ["c"]
        await store.close()

    asyncio.run(body())


def test_a_watch_below_the_history_is_refused_and_a_slow_watcher_is_cut_off(factory: Factory) -> None:
    async def body() -> None:
        store = await factory(history_events=10)
        (first,) = await store.commit([put("a")])
        slow = store.watch("things", first.revision)
        for number in range(600):
            store.stage([put("a", str(number))])
        await store.commit([put("z")])
        with pytest.raises(Compacted):
            store.watch("things", first.revision)
        with pytest.raises(Compacted):
            await slow.next()
        with pytest.raises(Future):
            store.watch("things", store.revision + 1)
        await store.close()

    asyncio.run(body())


def test_listing_is_in_order_and_by_namespace(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        for path in ("b/2", "a/1", "a-b/0", "b/1", "/top"):
            await store.commit([Put("things", path, b"{}")])
        assert [r.path for r in store.records("things")] == ["/top", "a-b/0", "a/1", "b/1", "b/2"]
        assert [r.path for r in store.records("things", "b")] == ["b/1", "b/2"]
        await store.commit([Delete("things", "b/1")])
        await store.commit([Put("things", "b/1", b"{}"), Put("things", "b/0", b"{}")])
        assert [r.path for r in store.records("things", "b")] == ["b/0", "b/1", "b/2"]
        await store.close()

    asyncio.run(body())


def test_streams_keep_order_across_trims(factory: Factory) -> None:
    async def body() -> None:
        store = await factory()
        await store.commit([Append("runs", b"1"), Append("runs", b"2"), put("a")])
        await store.commit([Append("runs", b"3")])
        assert store.read("runs") == [(1, b"1"), (2, b"2"), (3, b"3")]
        await store.commit([Trim("runs", 2)])
        assert store.read("runs", after=0) == [(3, b"3")]
        await store.commit([Append("runs", b"4")])
        assert store.read("runs", after=3) == [(4, b"4")]
        await store.close()

    asyncio.run(body())


def test_everything_is_there_after_a_restart_and_revisions_go_on(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"), ThreadDisk())
        await store.open()
        (a,) = await store.commit([put("a", labels=("k", "v"), owners=("u",), fields=("f",), writers="w")])
        await store.commit([put("b"), Append("runs", b"1")])
        await store.commit([Delete("things", "ns/b")])
        await store.commit([put("event", volatile=True)])
        before = store.revision
        await store.close()

        store = Store(SqliteLog(tmp_path / "s.db"), ThreadDisk())
        await store.open()
        assert store.get("things", "ns/a") == a
        assert store.get("things", "ns/b") is None
        assert store.read("runs") == [(1, b"1")]
        assert store.revision >= before
        (c,) = await store.commit([put("c")])
        assert c.revision > before
        await store.close()

    asyncio.run(body())


def test_a_watch_resumes_across_a_restart_with_what_it_missed(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        (a,) = await store.commit([put("a")])
        await store.commit([put("a", "y")])
        await store.commit([Delete("things", "ns/a")])
        await store.close()
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        events = await store.watch("things", a.revision).next()
        assert [(e.deleted, e.previous is not None) for e in events] == [(False, True), (True, True)]
        assert b'"y"' in events[1].record.value
        await store.close()

    asyncio.run(body())


def test_volatile_writes_cost_no_commit_and_their_watchers_relist_after_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        await store.commit([put("a"), Put("events", "ns/0", b"{}", volatile=True)])
        commits = store.commits
        for number in range(50):
            await store.commit([Put("events", f"ns/{number}", b"{}", volatile=True)])
        assert store.commits == commits
        seen = store.revision
        await store.close()
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        assert len(store.records("events")) == 50
        with pytest.raises(Compacted):
            store.watch("events", seen - 10)
        await store.close()

    asyncio.run(body())


def test_the_log_stays_bounded_while_one_object_changes_forever(tmp_path: Path) -> None:
    async def body() -> None:
        log = SqliteLog(tmp_path / "s.db")
        store = Store(log, history_events=100)
        await store.open()
        await store.commit([put("keep")])
        for _ in range(40):
            for number in range(250):
                store.stage([put("a", str(number))])
            await store.commit([put("b")])
        rows = sum(1 for _ in log.rows())
        assert rows < 7000
        await store.close()
        store = Store(SqliteLog(tmp_path / "s.db"))
        await store.open()
        assert {r.name for r in store.records("things")} == {"a", "b", "keep"}
        await store.close()

    asyncio.run(body())


def test_a_full_disk_refuses_the_write_and_keeps_everything_else(tmp_path: Path) -> None:
    async def body() -> None:
        log = SqliteLog(tmp_path / "s.db")
        store = Store(log, ThreadDisk())
        await store.open()
        await store.commit([put("a")])
        pages = log._connection.execute("PRAGMA page_count").fetchone()[0]
        log._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        before = store.revision
        with pytest.raises(StoreFull, match="free some disk space"):
            await store.commit([put("big", "x" * 200_000)])
        assert store.get("things", "ns/big") is None
        assert store.latest("things", "ns/big") is None
        log._connection.execute("PRAGMA max_page_count = 1000000")
        (b,) = await store.commit([put("b")])
        assert b.revision > before
        await store.close()

    asyncio.run(body())


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"not a database at all" * 100), "damaged"),
        (
            lambda path: _sql(path, f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99"),
            "newer Fairway",
        ),
        (lambda path: _sql(path, "PRAGMA application_id = 7"), "another program"),
    ],
)
def test_a_database_that_is_not_ours_is_refused_with_what_to_do(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "s.db"
    spoil(path)

    async def body() -> None:
        with pytest.raises(StoreError, match=message):
            await Store(SqliteLog(path)).open()

    asyncio.run(body())


def _sql(path: Path, statement: str) -> None:
    import sqlite3

    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.executescript(statement)
    db.commit()
    db.close()
