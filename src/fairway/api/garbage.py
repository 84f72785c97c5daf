"""Garbage collection: what belongs to something that is gone goes too.

An index of dependents by their owners' uids follows every published change. A worker takes from a queue what may have to go and decides from
the objects as they are then; everything it does can be repeated, so a crash in between only means doing it again at the next start.

    owner gone ──► its dependents are looked at: no owner left → deleted; some left → the dead reference is dropped
    owner waits (foregroundDeletion) ──► dependents are deleted first, then the owner's finalizer is taken off
    owner lets go (orphan) ──► references to it are dropped from its dependents, then the finalizer is taken off
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from msgspec import UNSET

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.api.objects import FOREGROUND, ORPHAN
from fairway.api.request import DeleteOptions, Options, Target, Write
from fairway.api.space import Space
from fairway.api.worker import Worker, give_way
from fairway.store import NO_HEAD, Event, Record

_OPTIONS = Options(manager="garbage-collector")
_STEP = 500
_SLICE = 200
"""Records read at a start before others get their turn."""


class Key(NamedTuple):
    bucket: str
    path: str


class GarbageCollector:
    def __init__(self, space: Space) -> None:
        self._space = space
        self._dependents: dict[str, set[Key]] = {}
        self._leaving: dict[str, Key] = {}
        """Owners that wait for their dependents, by uid."""
        self._queue: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._worker = Worker("garbage-collector", self._step)
        self._complete = False
        """Whether the index holds all that is there: nothing is decided before."""
        self._awaited = False
        """Whether something was deleted, so that somebody may wait for the index."""
        space.store.listen(self._observe)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    # --- what is there at a start ---------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Index what is there, and look at whatever waits for dependents, or has an owner that is not there. What happens meanwhile is
        observed as ever."""
        for bucket in self._space.store.buckets():
            async for records in self._slices(bucket):
                for record in records:
                    if record.head is not NO_HEAD:
                        self._index(record, add=True)
                    if _leaves(record):
                        self._look_at(record)
        missing = set(self._dependents)
        for bucket in self._space.store.buckets():
            if self._is_volatile(bucket):
                continue  # nothing belongs to what may be lost
            async for records in self._slices(bucket):
                missing.difference_update([codec.uid_of(record.value) for record in records])
        for key in sorted(key for uid in missing for key in self._dependents.get(uid, ())):
            self._enqueue(key)

    async def _slices(self, bucket: str) -> AsyncIterator[list[Record]]:
        """All records, each as it is when its turn comes. While nobody waits for this, others go first."""
        records = self._space.store.bucket(bucket).records
        paths = list(records)
        for start in range(0, len(paths), _SLICE):
            yield [record for path in paths[start : start + _SLICE] if (record := records.get(path)) is not None]
            if start + _SLICE < len(paths):
                await (asyncio.sleep(0) if self._awaited else give_way())

    def _is_volatile(self, bucket: str) -> bool:
        kind = self._space.registry.bucket(bucket)
        return kind is not None and kind.volatile

    # --- observe --------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        record, previous = event.record, event.previous
        if not self._complete and (event.deleted or _leaves(record)) and not self._is_volatile(record.bucket):
            self._awaited = True
        same = previous is not None and (previous.head == record.head or previous.owners == record.owners)
        if previous is not None and (event.deleted or not same):
            self._index(previous, add=False)
        if event.deleted:
            self._owner_gone(record)
        else:
            if not same and record.owners:
                self._index(record, add=True)
                self._look_at(record)
            if _leaves(record):
                self._look_at(record)
        if self._queue:
            self._worker.wake()

    def _index(self, record: Record, *, add: bool) -> None:
        key = Key(record.bucket, record.path)
        for owner in record.owners:
            if add:
                self._dependents.setdefault(owner, set()).add(key)
            elif owner in self._dependents:
                self._dependents[owner].discard(key)
                if not self._dependents[owner]:
                    del self._dependents[owner]

    def _owner_gone(self, record: Record) -> None:
        for owner in record.owners:
            if owner in self._leaving:
                self._enqueue(self._leaving[owner])
        if not self._dependents:
            return
        uid = codec.glance(record.value).uid
        self._leaving.pop(uid, None)
        for key in sorted(self._dependents.get(uid, ())):
            self._enqueue(key)

    def _look_at(self, record: Record) -> None:
        self._enqueue(Key(record.bucket, record.path))

    def _enqueue(self, key: Key) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._queue.append(key)

    # --- decide and act -------------------------------------------------------------------------------------------

    async def _step(self) -> bool:
        """Handle some of the queue; whether there is more."""
        if not self._complete:
            await self._load()
            self._complete = True
        writes: list[Write] = []
        for _ in range(min(_STEP, len(self._queue))):
            key = self._queue.popleft()
            self._queued.discard(key)
            try:
                write = self._handle(key)
            except ApiError:
                continue  # it changed or went in the meantime; its next event brings it back
            if write is not None and write.op is not None:
                writes.append(write)
        await self._space.objects.bulk([lambda write=write: write for write in writes])  # type: ignore[misc]
        return bool(self._queue)

    def _handle(self, key: Key) -> Write | None:
        kind = self._space.registry.bucket(key.bucket)
        record = self._space.store.latest(key.bucket, key.path)
        if kind is None or record is None:
            return None
        target = Target(kind, kind.storage_version, record.namespace, record.name)
        obj = codec.stored(kind, record.value)
        if _leaves(record):
            finalizers = obj.metadata.finalizers or ()
            if FOREGROUND in finalizers:
                return self._foreground(target, record, obj)
            if ORPHAN in finalizers:
                return self._orphan(target, record, obj)
        return self._dependent(target, record, obj) if obj.metadata.owner_references else None

    def _foreground(self, target: Target, record: Record, owner: Any) -> Write | None:
        self._leaving[owner.metadata.uid] = Key(record.bucket, record.path)
        blocked = False
        for key in sorted(self._dependents.get(owner.metadata.uid, ())):
            dependent = self._space.store.latest(*key)
            kind = self._space.registry.bucket(key.bucket)
            if dependent is None or kind is None:
                continue
            if not codec.glance(dependent.value).deletion_timestamp:
                self._enqueue(key)
            references = codec.stored(kind, dependent.value).metadata.owner_references or ()
            blocked |= any(ref.uid == owner.metadata.uid and ref.block_owner_deletion is True for ref in references)
        return None if blocked else self._take_off(target, record, owner, FOREGROUND)

    def _orphan(self, target: Target, record: Record, owner: Any) -> Write | None:
        dependents = sorted(self._dependents.get(owner.metadata.uid, ()))
        for key in dependents:
            dependent = self._space.store.latest(*key)
            kind = self._space.registry.bucket(key.bucket)
            if dependent is not None and kind is not None:
                inner = Target(kind, kind.storage_version, dependent.namespace, dependent.name)
                write = self._drop_references(inner, dependent, {owner.metadata.uid})
                if write.op is not None:
                    self._space.store.stage([write.op])
        return self._take_off(target, record, owner, ORPHAN)

    def _take_off(self, target: Target, record: Record, owner: Any, finalizer: str) -> Write:
        left = [name for name in owner.metadata.finalizers or () if name != finalizer]
        owner.metadata.finalizers = left or UNSET
        return self._space.objects.replace(target, record, owner, _OPTIONS, [])

    def _dependent(self, target: Target, record: Record, obj: Any) -> Write | None:
        gone, leaving, solid = set(), set(), 0
        for reference in obj.metadata.owner_references:
            owner = self._owner(reference, record.namespace)
            if owner is None:
                gone.add(reference.uid)
            elif owner.deletion_timestamp and FOREGROUND in owner.finalizers:
                leaving.add(reference.uid)
            else:
                solid += 1
        if not gone and not leaving:
            return None
        if solid:
            return self._drop_references(target, record, gone | leaving)
        if obj.metadata.deletion_timestamp and not leaving:
            return None
        how = DeleteOptions("Foreground" if leaving and obj.metadata.uid in self._dependents else "Background")
        return self._space.objects.delete(target, how, _OPTIONS)

    def _drop_references(self, target: Target, record: Record, uids: set[str]) -> Write:
        obj = codec.stored(target.kind, record.value)
        left = [reference for reference in obj.metadata.owner_references or () if reference.uid not in uids]
        obj.metadata.owner_references = left or UNSET
        return self._space.objects.replace(target, record, obj, _OPTIONS, [])

    def _owner(self, reference: Any, namespace: str) -> Any | None:
        """Metadata of the owner, if it is the very one that is meant. An owner of an unknown kind is taken to be there."""
        kind = self._space.registry.of(reference.api_version, reference.kind)
        if kind is None:
            return codec.Glance(uid=reference.uid)
        record = self._space.store.latest(kind.home.bucket, f"{namespace if kind.namespaced else ''}/{reference.name}")
        if record is None:
            return None
        owner = codec.glance(record.value)
        return owner if owner.uid == reference.uid else None


def _leaves(record: Record) -> bool:
    """Whether it is being deleted in a way that concerns its dependents: told from the bytes, since every write asks."""
    value = record.value
    return codec.is_leaving(value) and (b'"foregroundDeletion"' in value or b'"orphan"' in value)
