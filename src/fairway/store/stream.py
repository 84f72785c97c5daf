"""Record streams: what is small and many, kept in order."""

from __future__ import annotations


class Stream:
    """Records in order, in memory: sequence numbers start at 1 and are never reused."""

    __slots__ = ("first", "items")

    def __init__(self, first: int = 1) -> None:
        self.first = first
        self.items: list[bytes] = []

    def read(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        start = max(0, after + 1 - self.first)
        return [(self.first + start + index, data) for index, data in enumerate(self.items[start : start + limit])]

    def trim(self, upto: int) -> None:
        count = min(max(0, upto + 1 - self.first), len(self.items))
        del self.items[:count]
        self.first += count
