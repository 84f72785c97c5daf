"""Reading optional fields: what an absent one stands for."""

from __future__ import annotations

from typing import TypeVar

from fairway.kinds.types import UNSET, Opt

T = TypeVar("T")


def items(value: Opt[list[T]]) -> list[T]:
    return [] if value is UNSET else value


def pairs(value: Opt[dict[str, T]]) -> dict[str, T]:
    return {} if value is UNSET else value


def text(value: Opt[str]) -> str:
    return "" if value is UNSET else value


def number(value: Opt[int]) -> int:
    return 0 if value is UNSET else value


def flag(value: Opt[bool]) -> bool:
    return value is True
