"""What server-side apply does with values: which fields they have, how two differ, how one merges into another, what to take out.

The schema says what is one field and what is many. Objects and maps are many fields unless atomic; lists are one field unless they
are maps (`k:` elements, by their keys) or sets (`v:` elements). Below open JSON, objects are many fields and lists are one.
Some fields belong to nobody: identity, versions and times that only the server sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from fairway.api.patch import fieldset
from fairway.api.patch.errors import PatchError
from fairway.api.patch.fieldset import LEAF, SELF, FieldSet
from fairway.kinds.schema import Node

NOBODYS = frozenset(("apiVersion", "kind"))
NOBODYS_METADATA = frozenset(
    (
        "clusterName",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)

_OPEN = Node("any")
_PLAIN = frozenset((str, int, bool, float))
_MAPPINGS = frozenset(("object", "map", "any"))


class _Repeated(list[Any]):
    """Items of a list that have the same keys, so that they can only be told apart all together."""


def fields(obj: dict[str, Any], node: Node, *, every: bool) -> FieldSet:
    """The fields of an object. `every` also has the objects and lists themselves, as one who created them owns them."""
    result: FieldSet = {}
    for name, value in obj.items():
        if name in NOBODYS or value is None:
            continue
        child = node.child(name) or _OPEN
        if name == "metadata" and isinstance(value, dict):
            value = _ownable(value)
            below = _named(name, value, child, every) if value else None
            if below is not None:
                below = {element: each for element, each in below.items() if element != SELF}
        else:
            below = _named(name, value, child, every)
        if below is not None and (below or name != "metadata"):
            result["f:" + name] = below
    return result


def _ownable(metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict):
        return {}
    return {name: value for name, value in metadata.items() if name not in NOBODYS_METADATA}


def _below(value: Any, node: Node, every: bool) -> FieldSet | None:
    """What is below the element of a value in its set; None if neither it nor anything below it is in the set."""
    kind = node.type
    if isinstance(value, dict):
        if not value or node.atomic:
            return LEAF
        if kind == "object":
            return _below_object(value, node, every)
        if kind == "map" or kind == "any":
            item = node.item or _OPEN
            result: FieldSet = {SELF: LEAF} if every else {}
            for name, member in value.items():
                result["f:" + name] = LEAF if type(member) in _PLAIN else _itself(_below(member, item, every))
            return result
    elif isinstance(value, list) and value and kind == "list" and is_granular(node):
        item_node = node.item or _OPEN
        result = {SELF: LEAF} if every else {}
        for element, item in index(value, node, strict=not every).items():
            result[element] = LEAF if type(item) is not dict else _itself(_below(item, item_node, every))
        return result if len(result) > every else LEAF
    return LEAF


def _below_object(value: dict[str, Any], node: Node, every: bool) -> FieldSet | None:
    result: FieldSet = {SELF: LEAF} if every else {}
    children = node.fields
    for name, member in value.items():
        if type(member) in _PLAIN:
            result["f:" + name] = LEAF
            continue
        child = children.get(name)
        if child is None:
            result["f:" + name] = _itself(_below(member, _OPEN, every))
        elif member is not None or not _null_is_absent(child):
            below = _named(name, member, child, every)
            if below is not None:
                result["f:" + name] = below
    if len(result) > every:
        return result
    return LEAF if every else None


def _named(name: str, value: Any, node: Node, every: bool) -> FieldSet | None:
    try:
        return _below(value, node, every)
    except PatchError as error:
        raise PatchError(f".{name}{error.message}") from None


def _itself(below: FieldSet | None) -> FieldSet:
    if not below or SELF in below:
        return below or LEAF
    below[SELF] = LEAF  # made by the caller's own walk just now
    return below


def _null_is_absent(node: Node) -> bool:
    return not node.nullable and node.type != "any"


def is_granular(node: Node) -> bool:
    """Whether a list is many fields."""
    return node.list_type == "set" or (node.list_type == "map" and bool(node.keys))


def index(items: list[Any], node: Node, *, strict: bool = False) -> dict[str, Any]:
    """The items of a granular list by their element. `strict` refuses items without a key of their own."""
    result: dict[str, Any] = {}
    keyed = node.list_type == "map"
    for item in items:
        element = _item_element(item, node) if keyed else _value_element(item)
        if not element:
            if strict:
                wanted = f"an object with {' and '.join(node.keys)}" if keyed else "a plain value"
                raise PatchError(f": every item of this list must be {wanted}")
            continue
        if element in result:
            if strict:
                raise PatchError(f": duplicate entries for key {fieldset.show((element,))}")
            first = result[element]
            result[element] = _Repeated((*first, item) if isinstance(first, _Repeated) else (first, item))
        else:
            result[element] = item
    return result


def _item_element(item: Any, node: Node) -> str:
    if not isinstance(item, dict):
        return ""
    keys: dict[str, Any] = {}
    for name in node.keys:
        value = item.get(name)
        if value is None:
            child = node.item.fields.get(name) if node.item is not None else None
            if child is None or child.default is UNSET:
                continue
            value = child.default
        keys[name] = value
    return fieldset.item_key(keys) if keys else ""


def _value_element(item: Any) -> str:
    return "" if item is None or isinstance(item, dict | list) else fieldset.item_value(item)


def diff(old: dict[str, Any], new: dict[str, Any], node: Node) -> tuple[FieldSet, FieldSet]:
    """The fields that were written (added or changed) and those that were removed, with all that was below them."""
    written: FieldSet = {}
    removed: FieldSet = {}
    for name in {**old, **new}:
        if name in NOBODYS:
            continue
        before, after = old.get(name), new.get(name)
        if before is after or before == after:
            continue
        child = node.child(name) or _OPEN
        if name == "metadata":
            before, after = _ownable(before), _ownable(after)
        _compare(before, after, child, "f:" + name, written, removed)
    return written, removed


def _compare(before: Any, after: Any, node: Node, element: str, written: FieldSet, removed: FieldSet) -> None:
    """Note under `element` what differs between two values, of which None stands for none."""
    if before is after or (before == after and isinstance(before, bool) == isinstance(after, bool)):
        return
    if after is None:
        removed[element] = LEAF
        return
    if before is None:
        written[element] = _below(after, node, True) or LEAF
        return
    if isinstance(before, dict) and isinstance(after, dict) and node.type in _MAPPINGS and not node.atomic:
        below_written: FieldSet = {}
        below_removed: FieldSet = {}
        for name, value in after.items():
            old = before.get(name)
            if old is not value:
                _compare(old, value, node.child(name) or _OPEN, "f:" + name, below_written, below_removed)
        for name in before:
            if name not in after:
                below_removed["f:" + name] = LEAF
    elif isinstance(before, list) and isinstance(after, list) and node.type == "list" and is_granular(node):
        below_written, below_removed = _compare_items(before, after, node)
    else:
        written[element] = _below(after, node, True) or LEAF
        if before and isinstance(before, dict) and not isinstance(after, dict):
            removed[element] = {"f:" + name: LEAF for name in before}
        return
    if below_written:
        written[element] = below_written
    if below_removed:
        removed[element] = below_removed


def _compare_items(before: list[Any], after: list[Any], node: Node) -> tuple[FieldSet, FieldSet]:
    written: FieldSet = {}
    removed: FieldSet = {}
    old_items, new_items = index(before, node), index(after, node)
    for element, item in new_items.items():
        old = old_items.get(element)
        if isinstance(old, _Repeated) or isinstance(item, _Repeated):
            if old != item:
                written[element] = LEAF
        else:
            _compare(old, item, node.item or _OPEN, element, written, removed)
    for element in old_items:
        if element not in new_items:
            removed[element] = LEAF
    return written, removed


def merge(live: Any, applied: Any, node: Node) -> Any:
    """The live value with the applied one laid over it; the live one itself if that changes nothing."""
    if isinstance(live, dict) and isinstance(applied, dict) and node.type in _MAPPINGS and not node.atomic:
        return _merge_members(live, applied, node)
    if isinstance(live, list) and isinstance(applied, list) and node.type == "list" and is_granular(node):
        return _merge_items(live, applied, node)
    return live if live == applied and isinstance(live, bool) == isinstance(applied, bool) else applied


def _merge_members(live: dict[str, Any], applied: dict[str, Any], node: Node) -> dict[str, Any]:
    result = live
    for name, value in applied.items():
        old = live.get(name)
        if type(value) in _PLAIN:
            if old == value and type(old) is type(value):
                continue
        else:
            child = node.child(name) or _OPEN
            if value is None and _null_is_absent(child):
                continue
            if name in live:
                value = merge(old, value, child)
                if value is old:
                    continue
        if result is live:
            result = dict(live)
        result[name] = value
    return result


def _merge_items(live: list[Any], applied: list[Any], node: Node) -> list[Any]:
    """Applied items in their order; live ones that are not applied stay where they stood among those that are."""
    new = index(applied, node)
    old = index(live, node)
    shared = iter([element for element in new if element in old])
    target = next(shared, None)
    result: list[Any] = []
    queue = _elements(live, node)
    place = 0
    for element, item in new.items():
        while place < len(queue) and queue[place][0] != target:
            if queue[place][0] not in new:
                result.append(queue[place][1])
            place += 1
        if element == target:
            place += 1
            target = next(shared, None)
        before = old.get(element)
        result.append(
            item if before is None or isinstance(before, _Repeated) else merge(before, item, node.item or _OPEN)
        )
    result.extend(item for element, item in queue[place:] if element not in new)
    return live if len(result) == len(live) and all(map(_is, result, live)) else result


def _elements(items: list[Any], node: Node) -> list[tuple[str, Any]]:
    keyed = node.list_type == "map"
    return [(_item_element(item, node) if keyed else _value_element(item), item) for item in items]


def _is(left: Any, right: Any) -> bool:
    return left is right


def remove(value: Any, gone: FieldSet, node: Node, keep: Sequence[FieldSet] = ()) -> Any:
    """The value without the fields of one set, save those that other sets keep. What is left empty and is not kept goes too.

    A named field that has anything of the first set below it, and nothing of the others, goes whole: what nobody owns does not hold up
    what its owner gave up.
    """
    if isinstance(value, dict) and node.type in _MAPPINGS and not node.atomic:
        return _remove_members(value, gone, node, keep)
    if isinstance(value, list) and node.type == "list" and is_granular(node):
        return _remove_items(value, gone, node, keep)
    return value


def _remove_members(value: dict[str, Any], gone: FieldSet, node: Node, keep: Sequence[FieldSet]) -> dict[str, Any]:
    result = value
    named = node.fields if node.type == "object" else {}
    for element, below in gone.items():
        name = element[2:]
        if name not in value or element[:2] != "f:":
            continue
        kept = [each[element] for each in keep if element in each]
        by_name = name in named
        left = None
        if not (by_name or fieldset.has_self(below)) or (kept and by_name) or any(map(fieldset.has_self, kept)):
            left = remove(value[name], below, node.child(name) or _OPEN, kept) if below else value[name]
            if left is value[name]:
                continue
        if result is value:
            result = dict(value)
        if left or (left is not None and any(map(fieldset.has_self, kept))):
            result[name] = left
        else:
            del result[name]
    return result


def _remove_items(value: list[Any], gone: FieldSet, node: Node, keep: Sequence[FieldSet]) -> list[Any]:
    result: list[Any] = []
    for element, item in _elements(value, node):
        below = gone.get(element)
        if below is not None:
            kept = [each[element] for each in keep if element in each]
            if fieldset.has_self(below) and not any(map(fieldset.has_self, kept)):
                continue
            if below:
                item = remove(item, below, node.item or _OPEN, kept)
        result.append(item)
    return value if len(result) == len(value) and all(map(_is, result, value)) else result


def extract(value: Any, wanted: FieldSet, node: Node) -> Any:
    """Only the fields of a set, with the keys of the list items on the way to them. None if there are none."""
    if isinstance(value, dict) and node.type in _MAPPINGS and not node.atomic:
        result: Any = {}
        for element, below in wanted.items():
            name = element[2:]
            if element[:2] == "f:" and name in value:
                child = node.child(name) or _OPEN
                part = value[name] if not below else extract(value[name], below, child)
                if part is not None or SELF in below:
                    result[name] = part if part is not None else type(value[name])()
        return result or None
    if isinstance(value, list) and node.type == "list" and is_granular(node):
        result = []
        for element, item in _elements(value, node):
            if element not in wanted:
                continue
            part = extract(item, wanted[element], node.item or _OPEN) if wanted[element] else item
            if isinstance(item, dict):
                part = {name: item[name] for name in node.keys if name in item} | (part or {})
            result.append(part)
        return result or None
    return value
