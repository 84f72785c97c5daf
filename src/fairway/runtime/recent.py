"""The last of what came by, in two halves of which the older is let go at once.

A dict that loses its first entry for each new one keeps the holes of those that went, and steps over all of them to find its first: with
thousands remembered, that cost more than whatever was remembered saved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Remembers the last `least` that were put, and never more than twice as many."""

    __slots__ = ("_least", "_newer", "_older")

    def __init__(self, least: int) -> None:
        self._least = least
        self._newer: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._newer.get(key)
        return found if found is not None else self._older.get(key)

    def __contains__(self, key: object) -> bool:
        return key in self._newer or key in self._older

    def put(self, key: K, value: V) -> None:
        if len(self._newer) >= self._least and key not in self._newer:
            self._older, self._newer = self._newer, {}
        self._newer[key] = value

    def forget(self, key: K) -> None:
        self._newer.pop(key, None)
        self._older.pop(key, None)

    def clear(self) -> None:
        self._newer.clear()
        self._older.clear()

    def values(self) -> Iterable[V]:
        return {**self._older, **self._newer}.values()
