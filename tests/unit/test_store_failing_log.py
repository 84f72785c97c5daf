"""What the store does when the log beneath it fails: before the commit, after it, for a while, for good."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fairway.runtime.disk import Disk, InlineDisk, ThreadDisk
from fairway.store import ABSENT, Append, Delete, Put, Store, StoreBroken, StoreError, StoreFull, Trim
from fairway.store import store as store_module
from fairway.store.log import Batch, State
from fairway.store.sqlite import SqliteLog


class FailingLog(SqliteLog):
    """A real log with failures to order: each write takes the next one, None means that it works."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.before: list[Exception | None] = []
        self.after: list[Exception | None] = []
        self.opening: list[Exception | None] = []
        self.on_open: Callable[[], object] = lambda: None

    def open(self) -> State:
        self.on_open()
        _fail(self.opening)
        return super().open()

    def write(self, batch: Batch) -> None:
        _fail(self.before)
        super().write(batch)
        _fail(self.after)


def _fail(failures: list[Exception | None]) -> None:
    error = failures.pop(0) if failures else None
    if error is not None:
        raise error


def put(name: str, text: str = "x", *, expect: int = -1, volatile: bool = False) -> Put:
    value = b'{"metadata":{"resourceVersion":"","name":"%s"},"data":"%s"}' % (name.encode(), text.encode())
    return Put("things", f"ns/{name}", value, expect=expect, volatile=volatile)


