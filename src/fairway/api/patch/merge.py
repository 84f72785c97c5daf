"""JSON merge patch (RFC 7386): objects merge, null removes, anything else replaces."""

from __future__ import annotations

from typing import Any

from fairway.api.patch.errors import NESTED_TOO_DEEP, PatchError


def apply(target: Any, patch: Any) -> Any:
    """The target after the patch. What the patch does not change is the target's own, not a copy."""
    try:
        return _merge(target, patch)
    except RecursionError:
        raise PatchError(NESTED_TOO_DEEP) from None


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    base: dict[str, Any] = target if isinstance(target, dict) else {}
    changed: dict[str, Any] | None = None if base is target else {}
    for name, change in patch.items():
        if change is None:
            if name in base:
                changed = changed if changed is not None else dict(base)
                changed.pop(name, None)
            continue
        old = base.get(name)
        new = _merge(old, change) if isinstance(change, dict) else change
        if new is not old:
            changed = changed if changed is not None else dict(base)
            changed[name] = new
    return target if changed is None else changed


def diff(before: Any, after: Any) -> Any:
    """The smallest merge patch from one value to another, as long as `after` holds no null (a merge patch cannot write one)."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, new in after.items():
        if name not in before:
            patch[name] = new
            continue
        old = before[name]
        if isinstance(old, dict) and isinstance(new, dict):
            below = diff(old, new)
            if below:
                patch[name] = below
        elif not same(old, new):
            patch[name] = new
    return patch


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, but never true."""
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(value, right[name]) for name, value in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
