"""Conversion between two versions of a kind that differ only in fields that one of them lacks.

Upstream keeps both versions of a KubeFleet kind in the same shape and converts by renaming apiVersion alone, so a field that a
version does not have is simply not there when read in that version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET

from fairway.kinds import schema
from fairway.kinds.kind import Column, Version
from fairway.kinds.meta import Object
from fairway.kinds.schema import Node, StructType

Reshape = Callable[[Any], Any]


def reshaped(name: str, type: type[Object], storage: type[Object], columns: tuple[Column, ...]) -> Version:
    """A version beside the storage version whose fields are a subset of it."""
    return Version(
        name,
        type,
        columns,
        to_storage=lambda value: reshape(value, storage),
        from_storage=lambda value: reshape(value, type),
    )


def reshape(value: msgspec.Struct, target: StructType) -> Any:
    """The value as another Struct type: fields that both have are carried over, others are dropped."""
    return _reshaper(type(value), target)(value)


@cache
def _reshaper(source: StructType, target: StructType) -> Reshape:
    have, want = schema.of(source), schema.of(target)
    plain: list[str] = []
    deep: list[tuple[str, Reshape]] = []
    for field in msgspec.structs.fields(target):
        if field.encode_name not in have.fields:
            continue
        inner = _inner(have.fields[field.encode_name], want.fields[field.encode_name])
        if inner is None:
            plain.append(field.name)
        else:
            deep.append((field.name, inner))

    def run(value: Any) -> Any:
        members = {name: getattr(value, name) for name in plain}
        for name, inner in deep:
            member = getattr(value, name)
            members[name] = member if member is UNSET or member is None else inner(member)
        return target(**members)

    return run


def _inner(have: Node, want: Node) -> Reshape | None:
    """How a member changes its type, or None if it stays what it is."""
    if have.struct is not None and want.struct is not None:
        return None if have.struct is want.struct else _reshaper(have.struct, want.struct)
    if have.item is None or want.item is None:
        return None
    each = _inner(have.item, want.item)
    if each is None:
        return None
    convert = each
    if want.type == "map":
        return lambda members: {key: convert(member) for key, member in members.items()}
    return lambda members: [convert(member) for member in members]
