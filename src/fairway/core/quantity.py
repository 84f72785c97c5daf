"""Exact amounts of resources, written the way Kubernetes writes them ("500m", "128Gi", "1e3").

A quantity is an integer number of nano-units; nothing is ever a float. What is finer than a nano-unit is rounded away
from zero, as Kubernetes does. `canonical` is the one spelling of a value: the largest suffix that leaves an integer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

NANO = 10**9
MILLI = 10**6

Format = Literal["decimal", "binary", "exponent"]

_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<exponent>[eE][+-]?[0-9]{1,4})|(?P<suffix>[numkMGTPE]|[KMGTPE]i))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
_EXPONENT_MAX = 30
_BYTES = frozenset({"memory", "ephemeral-storage"})
_UNLIMITED_FROM = 1 << 99


class QuantityError(ValueError):
    """The text is no quantity; the message says what one looks like."""


class Quantity(NamedTuple):
    nanos: int
    format: Format

    @property
    def units(self) -> int:
        """Whole units, rounded away from zero: how memory, pods and devices are counted."""
        return _round_away(self.nanos, NANO)

    @property
    def millis(self) -> int:
        """Thousandths, rounded away from zero: how CPU is counted."""
        return _round_away(self.nanos, MILLI)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    match = _PATTERN.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        raise QuantityError(
            f"{text!r} is not a quantity: write a number with an optional suffix, like 500m, 2, 1.5 or 128Gi"
        )
    part = match["part"] or ""
    digits = int((match["whole"] or "0") + part)
    form: Format = "decimal"
    power, binary = -len(part), 0
    if match["exponent"]:
        form, power = "exponent", power + int(match["exponent"][1:])
        if abs(power) > _EXPONENT_MAX:
            raise QuantityError(
                f"{text!r} is too large or too small: exponents go from -{_EXPONENT_MAX} to {_EXPONENT_MAX}"
            )
    elif match["suffix"] in _BINARY:
        form, binary = "binary", _BINARY[match["suffix"]]
    else:
        power += _DECIMAL[match["suffix"] or ""]
    scaled = (digits << binary) * NANO
    nanos = scaled * 10**power if power >= 0 else _round_away(scaled, 10**-power)
    return Quantity(-nanos if match["sign"] == "-" else nanos, form)


def render(nanos: int, form: Format = "decimal") -> str:
    """The canonical spelling of a value in the family of suffixes it was written in."""
    if nanos == 0:
        return "0"
    if form == "binary" and abs(nanos) >= 1024 * NANO:
        value, step = _round_away(nanos, NANO), 0
        while value % 1024 == 0 and step < len(_BINARY_SUFFIX) - 1:
            value, step = value // 1024, step + 1
        return f"{value}{_BINARY_SUFFIX[step]}"
    value, exponent = nanos, -9
    while value % 1000 == 0 and (exponent < 18 or form == "exponent"):
        value, exponent = value // 1000, exponent + 3
    if form == "exponent":
        return f"{value}e{exponent}" if exponent else str(value)
    return f"{value}{_DECIMAL_SUFFIX[exponent]}"


def render_amount(resource: str, amount: int) -> str:
    """An amount as the core counts it (cpu in thousandths), with the suffixes that people use for the resource."""
    if amount >= _UNLIMITED_FROM:
        return "Unlimited"
    if resource == "cpu":
        return render(amount * MILLI)
    binary = resource in _BYTES or resource.startswith("hugepages-")
    return render(amount * NANO, "binary" if binary else "decimal")


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    quantity = parse(text)
    return render(quantity.nanos, quantity.format)


def _round_away(value: int, divisor: int) -> int:
    return -(-value // divisor) if value >= 0 else value // divisor
