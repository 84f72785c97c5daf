"""Moving fields from a Struct of one version to one of the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from fairway.kinds.kueue.constants import GROUP

S = TypeVar("S", bound=msgspec.Struct)
V1BETA1 = f"{GROUP}/v1beta1"
V1BETA2 = f"{GROUP}/v1beta2"


def carry(source: msgspec.Struct, target: type[S], **changes: Any) -> S:
    """A `target` with the fields that both types have, and `changes`. Members are shared with the source, not copied."""
    for name in _common(type(source), target):
        if name not in changes:
            changes[name] = getattr(source, name)
    return target(**changes)


@cache
def _common(source: type[msgspec.Struct], target: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(name for name in target.__struct_fields__ if name in source.__struct_fields__)


def member(value: Any, convert: Callable[[Any], Any]) -> Any:
    """An optional member, converted."""
    return UNSET if value is UNSET else convert(value)


def each(values: Any, convert: Callable[[Any], Any]) -> Any:
    """An optional list, converted item by item."""
    return UNSET if values is UNSET else [convert(value) for value in values]
