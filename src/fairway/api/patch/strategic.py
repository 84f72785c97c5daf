"""Strategic merge patch: a merge patch in which lists merge too, by the key that the schema names.

Directives in the patch: `$patch: replace | delete | merge` in an object or a list item, `$retainKeys` in an object,
`$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>` beside a list. A list without a merge key is replaced whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.api.patch.errors import NESTED_TOO_DEEP, PatchError
from fairway.kinds.schema import Node

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def apply(target: dict[str, Any], patch: Any, node: Node | None) -> dict[str, Any]:
    """The target after the patch; what the patch does not change is the target's own, not a copy."""
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch is an object")
    try:
        return _merge_object(target, patch, node, "")
    except RecursionError:
        raise PatchError(NESTED_TOO_DEEP) from None


def _merge_object(target: dict[str, Any], patch: dict[str, Any], node: Node | None, path: str) -> dict[str, Any]:
    directive = patch.get(_PATCH, "merge")
    if directive == "delete":
        return {}
    if directive == "replace":
        target = {}
    elif directive != "merge":
        raise PatchError(f"{path or '.'}: $patch is {directive!r}: use replace, delete or merge")
    result = _retain(target, patch, path)
    for name, change in patch.items():
        if name[:1] == "$" and _directive(name):
            name = _list_named(name)
            if not name or name in patch:
                continue  # followed with the object, or with its list
            change = []
        below = f"{path}.{name}"
        old = result.get(name)
        if change is None:
            new = None
        elif isinstance(change, dict):
            new = _merge_object(old if isinstance(old, dict) else {}, change, _child(node, name), below)
        elif isinstance(change, list):
            new = _merge_list(old, change, patch, name, _child(node, name), below)
        else:
            new = change
        if new is old and (new is not None or name not in result):
            continue
        if result is target:
            result = dict(target)
        if new is None:
            result.pop(name, None)
        else:
            result[name] = new
    return result


def _child(node: Node | None, name: str) -> Node | None:
    return None if node is None else node.child(name)


def _directive(name: str) -> bool:
    return name in (_PATCH, _RETAIN) or name.startswith((_ORDER, _DELETE))


def _list_named(directive: str) -> str:
    """The list that a directive beside it is about, or nothing for directives about the object."""
    for prefix in (_ORDER, _DELETE):
        if directive.startswith(prefix):
            return directive[len(prefix) :]
    return ""


def _retain(target: dict[str, Any], patch: dict[str, Any], path: str) -> dict[str, Any]:
    kept = patch.get(_RETAIN)
    if kept is None:
        return target
    if not isinstance(kept, list):
        raise PatchError(f"{path or '.'}: $retainKeys must be a list of field names")
    stray = [name for name, change in patch.items() if change is not None and not _directive(name) and name not in kept]
    if stray:
        raise PatchError(f"{path or '.'}: the patch sets {stray[0]!r}, which its $retainKeys does not list")
    if all(name in kept for name in target):
        return target
    return {name: value for name, value in target.items() if name in kept}


def _merge_list(old: Any, change: list[Any], patch: dict[str, Any], name: str, node: Node | None, path: str) -> Any:
    """The list after its part of the patch; None when there was none and nothing was added."""
    before: list[Any] = old if isinstance(old, list) else []
    given = name in patch
    order = patch.get(_ORDER + name)
    removed = patch.get(_DELETE + name)
    for directive, value in ((_ORDER, order), (_DELETE, removed)):
        if value is not None and not isinstance(value, list):
            raise PatchError(f"{path}: {directive}{name} must be a list")
    if node is None or node.merge is None:
        return change if given else old
    if node.merge == "":
        merged = _merge_scalars(old, before, change, order, removed or (), path)
    else:
        merged = _merge_keyed(old, before, change, order, node.merge, node.item, path)
    return merged if merged or given or isinstance(old, list) else None


