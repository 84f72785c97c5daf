"""Sets of completion indexes, written as Jobs write them: "0,2-5,9"."""

from __future__ import annotations


class IndexesError(ValueError):
    """The text is no set of indexes of a Job with that many completions."""


def count(text: str, completions: int) -> int:
    """How many indexes the text names."""
    return sum(high - low + 1 for low, high in intervals(text, completions))


def intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    if not text:
        return found
    for part in text.split(","):
        low, high = _interval(part, completions)
        if found and found[-1][1] >= low:
            raise IndexesError(f"non-increasing order, previous: {found[-1][1]}, current: {low}")
        found.append((low, high))
    return found


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f'the fragment "{part}" violates the requirement that an index interval can have at most two parts'
            " separated by '-'"
        )
    numbers = [_index(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    index = int(text)
    if index >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return index
