"""Building blocks for the types of kinds: `Type`, `Opt`, `F` and the scalar types of Kubernetes.

A kind is written as Structs whose optional fields are `Opt[...] = UNSET`, annotated with `F(...)` for what a plain type cannot
say (description, protobuf number, list keys, static default, bounds). Decoding into a Struct is the type check of the fast path.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, TypeVar, Union, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairway.core.quantity import QuantityError, canonical

__all__ = [
    "UNSET",
    "Annotated",
    "Base64",
    "F",
    "Int32",
    "Int64",
    "IntOrString",
    "Json",
    "MicroTime",
    "Opt",
    "Quantity",
    "Time",
    "Type",
    "UnsetType",
]

T = TypeVar("T")
Opt = Union[T, UnsetType]  # noqa: UP007 (a generic alias needs the subscript form)
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
IntOrString = int | str
Json = Any
"""A JSON value that the schema leaves open (RawExtension, JSON, preserve-unknown-fields)."""


class _KeywordOnly(msgspec.StructMeta):
    """msgspec's kw_only does not reach subclasses; a required field must be able to follow an optional one everywhere."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> _KeywordOnly:
        config.setdefault("kw_only", True)
        return super().__new__(mcls, name, bases, namespace, **config)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Type(msgspec.Struct, metaclass=_KeywordOnly, rename="camel", forbid_unknown_fields=True, gc=False):
    """A JSON object with named fields. API objects have no cycles, so the garbage collector need not look at them."""


class Quantity(str):
    """An exact amount, always in its canonical spelling."""


class Time(str):
    """RFC 3339 in UTC, to the second."""


class MicroTime(str):
    """RFC 3339 in UTC, to the microsecond."""


class Base64(str):
    """Bytes, in JSON as base64."""


_LIST_META = {"set": "set", "map": "map", "atomic": "atomic"}


def F(
    doc: str = "",
    *,
    proto: int | None = None,
    zero: bool = False,
    keys: tuple[str, ...] = (),
    merge: str | None = None,
    list_type: str | None = None,
    atomic: bool = False,
    retain_keys: bool = False,
    default: Any = UNSET,
    nullable: bool = False,
    ge: int | None = None,
    le: int | None = None,
    pattern: str | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
) -> Meta:
    """What a field is beyond its type.

    proto: its number on the wire. zero: a zero, false or "" on the wire was meant (without it, it is how the wire says absent). keys: the list is a map keyed by these (server-side apply). merge: the key by which a
    strategic merge patch matches items ("" merges a list of scalars). list_type: set or atomic for server-side apply. atomic: a map or
    object that is replaced whole. default: filled in when the field is absent and its parent is there.
    """
    if keys and list_type is None:
        list_type = "map"
    if list_type is not None:
        list_type = _LIST_META[list_type]
    given = {
        "proto": proto,
        "zero": zero or None,
        "keys": keys or None,
        "merge": merge,
        "list_type": list_type,
        "atomic": atomic or None,
        "retain_keys": retain_keys or None,
        "nullable": nullable or None,
    }
    extra: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if default is not UNSET:
        extra["default"] = default
    bounds: dict[str, Any] = {
        "ge": ge,
        "le": le,
        "pattern": pattern,
        "min_length": min_length,
        "max_length": max_length,
    }
    return Meta(description=doc or None, extra=extra or None, **bounds)


_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)")


def parse_time(text: str) -> datetime:
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r} is not a time: write RFC 3339, like 2026-01-31T12:00:00Z")
    try:
        head, dot, tail = text.upper().partition(".")
        if dot:  # datetime keeps six digits
            digits = re.match(r"\d+", tail)
            assert digits is not None
            text = f"{head}.{digits[0][:6].ljust(6, '0')}{tail[digits.end() :]}"
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def format_time(moment: datetime) -> Time:
    return Time(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def format_microtime(moment: datetime) -> MicroTime:
    return MicroTime(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def decode_scalar(kind: type, value: Any) -> Any:
    """msgspec's dec_hook: a checked, canonical instance of one of our scalar types."""
    if kind is Quantity:
        if type(value) is int or type(value) is float:
            value = repr(value)
        if isinstance(value, str):
            return _quantity(value)
        raise ValueError("expected a quantity (a string like 500m or 2Gi, or a number)")
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {type(value).__name__}")
    if kind is Time:
        return _time(value)
    if kind is MicroTime:
        return format_microtime(parse_time(value))
    if kind is Base64:
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError(f"not valid base64: {error}") from None
        return Base64(value)
    raise NotImplementedError(kind)


# The same few amounts and the times of the last seconds come again and again.


@lru_cache(maxsize=8192)
def _quantity(text: str) -> Quantity:
    try:
        return Quantity(canonical(text))
    except QuantityError as error:
        raise ValueError(str(error)) from None


@lru_cache(maxsize=8192)
def _time(text: str) -> Time:
    moment = parse_time(text)
    return Time(text) if len(text) == 20 and text[-1] == "Z" else format_time(moment)


_encoder = msgspec.json.Encoder(enc_hook=str)


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def to_json(value: Any) -> Any:
    """The plain dicts, lists and scalars that `encode` would write."""
    return msgspec.to_builtins(value, enc_hook=str)
