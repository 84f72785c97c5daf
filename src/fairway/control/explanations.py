"""Explanations for people and programs: the core's facts with their sentences."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from fairway.core.admit.state import AdmitState
from fairway.core.explain.facts import Explanation, Where
from fairway.core.explain.redact import redact
from fairway.core.explain.why import explain
from fairway.core.model import Time


def explanation(state: AdmitState, key: str, now: Time, visible: Set[str]) -> dict[str, Any]:
    """Why a workload (namespace/name) is where it is, without naming what the asker may not see."""
    return _document(redact(explain(state, key, now), visible))


def _document(found: Explanation) -> dict[str, Any]:
    document: dict[str, Any] = {
        "workload": found.key,
        "queue": found.queue,
        "where": found.where.value,
        "summary": _summary(found),
        "blockers": [
            {"type": type(blocker).__name__, "text": str(blocker), **_plain(blocker)} for blocker in found.blockers
        ],
        "changes": [{"text": str(change), **_plain(change)} for change in found.changes],
    }
    return document


def _summary(found: Explanation) -> str:
    if found.where is Where.RESERVED:
        return "it has its quota"
    if found.where is Where.UNKNOWN:
        return "no queue knows it: it is finished, held, or not looked at yet"
    if not found.blockers:
        return "nothing is in its way; it is about to be admitted"
    return str(found.blockers[-1])


def _plain(value: Any) -> dict[str, Any]:
    return {_camel(field.name): _json(getattr(value, field.name)) for field in fields(value)}


def _json(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(value)
    if isinstance(value, (tuple, list)):
        return [_json(each) for each in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
