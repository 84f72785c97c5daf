"""The last that came by are remembered, and not many more."""

from __future__ import annotations

from fairway.runtime.recent import Recent


def test_the_last_ones_are_kept_and_only_so_many_more() -> None:
    recent: Recent[int, str] = Recent(100)
    for number in range(1, 1001):
        recent.put(number, str(number))
        kept = [each for each in range(number + 1) if each in recent]
        assert len(kept) == len(list(recent.values())) <= 200
        assert kept[-min(100, number) :] == list(range(max(1, number - 99), number + 1))
        assert recent.get(number) == str(number)
    assert recent.get(1) is None


def test_what_is_put_again_counts_as_it_is_then() -> None:
    recent: Recent[str, int] = Recent(2)
    for value, key in enumerate("aabac"):
        recent.put(key, value)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (3, 2, 4)
    assert sorted(recent.values()) == [2, 3, 4]
    recent.put("a", 5)
    assert (recent.get("a"), sorted(recent.values())) == (5, [2, 4, 5])


def test_what_is_forgotten_is_gone_from_both_halves() -> None:
    recent: Recent[str, int] = Recent(1)
    for value, key in enumerate("aba"):
        recent.put(key, value)
    recent.forget("a")
    assert ("a" in recent, recent.get("a"), "b" in recent) == (False, None, True)
    recent.clear()
    assert not list(recent.values())
