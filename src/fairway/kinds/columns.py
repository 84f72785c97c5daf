"""Columns that many kinds share, and how ages and conditions read in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.kinds import jsonpath
from fairway.kinds.kind import Column, Moment
from fairway.kinds.types import parse_time


def at(obj: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of an object's JSON, or None."""
    value: Any = obj
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def field(name: str, path: str, type: str = "string", *, wide: bool = False) -> Column:
    return Column(name, lambda obj, _moment: at(obj, path), type=type, wide=wide, path=f".{path}")


def json_path(name: str, path: str, type: str = "string", *, wide: bool = False, description: str = "") -> Column:
    """A column the way a CustomResourceDefinition declares it; a date shows as the time since then."""

    def value(obj: Mapping[str, Any], moment: Moment) -> Any:
        found = jsonpath.find(obj, path)
        return _cell(found, type, moment)

    return Column(name, value, type=type, wide=wide, description=description, path=path)


def _cell(value: Any, type: str, moment: Moment) -> Any:
    if value is None:
        return None
    if type == "string":
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if type == "date":
        return _age(value, moment)
    if type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if type == "integer" else value


def _age(value: Any, moment: Moment) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return since(value, moment)
    except ValueError:
        return "<invalid>"


def condition(name: str, kind: str, what: str = "status", *, wide: bool = False) -> Column:
    """A column that shows one attribute of the condition of a given type."""

    def value(obj: Mapping[str, Any], _moment: Moment) -> Any:
        for entry in at(obj, "status.conditions") or ():
            if entry.get("type") == kind:
                return entry.get(what)
        return None

    return Column(name, value, wide=wide, path=f'.status.conditions[?(@.type=="{kind}")].{what}')


def duration(seconds: float) -> str:
    """A span the way kubectl writes it: 42s, 5m3s, 3h, 2d4h."""
    total = int(seconds)
    if total < 0:
        return "0s"
    days, hours, minutes = total // 86400, total // 3600, total // 60
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return f"{days // 365}y{days % 365}d" if days % 365 else f"{days // 365}y"
    return f"{days // 365}y"


def since(timestamp: Any, moment: Moment) -> str:
    if not isinstance(timestamp, str):
        return "<unknown>"
    return duration(moment.now - parse_time(timestamp).timestamp())


AGE = Column(
    "Age",
    lambda obj, moment: since(at(obj, "metadata.creationTimestamp"), moment),
    path=".metadata.creationTimestamp",
)
NAME = Column("Name", lambda obj, _moment: at(obj, "metadata.name"), format="name")
