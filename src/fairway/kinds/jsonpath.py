"""The part of JSONPath that printer columns and selectable fields of a CustomResourceDefinition may use.

`.spec.x`, `.a['b.c']`, `.a\\.b` (a dot inside a name), `[0]`, `[-1]`, `[*]` and `[?(@.type=="Ready")]`. Nothing recursive: a
column costs one walk down the object.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

_NAME = re.compile(r"(?:\\.|[^.\[\]\\\s])+")
_QUOTED = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]")
_INDEX = re.compile(r"\[\s*(-?\d+|\*)\s*\]")
_FILTER = re.compile(r"\[\?\(\s*@((?:\.(?:\\.|[^.\[\]\\\s=!<>])+)+)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*\)\]")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PathError(ValueError):
    """The text is no path that we can follow; the message says where it goes wrong."""


@dataclass(frozen=True, slots=True)
class Member:
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    at: int | None
    """None stands for every item."""


@dataclass(frozen=True, slots=True)
class Filter:
    path: tuple[str, ...]
    operator: str
    value: Any


Step: TypeAlias = Member | Index | Filter


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[Step, ...]:
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    if not text.startswith((".", "[")):
        raise PathError(f"{path!r} must start with a dot, like .spec.replicas")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        step, at = _step(path, text, at)
        steps.append(step)
    return tuple(steps)


def _step(path: str, text: str, at: int) -> tuple[Step, int]:
    if text[at] == ".":
        match = _NAME.match(text, at + 1)
        if match is None:
            raise PathError(f"{path!r} has no field name after the dot at character {at + 1}")
        return Member(_unescape(match[0])), match.end()
    if match := _QUOTED.match(text, at):
        return Member(_unescape(match[1] if match[1] is not None else match[2])), match.end()
    if match := _INDEX.match(text, at):
        return Index(None if match[1] == "*" else int(match[1])), match.end()
    if match := _FILTER.match(text, at):
        names = tuple(_unescape(name) for name in _NAME.findall(match[1]))
        return Filter(names, match[2], _literal(path, match[3])), match.end()
    raise PathError(f'{path!r} cannot be read at character {at + 1}: use fields, [0], [*] or [?(@.field=="value")]')


def _unescape(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _literal(path: str, text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return _unescape(text[1:-1])
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        raise PathError(f"{path!r} compares with {text}: write a quoted string, a number, true or false") from None


def find(value: Any, path: str) -> Any:
    """The first value that the path leads to, or None."""
    return next(find_all(value, path), None)


def find_all(value: Any, path: str) -> Iterator[Any]:
    return _follow(value, parse(path), 0)


def _follow(value: Any, steps: tuple[Step, ...], at: int) -> Iterator[Any]:
    if at == len(steps):
        yield value
        return
    for inner in _enter(value, steps[at]):
        yield from _follow(inner, steps, at + 1)


def _enter(value: Any, step: Step) -> Iterator[Any]:
    if isinstance(step, Member):
        if isinstance(value, Mapping) and step.name in value:
            yield value[step.name]
    elif isinstance(step, Index):
        if step.at is None:
            yield from value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        elif isinstance(value, list) and -len(value) <= step.at < len(value):
            yield value[step.at]
    elif isinstance(value, list):
        yield from (item for item in value if _matches(item, step))


def _matches(item: Any, step: Filter) -> bool:
    for name in step.path:
        if not isinstance(item, Mapping) or name not in item:
            return False
        item = item[name]
    try:
        return bool(_COMPARE[step.operator](item, step.value))
    except TypeError:
        return False
