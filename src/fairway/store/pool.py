"""Equal texts kept once: most of what an object costs beyond its bytes are labels that a thousand others have too."""

from __future__ import annotations

from collections.abc import Sequence

_KNOWN_MAX = 16_384


class Pool:
    """Remembers texts that came by lately. Bounded: what only one object has is soon forgotten again."""

    __slots__ = ("_few", "_texts")

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._few: dict[tuple[str, ...], tuple[str, ...]] = {}

    def one(self, text: str) -> str:
        texts = self._texts
        if len(texts) > _KNOWN_MAX:
            texts.clear()
        return texts.setdefault(text, text)

    def each(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Labels: the whole is seldom that of another object, but most of its parts are."""
        if not texts:
            return ()
        known = self._texts
        if len(known) > _KNOWN_MAX:
            known.clear()
        share = known.setdefault
        return tuple([share(text, text) for text in texts])

    def few(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Owners, fields: often the same as a whole."""
        if not texts:
            return ()
        known = self._few
        if len(known) > _KNOWN_MAX:
            known.clear()
        whole = tuple(texts)
        return known.setdefault(whole, whole)