def _merge_scalars(
    old: Any, before: list[Any], change: list[Any], order: list[Any] | None, removed: Sequence[Any], path: str
) -> list[Any]:
    if any(isinstance(value, dict | list) for value in (*before, *change, *(order or ()))):
        raise PatchError(
            f"{path}: this is a list of plain values, and the patch or the object has an object or a list in it"
        )
    kept = [value for value in before if value not in removed]
    merged = _unique([*kept, *change])
    wanted = change if order is None else order
    _check_order(change, wanted, path)
    rank = {value: place for place, value in enumerate(wanted)}
    return _arrange(merged, merged, rank, {value: place for place, value in reversed(list(enumerate(before)))}, old)


def _unique(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _merge_keyed(
    old: Any, before: list[Any], change: list[Any], order: list[Any] | None, key: str, item: Node | None, path: str
) -> list[Any]:
    base, additions = _directed(before, change, key, path)
    merged = list(base)
    places = {_key_of(each, key, path): place for place, each in reversed(list(enumerate(merged)))}
    for each in additions:
        name = _key_of(each, key, path)
        place = places.get(name)
        below = f"{path}[{key}={name}]"
        if place is None:
            places[name] = len(merged)
            merged.append(_merge_object({}, each, item, below))
        else:
            merged[place] = _merge_object(merged[place], each, item, below)
    names = [_key_of(each, key, path) for each in merged]
    wanted = [_key_of(each, key, path) for each in (additions if order is None else order)]
    _check_order([_key_of(each, key, path) for each in additions], wanted, path)
    rank = {name: place for place, name in enumerate(wanted)}
    live = {_key_of(each, key, path): place for place, each in reversed(list(enumerate(before)))}
    return _arrange(merged, names, rank, live, old)


def _directed(before: list[Any], change: list[Any], key: str, path: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """The items that stay before merging, and the items to merge, once the `$patch` directives in the list are followed."""
    additions: list[dict[str, Any]] = []
    gone: set[Any] = set()
    replace = False
    for each in change:
        directive = each.get(_PATCH) if isinstance(each, dict) else None
        if directive is None or directive == "merge":
            additions.append(each)
        elif directive == "replace":
            replace = True
            if len(each) > 1:
                additions.append(each)
        elif directive == "delete":
            gone.add(_key_of(each, key, path))
        else:
            raise PatchError(f"{path}: $patch is {directive!r}: use replace, delete or merge")
    if replace:
        return [], additions
    return [each for each in before if _key_of(each, key, path) not in gone] if gone else before, additions


def _key_of(item: Any, key: str, path: str) -> Any:
    if not isinstance(item, dict):
        raise PatchError(f"{path}: items must be objects with {key!r}, by which the list is merged")
    name = item.get(key)
    if name is None:
        raise PatchError(f"{path}: an item lacks {key!r}, by which the list is merged")
    if isinstance(name, dict | list):
        raise PatchError(f"{path}: {key!r} of an item must be a plain value")
    return name


def _check_order(patched: list[Any], wanted: list[Any], path: str) -> None:
    """Items that a patch changes must be named by its order, and in that order."""
    rest = iter(wanted)
    if not all(name in rest for name in patched):
        raise PatchError(
            f"{path}: the items of the patch are not in the order of its $setElementOrder, or not in it at all"
        )


def _arrange(values: list[Any], names: list[Any], rank: dict[Any, int], live: dict[Any, int], old: Any) -> list[Any]:
    """Items that the patch ranks in its order; each other one goes before the first ranked item that it stood before."""
    ranked = sorted(
        ((name, value) for name, value in zip(names, values, strict=True) if name in rank),
        key=lambda pair: rank[pair[0]],
    )
    others = [(name, value) for name, value in zip(names, values, strict=True) if name not in rank]
    result: list[Any] = []
    waiting = 0
    for name, value in ranked:
        place = live.get(name)
        if place is not None:
            while waiting < len(others) and live[others[waiting][0]] < place:
                result.append(others[waiting][1])
                waiting += 1
        result.append(value)
    result.extend(value for _, value in others[waiting:])
    if isinstance(old, list) and len(old) == len(result) and all(map(_is, old, result)):
        return old
    return result


def _is(left: Any, right: Any) -> bool:
    return left is right
