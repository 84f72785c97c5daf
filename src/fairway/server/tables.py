"""Tables: what `kubectl get` shows. Ages and conditions are worked out here, at the moment of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairway.api import codec
from fairway.api.request import Target
from fairway.kinds.columns import AGE, NAME
from fairway.kinds.kind import Column, Moment
from fairway.kinds.types import encode
from fairway.store import Record

_DEFAULT = (NAME, AGE)


def columns(target: Target) -> Sequence[Column]:
    return target.version.columns or _DEFAULT


def definitions(target: Target) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": int(column.wide),
        }
        for column in columns(target)
    ]


def table(
    target: Target,
    records: Sequence[Record],
    moment: Moment,
    *,
    version: str = "v1",
    include: str = "Metadata",
    revision: int | str = "",
    resume: str = "",
    remaining: int | None = None,
    with_definitions: bool = True,
) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if resume:
        metadata["continue"] = resume
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return encode(
        {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": metadata,
            "columnDefinitions": definitions(target) if with_definitions else None,
            "rows": [row(target, record, moment, version, include) for record in records],
        }
    )


def row(target: Target, record: Record, moment: Moment, version: str, include: str) -> dict[str, Any]:
    served = codec.served(target.kind, target.version, record.value)
    value = msgspec.json.decode(served)
    result: dict[str, Any] = {"cells": [_cell(column, value, moment) for column in columns(target)]}
    if include == "Object":
        result["object"] = msgspec.Raw(served)
    elif include == "Metadata":
        result["object"] = partial(value, version)
    return result


def partial(value: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": value.get("metadata", {}),
    }


def _cell(column: Column, value: dict[str, Any], moment: Moment) -> Any:
    """One value; an object that a column cannot read shows an empty cell, not an error for the whole list."""
    try:
        cell = column.value(value, moment)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return "<unknown>"
    if cell is None:
        return "" if column.type == "string" else None
    return cell if isinstance(cell, (str, int, float, bool)) else str(cell)
