"""Workloads that hold quota and need another look, for instance to be placed once a check is through."""

from __future__ import annotations

from fairway.core.model import SECOND, Time

_FIRST, _LONGEST = SECOND, 30 * SECOND


class SecondPass:
    """Keys with the time from which they may be looked at; waits double with every round."""

    __slots__ = ("_ready_at",)

    def __init__(self) -> None:
        self._ready_at: dict[str, Time] = {}

    def add(self, key: str, now: Time, round_number: int = 1) -> bool:
        """False if it waits already."""
        if key in self._ready_at:
            return False
        self._ready_at[key] = now + min(_LONGEST, _FIRST << max(0, round_number - 1))
        return True

    def discard(self, key: str) -> None:
        self._ready_at.pop(key, None)

    def take_ready(self, now: Time) -> list[str]:
        ready = sorted(key for key, at in self._ready_at.items() if at <= now)
        for key in ready:
            del self._ready_at[key]
        return ready

    def next_at(self) -> Time | None:
        return min(self._ready_at.values(), default=None)
