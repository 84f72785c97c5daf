"""Sets of completion indexes, kept as ordered intervals: a Job with a hundred thousand completions has few of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from fairway.kinds.k8s.batch.indexes import IndexesError, intervals


class IndexSet:
    """Never changed in place."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[tuple[int, int]] = ()) -> None:
        self._parts = _joined(parts)

    @classmethod
    def parse(cls, text: str, completions: int) -> IndexSet:
        """What a status says. Indexes beyond the completions are left out: a Job may have been made smaller."""
        try:
            parts = intervals(text, 1 << 31)
        except IndexesError:
            return cls()
        return cls((low, min(high, completions - 1)) for low, high in parts if low < completions)

    @classmethod
    def of(cls, indexes: Iterable[int]) -> IndexSet:
        return cls((index, index) for index in indexes)

    def __or__(self, other: IndexSet) -> IndexSet:
        return IndexSet((*self._parts, *other._parts))

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self._parts, (index, 1 << 31)) - 1
        return at >= 0 and self._parts[at][1] >= index

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexSet) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(tuple(self._parts))

    def __repr__(self) -> str:
        return f"IndexSet({self.text!r})"

    def overlap(self, other: IndexSet) -> int:
        """How many indexes both have."""
        return len(self) + len(other) - len(self | other)

    def missing(self, below: int) -> Iterator[int]:
        """Indexes that it lacks, from the lowest."""
        candidate = 0
        for low, high in self._parts:
            yield from range(candidate, min(low, below))
            candidate = max(candidate, high + 1)
        yield from range(candidate, below)

    @property
    def text(self) -> str:
        """As a status writes it: "0,2-5,7,8"; only three in a row make a range."""
        written: list[str] = []
        for low, high in self._parts:
            if high > low + 1:
                written.append(f"{low}-{high}")
            else:
                written.extend(str(index) for index in range(low, high + 1))
        return ",".join(written)


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result
