"""Lists that promise unique items, checked on Structs: only the parts of an object that hold such a list are ever visited.

Decoding into a Struct is the type check of the fast path, and it cannot see that two items of a list share a key. This can.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from fairway.kinds import schema
from fairway.kinds.errors import FieldError, duplicate
from fairway.kinds.schema import Node, StructType

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Names and numbers on the way to a value, the last first: written out only where something is wrong."""
Visit = Callable[[Any, Path, list[FieldError]], None]


def repeated(value: msgspec.Struct, before: msgspec.Struct | None = None) -> list[FieldError]:
    """One error per item whose key (`F(keys=…)`) or value (`list_type="set"`) an earlier item has.

    before: what it was; members that are the very same as then were looked at then.
    """
    errors: list[FieldError] = []
    for name, json_name, visit in _members(type(value)):
        member = getattr(value, name)
        known = before is not None and member is getattr(before, name, UNSET)
        if member is not UNSET and member is not None and not known:
            visit(member, (None, json_name), errors)
    return errors


@cache
def _of_struct(struct: StructType) -> Visit | None:
    members = _members(struct)
    if not members:
        return None

    def run(value: Any, path: Path, errors: list[FieldError]) -> None:
        for name, json_name, visit in members:
            member = getattr(value, name)
            if member is not UNSET and member is not None:
                visit(member, (path, json_name), errors)

    return run


@cache
def _members(struct: StructType) -> list[tuple[str, str, Visit]]:
    node = schema.of(struct)
    members: list[tuple[str, str, Visit]] = []
    for field in msgspec.structs.fields(struct):
        visit = _of_node(node.fields[field.encode_name])
        if visit is not None:
            members.append((field.name, field.encode_name, visit))
    return members


def _of_node(node: Node) -> Visit | None:
    if node.type == "object" and node.struct is not None:
        return _of_struct(node.struct)
    if node.item is None:
        return None
    below = _of_node(node.item)
    if node.type == "map":
        return _over_map(below) if below is not None else None
    if node.list_type in ("map", "set"):
        return _over_unique_list(below, _key_names(node))
    return _over_list(below) if below is not None else None


def _over_map(below: Visit) -> Visit:
    def run(members: Any, path: Path, errors: list[FieldError]) -> None:
        for name, member in members.items():
            below(member, (path, f"[{name}]"), errors)

    return run


def _over_list(below: Visit) -> Visit:
    def run(members: Any, path: Path, errors: list[FieldError]) -> None:
        for index, member in enumerate(members):
            below(member, (path, index), errors)

    return run


def _over_unique_list(below: Visit | None, names: dict[str, str]) -> Visit:
    """names: the key's JSON names and attributes; none, where an item is its own key."""
    attributes = list(names.values())

    def run(members: Any, path: Path, errors: list[FieldError]) -> None:
        if len(members) > 1:
            seen: set[Any] = set()
            for index, member in enumerate(members):
                mark = tuple([getattr(member, name) for name in attributes]) if names else member
                if mark in seen:
                    errors.append(duplicate(_written((path, index)), _shown(member, names)))
                seen.add(mark)
        if below is not None:
            for index, member in enumerate(members):
                below(member, (path, index), errors)

    return run


def _written(path: Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else step if step.startswith("[") else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def _shown(member: Any, names: dict[str, str]) -> Any:
    if not names:
        return member
    return {key: value for key, name in names.items() if (value := getattr(member, name)) is not UNSET}


def _key_names(node: Node) -> dict[str, str]:
    item = node.item
    if node.list_type == "set" or item is None or item.struct is None:
        return {}
    attributes = {field.encode_name: field.name for field in msgspec.structs.fields(item.struct)}
    return {key: attributes[key] for key in node.keys}
