"""What happened, in order, and which promise was broken."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable


class Broken(Exception):
    """A promise was broken; the name of the invariant comes first."""


class Chronicle:
    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.lines: list[str] = []
        self.broken: list[str] = []
        self.counts: Counter[str] = Counter()
        """How often things of a kind happened."""
        self._digest = hashlib.sha256()

    def note(self, who: str, what: str) -> None:
        self.lines.append(f"{self._time():11.4f}  {who:<12} {what}")
        self.mix(self.lines[-1].encode())

    def mix(self, data: bytes) -> None:
        """Into the digest only: what would fill the lines, and must be the same too when a history is told again."""
        self._digest.update(data)

    def breaks(self, invariant: str, what: str) -> None:
        self.broken.append(f"{invariant}: {what}")
        self.note("BROKEN", self.broken[-1])

    def insist(self) -> None:
        """Raises as soon as something is broken: what follows would only hide what led there."""
        if self.broken:
            raise Broken(self.broken[0])

    @property
    def digest(self) -> str:
        """The same for two histories only if every step of them was."""
        return self._digest.hexdigest()[:16]
