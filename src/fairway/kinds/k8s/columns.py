"""Cells that several built-in kinds show: containers, images, selectors, ages that may be unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.kinds.columns import at
from fairway.kinds.kind import Column

NONE = "<none>"
UNKNOWN = "<unknown>"

CREATED = Column("Created At", lambda obj, _moment: at(obj, "metadata.creationTimestamp"), type="date")
"""The second column of kinds that have no table of their own."""


def selector(value: Any) -> str:
    """A label selector, or a plain map of labels, the way it is typed on a command line."""
    if value is None:
        return NONE
    labels: Mapping[str, str] = value
    expressions: Sequence[Mapping[str, Any]] = ()
    if "matchLabels" in value or "matchExpressions" in value:
        labels, expressions = value.get("matchLabels") or {}, value.get("matchExpressions") or ()
    parts = [f"{name}={labels[name]}" for name in sorted(labels)]
    parts += [_requirement(one) for one in sorted(expressions, key=lambda one: str(one.get("key")))]
    return ",".join(parts) or NONE


def _requirement(expression: Mapping[str, Any]) -> str:
    key, operator = expression.get("key"), expression.get("operator")
    values = ",".join(sorted(expression.get("values") or ()))
    return {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": f"{key}"}.get(
        str(operator), f"!{key}"
    )


def joined(obj: Mapping[str, Any], containers: str, attribute: str) -> str:
    return ",".join(str(container.get(attribute, "")) for container in at(obj, containers) or ())


def containers(path: str = "spec.template.spec.containers") -> tuple[Column, Column]:
    """The wide columns that name the containers and images of a pod template."""
    return (
        Column("Containers", lambda obj, _moment: joined(obj, path, "name"), wide=True),
        Column("Images", lambda obj, _moment: joined(obj, path, "image"), wide=True),
    )


def selects(path: str = "spec.selector", name: str = "Selector", *, wide: bool = True) -> Column:
    return Column(name, lambda obj, _moment: selector(at(obj, path)), wide=wide)


def count(name: str, path: str, *, type: str = "integer") -> Column:
    """A number that is zero until somebody says otherwise."""
    return Column(name, lambda obj, _moment: at(obj, path) or 0, type=type)


def either(name: str, path: str, otherwise: str, *, wide: bool = False) -> Column:
    """A text, or a stand-in where there is none."""
    return Column(name, lambda obj, _moment: at(obj, path) or otherwise, wide=wide)


def truth(conditions: Any, kind: str) -> bool:
    """Whether a list of conditions says that this one holds."""
    return any(entry.get("type") == kind and entry.get("status") == "True" for entry in conditions or ())
