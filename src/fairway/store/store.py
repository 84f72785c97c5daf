"""The store: stage, commit in batches, publish; read and watch from memory.

Three states of a write: *staged* (later writers build on it), *committed* (in the log, durable), *published* (readers and watchers see it,
the writer is told). A batch whose commit fails is dropped whole, with all that was staged on top of it.

What is remembered beside the log: nothing. Volatile writes (Events, heartbeats) are published without a commit of their own and reach the
log with the next durable one; a crash may lose them. So that revisions never go back, the log holds a ceiling above all that were given out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from fairway.runtime.disk import Disk, InlineDisk
from fairway.store import history
from fairway.store.bucket import Bucket
from fairway.store.history import History
from fairway.store.log import Batch, Log, Row, StoreBroken, StoreError, StreamRow
from fairway.store.pending import Pending, Staged
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
    restamp,
    stamp,
)
from fairway.store.stream import Stream
from fairway.store.watch import Watch

_CEILING_STEP = 100_000
_GARBAGE_STEP = 500
_GARBAGE_DUE = 5_000
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
        self._next = 1
        self._ceiling = 1
        self._ceiling_wanted = 0
        self.revision = 0
        """The newest published revision."""
        self._pending: Pending | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._unlogged: dict[tuple[str, str], Row] = {}
        self._history = History(history_events, history_bytes, swept=log is not None)
        self._broken: StoreError | None = None
        self.closed = False
        self._written = 0
        self.commits = 0
        """How many commits reached the log: for metrics."""

    # --- life -----------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        if self._log is not None:
            await self._disk.run(self._load)

    def _load(self) -> None:
        assert self._log is not None
        state = self._log.open()
        self._history.mark = state.mark
        self._next = self._ceiling = max(state.ceiling, state.revision + 1)
        self.revision = self._next - 1
        for row in self._log.rows():
            self._replay(row, state.mark)
        self._history.shorten()
        for item in self._log.streams():
            stream = self._streams.setdefault(item.stream, Stream())
            if not stream.items:
                stream.first = item.sequence
            stream.items.append(item.data)
        for name, stream in self._streams.items():
            self._stream_next[name] = stream.first + len(stream.items)

    def _replay(self, row: Row, mark: int) -> None:
        record = row.record
        bucket = self._bucket(record.bucket)
        previous = bucket.records.get(record.path)
        if row.deleted and previous is not None:
            value = restamp(previous.value, previous.revision, record.revision)
            record = Record(
                record.bucket, record.path, record.revision, value, previous.labels, previous.owners, previous.fields
            )
        if row.volatile:
            bucket.floor = self.revision  # what happened to it after its last row is unknown
        remember = record.revision > mark and not row.volatile
        event = Event(record, previous, row.deleted)
        self._apply(bucket, event, remember=remember)
        if not remember:
            self._history.discard(event)

    async def close(self) -> None:
        """Everything staged is committed, volatile records too, and the exact revision is noted."""
        if self._broken is not None and self._flushing is not None:
            self._flushing.cancel()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        self.closed = True
        if self._log is not None and self._broken is None:
            self._ceiling_wanted = self._next
            batch = self._batch(Pending())
            log = self._log
            with contextlib.suppress(StoreError):
                await self._disk.run(lambda: log.write(batch))
        if self._log is not None:
            await self._disk.run(self._log.close)
        self._disk.close()
        for bucket in self._buckets.values():
            bucket.wake()

    @property
    def broken(self) -> str:
        """Why nothing can be written at the moment, or empty."""
        return str(self._broken or "")

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
        return self.get(bucket, path)

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

    def watch(self, bucket: str, after: int) -> Watch:
        """Events of a bucket after a revision. Raises Compacted or Future at once where it can."""
        if after > self.revision:
            raise Future(after, self.revision)
        return Watch(self, self._bucket(bucket), after)

    # --- write ----------------------------------------------------------------------------------------------------

    def stage(self, ops: Sequence[Op]) -> Staged:
        """One transaction. Raises Conflict and changes nothing if an expectation does not hold."""
        if self.closed:
            raise StoreBroken("the store is closed")
        if self._broken is not None:
            raise self._broken
        self._check(ops)
        pending = self._pending
        if pending is None:
            pending = self._pending = Pending()
        records: list[Record] = []
        sequences: list[int] = []
        for op in ops:
            if isinstance(op, Put):
                records.append(self._stage_put(op, pending))
            elif isinstance(op, Delete):
                records.append(self._stage_delete(op, pending))
            elif isinstance(op, Append):
                sequences.append(self._stage_append(op, pending))
            else:
                pending.trimmed.append((op.stream, op.upto))
                pending.durable = True
        if self._flushing is None:
            self._flush_soon()
        return Staged(records, sequences, pending.done)

    async def commit(self, ops: Sequence[Op]) -> list[Record]:
        return await self.stage(ops).durable()

    def _check(self, ops: Sequence[Op]) -> None:
        within: dict[tuple[str, str], int] = {}
        for op in ops:
            if not isinstance(op, (Put, Delete)):
                continue
            key = (op.bucket, op.path)
            if key in within:
                raise ValueError(f"{op.bucket} {op.path} is written twice in one transaction")
            current = self.latest(op.bucket, op.path)
            actual = current.revision if current else ABSENT
            within[key] = actual
            if op.expect not in (ANY, actual) or (isinstance(op, Delete) and actual == ABSENT):
                raise Conflict(op.bucket, op.path, op.expect, actual)

    def _stage_put(self, op: Put, pending: Pending) -> Record:
        revision = self._take_revision()
        record = Record(
            op.bucket, op.path, revision, stamp(op.value, revision), op.labels, op.owners, op.fields, op.writers
        )
        self._stage_event(Event(record, self.latest(op.bucket, op.path)), op.volatile, pending)
        return record

    def _stage_delete(self, op: Delete, pending: Pending) -> Record:
        previous = self.latest(op.bucket, op.path)
        assert previous is not None
        revision = self._take_revision()
        value = restamp(previous.value, previous.revision, revision)
        record = Record(
            op.bucket, op.path, revision, value, previous.labels, previous.owners, previous.fields, previous.writers
        )
        self._stage_event(Event(record, previous, deleted=True), op.volatile, pending)
        return record

    def _stage_event(self, event: Event, volatile: bool, pending: Pending) -> None:
        pending.events.append(event)
        self._staged[event.record.bucket, event.record.path] = event
        if volatile:
            pending.volatile.add(event.revision)
        else:
            pending.durable = True

    def _stage_append(self, op: Append, pending: Pending) -> int:
        sequence = self._stream_next.get(op.stream, 1)
        self._stream_next[op.stream] = sequence + 1
        pending.appended.append(StreamRow(op.stream, sequence, op.data))
        pending.durable = True
        return sequence

    def _take_revision(self) -> int:
        revision = self._next
        self._next += 1
        return revision

    # --- commit ---------------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._pending is not None:
                pending, self._pending = self._pending, None
                await self._commit(pending)
                if self._pending is None and len(self._history.garbage) >= _GARBAGE_STEP:
                    await self._commit(Pending(), forced=True)
            if self._log is not None and self._written > _TIDY_BYTES:
                self._written = 0
                await self._disk.run(self._log.tidy)
        finally:
            self._flushing = None
            if self._pending is not None:
                self._flush_soon()

    async def _commit(self, pending: Pending, *, forced: bool = False) -> None:
        log = self._log
        if self._next > self._ceiling:
            self._ceiling_wanted = self._next + _CEILING_STEP
        if log is None or not (pending.durable or forced or self._ceiling_wanted):
            self._keep_unlogged(pending)
            self._publish(pending)
            return
        batch = self._batch(pending)
        try:
            await self._disk.run(lambda: log.write(batch))
        except StoreError as error:
            if not await self._landed(batch, error):
                self._abandon(pending, error)
                return
        self.commits += 1
        self._written += sum(len(row.record.value) for row in batch.rows)
        self._ceiling = max(self._ceiling, batch.ceiling)
        self._ceiling_wanted = 0
        self._unlogged.clear()
        del self._history.garbage[: len(batch.garbage)]
        self._publish(pending)

    def _batch(self, pending: Pending) -> Batch:
        rows = list(self._unlogged.values())
        rows += [Row(event.record, event.deleted, event.revision in pending.volatile) for event in pending.events]
        due = len(self._history.garbage) >= _GARBAGE_DUE or not pending.durable
        return Batch(
            rows=rows,
            appended=pending.appended,
            trimmed=pending.trimmed,
            garbage=self._history.garbage[:_GARBAGE_STEP] if due else (),
            mark=self._history.mark,
            ceiling=self._ceiling_wanted,
        )

    def _keep_unlogged(self, pending: Pending) -> None:
        if self._log is None:
            return
        for event in pending.events:
            self._unlogged[event.record.bucket, event.record.path] = Row(event.record, event.deleted, volatile=True)

    async def _landed(self, batch: Batch, error: StoreError) -> bool:
        """Whether a commit that failed in doubt is in the log after all: ask the log, however long it takes to answer."""
        if not isinstance(error, StoreBroken) or not batch.rows:
            return False
        log = self._log
        assert log is not None
        self._broken = error
        wanted = max(row.record.revision for row in batch.rows)
        while True:
            try:
                state = await self._disk.run(log.open)
            except StoreError as again:
                self._broken = again
                await asyncio.sleep(_REOPEN_SECONDS)
            else:
                self._broken = None
                return state.revision >= wanted

    def _abandon(self, pending: Pending, error: StoreError) -> None:
        """Fail a batch and all that was staged on top of it; readers never saw any of it."""
        later, self._pending = self._pending, None
        for lost in (pending, later):
            if lost is None:
                continue
            for row in lost.appended:
                self._stream_next[row.stream] = min(self._stream_next[row.stream], row.sequence)
            if not lost.done.done():
                lost.done.set_exception(error)
                lost.done.exception()  # the writer may be gone; that is no reason to complain
        self._staged.clear()

    # --- publish --------------------------------------------------------------------------------------------------

    def _publish(self, pending: Pending) -> None:
        touched: dict[str, Bucket] = {}
        for event in pending.events:
            record = event.record
            bucket = self._bucket(record.bucket)
            touched[record.bucket] = bucket
            self._apply(bucket, event, remember=True)
            key = (record.bucket, record.path)
            if self._staged.get(key) is event:
                del self._staged[key]
        for row in pending.appended:
            self._streams.setdefault(row.stream, Stream()).items.append(row.data)
        for name, upto in pending.trimmed:
            if name in self._streams:
                self._streams[name].trim(upto)
        if pending.events:
            self.revision = pending.events[-1].revision
        self._history.shorten()
        if not pending.done.done():
            pending.done.set_result(None)
        for bucket in touched.values():
            bucket.wake()

    def _apply(self, bucket: Bucket, event: Event, *, remember: bool) -> None:
        if event.deleted:
            bucket.drop(event.record.path)
        else:
            bucket.put(event.record)
        if remember:
            self._history.remember(bucket, event)

    def _bucket(self, name: str) -> Bucket:
        found = self._buckets.get(name)
        if found is None:
            found = self._buckets[name] = Bucket(name, self._history.mark)
        return found
