"""Names that a JSON text gives twice in one object: the reader keeps the last, and the writer may have meant the first."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

_Pairs: TypeAlias = list[tuple[str, Any]]


class _Object:
    """An object with its names as they were written."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: _Pairs) -> None:
        self.pairs = pairs


def repeated(body: bytes) -> list[str]:
    """Paths of repeated names, in the order of the text. Nothing for a text that is no JSON: others say what is wrong with it."""
    seen = False

    def look(pairs: _Pairs) -> None:
        nonlocal seen
        seen = seen or len({name for name, _value in pairs}) < len(pairs)

    try:
        json.loads(body, object_pairs_hook=look)
        if not seen:
            return []
        found: list[str] = []
        _walk(json.loads(body, object_pairs_hook=_Object), "", found)
        return found
    except (ValueError, RecursionError):
        return []


def _walk(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, list):
        for index, member in enumerate(value):
            _walk(member, f"{path}[{index}]", found)
    elif isinstance(value, _Object):
        names: set[str] = set()
        for name, member in value.pairs:
            inner = f"{path}.{name}" if path else name
            if name in names and inner not in found:
                found.append(inner)
            names.add(name)
            _walk(member, inner, found)