@pytest.fixture(params=["inline", "thread"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return ThreadDisk() if request.param == "thread" else InlineDisk()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_REOPEN_SECONDS", 0.001)


async def opened(path: Path, disk: Disk) -> tuple[Store, FailingLog]:
    log = FailingLog(path / "s.db")
    store = Store(log, disk)
    await store.open()
    return store, log


def asked_again(log: FailingLog) -> asyncio.Event:
    """Set when the store asks the log whether a commit landed."""
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    log.on_open = lambda: loop.call_soon_threadsafe(asked.set)
    return asked


async def reopened(path: Path) -> Store:
    store = Store(SqliteLog(path / "s.db"))
    await store.open()
    return store


@pytest.mark.parametrize("error", [StoreFull("full"), StoreBroken("broken"), UnicodeError("odd")])
def test_a_commit_that_did_not_land_is_abandoned_with_all_that_was_staged_on_it(
    tmp_path: Path, disk: Disk, error: Exception
) -> None:
    async def body() -> None:
        store, log = await opened(tmp_path, disk)
        (kept,) = await store.commit([put("kept"), Append("runs", b"1")])
        log.before = [error]
        first = store.stage([put("a", expect=ABSENT), put("kept", "changed"), Append("runs", b"lost")])
        if isinstance(disk, ThreadDisk):
            await asyncio.sleep(0)  # the commit of `first` has begun: what comes now waits for the next one
        on_top = store.stage([put("a", "y", expect=first.records[0].revision), Append("runs", b"lost too")])
        for staged in (first, on_top):
            with pytest.raises(StoreError):
                await staged.durable()
        assert store.get("things", "ns/a") is None
        assert store.latest("things", "ns/a") is None
        assert store.get("things", "ns/kept") == store.latest("things", "ns/kept") == kept
        assert store.watch("things", kept.revision).poll() == []

        again = store.stage([put("a", "again", expect=ABSENT), Append("runs", b"2")])
        (record,) = await again.durable()
        assert record.revision > on_top.records[0].revision
        assert again.sequences == [2]
        assert store.broken == ""
        await store.close()

        store = await reopened(tmp_path)
        assert store.get("things", "ns/a") == record
        assert store.get("things", "ns/kept") == kept
        assert store.read("runs") == [(1, b"1"), (2, b"2")]
        await store.close()

    asyncio.run(body())


def test_a_commit_that_landed_in_spite_of_its_error_is_published_and_so_is_what_builds_on_it(
    tmp_path: Path, disk: Disk
) -> None:
    async def body() -> None:
        store, log = await opened(tmp_path, disk)
        log.after = [StoreBroken("the answer got lost")]
        first = store.stage([put("a", expect=ABSENT)])
        if isinstance(disk, ThreadDisk):
            await asyncio.sleep(0)
        on_top = store.stage([put("a", "y", expect=first.records[0].revision)])
        assert await first.durable() == first.records
        await on_top.durable()
        assert store.get("things", "ns/a") == on_top.records[0]
        await store.close()
        store = await reopened(tmp_path)
        assert store.get("things", "ns/a") == on_top.records[0]
        await store.close()

    asyncio.run(body())


@pytest.mark.parametrize("op", [Append("runs", b"2"), Trim("runs", 1), put("beat", volatile=True)])
def test_a_commit_without_durable_rows_is_found_again_too(tmp_path: Path, disk: Disk, op: Append | Trim | Put) -> None:
    async def body() -> None:
        store, log = await opened(tmp_path, disk)
        await store.commit([Append("runs", b"1")])
        log.after = [StoreBroken("the answer got lost")]
        await store.commit([op])
        await store.commit([Append("runs", b"next"), put("a")])
        runs = store.read("runs")
        await store.close()
        store = await reopened(tmp_path)
        assert store.read("runs") == runs
        assert runs[-1] == (3 if isinstance(op, Append) else 2, b"next")
        await store.close()

    asyncio.run(body())


def test_writes_are_refused_with_the_reason_until_the_log_answers_again(tmp_path: Path, disk: Disk) -> None:
    async def body() -> None:
        store, log = await opened(tmp_path, disk)
        log.before = [StoreBroken("the disk went away")]
        log.opening = [StoreBroken("still away")] * 20
        asked = asked_again(log)
        first = store.stage([put("a")])
        await asked.wait()
        with pytest.raises(StoreBroken, match="away"):
            store.stage([put("b")])
        with pytest.raises(StoreBroken, match="went away"):
            await first.durable()
        assert store.broken == ""
        await store.commit([put("b")])
        await store.close()

    asyncio.run(body())


def test_closing_while_the_log_is_away_ends_and_fails_those_who_wait(tmp_path: Path, disk: Disk) -> None:
    async def body() -> None:
        store, log = await opened(tmp_path, disk)
        await store.commit([put("kept")])
        log.before = [StoreBroken("the disk went away")]
        log.opening = [StoreBroken("still away")] * 1_000_000
        asked = asked_again(log)
        first = store.stage([put("a")])
        await asked.wait()
        await asyncio.wait_for(store.close(), 5)
        with pytest.raises(StoreBroken):
            await first.durable()
        store = await reopened(tmp_path)
        assert [record.name for record in store.records("things")] == ["kept"]
        await store.close()

    asyncio.run(body())


def test_housekeeping_that_fails_fails_no_writer(tmp_path: Path) -> None:
    async def body() -> None:
        log = FailingLog(tmp_path / "s.db")
        store = Store(log, ThreadDisk(), history_events=1)
        await store.open()
        for number in range(1000):
            store.stage([put("a", str(number))])
        log.before = [None, StoreFull("full")]  # the second write is the removal of old rows
        await store.commit([put("a", "last")])
        await store.commit([put("b")])
        assert log.before == []
        await store.close()
        store = await reopened(tmp_path)
        assert {record.name for record in store.records("things")} == {"a", "b"}
        await store.close()

    asyncio.run(body())


def test_a_log_that_could_not_be_opened_is_left_as_it_was(tmp_path: Path, disk: Disk) -> None:
    async def body() -> None:
        store = await reopened(tmp_path)
        (record,) = await store.commit([put("a")])
        (gone,) = await store.commit([Delete("things", "ns/a")])
        await store.close()

        log = FailingLog(tmp_path / "s.db")
        log.opening = [StoreBroken("not now")]
        store = Store(log, disk)
        with pytest.raises(StoreBroken, match="not open"):
            store.stage([put("a")])
        with pytest.raises(StoreBroken, match="not now"):
            await store.open()
        await store.close()

        store = await reopened(tmp_path)
        assert store.revision >= gone.revision > record.revision
        (next_record,) = await store.commit([put("b")])
        assert next_record.revision > gone.revision
        await store.close()

    asyncio.run(body())


def test_a_commit_that_is_cancelled_leaves_nobody_waiting_and_nothing_to_build_on(tmp_path: Path, disk: Disk) -> None:
    async def body() -> None:
        store, _ = await opened(tmp_path, disk)
        staged = store.stage([put("a")])
        assert store._flushing is not None
        store._flushing.cancel()
        with pytest.raises(StoreBroken, match="start the node again"):
            await asyncio.wait_for(staged.durable(), 5)
        with pytest.raises(StoreBroken, match="start the node again"):
            store.stage([put("b")])
        await asyncio.wait_for(store.close(), 5)

    asyncio.run(body())
