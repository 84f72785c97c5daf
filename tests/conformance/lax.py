"""Structs from a vector's JSON, which follows Go: what is absent is zero, and nothing was checked before."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from fairway.kinds import schema
from fairway.kinds.schema import Node
from fairway.kinds.types import Quantity, decode_scalar

S = TypeVar("S", bound=msgspec.Struct)
_ZERO: dict[str, Any] = {
    "integer": 0,
    "number": 0,
    "boolean": False,
    "int-or-string": 0,
    "any": None,
    "quantity": Quantity("0"),
}


def build(data: Any, type: type[S]) -> S:
    made = _value(data or {}, schema.of(type))
    assert isinstance(made, type)
    return made


def build_list(data: Any, type: type[S]) -> list[S]:
    return [build(item, type) for item in data or ()]


def _value(data: Any, node: Node) -> Any:
    if node.struct is not None:
        return _struct(data, node)
    if node.item is not None and node.type == "map":
        return {key: _value(member, node.item) for key, member in data.items()}
    if node.item is not None:
        return [_value(member, node.item) for member in data]
    return decode_scalar(Quantity, data) if node.type == "quantity" else data


def _struct(data: dict[str, Any], node: Node) -> Any:
    assert node.struct is not None
    unknown = set(data) - set(node.fields)
    assert not unknown, f"{node.struct.__name__} has no fields {sorted(unknown)}"
    members = {}
    for field in msgspec.structs.fields(node.struct):
        child = node.fields[field.encode_name]
        if data.get(field.encode_name) is not None:
            members[field.name] = _value(data[field.encode_name], child)
        elif field.required:
            members[field.name] = _zero(child)
    return node.struct(**members)


def _zero(node: Node) -> Any:
    if node.struct is not None:
        return _struct({}, node)
    if node.type in ("list", "map"):
        return [] if node.type == "list" else {}
    return _ZERO.get(node.type, "")
