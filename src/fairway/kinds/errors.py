"""What is wrong with a field, in the words that Kubernetes users know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec


class ErrorType(StrEnum):
    INVALID = "FieldValueInvalid"
    REQUIRED = "FieldValueRequired"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    DUPLICATE = "FieldValueDuplicate"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_PREFIX = {
    ErrorType.INVALID: "Invalid value",
    ErrorType.REQUIRED: "Required value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.INTERNAL: "Internal error",
}
_WITHOUT_VALUE = {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.INTERNAL}


NO_VALUE = object()
"""For an error that is about an object as a whole: the message leaves the value out, as Kubernetes does for its rules."""


@dataclass(frozen=True, slots=True)
class FieldError:
    type: ErrorType
    field: str
    value: Any = None
    detail: str = ""
    origin: str = ""
    """Name of the format that the value breaks, for programs; never part of the message."""

    @property
    def message(self) -> str:
        """The error without its field, as a cause of a Status."""
        parts = [_PREFIX[self.type]]
        if self.type not in _WITHOUT_VALUE and self.value is not NO_VALUE:
            parts.append(_show(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def invalid(field: str, value: Any, detail: str, origin: str = "") -> FieldError:
    return FieldError(ErrorType.INVALID, field, value, detail, origin)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, field, None, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, field, None, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, field, value)


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, field, value)


def not_supported(field: str, value: Any, allowed: list[str] | tuple[str, ...]) -> FieldError:
    return FieldError(
        ErrorType.NOT_SUPPORTED, field, value, "supported values: " + ", ".join(f'"{choice}"' for choice in allowed)
    )


def too_long(field: str, limit: int) -> FieldError:
    return FieldError(ErrorType.TOO_LONG, field, None, f"may not be more than {limit} bytes")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError(ErrorType.TOO_MANY, field, actual, f"{actual}: must have at most {limit} items")


def _show(value: Any) -> str:
    if isinstance(value, str):
        return msgspec.json.encode(str(value)).decode()
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except TypeError:
        text = str(value)
    return text if len(text) <= 512 else text[:509] + "..."
