"""Get, list and watch: bytes from memory, selected by the header, decoded only where a version must be converted."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from fairway.api import codec
from fairway.api.errors import bad_request, expired, not_found, too_large_revision
from fairway.api.request import Target
from fairway.api.selectors import Selector
from fairway.store import Compacted, Event, Future, Record, Store, restamp

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind are meant: by labels, and by the fields that the kind offers."""

    labels: Selector | None = None
    fields: Selector | None = None
    selectable: tuple[str, ...] = ()

    def matches(self, record: Record) -> bool:
        if self.labels is not None:
            if self.labels.mark not in record.head:
                return False
            labels = record.labels
            if not self.labels.matches(dict(zip(labels[::2], labels[1::2], strict=True))):
                return False
        if self.fields is None:
            return True
        namespace, _slash, name = record.path.partition("/")
        fields = dict(zip(self.selectable, record.fields, strict=False))
        fields["metadata.name"], fields["metadata.namespace"] = name, namespace
        return self.fields.matches(fields)

    @property
    def everything(self) -> bool:
        return self.labels is None and self.fields is None

    @property
    def name(self) -> str | None:
        """The one name that can match, if there is one."""
        return self.fields.exact("metadata.name") if self.fields is not None else None


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list, and how to go on."""

    records: list[Record]
    revision: int
    resume: str = ""
    remaining: int | None = None


class Change(msgspec.Struct, frozen=True, gc=False):
    """What a watcher is told: the kind of change, and the object after it (before it, if it is gone)."""

    type: ChangeType
    record: Record


_CURSOR = "fairway/v1"


class _Resume(msgspec.Struct, rename={"version": "v", "revision": "rv", "after": "start"}):
    version: str
    revision: int
    after: str


@dataclass(slots=True)
class Reads:
    store: Store
    _cursor: msgspec.json.Decoder[_Resume] = field(default_factory=lambda: msgspec.json.Decoder(_Resume))

    def get(self, target: Target) -> Record:
        record = self.store.get(target.kind.home.bucket, target.path)
        if record is None:
            raise not_found(target.kind, target.name)
        return record

    def serve(self, target: Target, record: Record) -> bytes:
        return codec.served(target.kind, target.version, record.value)

    def list(
        self,
        target: Target,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        resume: str = "",
        at_least: int = 0,
    ) -> Page:
        """Objects in order. All pages of a list carry the revision of the first, so that a watch from it misses nothing."""
        if at_least > self.store.revision:
            raise too_large_revision(at_least, self.store.revision)
        bucket = self.store.bucket(target.kind.home.bucket)
        namespace = target.namespace if target.kind.namespaced and target.namespace else None
        revision, after = self.store.revision, None
        if resume:
            cursor = self._read_cursor(resume)
            revision, after = cursor.revision, cursor.after
            if not bucket.floor <= revision <= self.store.revision:
                raise expired(
                    "The provided continue parameter is too old to display a consistent list result; start again without it"
                )
        name = selection.name
        if name is not None and (namespace is not None or not target.kind.namespaced):
            one = bucket.records.get(f"{namespace or ''}/{name}")
            return Page([one] if one is not None and selection.matches(one) else [], revision)
        paths, start, stop = bucket.span(namespace, after)
        if selection.everything:
            end = min(stop, start + limit) if limit > 0 else stop
            records = [bucket.records[path] for path in paths[start:end]]
            token = self._write_cursor(revision, records[-1].path) if end < stop else ""
            return Page(records, revision, token, stop - end if token else None)
        records = []
        mark = selection.labels.mark if selection.labels is not None else b""
        for index in range(start, stop):
            record = bucket.records[paths[index]]
            if mark not in record.head or not selection.matches(record):
                continue
            if limit and len(records) == limit:
                token = self._write_cursor(revision, records[-1].path)
                return Page(records, revision, token)
            records.append(record)
        return Page(records, revision)

    def watch(self, target: Target, selection: Selection, after: int) -> Changes:
        return Changes(self.store, target, selection, after)

    def initial(self, target: Target, selection: Selection) -> Iterator[Change]:
        """The state as changes, for a watch that starts with it."""
        for record in self.list(target, selection).records:
            yield Change("ADDED", record)

    def _write_cursor(self, revision: int, after: str) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(_Resume(_CURSOR, revision, after))).decode().rstrip("=")

    def _read_cursor(self, token: str) -> _Resume:
        try:
            cursor = self._cursor.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            if cursor.version != _CURSOR:
                raise ValueError(cursor.version)
            return cursor
        except (ValueError, msgspec.MsgspecError):
            raise bad_request(
                "invalid continue token: take it as it was returned by the list before, or start again without it"
            ) from None


class Changes:
    """A watch with a selection: objects that begin or cease to match are added or deleted, as far as the watcher can tell."""

    __slots__ = ("_all", "_namespace", "_selection", "_watch", "target")

    def __init__(self, store: Store, target: Target, selection: Selection, after: int) -> None:
        self.target = target
        self._selection = selection
        self._namespace = f"{target.namespace}/" if target.kind.namespaced and target.namespace else ""
        self._all = selection.everything and not self._namespace
        try:
            self._watch = store.watch(target.kind.home.bucket, after)
        except Compacted as error:
            raise expired(str(error)) from None
        except Future as error:
            raise too_large_revision(error.asked, error.current) from None

    @property
    def revision(self) -> int:
        """Everything up to here has been told: what a bookmark may carry."""
        return self._watch.revision

    @property
    def ended(self) -> bool:
        return self._watch.ended

    def end(self) -> None:
        """Nothing more is wanted: for whoever watches so long and no longer."""
        self._watch.end()

    async def next(self) -> list[Change] | None:
        """Changes, possibly none of interest; None when the space closes, or this was ended."""
        try:
            events = await self._watch.next()
        except Compacted as error:
            raise expired(str(error)) from None
        if not events:
            return None
        if self._all:
            return [_told(event) for event in events]
        return [change for event in events if (change := self._see(event)) is not None]

    def _see(self, event: Event) -> Change | None:
        record = event.record
        if self._namespace and not record.path.startswith(self._namespace):
            return None
        selection = self._selection
        if selection.everything:
            return _told(event)
        before = event.previous is not None and selection.matches(event.previous)
        after = not event.deleted and selection.matches(record)
        if after:
            return Change("MODIFIED" if before else "ADDED", record)
        if not before:
            return None
        assert event.previous is not None
        return Change("DELETED", record if event.deleted else _last_seen(event.previous, event.revision))


def _told(event: Event) -> Change:
    """To whoever sees everything."""
    return Change("DELETED" if event.deleted else "MODIFIED" if event.previous is not None else "ADDED", event.record)


def _last_seen(record: Record, revision: int) -> Record:
    """The state that a watcher knew, under the revision at which it left its sight."""
    value = restamp(record.value, record.revision, revision)
    return Record(record.bucket, record.path, revision, value, record.head)
