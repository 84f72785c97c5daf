"""What the store keeps (`Record`), what is asked of it (`Put`, `Delete`, `Append`, `Trim`) and what it tells watchers (`Event`).

All are Structs that the garbage collector does not look at: a hundred thousand of them cost no pause. What selects a record stays packed as it
is in the log, and is unpacked for those who ask: of most records nobody ever does.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

STAMP = b'"resourceVersion":""'
"""Where a value wants its revision: the first occurrence is filled in when the write is staged."""

ANY = -1
ABSENT = 0


Texts: TypeAlias = tuple[str, ...]
_pack = msgspec.msgpack.Encoder().encode
unpack_head = msgspec.msgpack.Decoder(tuple[Texts, Texts, Texts, str]).decode
"""Labels, owners, fields and writers."""
NO_HEAD = _pack(((), (), (), ""))


def pack_head(labels: Texts, owners: Texts, fields: Texts, writers: str) -> bytes:
    return _pack((labels, owners, fields, writers)) if labels or owners or fields or writers else NO_HEAD


class Record(msgspec.Struct, frozen=True, gc=False):
    """One object as it is served, with what is needed to select it without decoding it."""

    bucket: str
    path: str
    """namespace/name; /name for what has no namespace."""
    revision: int
    value: bytes
    head: bytes = NO_HEAD
    """What selects it, packed."""

    @property
    def labels(self) -> Texts:
        """key, value, key, value …"""
        return unpack_head(self.head)[0]

    @property
    def owners(self) -> Texts:
        """uids of the owners."""
        return unpack_head(self.head)[1]

    @property
    def fields(self) -> Texts:
        """values of the fields that a field selector may name, in the kind's order."""
        return unpack_head(self.head)[2]

    @property
    def writers(self) -> str:
        """who wrote it, in the API's own notation."""
        return unpack_head(self.head)[3]

    @property
    def namespace(self) -> str:
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        return self.path.partition("/")[2]


class Put(msgspec.Struct, gc=False):
    """Create or replace. expect: the revision it must have now, ABSENT, or ANY."""

    bucket: str
    path: str
    value: bytes
    expect: int = ANY
    labels: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    writers: str = ""
    volatile: bool = False
    head: bytes = b""
    """These four as they are packed, where the writer has that at hand: then they are not looked at."""


class Delete(msgspec.Struct, gc=False):
    bucket: str
    path: str
    expect: int = ANY
    volatile: bool = False


class Append(msgspec.Struct, gc=False):
    """Add a record to a stream, in the same commit as the rest."""

    stream: str
    data: bytes


class Trim(msgspec.Struct, gc=False):
    """Forget a stream's records up to and with this sequence number."""

    stream: str
    upto: int


Op: TypeAlias = Put | Delete | Append | Trim


class Event(msgspec.Struct, gc=False):
    """A change. For a deletion, `record` is the last state under the revision of its deletion."""

    record: Record
    previous: Record | None
    deleted: bool = False

    @property
    def revision(self) -> int:
        return self.record.revision


class Conflict(Exception):
    """A write expected another revision than there is (0: nothing is there)."""

    def __init__(self, bucket: str, path: str, expected: int, actual: int) -> None:
        super().__init__(f"{bucket} {path}: expected revision {expected}, found {actual}")
        self.bucket, self.path, self.expected, self.actual = bucket, path, expected, actual


class Compacted(Exception):
    """The history that a watch asks for is gone; list again and watch from there."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked, self.oldest = asked, oldest


class Future(Exception):
    """A revision was asked for that does not exist yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"Too large resource version: {asked}, current: {current}")
        self.asked, self.current = asked, current


def stamp(value: bytes, revision: int) -> bytes:
    return value.replace(STAMP, b'"resourceVersion":"%d"' % revision, 1)


def restamp(value: bytes, old: int, new: int) -> bytes:
    return value.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)


def tombstone(last: Record, revision: int) -> Record:
    """The last state of what is deleted, under the revision of its deletion."""
    value = restamp(last.value, last.revision, revision)
    return Record(last.bucket, last.path, revision, value, last.head)
