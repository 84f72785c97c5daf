"""Every start and end of a payload on any machine, seen from outside: the table by which `one-attempt` is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairway.sim.fleet.chronicle import Chronicle


@dataclass(slots=True)
class Stretch:
    """One payload's time."""

    name: str
    machine: str
    run_id: str
    cpus: int
    began: float
    sent: float
    """When its job came to the machine. An eviction since then is one of this attempt, though it be still on its way when the payload begins."""
    ended: float | None = None
    asked: bool = False
    """To end before its time."""
    recorded: bool = False
    """It ended well, and its shim has it in writing."""

    @property
    def job(self) -> str:
        return self.name.partition("/")[0]


class Payloads:
    """A payload's name is its job's, with an index for jobs of several pods."""

    def __init__(
        self, chronicle: Chronicle, time: Callable[[], float], came_at: Callable[[str, str], float | None]
    ) -> None:
        """came_at: when a hub's job of this name came to a machine."""
        self._chronicle = chronicle
        self._time = time
        self._came_at = came_at
        self.all: dict[str, list[Stretch]] = {}
        self.capacity: dict[str, int] = {}
        """CPUs by machine."""
        self._evicted_at: dict[str, float] = {}
        self._gone_at: dict[str, float] = {}
        self._completed: dict[str, None] = {}

    # --- what objects say ---------------------------------------------------------------------------------------------

    def evicted(self, job: str) -> None:
        self._evicted_at[job] = self._time()

    def completed(self, job: str) -> None:
        self._completed[job] = None

    def gone(self, job: str) -> None:
        """Deleted. One of its name that comes later, by a request that was long on its way, is another job."""
        self._completed.pop(job, None)
        self._evicted_at[job] = self._gone_at[job] = self._time()

    # --- what shims do ------------------------------------------------------------------------------------------------

    def begin(self, name: str, machine: str, run_id: str, cpus: int) -> Stretch:
        now, sent = self._time(), self._came_at(machine, name.partition("/")[0])
        begun = Stretch(name, machine, run_id, cpus, now, now if sent is None else sent)
        self._chronicle.note(machine, f"payload of {name} begins ({run_id[:8]})")
        for other in self.all.get(name, ()):
            self._judge(begun, other)
        if begun.job in self._completed:
            self._breaks("one-attempt", f"{name} begins on {machine} though its job is complete")
        used = cpus + sum(each.cpus for each in self.running() if each.machine == machine)
        if used > self.capacity.get(machine, used):
            self._breaks("capacity-held", f"{used} CPUs are in use on {machine}, which has {self.capacity[machine]}")
        self.all.setdefault(name, []).append(begun)
        return begun

    def _judge(self, begun: Stretch, other: Stretch) -> None:
        if self._gone_at.get(begun.job, -1.0) >= other.began:
            return  # that one was of another job of the name
        if other.ended is None:
            where = f"it runs on {other.machine} since {other.began:.4f}"
            self._breaks("one-attempt", f"{begun.name} begins on {begun.machine} while {where}")
        elif other.recorded and not other.asked and self._evicted_at.get(begun.job, -1.0) < other.sent:
            where = f"it ended well on {other.machine} at {other.ended:.4f} and was not evicted"
            self._breaks("starts-once", f"{begun.name} begins on {begun.machine} though {where}")

    def ask(self, stretch: Stretch, why: str) -> None:
        """To end: it may still end by itself, and well."""
        if not stretch.asked:
            stretch.asked = True
            self._chronicle.note(stretch.machine, f"payload of {stretch.name} is asked to end: {why}")

    def end(self, stretch: Stretch, how: str) -> None:
        stretch.ended = self._time()
        self._chronicle.note(stretch.machine, f"payload of {stretch.name} ends: {how}")

    # --- what is seen -------------------------------------------------------------------------------------------------

    def running(self) -> list[Stretch]:
        return [each for stretches in self.all.values() for each in stretches if each.ended is None]

    def starts(self, name: str) -> int:
        return len(self.all.get(name, ()))

    def successes(self, name: str) -> list[Stretch]:
        return [stretch for stretch in self.all.get(name, ()) if stretch.recorded]

    def was_evicted(self, job: str) -> bool:
        return job in self._evicted_at

    def _breaks(self, invariant: str, what: str) -> None:
        self._chronicle.breaks(invariant, what)
