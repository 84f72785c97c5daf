"""The clock that leases are measured with: that of the machine's boot, which no change of the date moves and no sleep stops."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from fairway.engines import machine


class Boot(Protocol):
    @property
    def id(self) -> str:
        """Which boot: times of another one mean nothing."""
        ...

    @property
    def now(self) -> float:
        """Seconds since."""
        ...


class MachineBoot:
    @property
    def id(self) -> str:
        return machine.BOOT_ID

    @property
    def now(self) -> float:
        return machine.boot_clock()


class Stamp(NamedTuple):
    """A moment of one boot, as text on its way to a hub and back."""

    boot: str
    at: float

    @property
    def text(self) -> str:
        return f"{self.boot}/{self.at!r}"


def parse_stamp(text: str) -> Stamp | None:
    boot, slash, at = text.rpartition("/")
    if not slash:
        return None
    try:
        return Stamp(boot, float(at))
    except ValueError:
        return None
