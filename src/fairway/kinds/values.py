"""What an OpenAPI schema says about a value beyond its shape: formats, multiples, and schemas combined with oneOf, anyOf, allOf, not.

A structural schema fixes types and fields outside of these keywords; inside them it only restricts values. So they are kept as they are
written and asked with the value at hand.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.re2 import compile_pattern
from fairway.kinds.types import parse_time

Schema = Mapping[str, Any]

JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
KEYWORDS = (*JUNCTORS, "enum", "format", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems")
_INTEGER_BITS = {"int32": 31, "int64": 63}
_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w|)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w))*")
_HOSTNAME = re.compile(
    r"(?=.{1,253}$)[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*"
)
_MAC = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[a-zA-Z][-+.a-zA-Z0-9]*:\S+|/\S*")


def value_errors(value: Any, schema: Schema, path: str) -> list[FieldError]:
    """Errors of the keywords in KEYWORDS; the shape of the value is not looked at."""
    return [invalid(path, value, problem) for problem in _problems(value, schema)]


def holds(value: Any, schema: Schema) -> bool:
    """Whether a value meets a schema, with all its keywords."""
    return next(_all_problems(value, schema), None) is None


def _problems(value: Any, schema: Schema) -> Iterator[str]:
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield "must be one of the listed values"
    yield from _format_problems(value, schema)
    yield from _number_problems(value, schema)
    if (
        schema.get("uniqueItems")
        and isinstance(value, list)
        and any(item in value[:at] for at, item in enumerate(value))
    ):
        yield "must not contain the same item twice (uniqueItems)"
    for part in schema.get("allOf") or ():
        yield from (f"must validate all the schemas (allOf): {problem}" for problem in _all_problems(value, part))
    choices = schema.get("anyOf")
    if choices and not any(holds(value, choice) for choice in choices):
        yield "must validate at least one schema (anyOf)"
    choices = schema.get("oneOf")
    if choices:
        count = sum(holds(value, choice) for choice in choices)
        if count != 1:
            found = "none valid" if count == 0 else f"{count} valid alternatives"
            yield f"must validate one and only one schema (oneOf). Found {found}"
    if "not" in schema and holds(value, schema["not"]):
        yield "must not validate the schema (not)"


def _format_problems(value: Any, schema: Schema) -> Iterator[str]:
    name = schema.get("format")
    if isinstance(value, str):
        check = _FORMATS.get(name or "")
        if check is not None and not check(value):
            yield f"must be of the format {name}"
    elif _is_number(value) and name in _INTEGER_BITS:
        limit = 2 ** _INTEGER_BITS[name]
        if not -limit <= value < limit:
            yield f"must fit in {name}"


def _number_problems(value: Any, schema: Schema) -> Iterator[str]:
    if not _is_number(value):
        return
    step = schema.get("multipleOf")
    if step and abs(value / step - round(value / step)) > 1e-9:
        yield f"must be a multiple of {step:g}"
    if schema.get("exclusiveMinimum") and "minimum" in schema and value <= schema["minimum"]:
        yield f"must be greater than {schema['minimum']:g}"
    if schema.get("exclusiveMaximum") and "maximum" in schema and value >= schema["maximum"]:
        yield f"must be less than {schema['maximum']:g}"


def _all_problems(value: Any, schema: Schema) -> Iterator[str]:
    wanted = schema.get("type")
    if wanted and value is not None and not _TYPES.get(wanted, lambda _value: True)(value):
        yield f"must be of type {wanted}"
        return
    yield from _problems(value, schema)
    if isinstance(value, str):
        yield from _text_problems(value, schema)
    elif _is_number(value):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"must be greater than or equal to {schema['minimum']:g}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"must be less than or equal to {schema['maximum']:g}"
    elif isinstance(value, list):
        yield from _list_problems(value, schema)
    elif isinstance(value, dict):
        yield from _object_problems(value, schema)


def _text_problems(value: str, schema: Schema) -> Iterator[str]:
    pattern = schema.get("pattern")
    if pattern and not compile_pattern(pattern).search(value):
        yield f"must match '{pattern}'"
    yield from _size_problems(len(value), schema, "Length", "characters")


def _list_problems(value: list[Any], schema: Schema) -> Iterator[str]:
    yield from _size_problems(len(value), schema, "Items", "items")
    for item in value if isinstance(schema.get("items"), Mapping) else ():
        yield from _all_problems(item, schema["items"])


def _object_problems(value: dict[str, Any], schema: Schema) -> Iterator[str]:
    yield from _size_problems(len(value), schema, "Properties", "properties")
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{name} is required"
    known = schema.get("properties") or {}
    for name, part in known.items():
        if name in value:
            yield from _all_problems(value[name], part)
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        for name in value.keys() - known.keys():
            yield from _all_problems(value[name], others)


def _size_problems(size: int, schema: Schema, suffix: str, what: str) -> Iterator[str]:
    if size < schema.get(f"min{suffix}", 0):
        yield f"must have at least {schema[f'min{suffix}']} {what}"
    if f"max{suffix}" in schema and size > schema[f"max{suffix}"]:
        yield f"must have at most {schema[f'max{suffix}']} {what}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """JSON's equality: true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
}


def _reads(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_FORMATS: dict[str, Callable[[str], bool]] = {
    "byte": _reads(lambda text: base64.b64decode(text, validate=True)),
    "date": _reads(date.fromisoformat),
    "date-time": _reads(parse_time),
    "datetime": _reads(parse_time),
    "duration": _matches(_DURATION),
    "email": _matches(_EMAIL),
    "hostname": _matches(_HOSTNAME),
    "ipv4": _reads(ipaddress.IPv4Address),
    "ipv6": _reads(ipaddress.IPv6Address),
    "cidr": _reads(lambda text: ipaddress.ip_network(text, strict=False)),
    "mac": _matches(_MAC),
    "uri": _matches(_URI),
    "uuid": _matches(_UUID),
}
