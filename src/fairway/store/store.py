"""The store: stage, commit in batches, publish; read and watch from memory.

Three states of a write: *staged* (later writers build on it), *committed* (in the log, durable), *published* (readers and watchers see it,
the writer is told). A batch whose commit fails is dropped whole, with all that was staged on top of it.

What is remembered beside the log: nothing. Volatile writes (Events, heartbeats) are published without a commit of their own and reach the
log with the next durable one; a crash may lose them. So that revisions never go back, the log holds a ceiling above all that were given out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from fairway.runtime.disk import Disk, InlineDisk
from fairway.store import history
from fairway.store.bucket import Bucket
from fairway.store.history import History
from fairway.store.log import Batch, Log, Row, StoreBroken, StoreError, StoreFull, StreamRow
from fairway.store.pending import Outcome, Pending, Staged
from fairway.store.pool import Pool
from fairway.store.record import (
    ABSENT,
    ANY,
    Append,
    Conflict,
    Delete,
    Event,
    Future,
    Op,
    Put,
    Record,
    Trim,
    pack_head,
    stamp,
    tombstone,
)
from fairway.store.stream import Stream
from fairway.store.watch import Watch

_CEILING_STEP = 100_000
_GARBAGE_STEP = 500
_GARBAGE_DUE = 5_000
_UNLOGGED_MAX = 4_096
_REOPEN_SECONDS = 1.0
_TIDY_BYTES = 8 << 20


class Store:
    """One space's objects. All methods belong to one event loop."""

    def __init__(
        self,
        log: Log | None = None,
        disk: Disk | None = None,
        *,
        history_events: int = history.EVENTS_MAX,
        history_bytes: int = history.BYTES_MAX,
    ) -> None:
        self._log = log
        self._disk: Disk = disk or InlineDisk()
        self._buckets: dict[str, Bucket] = {}
        self._streams: dict[str, Stream] = {}
        self._stream_next: dict[str, int] = {}
        self._staged: dict[tuple[str, str], Event] = {}
        self._volatile: set[str] = set()
        self._pool = Pool()
        self._next = 1
        self._ceiling = 1
        self._ceiling_wanted = 0
        self.revision = 0
        """The newest published revision."""
        self._pending: Pending | None = None
        self._committing: Pending | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._unlogged: dict[tuple[str, str], Row] = {}
        self._history = History(history_events, history_bytes, swept=log is not None)
        self._broken: StoreError | None = None
        self._opened = log is None
        self._closing = False
        self.closed = False
        self._listeners: dict[str, list[Callable[[Event], None]]] = {}
        """Watchers are told that nothing more will come."""
        self._written = 0
        self._number = 0
        self.commits = 0
        """How many commits reached the log: for metrics."""

    # --- life -----------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        if self._log is not None:
            await self._disk.run(self._load)
        self._opened = True

    def _load(self) -> None:
        assert self._log is not None
        state = self._log.open()
        self._history.mark = state.mark
        self._number = state.number
        self._next = self._ceiling = max(state.ceiling, state.revision + 1)
        self.revision = self._next - 1
        mark, buckets = state.mark, self._buckets
        for row in self._log.rows():
            record = row.record
            bucket = buckets.get(record.bucket) or self._bucket(record.bucket)
            if (record.revision <= mark or row.volatile) and not row.deleted and record.path not in bucket.records:
                bucket.records[record.path] = (
                    record  # nearly all: the only row of its object, and older than what is remembered
                )
            else:
                self._replay(bucket, row, mark)
        for bucket in self._buckets.values():
            bucket.loaded()
        self._volatile.update(state.volatile)
        for name in state.volatile:
            self._bucket(name).floor = self.revision  # what was told of it after its last row is unknown
        self._history.shorten()
        for name, upto in state.trimmed.items():
            self._streams[name] = Stream(upto + 1)
        for item in self._log.streams():
            stream = self._streams.get(item.stream)
            if stream is None:
                stream = self._streams[item.stream] = Stream(item.sequence)
            stream.items.append(item.data)
        for name, stream in self._streams.items():
            self._stream_next[name] = stream.first + len(stream.items)

    def _replay(self, bucket: Bucket, row: Row, mark: int) -> None:
        record = row.record
        previous = bucket.records.get(record.path)
        if row.deleted:
            bucket.records.pop(record.path, None)
            record = record if previous is None else tombstone(previous, record.revision)
        else:
            bucket.records[record.path] = record
        event = Event(record, previous, row.deleted)
        if record.revision > mark and not row.volatile:
            self._history.remember(bucket, event)
        else:
            self._history.discard(event)

    async def close(self) -> None:
        """Everything staged is committed, volatile records too, and the exact revision is noted."""
        if self._closing:
            return
        self._closing = True
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        self.closed = True
        for bucket in self._buckets.values():
            bucket.wake()
        log = self._log
        if log is not None and self._opened and self._broken is None:
            self._ceiling_wanted = self._next
            batch = self._batch(Pending())
            with contextlib.suppress(StoreError):
                await self._disk.run(lambda: log.write(batch))
        if log is not None:
            await self._disk.run(log.close)
        self._disk.close()

    @property
    def broken(self) -> str:
        """Why nothing can be written at the moment, or empty."""
        return str(self._broken or "")

    @property
    def _refusal(self) -> str | None:
        if self._closing:
            return "the store is closed"
        if not self._opened:
            return "the store is not open yet"
        return None if self._broken is None else str(self._broken)

    def _require_writable(self) -> None:
        if self._closing or not self._opened or self._broken is not None:
            raise StoreBroken(self._refusal or "")

    # --- read -----------------------------------------------------------------------------------------------------

    def get(self, bucket: str, path: str) -> Record | None:
        """As published."""
        found = self._buckets.get(bucket)
        return found.records.get(path) if found else None

    def latest(self, bucket: str, path: str) -> Record | None:
        """As staged: what a writer builds on."""
        staged = self._staged.get((bucket, path))
        if staged is not None:
            return None if staged.deleted else staged.record
        found = self._buckets.get(bucket)
        return found.records.get(path) if found is not None else None

    def bucket(self, name: str) -> Bucket:
        return self._bucket(name)

    def buckets(self) -> list[str]:
        return sorted(self._buckets)

    def records(self, bucket: str, namespace: str | None = None) -> list[Record]:
        found = self._bucket(bucket)
        paths, start, stop = found.span(namespace)
        return [found.records[path] for path in paths[start:stop]]

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
        found = self._streams.get(stream)
        return found.read(after, limit) if found else []

    def listen(self, listener: Callable[[Event], None], bucket: str = "") -> None:
        """Call a function with every event of a bucket (of all, if none is named) as it is published, before its writer is told.

        For what must never lag behind the objects: indexes and the registry of kinds. A listener is quick and does not raise.
        """
        self._listeners.setdefault(bucket, []).append(listener)

    def watch(self, bucket: str, after: int) -> Watch:
        """Events of a bucket after a revision. Raises Compacted or Future at once where it can."""
        if after > self.revision:
            raise Future(after, self.revision)
        return Watch(self, self._bucket(bucket), after)

    # --- write ----------------------------------------------------------------------------------------------------

    def stage(self, ops: Sequence[Op]) -> Staged:
        """One transaction. Raises Conflict and changes nothing if an expectation does not hold."""
        self._require_writable()
        # All that can fail comes before anything is changed.
        events = [self._event(op, previous) for op, previous in zip(ops, self._expected(ops), strict=True)]
        pending = self._pending = self._pending or Pending()
        sequences: list[int] = []
        for op, event in zip(ops, events, strict=True):
            if isinstance(op, Append):
                sequences.append(self._stage_append(op, pending))
            elif isinstance(op, Trim):
                self._stage_trim(op, pending)
            elif event is not None:
                self._stage_event(event, op.volatile, pending)
        if self._flushing is None:
            self._flush_soon()
        return Staged([event.record for event in events if event is not None], sequences, pending.outcome)

    def stage_one(self, op: Put | Delete) -> tuple[Record, Outcome]:
        """As stage, for one of many writes that are a transaction each: the record, and how its commit ends."""
        self._require_writable()
        event = self._event(op, self._expect(op))
        assert event is not None
        pending = self._pending = self._pending or Pending()
        self._stage_event(event, op.volatile, pending)
        if self._flushing is None:
            self._flush_soon()
        return event.record, pending.outcome

    async def commit(self, ops: Sequence[Op]) -> list[Record]:
        return await self.stage(ops).durable()

    async def settled(self) -> None:
        """Until all that is staged now is durable, or dropped: what rests on it may be told to others from then on."""
        last = self._pending or self._committing
        if last is not None:
            with contextlib.suppress(StoreError):
                await last.outcome.wait()

    def _expected(self, ops: Sequence[Op]) -> list[Record | None]:
        """What each operation changes, if it is what the operation expects."""
        before: list[Record | None] = []
        seen: set[tuple[str, str]] = set()
        for op in ops:
            if not isinstance(op, (Put, Delete)):
                before.append(None)
                continue
            before.append(self._expect(op))
            if len(ops) > 1:
                seen_before = len(seen)
                seen.add((op.bucket, op.path))
                if len(seen) == seen_before:
                    raise ValueError(f"{op.bucket} {op.path} is written twice in one transaction")
        return before

    def _expect(self, op: Put | Delete) -> Record | None:
        current = self.latest(op.bucket, op.path)
        actual = current.revision if current is not None else ABSENT
        if (op.expect != actual and op.expect != ANY) or (current is None and isinstance(op, Delete)):
            raise Conflict(op.bucket, op.path, op.expect, actual)
        return current

    def _event(self, op: Op, previous: Record | None) -> Event | None:
        if isinstance(op, Put):
            revision = self._take_revision()
            value = stamp(op.value, revision)
            head = op.head or pack_head(op.labels, op.owners, op.fields, op.writers)
            if previous is None:
                record = Record(self._pool.name(op.bucket), op.path, revision, value, self._pool.head(head))
            else:  # what it is called and, mostly, what selects it stays the same
                head = previous.head if head == previous.head else self._pool.head(head)
                record = Record(previous.bucket, previous.path, revision, value, head)
            return Event(record, previous)
        if isinstance(op, Delete):
            assert previous is not None
            return Event(tombstone(previous, self._take_revision()), previous, deleted=True)
        if isinstance(op, (Append, Trim)):
            return None
        raise TypeError(f"the store has no operation {op!r}")

    def _stage_event(self, event: Event, volatile: bool, pending: Pending) -> None:
        record = event.record
        pending.events.append(event)
        self._staged[record.bucket, record.path] = event
        if not volatile:
            pending.durable = True
            return
        pending.volatile.add(record.revision)
        if record.bucket not in self._volatile:
            self._volatile.add(record.bucket)
            pending.newly_volatile.append(record.bucket)
            pending.durable = True

    def _stage_append(self, op: Append, pending: Pending) -> int:
        sequence = self._stream_next.get(op.stream, 1)
        self._stream_next[op.stream] = sequence + 1
        pending.appended.append(StreamRow(op.stream, sequence, op.data))
        pending.durable = True
        return sequence

    def _stage_trim(self, op: Trim, pending: Pending) -> None:
        # What is appended later in the same batch has a higher number and stays.
        upto = min(op.upto, self._stream_next.get(op.stream, 1) - 1)
        if upto > 0:
            pending.trimmed.append((op.stream, upto))
            pending.durable = True

    def _take_revision(self) -> int:
        revision = self._next
        self._next += 1
        return revision

    # --- commit ---------------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        self._flushing = asyncio.get_running_loop().create_task(self._flush())
        self._flushing.add_done_callback(self._flushed)

    async def _flush(self) -> None:
        while self._pending is not None:
            self._committing, self._pending = self._pending, None
            await self._commit(self._committing)
            self._committing = None
            if self._pending is None and len(self._history.garbage) >= _GARBAGE_STEP:
                await self._commit(Pending(), housekeeping=True)
        if self._log is not None and self._written > _TIDY_BYTES:
            self._written = 0
            await self._disk.run(self._log.tidy)

    def _flushed(self, task: asyncio.Task[None]) -> None:
        self._flushing = None
        if task.cancelled() or task.exception() is not None:
            # Stopped by someone, or by a fault of ours: what the log holds is unknown, so nothing may be built on it.
            self._broken = StoreBroken("the store was stopped in the middle of a commit; start the node again")
            self._abandon(self._committing, self._broken)
            self._committing = None
        elif self._pending is not None:
            self._flush_soon()

    async def _commit(self, pending: Pending, *, housekeeping: bool = False) -> None:
        log = self._log
        if self._next > self._ceiling:
            self._ceiling_wanted = self._next + _CEILING_STEP
        due = housekeeping or self._ceiling_wanted > 0 or len(self._unlogged) >= _UNLOGGED_MAX
        if log is None or not (pending.durable or due):
            self._keep_unlogged(pending)
            self._publish(pending)
            return
        batch = self._batch(pending)
        try:
            await self._disk.run(lambda: log.write(batch))
        except Exception as error:
            if not await self._landed(log, batch, error):
                if not housekeeping:
                    self._abandon(pending, error)
                return
        self.commits += 1
        self._number = batch.number
        self._written += sum(len(row.record.value) for row in batch.rows)
        self._ceiling = max(self._ceiling, batch.ceiling)
        self._ceiling_wanted = 0
        self._unlogged.clear()
        del self._history.garbage[: len(batch.garbage)]
        self._publish(pending)

    def _batch(self, pending: Pending) -> Batch:
        rows = list(self._unlogged.values())
        rows += [Row(event.record, event.deleted, event.revision in pending.volatile) for event in pending.events]
        garbage = self._history.garbage
        due = len(garbage) >= _GARBAGE_DUE or not pending.durable
        return Batch(
            rows=rows,
            appended=pending.appended,
            trimmed=pending.trimmed,
            # More goes than comes, however large the batches are.
            garbage=garbage[: max(_GARBAGE_STEP, 2 * len(rows))] if due else (),
            mark=self._history.mark,
            ceiling=self._ceiling_wanted,
            number=self._number + 1,
            volatile=pending.newly_volatile,
        )

    def _keep_unlogged(self, pending: Pending) -> None:
        if self._log is None:
            return
        for event in pending.events:
            self._unlogged[event.record.bucket, event.record.path] = Row(event.record, event.deleted, volatile=True)

    async def _landed(self, log: Log, batch: Batch, error: Exception) -> bool:
        """Whether a commit that failed in doubt is in the log after all: ask the log, however long it takes to answer."""
        if isinstance(error, StoreFull):
            return False
        self._broken = _explained(error)
        while True:
            try:
                state = await self._disk.run(log.open)
            except Exception as again:
                self._broken = _explained(again)
                if self._closing:
                    return False
                await asyncio.sleep(_REOPEN_SECONDS)
            else:
                self._broken = None
                if batch.rows:
                    return state.revision >= max(row.record.revision for row in batch.rows)
                return state.number >= batch.number

    def _abandon(self, pending: Pending | None, error: Exception) -> None:
        """Fail a batch and all that was staged on top of it; readers never saw any of it."""
        later, self._pending = self._pending, None
        for lost in (pending, later):
            if lost is None:
                continue
            for row in lost.appended:
                self._stream_next[row.stream] = min(self._stream_next[row.stream], row.sequence)
            self._volatile.difference_update(lost.newly_volatile)
            lost.outcome.settle(_explained(error))
        self._staged.clear()

    # --- publish --------------------------------------------------------------------------------------------------

    def _publish(self, pending: Pending) -> None:
        touched: dict[str, Bucket] = {}
        staged, of_all = self._staged, self._listeners.get("", ())
        for event in pending.events:
            record = event.record
            bucket = touched.get(record.bucket)
            if bucket is None:
                bucket = touched[record.bucket] = self._bucket(record.bucket)
            if event.deleted:
                bucket.drop(record.path)
            else:
                bucket.put(record)
            self._history.remember(bucket, event)
            key = (record.bucket, record.path)
            if staged.get(key) is event:
                del staged[key]
            for listener in self._listeners.get(record.bucket, ()):
                listener(event)
            for listener in of_all:
                listener(event)
        for row in pending.appended:
            self._streams.setdefault(row.stream, Stream()).items.append(row.data)
        for name, upto in pending.trimmed:
            if name in self._streams:
                self._streams[name].trim(upto)
        if pending.events:
            self.revision = pending.events[-1].revision
        self._history.shorten()
        pending.outcome.settle()
        for bucket in touched.values():
            bucket.wake()

    def _bucket(self, name: str) -> Bucket:
        found = self._buckets.get(name)
        if found is None:
            found = self._buckets[name] = Bucket(name, self._history.mark)
        return found


def _explained(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    return StoreBroken(f"a write could not be logged: {type(error).__name__}: {error}")
