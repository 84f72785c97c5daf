"""The store against a naive model of it: random writes, crashes, restarts and watchers over every kind of log."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairway.runtime.disk import Disk, InlineDisk, ThreadDisk
from fairway.store import (
    ABSENT,
    ANY,
    Append,
    Compacted,
    Conflict,
    Delete,
    Event,
    Op,
    Put,
    Record,
    Staged,
    Store,
    Trim,
    Watch,
    history,
)
from fairway.store.log import Batch
from fairway.store.sqlite import SqliteLog

T = TypeVar("T")
Key = tuple[str, str]

BUCKETS = ("things", "others")
VOLATILE = "events"
STREAMS = ("runs", "tasks")
PATHS = ("a/1", "a/2", "b/1", "/c")

keys = st.tuples(st.sampled_from((*BUCKETS, VOLATILE)), st.sampled_from(PATHS))
object_ops = st.tuples(
    st.sampled_from(("put", "put", "put", "delete")), keys, st.sampled_from(("any", "any", "right", "absent", "wrong"))
)
stream_ops = st.tuples(
    st.sampled_from(("append", "append", "trim")), st.sampled_from(STREAMS), st.integers(min_value=0, max_value=12)
)
transactions = st.lists(st.one_of(object_ops, object_ops, stream_ops), min_size=1, max_size=4)


class SpyLog(SqliteLog):
    """Knows which revisions a commit made durable."""

    def __init__(self, path: Path, durable: set[int]) -> None:
        super().__init__(path)
        self.durable = durable

    def write(self, batch: Batch) -> None:
        super().write(batch)
        self.durable.update(row.record.revision for row in batch.rows)


class Follower:
    """A watcher that rebuilds a bucket from its events alone."""

    def __init__(self, watch: Watch, state: dict[str, Record]) -> None:
        self.watch = watch
        self.state = dict(state)
        self.last = watch.revision

    def follow(self) -> None:
        while events := self.watch.poll(limit=3):
            for event in events:
                self.apply(event)

    def apply(self, event: Event) -> None:
        record = event.record
        assert event.revision > self.last, "events come in the order of revisions"
        self.last = event.revision
        assert event.previous == self.state.get(record.path), "an event knows what was there before"
        if event.deleted:
            assert event.previous is not None
            del self.state[record.path]
        else:
            self.state[record.path] = record


class StoreMachine(RuleBasedStateMachine):
    log_kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.durable: set[int] = set()
        self.latest: dict[Key, Record] = {}
        self.unsettled: list[Staged] = []
        self.seen: dict[Key, set[int]] = {}
        self.streams: dict[str, list[tuple[int, bytes]]] = {name: [] for name in STREAMS}
        self.next_sequence = dict.fromkeys(STREAMS, 1)
        self.snapshots: dict[str, list[tuple[int, dict[str, Record]]]] = {name: [] for name in (*BUCKETS, VOLATILE)}
        self.followers: dict[str, Follower] = {}
        self.newest = 0
        self.published = 0
        self.counter = 0

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def start(self) -> None:
        self.run(self.open())

    async def open(self) -> None:
        if self.log_kind == "memory":
            self.store = Store(history_events=3)
        else:
            disk: Disk = ThreadDisk() if self.log_kind == "thread" else InlineDisk()
            self.store = Store(SpyLog(Path(self.folder.name) / "s.db", self.durable), disk, history_events=3)
        await self.store.open()

    # --- writes ---------------------------------------------------------------------------------------------------

    @rule(transaction=transactions)
    def stage(self, transaction: list[tuple[str, Key | str, str | int]]) -> None:
        ops, allowed = self.ops(transaction)
        before = dict(self.latest)

        async def work() -> None:
            if not allowed:
                with pytest.raises((Conflict, ValueError)):
                    self.store.stage(ops)
                return
            staged = self.store.stage(ops)
            self.unsettled.append(staged)
            self.note(ops, staged)

        self.run(work())
        if not allowed:
            assert self.latest == before

    def ops(self, transaction: list[tuple[str, Key | str, str | int]]) -> tuple[list[Op], bool]:
        ops: list[Op] = []
        allowed, written = True, set[Key]()
        for what, where, detail in transaction:
            self.counter += 1
            if isinstance(where, str):
                assert isinstance(detail, int)
                ops.append(Append(where, b"%d" % self.counter) if what == "append" else Trim(where, detail))
                continue
            actual = self.latest[where].revision if where in self.latest else ABSENT
            expect = {"any": ANY, "right": actual, "absent": ABSENT, "wrong": 10**9}[str(detail)]
            volatile = where[0] == VOLATILE
            allowed = allowed and where not in written and expect in (ANY, actual) and (what == "put" or actual > 0)
            written.add(where)
            if what == "put":
                value = b'{"metadata":{"resourceVersion":""},"n":%d}' % self.counter
                labels, writers = ("n", str(self.counter)), f"w{self.counter}"
                ops.append(
                    Put(*where, value, expect, labels, owners=("u",), fields=("f",), writers=writers, volatile=volatile)
                )
            else:
                ops.append(Delete(*where, expect, volatile=volatile))
        return ops, allowed

    def note(self, ops: list[Op], staged: Staged) -> None:
        records, sequences = iter(staged.records), iter(staged.sequences)
        for op in ops:
            if isinstance(op, Append):
                sequence = next(sequences)
                assert sequence == self.next_sequence[op.stream], "sequence numbers follow each other"
                self.next_sequence[op.stream] += 1
                self.streams[op.stream].append((sequence, op.data))
            elif isinstance(op, Trim):
                self.streams[op.stream] = [item for item in self.streams[op.stream] if item[0] > op.upto]
            else:
                record = next(records)
                assert record.revision > self.newest, "revisions only ever rise"
                self.newest = record.revision
                self.seen.setdefault((op.bucket, op.path), set()).add(record.revision)
                assert b'"resourceVersion":"%d"' % record.revision in record.value
                if isinstance(op, Delete):
                    del self.latest[op.bucket, op.path]
                else:
                    self.latest[op.bucket, op.path] = record

    @rule(transaction=transactions)
    def write(self, transaction: list[tuple[str, Key | str, str | int]]) -> None:
        self.stage(transaction)
        self.settle()

    @rule(key=keys)
    def change(self, key: Key) -> None:
        self.write([("put", key, "right")])

    @rule(path=st.sampled_from(PATHS))
    def beat(self, path: str) -> None:
        """Costs no commit, so a crash right after it loses it."""
        self.write([("put", (VOLATILE, path), "any")])

    @rule(stream=st.sampled_from(STREAMS))
    def use_up(self, stream: str) -> None:
        self.write([("append", stream, 0), ("trim", stream, 1000)])

    @rule()
    def step(self) -> None:
        self.run(asyncio.sleep(0))

    @rule()
    def settle(self) -> None:
        self.run(self.settled())

    async def settled(self) -> None:
        for staged in self.unsettled:
            assert await staged.durable() == staged.records
        self.unsettled.clear()
        self.compare()

    def compare(self) -> None:
        for bucket in (*BUCKETS, VOLATILE):
            expected = {path: record for (name, path), record in self.latest.items() if name == bucket}
            records = self.store.records(bucket)
            assert {record.path: record for record in records} == expected
            assert [record.path for record in records] == sorted(expected)
            assert [r.path for r in self.store.records(bucket, "a")] == sorted(
                p for p in expected if p.startswith("a/")
            )
            self.snapshots[bucket].append((self.store.revision, expected))
        for name in STREAMS:
            assert self.store.read(name) == self.streams[name]

    # --- crashes and restarts -------------------------------------------------------------------------------------

    @precondition(lambda self: self.log_kind != "memory")
    @rule()
    def restart(self) -> None:
        self.run(self.restarted())

    async def restarted(self) -> None:
        await self.store.close()
        for staged in self.unsettled:
            assert await staged.durable() == staged.records
        self.unsettled.clear()
        await self.open()
        self.after_start()

    @precondition(lambda self: self.log_kind != "memory")
    @rule()
    def crash(self) -> None:
        """The process is gone after the last acknowledged write; volatile records may be lost."""
        self.run(self.crashed())

    async def crashed(self) -> None:
        await self.settled()
        log, disk = self.store._log, self.store._disk
        assert log is not None
        await disk.run(log.close)
        disk.close()
        await self.open()
        for path in {path for bucket, path in self.seen if bucket == VOLATILE}:
            key = (VOLATILE, path)
            survived = self.store.get(*key)
            if survived is None:
                self.latest.pop(key, None)
            else:
                assert survived.revision in self.seen[key]
                self.latest[key] = survived
        self.after_start()

    def after_start(self) -> None:
        self.followers.clear()
        were_volatile = any(bucket == VOLATILE for bucket, _ in self.seen)
        for revision, _ in self.snapshots[VOLATILE]:
            if were_volatile and revision < self.store.revision:
                with pytest.raises(Compacted):
                    self.store.watch(VOLATILE, revision)
        self.snapshots[VOLATILE].clear()
        self.compare()

    # --- watchers -------------------------------------------------------------------------------------------------

    @rule(bucket=st.sampled_from((*BUCKETS, VOLATILE)), which=st.integers(0, 1000))
    def watch_from_then(self, bucket: str, which: int) -> None:
        if not self.snapshots[bucket]:
            return
        revision, state = self.snapshots[bucket][which % len(self.snapshots[bucket])]
        if revision < self.store.bucket(bucket).floor:
            with pytest.raises(Compacted):
                self.store.watch(bucket, revision)
            return
        follower = Follower(self.store.watch(bucket, revision), state)
        follower.follow()
        assert follower.state == {record.path: record for record in self.store.records(bucket)}
        assert follower.watch.revision == self.store.revision
        self.followers[bucket] = follower

    @rule(bucket=st.sampled_from((*BUCKETS, VOLATILE)))
    def follow(self, bucket: str) -> None:
        follower = self.followers.get(bucket)
        if follower is None:
            return
        try:
            follower.follow()
        except Compacted:
            assert follower.last < self.store.bucket(bucket).floor, "only who is behind the history is cut off"
            del self.followers[bucket]
        else:
            assert follower.state == {record.path: record for record in self.store.records(bucket)}

    # --- always ---------------------------------------------------------------------------------------------------

    @invariant()
    def writers_see_what_was_staged_last(self) -> None:
        if not hasattr(self, "store"):
            return
        for bucket, path in self.seen:
            assert self.store.latest(bucket, path) == self.latest.get((bucket, path))

    @invariant()
    def readers_see_only_what_is_durable(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.revision >= self.published, "the published revision never goes back"
        self.published = self.store.revision
        if self.log_kind == "memory":
            return
        for bucket in BUCKETS:
            for record in self.store.records(bucket):
                assert record.revision in self.durable

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.close())
        self.loop.close()
        self.folder.cleanup()


@pytest.mark.parametrize("kind", ["memory", "inline", "thread"])
def test_the_store_does_what_its_model_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_STEP", 2)  # so that short runs reach the end of the history
    monkeypatch.setattr("fairway.store.store._GARBAGE_STEP", 4)
    monkeypatch.setattr("fairway.store.store._GARBAGE_DUE", 8)
    monkeypatch.setattr("fairway.store.store._UNLOGGED_MAX", 5)
    monkeypatch.setattr("fairway.store.store._CEILING_STEP", 20)
    machine = type("Machine", (StoreMachine,), {"log_kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
