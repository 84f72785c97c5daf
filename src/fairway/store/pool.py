"""Equal texts kept once: most of what an object costs beyond its bytes are labels that a thousand others have too."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", str, bytes)
_KNOWN_MAX = 16_384


class Pool:
    """Remembers texts that came by lately. Bounded: what only one object has is soon forgotten again."""

    __slots__ = ("_heads", "_names")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._heads: dict[bytes, bytes] = {}

    def name(self, text: str) -> str:
        return _shared(self._names, text)

    def head(self, packed: bytes) -> bytes:
        """What selects a record: often the same for all that one user or one controller wrote."""
        return _shared(self._heads, packed)


def _shared(known: dict[T, T], text: T) -> T:
    if len(known) > _KNOWN_MAX:
        known.clear()
    return known.setdefault(text, text)
