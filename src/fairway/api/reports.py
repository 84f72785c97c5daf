"""What our own controllers report of an object: its status, put into the stored bytes without touching the rest.

A controller decides a status from the object that is there, by rules of its own; most writes of a job's life are such reports. So a report is
checked for its types and its revision, and for nothing that only a stranger could get wrong; it is whole, so that only the defaults of its types
are filled in; and nothing is decoded, defaulted or encoded again that it leaves alone. What is out of the ordinary (an object with managed
fields, or on its way out; a kind whose status cannot be told from the rest by looking at the bytes) takes the long way of every other update.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from fairway.api import codec, managed
from fairway.api.codec import FieldReader
from fairway.api.errors import conflict
from fairway.api.objects import Objects
from fairway.api.request import Options, Target, Write
from fairway.kinds import schema
from fairway.kinds.defaults import fill
from fairway.kinds.kind import Kind, convert
from fairway.kinds.meta import Object
from fairway.kinds.types import encode
from fairway.store import Put, Record
from fairway.store.record import STAMP, pack_head, unpack_head

Json = dict[str, Any]
_STATUS = b',"status":{'
_MANAGED, _SPEC = b'"managedFields":[', b',"spec":{'


class Reports:
    """Of one space's objects."""

    compared = False
    """For tests: every report also goes the long way, with every check, and both must come to the same."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def write(self, target: Target, body: Json, options: Options) -> Write:
        """The status in a body, over the one that is there."""
        record = self._objects.latest(target)
        status = body.get("status")
        if status and target.kind.home is target.kind and target.version is target.kind.storage_version:
            plan = _plan(target.kind)
            value = record.value
            if plan is not None and not codec.is_leaving(value) and value.find(_MANAGED, 0, value.find(_SPEC)) < 0:
                return self._write(plan, target, record, body, options)
        return self._objects.update(target, only_status(target, body), options)

    def _write(self, plan: _Plan, target: Target, record: Record, body: Json, options: Options) -> Write:
        _check(target, record, body["metadata"])
        try:
            status = convert(body["status"], plan.type)
        except (msgspec.MsgspecError, ValueError):  # the long way has the words for it
            return self._objects.update(target, only_status(target, body), options)
        fill(status)
        value = record.value
        at = value.find(_STATUS)
        told = b',"status":' + encode(status) + b"}"
        if self.compared:
            self._compare(target, record, body, options, value[:at] + told)
        if at >= 0 and value[at:] == told:
            return Write(target, None, value)
        marked = b'"resourceVersion":"%d"' % record.revision
        mark = value.index(marked)
        text = b"".join((value[:mark], STAMP, value[mark + len(marked) : at], told))
        kind = target.kind
        op = Put(kind.bucket, record.path, text, record.revision, volatile=kind.volatile)
        labels, owners, fields, writers = unpack_head(record.head)
        wrote = managed.add_writer(writers, options.manager, kind.api_version(target.version.name), "status")
        now = plan.fields(fields, status) if plan.fields is not None else fields
        op.head = record.head if wrote == writers and now == fields else pack_head(labels, owners, now, wrote)
        return Write(target, op, text)

    def _compare(self, target: Target, record: Record, body: Json, options: Options, text: bytes) -> None:
        long = self._objects.update(target, only_status(target, body), options)
        assert long.op is None or isinstance(long.op, Put)
        came_to = long.value.replace(STAMP, b'"resourceVersion":"%d"' % record.revision, 1)
        assert msgspec.json.decode(came_to) == msgspec.json.decode(text), f"{came_to!r} is not {text!r}"


def _check(target: Target, record: Record, metadata: Json) -> None:
    """The object must be the one that the report was made from."""
    revision, uid = metadata.get("resourceVersion"), metadata.get("uid")
    if revision and revision != str(record.revision):
        raise conflict(target.kind, target.name)
    if uid and uid != (there := codec.uid_of(record.value)):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}"
        raise conflict(target.kind, target.name, why)


def only_status(target: Target, body: Json) -> Json:
    """Nothing else of it is looked at, so nothing else needs to be read but what a whole object must have."""
    required = target.version.node.required
    return {key: value for key, value in body.items() if key in _KEPT or key in required}


_KEPT = ("apiVersion", "kind", "metadata", "status")


# --- what is known of a kind beforehand -------------------------------------------------------------------------------


class _Part(msgspec.Struct):
    """As much of an object as a reader of a field of its status asks for."""

    status: Any


class _Plan(msgspec.Struct, frozen=True):
    type: Any
    fields: Callable[[tuple[str, ...], Any], tuple[str, ...]] | None
    """The fields to select by, from those that were and the status that is; None where none is in the status."""


def _plan(kind: Kind) -> _Plan | None:
    return _planned(kind.storage_version.type, kind.selectable, kind.selectable_as) if kind.has_status else None


def is_told_apart(kind: Kind) -> bool:
    """Whether a kind's status can be told from the rest by its bytes."""
    return _plan(kind) is not None


@cache
def _planned(
    struct: type[Object], selectable: tuple[str, ...], selectable_as: tuple[tuple[str, FieldReader], ...]
) -> _Plan | None:
    """None where a status cannot be told from the rest by its bytes, or is not a Struct."""
    node = schema.of(struct)
    names = list(node.fields)
    status = node.fields.get("status")
    if status is None or status.struct is None or names[-1] != "status":
        return None
    if any(_may_hold_a_status(child) for name, child in node.fields.items() if name != "status"):
        return None
    readers = codec.field_readers(selectable, selectable_as, struct)
    within = [(index, readers[index]) for index, path in enumerate(selectable) if path.startswith("status.")]

    def fields(before: tuple[str, ...], status: Any) -> tuple[str, ...]:
        after, part = list(before), _Part(status)
        for index, read in within:
            after[index] = read(part)
        return tuple(after)

    return _Plan(status.struct, fields if within else None)


def _may_hold_a_status(node: schema.Node) -> bool:
    """Whether below it an object may be named status. (Text within a text does not look like it: its quotes are escaped.)"""
    seen: set[int] = set()
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.type == "any" or node.preserve_unknown or (node.type == "map" and not _is_plain(node.item)):
            return True
        for name, child in node.fields.items():
            if name == "status" and not _is_plain(child):
                return True
            if name != "managedFields":
                nodes.append(child)
        if node.item is not None:
            nodes.append(node.item)
    return False


def _is_plain(node: schema.Node | None) -> bool:
    return node is not None and node.type not in ("object", "map", "list", "any")
