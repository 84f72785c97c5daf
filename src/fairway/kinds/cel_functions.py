"""Kubernetes' functions for CEL that the CEL library does not bring, and the names of those that we cannot offer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from fairway.core.quantity import NANO, QuantityError, parse

_STRINGS = re.compile(r"""[rRbB]{0,2}("{3}.*?"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(")

STANDARD = frozenset(
    """
    has size all exists exists_one filter map matches startsWith endsWith contains type int uint double string bytes
    dyn duration timestamp getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes
    getSeconds getMilliseconds optional of none ofNonZeroValue hasValue value orValue or
    """.split()  # noqa: SIM905
)
MISSING = frozenset(
    """
    ip isIP cidr isCIDR containsIP containsCIDR family isUnspecified isLoopback isLinkLocalUnicast isGlobalUnicast
    isLinkLocalMulticast prefixLength masked isCanonical semver isSemver major minor patch named validate dns1123Label
    dns1123Subdomain dns1035Label qualifiedName labelValue uri uuid byte date datetime format charAt reverse
    bind bool intersects equivalent transformList transformMap transformMapEntry flatten distinct range sort sortBy
    slice greatest least optMap optFlatMap first last unwrap unwrapOpt authorizer quote
    """.split()  # noqa: SIM905
)
"""Functions that a real API server knows and that are not evaluated here."""


def calls(expression: str) -> set[str]:
    """Names of the functions that an expression calls; what stands in quotes does not count."""
    return set(_CALL.findall(_STRINGS.sub("''", expression))) - {"in"}


def mentions(expression: str, name: str) -> bool:
    return re.search(rf"(?<![.\w]){name}\b", _STRINGS.sub("''", expression)) is not None


def _index_of(whole: Any, part: Any, start: int = 0) -> int:
    if isinstance(whole, str):
        return whole.find(part, start)
    return whole.index(part) if part in whole else -1


def _last_index_of(whole: Any, part: Any) -> int:
    if isinstance(whole, str):
        return whole.rfind(part)
    return len(whole) - 1 - whole[::-1].index(part) if part in whole else -1


def _substring(text: str, start: int, end: int | None = None) -> str:
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _join(parts: list[str], separator: str = "") -> str:
    return separator.join(parts)


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


def _is_sorted(items: list[Any]) -> bool:
    return all(items[at] <= items[at + 1] for at in range(len(items) - 1))


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _nanos(quantity: Any) -> int:
    """A quantity is carried through an expression as a map, since CEL has no type for it."""
    return int(quantity["nanos"]) if isinstance(quantity, dict) else int(quantity) * NANO


def _quantity(text: str) -> dict[str, str]:
    return {"nanos": str(parse(text).nanos)}


def _compare(one: Any, other: Any) -> int:
    return (_nanos(one) > _nanos(other)) - (_nanos(one) < _nanos(other))


def _url(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        return parts if (parts.scheme and parts.netloc) or text.startswith("/") else None
    except ValueError:
        return None


def _url_map(text: str) -> dict[str, str]:
    parts = _url(text)
    if parts is None:
        raise ValueError(f"{text!r} is not a URL")
    return {"scheme": parts.scheme, "host": parts.netloc, "path": parts.path, "name": parts.hostname or ""}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
    "trim": lambda text: text.strip(),
    "split": _split,
    "join": _join,
    "replace": _replace,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "substring": _substring,
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": sum,
    "min": min,
    "max": max,
    "isQuantity": _is_quantity,
    "quantity": _quantity,
    "isGreaterThan": lambda one, other: _compare(one, other) > 0,
    "isLessThan": lambda one, other: _compare(one, other) < 0,
    "compareTo": _compare,
    "sign": lambda quantity: (_nanos(quantity) > 0) - (_nanos(quantity) < 0),
    "isInteger": lambda quantity: _nanos(quantity) % NANO == 0,
    "asInteger": lambda quantity: _nanos(quantity) // NANO,
    "asApproximateFloat": lambda quantity: _nanos(quantity) / NANO,
    "add": lambda one, other: {"nanos": str(_nanos(one) + _nanos(other))},
    "sub": lambda one, other: {"nanos": str(_nanos(one) - _nanos(other))},
    "isURL": lambda text: _url(text) is not None,
    "url": _url_map,
    "getScheme": lambda url: url["scheme"],
    "getHost": lambda url: url["host"],
    "getHostname": lambda url: url["name"],
    "getEscapedPath": lambda url: url["path"],
}
