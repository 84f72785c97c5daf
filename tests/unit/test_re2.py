from __future__ import annotations

import re

import pytest

from fairway.kinds.re2 import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "matches", "misses"),
    [
        ("^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$", ["Abc", "a-B"], ["-a", "a\n"]),
        ("(?i)a", ["A"], ["b"]),
        ("^x(?i)a|b$", ["xA", "B"], ["Xa"]),
        ("^((?i)a)b$", ["Ab"], ["AB"]),
        ("^(a|(?i:b))$", ["B"], ["A"]),
        ("^a$", ["a"], ["a\n", "ab"]),
        (r"^a\z", ["a"], ["a\n"]),
        (r"^\$[$]$", ["$$"], ["$"]),
        ("(?m)^b$", ["a\nb\nc"], ["ab"]),
        ("^[[:alpha:]_]+$", ["Ab_"], ["1"]),
        ("^[^[:digit:]]$", ["a"], ["1"]),
        ("^[]a]+$", ["]a"], ["b"]),
        (r"^[\]a]+$", ["]a"], ["b"]),
        ("^([0-9]+(s|m|h))+$", ["1h30m"], ["1"]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, matches: list[str], misses: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert [text for text in matches if not compiled.search(text)] == []
    assert [text for text in misses if compiled.search(text)] == []


@pytest.mark.parametrize("pattern", ["(", "[a", ")", "a**", r"\p{L}", "(?P<n", "\\"])
def test_a_pattern_that_cannot_be_used_is_an_error(pattern: str) -> None:
    with pytest.raises(re.error):
        compile_pattern(pattern)
