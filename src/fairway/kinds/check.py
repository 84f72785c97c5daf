"""The careful walk over a JSON value beside its schema: prune what is unknown, name every mistake.

The fast path never comes here: a body that decodes into its Struct is well typed and has no unknown field. When it does not, this walk
says exactly why, for all fields at once, and returns the value without unknown fields and nulls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from fairway.kinds.errors import ErrorType, FieldError, invalid, not_supported, required
from fairway.kinds.re2 import compile_pattern
from fairway.kinds.schema import Node
from fairway.kinds.types import Base64, MicroTime, Quantity, Time, decode_scalar
from fairway.kinds.values import value_errors

DEPTH_MAX = 100
_SCALAR_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
}
_HOOKED = {"quantity": Quantity, "time": Time, "microtime": MicroTime, "bytes": Base64}


@dataclass(slots=True)
class Findings:
    """Paths of unknown fields, and errors, in the order of the document."""

    unknown: list[str] = field(default_factory=list)
    errors: list[FieldError] = field(default_factory=list)


def check(value: Any, node: Node, *, path: str = "") -> tuple[Any, Findings]:
    findings = Findings()
    clean = _walk(value, node, path, findings, 0)
    return clean, findings


def _walk(value: Any, node: Node, path: str, found: Findings, depth: int) -> Any:
    if depth > DEPTH_MAX:
        found.errors.append(invalid(path[:80], "...", f"nested deeper than {DEPTH_MAX} levels"))
        return None
    if node.type == "object" or node.type == "map":
        value = _walk_mapping(value, node, path, found, depth)
    elif node.type == "list":
        value = _walk_list(value, node, path, found, depth)
    elif node.type == "any":
        _check_depth(value, path, found, depth)
    else:
        value = _walk_scalar(value, node, path, found)
    if node.values:
        found.errors += value_errors(value, node.values, path)
    return value


def _check_depth(value: Any, path: str, found: Findings, depth: int) -> None:
    if deeper_than(value, DEPTH_MAX - depth):
        found.errors.append(invalid(path[:80], "...", f"nested deeper than {DEPTH_MAX} levels"))


def deeper_than(value: Any, levels: int) -> bool:
    """Whether a JSON value has objects and lists within each other beyond that; found without recursion of our own."""
    layer = [value]
    for _ in range(levels + 1):
        inner: list[Any] = []
        for each in layer:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        if not inner:
            return False
        layer = inner
    return True


def _walk_mapping(value: Any, node: Node, path: str, found: Findings, depth: int) -> Any:
    if not isinstance(value, dict):
        found.errors.append(_wrong_type(path, value, "object"))
        return {}
    clean: dict[str, Any] = {}
    for name, member in value.items():
        child = node.child(name)
        inner = _join(path, name, node.type == "map")
        if child is None:
            if node.preserve_unknown:
                _check_depth(member, inner, found, depth + 1)
                clean[name] = member
            else:
                found.unknown.append(inner)
        elif member is None and not child.nullable and child.type != "any":
            continue  # null means absent
        else:
            clean[name] = None if member is None else _walk(member, child, inner, found, depth + 1)
    for name in sorted(node.required - clean.keys()):
        if node.fields[name].default is UNSET:
            found.errors.append(required(_join(path, name, False)))
    _check_size(len(clean), node, path, found, "properties")
    return clean


def _walk_list(value: Any, node: Node, path: str, found: Findings, depth: int) -> Any:
    if not isinstance(value, list):
        found.errors.append(_wrong_type(path, value, "array"))
        return []
    assert node.item is not None
    item = node.item
    clean = [
        member if member is None and item.nullable else _walk(member, item, f"{path}[{index}]", found, depth + 1)
        for index, member in enumerate(value)
    ]
    _check_size(len(clean), node, path, found, "items")
    for index, key in _repeated(clean, node):
        found.errors.append(FieldError(ErrorType.DUPLICATE, f"{path}[{index}]", key))
    return clean


def _repeated(items: list[Any], node: Node) -> Iterator[tuple[int, Any]]:
    """Items that break the promise of a list that is a map or a set."""
    if node.list_type not in ("map", "set"):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        if node.list_type == "map":
            key = {name: item.get(name) for name in node.keys} if isinstance(item, dict) else item
        else:
            key = item
        mark = repr(key)
        if mark in seen:
            yield index, key
        seen.add(mark)


def _walk_scalar(value: Any, node: Node, path: str, found: Findings) -> Any:
    hooked = _HOOKED.get(node.type)
    if hooked is not None:
        try:
            return str(decode_scalar(hooked, value))
        except ValueError as error:
            found.errors.append(invalid(path, value, str(error)))
            return None
    allowed = _SCALAR_TYPES[node.type]
    if node.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        found.errors.append(_wrong_type(path, value, node.type))
        return value
    if node.enum and value not in node.enum:
        found.errors.append(not_supported(path, value, node.enum))
    if isinstance(value, str):
        _check_text(value, node, path, found)
    elif isinstance(value, (int, float)):
        _check_range(value, node, path, found)
    return value


def _check_text(value: str, node: Node, path: str, found: Findings) -> None:
    if node.pattern is not None and not compile_pattern(node.pattern).search(value):
        found.errors.append(invalid(path, value, f"must match '{node.pattern}'"))
    _check_size(len(value), node, path, found, "characters")


def _check_range(value: float, node: Node, path: str, found: Findings) -> None:
    if node.minimum is not None and value < node.minimum:
        found.errors.append(invalid(path, value, f"must be greater than or equal to {_shown(node.minimum)}"))
    if node.maximum is not None and value > node.maximum:
        found.errors.append(invalid(path, value, f"must be less than or equal to {_shown(node.maximum)}"))
    elif node.type == "integer" and not -(2**63) <= value < 2**63:
        found.errors.append(invalid(path, value, "must fit in 64 bits"))


def _shown(bound: float) -> str:
    return str(int(bound)) if float(bound).is_integer() else f"{bound:g}"


def _check_size(size: int, node: Node, path: str, found: Findings, what: str) -> None:
    if node.size_min is not None and size < node.size_min:
        found.errors.append(invalid(path, size, f"must have at least {node.size_min} {what}"))
    if node.size_max is not None and size > node.size_max:
        kind = ErrorType.TOO_MANY if what != "characters" else ErrorType.TOO_LONG
        detail = (
            f"{size}: must have at most {node.size_max} {what}"
            if what != "characters"
            else f"may not be more than {node.size_max} bytes"
        )
        found.errors.append(FieldError(kind, path, size, detail))


def _wrong_type(path: str, value: Any, wanted: str) -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, path, value, f"must be {_article(wanted)}, not {json_type(value)}")


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeio" else f"a {name}"


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return "a string" if isinstance(value, str) else "a number"


def _join(path: str, name: str, is_map: bool) -> str:
    if is_map and not name.isidentifier():
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name
