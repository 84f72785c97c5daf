"""What somebody has to look at: each thing once, however often it was named; news before what was only found at a start.

After a restart everything that is there may need a look, and almost nothing does. Whoever looks at all of it before the first end of a job is
noticed keeps everybody waiting, so what was found then is looked at a little at a time, beside what happens now.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
FOUND_BESIDE_NEWS = 5


class Agenda(Generic[K]):
    """`starting` is true while things are found rather than happen."""

    def __init__(self, *, starting: bool = False) -> None:
        self.starting = starting
        self._news: dict[K, None] = {}
        self._found: dict[K, None] = {}

    def __bool__(self) -> bool:
        return bool(self._news) or bool(self._found)

    def add(self, key: K, *, urgent: bool = False) -> None:
        """urgent: as news, whenever it was found."""
        if urgent or not self.starting:
            self._found.pop(key, None)
            self._news[key] = None
        elif key not in self._news:
            self._found[key] = None

    def update(self, keys: Iterable[K]) -> None:
        for key in keys:
            self.add(key)

    def discard(self, key: K) -> None:
        self._news.pop(key, None)
        self._found.pop(key, None)

    def take(self, news: int, found: int) -> list[K]:
        """So many of both at most, in the order in which they were named. Beside news, hardly anything that was only found."""
        taken = list(islice(self._news, news))
        for key in taken:
            del self._news[key]
        if taken:
            found = min(found, FOUND_BESIDE_NEWS)
        rest = list(islice(self._found, found))
        for key in rest:
            del self._found[key]
        return taken + rest
