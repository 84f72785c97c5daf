"""Reading Structs: what an absent field stands for, and when two values say the same."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from fairway.core import quantity
from fairway.kinds.types import Opt, Quantity

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def items(value: Opt[list[T]]) -> list[T]:
    return [] if value is UNSET else value


def pairs(value: Opt[dict[str, T]]) -> dict[str, T]:
    return {} if value is UNSET else value


def part(value: Opt[S], empty: type[S]) -> S:
    """A member, or an empty one of its type."""
    return empty() if value is UNSET else value


def text(value: Opt[str]) -> str:
    return "" if value is UNSET else value


def number(value: Opt[int]) -> int:
    return 0 if value is UNSET else value


def nanos(value: Opt[Quantity]) -> int:
    return 0 if value is UNSET else quantity.parse(value).nanos


def same(one: Any, other: Any) -> bool:
    """Whether two values say the same: quantities by amount, and an empty list, map or object like an absent one."""
    if one == other or (_empty(one) and _empty(other)):
        return True
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return quantity.parse(one).nanos == quantity.parse(other).nanos
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(member, other[name]) for name, member in one.items())
    return False


def _empty(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return all(_empty(getattr(value, name)) for name in value.__struct_fields__)
    return value is UNSET or value is None or value == [] or value == {}
