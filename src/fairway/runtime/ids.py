"""Unique ids, secrets and random numbers: from the system, or from a seed."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from typing import Protocol

_UIDS_DRAWN = 256
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, nothing that looks alike: no words by accident


class Ids(Protocol):
    def uid(self) -> str: ...

    def suffix(self, length: int = 5) -> str: ...

    def secret(self) -> str: ...

    def uniform(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


class SystemIds:
    def __init__(self) -> None:
        self._random: list[str] = []
        # A child must not give out what its parent gives out too.
        os.register_at_fork(after_in_child=self._random.clear)

    def uid(self) -> str:
        # As uuid.uuid4, for a fraction of its price: every object gets one, and asking the system for randomness hands the
        # interpreter's lock to whoever waits for it.
        if not self._random:
            drawn = os.urandom(16 * _UIDS_DRAWN).hex()
            self._random += [drawn[start : start + 32] for start in range(0, len(drawn), 32)]
        digits = self._random.pop()
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def suffix(self, length: int = 5) -> str:
        return "".join(random.choices(_SUFFIX, k=length))

    def secret(self) -> str:
        return secrets.token_urlsafe(32)

    def uniform(self) -> float:
        return random.random()


class SeededIds:
    """The same sequence for the same seed: for tests and simulations."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        return "".join(self._random.choices(_SUFFIX, k=length))

    def secret(self) -> str:
        return f"{self._random.getrandbits(256):064x}"

    def uniform(self) -> float:
        return self._random.random()
