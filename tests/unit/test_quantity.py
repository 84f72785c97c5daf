"""Quantities are exact, and every value has one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.core.quantity import NANO, QuantityError, canonical, parse, render


@pytest.mark.parametrize(
    ("text", "spelling", "millis", "units"),
    [
        ("1000m", "1", 1000, 1),
        ("0.5", "500m", 500, 1),
        ("1000", "1k", 1_000_000, 1000),
        ("1024Mi", "1Gi", 2**30 * 1000, 2**30),
        ("1.5Gi", "1536Mi", 1536 * 2**20 * 1000, 1536 * 2**20),
        ("0.5Ki", "512", 512_000, 512),
        ("100e3", "100e3", 10**8, 10**5),
        ("1E", "1E", 10**21, 10**18),
        ("-1500m", "-1500m", -1500, -2),
        ("0.1n", "1n", 1, 1),
        (".5", "500m", 500, 1),
    ],
)
def test_a_quantity_is_read_exactly_and_spelled_canonically(text: str, spelling: str, millis: int, units: int) -> None:
    assert canonical(text) == spelling
    assert parse(text).millis == millis
    assert parse(text).units == units


@pytest.mark.parametrize("text", ["", " 1", "1 Gi", "abc", "1KI", ".", "-", "1e99999", "1e31", "1Gi ", "١"])
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match=r"like 500m|exponents go from"):
        parse(text)


@given(st.integers(-(10**28), 10**28), st.sampled_from(["decimal", "exponent"]))
def test_a_decimal_spelling_reads_back_as_the_same_value(nanos: int, form: str) -> None:
    assert parse(render(nanos, form)).nanos == nanos  # type: ignore[arg-type]


@given(st.integers(-(2**80), 2**80))
def test_a_binary_spelling_reads_back_as_the_same_value(units: int) -> None:
    assert parse(render(units * NANO, "binary")).nanos == units * NANO


@given(st.integers(0, 10**9), st.sampled_from(["", "m", "k", "Mi", "Gi", "n"]))
def test_canonical_is_stable(number: int, suffix: str) -> None:
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once
    assert parse(once).nanos == parse(f"{number}{suffix}").nanos
