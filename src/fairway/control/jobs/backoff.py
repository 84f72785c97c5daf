"""How long a Job waits before it replaces a failed pod: 10 s, doubling with each failure since the last success, up to 6 min."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FIRST_SECONDS = 10.0
LONGEST_SECONDS = 360.0
_KEPT = 8  # the delay no longer grows beyond six failures in a row


@dataclass(frozen=True, slots=True)
class Past:
    """How the pods of a Job ended that are counted and done with. Rebuilt from the pods that are left after a restart."""

    last_success: float = 0.0
    failures: tuple[float, ...] = ()
    """Times of the latest failures after the last success, in order."""

    def plus(self, succeeded: Iterable[float], failed: Iterable[float]) -> Past:
        last = max(succeeded, default=0.0)
        last = max(last, self.last_success)
        failures = sorted(at for at in (*self.failures, *failed) if at > last)
        return Past(last, tuple(failures[-_KEPT:]))

    def free_at(self, now: float) -> float:
        """From when on a pod may be created."""
        return free_at(self.failures[-1], len(self.failures), now) if self.failures else 0.0


NOTHING = Past()


def free_at(failed_at: float, failures: int, now: float) -> float:
    """After so many failures in a row, the last of them at that time. One that is yet to come tells that the clock was set back: that is over."""
    return 0.0 if failed_at > now + 1 else failed_at + delay(failures)


def delay(failures: int) -> float:
    if failures <= 0:
        return 0.0
    return float(min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** min(failures - 1, 16)))
