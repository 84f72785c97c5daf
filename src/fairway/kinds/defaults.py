"""Static defaults, compiled once per type: only the parts of an object that can have a default are ever visited."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET

from fairway.kinds import schema
from fairway.kinds.kind import convert
from fairway.kinds.schema import Node, StructType

Fill = Callable[[Any], None]


def fill(value: msgspec.Struct) -> None:
    """Set every absent field of a Struct, and of the Structs below it, that has a default (`F(default=…)`)."""
    filler = _filler(type(value))
    if filler is not None:
        filler(value)


def fill_defaults(value: Any, node: Node) -> None:
    """The same for plain JSON beside its schema: how objects of a user's CRD get their defaults."""
    if isinstance(value, dict):
        if node.type == "object":
            for name, child in node.fields.items():
                if name not in value and child.default is not UNSET:
                    value[name] = copy.deepcopy(child.default)
        for name, member in value.items():
            below = node.child(name)
            if below is not None:
                fill_defaults(member, below)
    elif isinstance(value, list) and node.item is not None:
        for member in value:
            fill_defaults(member, node.item)


@cache
def _filler(struct: StructType) -> Fill | None:
    node = schema.of(struct)
    own: list[tuple[str, Any, StructType | None]] = []
    below: list[tuple[str, Fill]] = []
    for field in msgspec.structs.fields(struct):
        child = node.fields[field.encode_name]
        if child.default is not UNSET:
            own.append((field.name, child.default, child.struct))
        visit = _visitor(child)
        if visit is not None:
            below.append((field.name, visit))
    if not own and not below:
        return None

    def run(value: Any) -> None:
        for name, default, inner in own:
            if getattr(value, name) is UNSET:
                setattr(value, name, convert(default, inner) if inner is not None else copy.copy(default))
        for name, visit in below:
            member = getattr(value, name)
            if member is not UNSET and member is not None:
                visit(member)

    return run


def _visitor(node: Node) -> Fill | None:
    if node.type == "object" and node.struct is not None:
        return _filler(node.struct)
    each = _visitor(node.item) if node.item is not None else None
    if each is None:
        return None
    visit = each

    def over(members: Any) -> None:
        for member in members.values() if isinstance(members, dict) else members:
            visit(member)

    return over
