"""Keywords of an OpenAPI schema and what may stand behind them, so that a malformed schema is an error and never a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairway.kinds.errors import FieldError, invalid

Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_KINDS: tuple[tuple[str, Check, tuple[str, ...]], ...] = (
    (
        "true or false",
        _is_bool,
        (
            "nullable",
            "uniqueItems",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "x-kubernetes-int-or-string",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ),
    ),
    ("a number", _is_number, ("minimum", "maximum")),
    ("a number above zero", lambda value: _is_number(value) and value > 0, ("multipleOf",)),
    (
        "a whole number that is not negative",
        _is_count,
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    ),
    (
        "a string",
        _is_text,
        ("type", "title", "description", "format", "pattern", "x-kubernetes-list-type", "x-kubernetes-map-type"),
    ),
    ("a list of strings", _is_names, ("required", "x-kubernetes-list-map-keys")),
    ("a list of values", _is_list, ("enum",)),
    ("a list of objects", _is_objects, ("allOf", "anyOf", "oneOf", "x-kubernetes-validations")),
    ("an object", _is_object, ("properties", "not", "items")),
    ("a schema, true or false", lambda value: _is_bool(value) or _is_object(value), ("additionalProperties",)),
)
_WANTED = {keyword: (shown, check) for shown, check, keywords in _KINDS for keyword in keywords}


def well_typed(raw: Mapping[str, Any], path: str, errors: list[FieldError]) -> dict[str, Any]:
    """The schema's own keywords without those whose value is absent or of the wrong type; schemas below it are left alone."""
    kept: dict[str, Any] = {}
    for keyword, value in raw.items():
        shown, check = _WANTED.get(keyword, ("", lambda _value: True))
        if value is None and keyword != "default":
            continue
        if check(value):
            kept[keyword] = value
        else:
            errors.append(invalid(f"{path}.{keyword}", value, f"must be {shown}"))
    return kept
