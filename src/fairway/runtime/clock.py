"""Time, as the rest of the program may know it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    @property
    def now(self) -> float:
        """Seconds since 1970, wall clock."""
        ...

    @property
    def monotonic(self) -> float: ...


class SystemClock:
    @property
    def now(self) -> float:
        return time.time()

    @property
    def monotonic(self) -> float:
        return time.monotonic()


def moment(clock: Clock) -> datetime:
    return datetime.fromtimestamp(clock.now, UTC)
