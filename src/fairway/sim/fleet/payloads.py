"""Every start and end of a payload on any machine, seen from outside: the table by which `one-attempt` is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairway.sim.fleet.chronicle import Chronicle


@dataclass(slots=True)
class Stretch:
    """One payload's time."""

    job: str
    machine: str
    run_id: str
    began: float
    ended: float | None = None
    succeeded: bool = False


class Payloads:
    def __init__(self, chronicle: Chronicle, time: Callable[[], float]) -> None:
        self._chronicle = chronicle
        self._time = time
        self.all: dict[str, list[Stretch]] = {}

    def begin(self, job: str, machine: str, run_id: str) -> Stretch:
        mine = self.all.setdefault(job, [])
        begun = Stretch(job, machine, run_id, self._time())
        self._chronicle.note(machine, f"payload of {job} begins ({run_id[:8]})")
        for other in mine:
            if other.ended is None:
                self._chronicle.breaks(
                    "one-attempt", f"{job} begins on {machine} while it runs on {other.machine} since {other.began:.4f}"
                )
        mine.append(begun)
        return begun

    def end(self, stretch: Stretch, how: str, *, succeeded: bool = False) -> None:
        stretch.ended, stretch.succeeded = self._time(), succeeded
        self._chronicle.note(stretch.machine, f"payload of {stretch.job} ends: {how}")

    def successes(self, job: str) -> list[Stretch]:
        return [stretch for stretch in self.all.get(job, ()) if stretch.succeeded]
