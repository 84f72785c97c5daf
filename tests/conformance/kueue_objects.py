"""Objects of the vectors as Structs: built as the vector writes them, without bounds, defaults or required fields.

The vectors are what unit tests hand to Kueue's code directly, so a field may be absent that the API would demand, and a number may
be one that the API would refuse.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.kinds import schema
from fairway.kinds.kueue import KINDS
from fairway.kinds.schema import Node
from fairway.kinds.types import UNSET, Base64, MicroTime, Quantity, Time, decode_scalar

_SCALARS: dict[str, type] = {"quantity": Quantity, "time": Time, "microtime": MicroTime, "bytes": Base64}
_TYPES = {kind.name: kind.storage_version.type for kind in KINDS}


def build(value: dict[str, Any]) -> Any:
    """An object of the group, in its storage version."""
    return _build(value, schema.of(_TYPES[value["kind"]]))


def _build(value: Any, node: Node) -> Any:
    if node.type == "object" and node.struct is not None:
        return _struct(value, node.struct, node)
    if node.type == "list" and node.item is not None:
        return [_build(item, node.item) for item in value]
    if node.type == "map" and node.item is not None:
        return {name: _build(member, node.item) for name, member in value.items()}
    scalar = _SCALARS.get(node.type)
    return value if scalar is None else decode_scalar(scalar, value)


def _struct(value: dict[str, Any], struct: type[msgspec.Struct], node: Node) -> Any:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    unknown = value.keys() - fields.keys()
    assert not unknown, f"{struct.__name__} has no field {sorted(unknown)}"
    given = {fields[name].name: _build(member, node.fields[name]) for name, member in value.items()}
    absent = {field.name: UNSET for field in fields.values() if field.required and field.name not in given}
    return struct(**given, **absent)
