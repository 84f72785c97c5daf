"""Sets of fields in the shape in which they are stored: FieldsV1, a tree of path elements.

An element is a field (`f:spec`), a list item by its keys (`k:{"name":"c"}`), by its value (`v:"x"`) or by its index (`i:0`). An
element with nothing below it is in the set; one with something below it is in the set only if `.` is among that. At the root an
empty tree is the empty set. Trees are never changed once made, and an operation that changes nothing returns its argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from fairway.api.patch.errors import NESTED_TOO_DEEP, PatchError

FieldSet: TypeAlias = dict[str, "FieldSet"]
Path: TypeAlias = tuple[str, ...]

SELF = "."
LEAF: FieldSet = {}
_encode = msgspec.json.Encoder(order="sorted").encode


def parse(fields: Any) -> FieldSet:
    """A set from FieldsV1 that somebody else wrote. Elements of kinds unknown to us are dropped."""
    try:
        return _parse(fields, "")
    except RecursionError:
        raise PatchError(NESTED_TOO_DEEP) from None


def _parse(fields: Any, path: str) -> FieldSet:
    if not isinstance(fields, dict):
        raise PatchError(f"fieldsV1{path} must be an object")
    result: FieldSet = {}
    for element, below in fields.items():
        if element == SELF:
            result[SELF] = LEAF
            continue
        known = _canonical(element)
        if known:
            result[known] = _parse(below, f"{path}.{element}")
    return LEAF if len(result) == 1 and SELF in result and path else result


@lru_cache(maxsize=4096)
def _canonical(element: str) -> str:
    """An element in the one spelling that we compare, or nothing if it is of no kind that we know."""
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return element
    if kind not in ("k:", "v:", "i:"):
        if len(element) < 2 or element[1] != ":":
            raise PatchError(f"fieldsV1 has the element {element!r}: it must start with f:, k:, v: or i:")
        return ""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise PatchError(f"fieldsV1 has the element {element!r}, which is not JSON after {kind}: {error}") from None
    wanted: type | tuple[type, ...] = dict if kind == "k:" else int if kind == "i:" else object
    if not isinstance(value, wanted):
        raise PatchError(f"fieldsV1 has the element {element!r}: {kind} cannot be followed by that")
    return kind + _encode(value).decode()


def render(fields: FieldSet) -> FieldSet:
    """The same set in canonical order."""
    return {element: render(below) if (below := fields[element]) else LEAF for element in sorted(fields)}


def item_key(values: dict[str, Any]) -> str:
    """The element of a list item with these keys."""
    return "k:" + _encode(values).decode()


def item_value(value: Any) -> str:
    """The element of an item of a set."""
    return "v:" + _encode(value).decode()


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not right or left is right:
        return left
    return _union_below(left, right) if left else right


def _union(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right:
        return left
    if not right:
        return left if has_self(left) else {SELF: LEAF, **left}
    if not left:
        return right if SELF in right else {SELF: LEAF, **right}
    return _union_below(left, right)


def _union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    result = left
    for element, below in right.items():
        old = left.get(element)
        new = below if old is None or element == SELF else _union(old, below)
        if old is None or (new is not old and element != SELF):
            if result is left:
                result = dict(left)
            result[element] = new
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in both."""
    return _common(left, right)


def _common(left: FieldSet, right: FieldSet) -> FieldSet:
    result: FieldSet = {}
    if len(right) < len(left):
        left, right = right, left
    for element, below in left.items():
        other = right.get(element)
        if other is None or element == SELF:
            continue
        both = _common(below, other) if below and other else LEAF
        if has_self(below) and has_self(other):
            result[element] = {SELF: LEAF, **both} if both else LEAF
        elif both:
            result[element] = both
    return result


def has_self(below: FieldSet) -> bool:
    """Whether an element with this below it is itself in the set."""
    return not below or SELF in below


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the left set and not in the right one, element by element."""
    result = left
    for element, other in right.items():
        below = left.get(element)
        if below is None or element == SELF:
            continue
        new = _rest(below, other)
        if new is below:
            continue
        if result is left:
            result = dict(left)
        if new is None:
            del result[element]
        else:
            result[element] = new
    return result


def _rest(below: FieldSet, other: FieldSet) -> FieldSet | None:
    mine = has_self(below)
    kept = mine and not has_self(other)
    if not below:
        return below if kept else None
    rest = difference(below, other) if other else below
    if mine and not kept:
        rest = {element: each for element, each in rest.items() if element != SELF}
    if len(rest) == 1 and SELF in rest:
        return LEAF
    return rest or None


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the left set, and neither in the right one nor below anything in it."""
    result = left
    for element, other in right.items():
        below = left.get(element)
        if below is None or element == SELF:
            continue
        new = None if has_self(other) else _pruned(below, other)
        if new is below:
            continue
        if result is left:
            result = dict(left)
        if new is None:
            del result[element]
        else:
            result[element] = new
    return result


def _pruned(below: FieldSet, other: FieldSet) -> FieldSet | None:
    if not below:
        return below
    rest = without(below, other)
    if len(rest) == 1 and SELF in rest:
        return LEAF
    return rest or None


def contains(fields: FieldSet, path: Path) -> bool:
    """Whether the field at a path is in the set."""
    here = fields
    for element in path:
        below = here.get(element)
        if below is None:
            return False
        here = below
    return bool(path) and has_self(here)


def members(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """The paths of all fields in the set, in canonical order."""
    for element in sorted(fields):
        if element == SELF:
            continue
        path = (*prefix, element)
        if has_self(fields[element]):
            yield path
        yield from members(fields[element], path)


def show(path: Path) -> str:
    """A path as users read it: .spec.containers[name="c"].image"""
    return "".join(map(_show, path))


def _show(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "k:":
        keys = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return "[" + ",".join(f"{name}={bytes(value).decode()}" for name, value in keys.items()) + "]"
    return f"[={text}]" if kind == "v:" else f"[{text}]"
