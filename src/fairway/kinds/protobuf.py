"""Protobuf bodies of Kubernetes' own kinds, read into the JSON that they stand for.

kubectl from 1.32 on and every Go client write this way. Nothing here knows a kind: field numbers come from the schema, and each
message is read by a table made once per type. A body is the magic bytes and a runtime.Unknown that names the kind and
carries the object. Answers are always JSON, which every client reads, so there is no writer.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

import msgspec

from fairway.kinds import schema
from fairway.kinds.schema import Node, StructType
from fairway.kinds.types import format_microtime, format_time

MAGIC = b"k8s\0"
DEPTH_MAX = 100
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE_NAMES = {_VARINT: "a varint", _FIXED64: "8 bytes", _BYTES: "length-delimited", _FIXED32: "4 bytes"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ABSENT = object()

Value: TypeAlias = int | bytes
Fields: TypeAlias = dict[int, "Field"]


class ProtobufError(ValueError):
    """The body is not the protobuf of the kind that it should be; the message says where it goes wrong."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a body says about itself before its object is read."""

    api_version: str
    kind: str
    raw: bytes
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One numbered field of a message. `members` are the fields of a message that JSON writes inline in its parent."""

    name: str
    node: Node | None
    members: Fields | None = None


def is_protobuf(body: bytes) -> bool:
    return body.startswith(MAGIC)


def unwrap(body: bytes) -> Envelope:
    if not is_protobuf(body):
        raise ProtobufError("the body does not start with the four bytes that mark protobuf of Kubernetes")
    said: dict[int, bytes] = {}
    for number, wire, value in _scan(body[len(MAGIC) :], "body"):
        said[number] = _expect(value, wire, _BYTES, "body")
    if said.get(3):
        raise ProtobufError(f"the body is encoded as {said[3][:40]!r}: send it unencoded")
    type_meta: dict[int, str] = {}
    for number, wire, value in _scan(said.get(1, b""), "typeMeta"):
        type_meta[number] = _text(_expect(value, wire, _BYTES, "typeMeta"), "typeMeta")
    return Envelope(
        api_version=type_meta.get(1, ""),
        kind=type_meta.get(2, ""),
        raw=said.get(2, b""),
        content_type=_text(said.get(4, b""), "contentType"),
    )


def decode(body: bytes, node: Node) -> dict[str, Any]:
    """A whole body as JSON, with the apiVersion and kind of its envelope."""
    envelope = unwrap(body)
    found = read(envelope, node)
    named = {"apiVersion": envelope.api_version, "kind": envelope.kind}
    return {**{name: value for name, value in named.items() if value}, **found}


def read(envelope: Envelope, node: Node) -> dict[str, Any]:
    """The object of an envelope, by the schema of its kind."""
    if envelope.content_type == "application/json":
        found = _json(envelope.raw, "raw")
        if not isinstance(found, dict):
            raise ProtobufError("the JSON inside the body is not an object")
        return found
    if node.struct is None:
        raise ProtobufError(f"{envelope.kind or 'this kind'} has no protobuf form: send JSON")
    result: dict[str, Any] = {}
    _message(envelope.raw, _table(node.struct), result, "", 0)
    return result


@cache
def _table(struct: StructType) -> Fields:
    inline: dict[int, StructType] = struct.__dict__.get("PROTO_INLINE", {})
    table: Fields = {}
    inherited: set[str] = set()
    for number, parent in inline.items():
        table[number] = Field("", None, _table(parent))
        inherited.update(field.encode_name for field in msgspec.structs.fields(parent))
    written_as: dict[str, StructType] = struct.__dict__.get("PROTO_AS", {})
    for name, node in schema.of(struct).fields.items():
        if node.proto and name not in inherited:
            table[node.proto] = Field(name, schema.of(written_as[name]) if name in written_as else node)
    return table


def _message(data: bytes, table: Fields, into: dict[str, Any], path: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ProtobufError(f"{path[:80]}: nested deeper than {DEPTH_MAX} levels")
    for number, wire, value in _scan(data, path):
        field = table.get(number)
        if field is None:
            continue  # a newer client may know more fields
        if field.members is not None:
            _message(_expect(value, wire, _BYTES, path), field.members, into, path, depth + 1)
            continue
        assert field.node is not None
        inner = f"{path}.{field.name}" if path else field.name
        _member(field.node, field.name, into, value, wire, inner, depth)


def _member(node: Node, name: str, into: dict[str, Any], value: Value, wire: int, path: str, depth: int) -> None:
    if node.type == "list":
        assert node.item is not None
        into.setdefault(name, []).extend(_items(node.item, value, wire, path, depth))
    elif node.type == "map":
        key, item = _entry(node, _expect(value, wire, _BYTES, path), path, depth)
        entries = into.setdefault(name, {})
        if item is not None:
            entries[key] = item
    elif node.type == "object":
        into[name] = _object(node, _expect(value, wire, _BYTES, path), into.get(name, {}), path, depth)
    else:
        found = _scalar(node, value, wire, path)
        if found is not _ABSENT and (found or node.zero or node.type not in _DROPPED_ZEROS):
            into[name] = found


_DROPPED_ZEROS = frozenset({"string", "integer", "number", "boolean", "bytes"})
"""Plain Go fields are written even when empty; only F(zero=True) tells a zero from nothing."""


def _object(node: Node, data: bytes, into: Any, path: str, depth: int) -> Any:
    """A message, added to what an earlier part of it said. One that JSON writes as a single member becomes that member."""
    if node.struct is None:
        raise ProtobufError(f"{path} has no protobuf form: send JSON")
    choices: tuple[str, ...] = node.struct.__dict__.get("PROTO_ONE_OF", ())
    found: dict[str, Any] = {} if choices or not isinstance(into, dict) else into
    _message(data, _table(node.struct), found, path, depth + 1)
    return next((found[name] for name in choices if name in found), {}) if choices else found


def _items(item: Node, value: Value, wire: int, path: str, depth: int) -> Iterator[Any]:
    if item.type in ("integer", "boolean") and wire == _BYTES:
        yield from (
            _scalar(item, number, _VARINT, path) for number in _packed(_expect(value, wire, _BYTES, path), path)
        )
    else:
        yield _single(item, value, wire, path, depth)


def _single(node: Node, value: Value, wire: int, path: str, depth: int) -> Any:
    """A value that stands alone: an item of a list or the value of a map."""
    if node.type == "object":
        return _object(node, _expect(value, wire, _BYTES, path), {}, path, depth)
    if node.type == "list":  # no list may repeat inside another, so it is wrapped in a message of its own
        assert node.item is not None
        wrapped: list[Any] = []
        for number, inner, item in _scan(_expect(value, wire, _BYTES, path), path):
            if number == 1:
                wrapped.extend(_items(node.item, item, inner, path, depth + 1))
        return wrapped
    found_scalar = _scalar(node, value, wire, path)
    return None if found_scalar is _ABSENT else found_scalar


def _entry(node: Node, data: bytes, path: str, depth: int) -> tuple[str, Any]:
    assert node.item is not None
    key: str = ""
    item: Any = _ABSENT
    for number, wire, value in _scan(data, path):
        if number == 1:
            key = _text(_expect(value, wire, _BYTES, path), path)
        elif number == 2:
            item = _single(node.item, value, wire, f"{path}[{key}]", depth)
    if item is _ABSENT:
        item = _single(node.item, *_EMPTY.get(node.item.type, (b"", _BYTES)), path, depth)
    return key, item


_EMPTY: dict[str, tuple[Value, int]] = {
    "integer": (0, _VARINT),
    "boolean": (0, _VARINT),
    "number": (bytes(8), _FIXED64),
}


def _scalar(node: Node, value: Value, wire: int, path: str) -> Any:
    if node.type in ("integer", "boolean"):
        if not isinstance(value, int) or wire != _VARINT:
            raise _wrong_wire(path, wire, _VARINT)
        return value != 0 if node.type == "boolean" else value
    if node.type == "number":
        return struct.unpack("<d", _expect(value, wire, _FIXED64, path))[0]
    return _READERS[node.type](_expect(value, wire, _BYTES, path), path)


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ProtobufError(f"{path}: not UTF-8 at byte {error.start}") from None


def _json(data: bytes, path: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtobufError(f"{path}: not JSON: {error}") from None


def _open(data: bytes, path: str) -> Any:
    """RawExtension, FieldsV1 and JSON: a message around JSON text."""
    for number, wire, value in _scan(data, path):
        if number == 1:
            raw = _expect(value, wire, _BYTES, path)
            return _json(raw, path) if raw else _ABSENT
    return _ABSENT


def _quantity(data: bytes, path: str) -> str:
    for number, wire, value in _scan(data, path):
        if number == 1:
            return _text(_expect(value, wire, _BYTES, path), path)
    return "0"


def _int_or_string(data: bytes, path: str) -> int | str:
    said: dict[int, Value] = {number: value for number, _wire, value in _scan(data, path)}
    if said.get(1, 0) == 0:
        number = said.get(2, 0)
        if not isinstance(number, int):
            raise ProtobufError(f"{path}: the number is not written as one")
        return number
    text = said.get(3, b"")
    if not isinstance(text, bytes):
        raise ProtobufError(f"{path}: the text is not written as one")
    return _text(text, path)


def _moment(data: bytes, path: str) -> datetime | None:
    said = {number: value for number, _wire, value in _scan(data, path)}
    seconds, nanos = said.get(1, 0), said.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int):
        raise ProtobufError(f"{path}: a time is two numbers")
    if not seconds and not nanos:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise ProtobufError(f"{path}: {seconds} seconds is no time of this era") from None


def _time(data: bytes, path: str) -> Any:
    moment = _moment(data, path)
    return _ABSENT if moment is None else str(format_time(moment))


def _microtime(data: bytes, path: str) -> Any:
    moment = _moment(data, path)
    return _ABSENT if moment is None else str(format_microtime(moment))


_READERS: dict[str, Callable[[bytes, str], Any]] = {
    "string": _text,
    "bytes": lambda data, _path: base64.b64encode(data).decode(),
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "any": _open,
}


def _scan(data: bytes, path: str) -> Iterator[tuple[int, int, Value]]:
    """The fields of a message as they come: number, wire type and value."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at, path)
        number, wire = (tag >> 3) & 0x1FFFFFFF, tag & 7
        if not number:
            raise ProtobufError(f"{path or 'the object'}: field number 0")
        if wire == _VARINT:
            value, at = _varint(data, at, path)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at, path)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"{path or 'the object'}: field {number} has the unknown wire type {wire}")
        if not 0 <= size <= end - at:
            raise ProtobufError(f"{path or 'the object'}: field {number} ends before its {size} bytes do")
        yield number, wire, data[at : at + size]
        at += size


def _varint(data: bytes, at: int, path: str) -> tuple[int, int]:
    """A 64-bit integer, signed as Go reads it, and where it ends."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ProtobufError(f"{path or 'the object'}: a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFFFFFFFFFF
            return (value - (1 << 64) if value >> 63 else value), at
        shift += 7
    raise ProtobufError(f"{path or 'the object'}: a number is longer than 64 bits")


def _packed(data: bytes, path: str) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at, path)
        yield value


def _expect(value: Value, wire: int, wanted: int, path: str) -> bytes:
    if wire != wanted or not isinstance(value, bytes):
        raise _wrong_wire(path, wire, wanted)
    return value


def _wrong_wire(path: str, wire: int, wanted: int) -> ProtobufError:
    return ProtobufError(f"{path or 'the object'}: written as {_WIRE_NAMES[wire]}, expected {_WIRE_NAMES[wanted]}")
