"""What a history is about: how many clusters, which dispatcher, what people do and what goes wrong. Drawn from the seed, or given."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from fairway.core.dispatch.nominate import ALL_AT_ONCE, INCREMENTAL, SCORED
from fairway.sim.chance import Chance

DISPATCHERS = (ALL_AT_ONCE, SCORED, INCREMENTAL)
_SALT = 0x5EED << 40


@dataclass(frozen=True, slots=True)
class Climate:
    """How often each thing goes wrong, as weights; and how many seconds lie between two of them on average."""

    kill: int = 6
    stop: int = 3
    shim: int = 1
    power: int = 1
    cut: int = 5
    storm: int = 3
    clock: int = 1
    every_s: float = 6.0


@dataclass(frozen=True, slots=True)
class Habits:
    """What people do beside submitting, as weights; and how many seconds lie between two of these on average."""

    cancel: int = 3
    hold: int = 3
    promote: int = 1
    stop_queue: int = 2
    drain: int = 1
    remove: int = 1
    rotate: int = 1
    every_s: float = 10.0


FAIR = Climate(0, 0, 0, 0, 0, 0, 0)
QUIET = Habits(0, 0, 0, 0, 0, 0, 0)
T = TypeVar("T", Climate, Habits)


@dataclass(frozen=True)
class Plan:
    hub: bool = True
    clusters: int = 2
    dispatcher: str = ALL_AT_ONCE
    jobs: int = 10
    longest_s: float = 30.0
    """How long a payload runs at most."""
    submit_s: float = 30.0
    """In which time jobs are submitted."""
    rage_s: float = 60.0
    """For how long things go wrong, and people do other things than submit."""
    patience_s: float = 3600.0
    """By when everything must be finished after that."""
    climate: Climate = field(default_factory=Climate)
    habits: Habits = field(default_factory=Habits)

    @property
    def about(self) -> str:
        where = (
            f"a hub and {self.clusters} clusters, {self.dispatcher.rpartition('/')[2]}" if self.hub else "one cluster"
        )
        wrong, done = (", ".join(_chosen(each)) or "nothing" for each in (self.climate, self.habits))
        return f"{where}, {self.jobs} jobs; goes wrong: {wrong}; people do: {done}"


def alone() -> Plan:
    """One cluster without a hub."""
    return Plan(hub=False, clusters=1, habits=QUIET)


def drawn(seed: int) -> Plan:
    """A fleet. Not everything happens in every history: what is missing leaves room for the rest to meet."""
    chance = Chance(seed ^ _SALT)
    return Plan(
        clusters=2 + chance.below(2),
        dispatcher=DISPATCHERS[chance.below(3)],
        jobs=4 + chance.below(6),
        longest_s=(30.0, 30.0, 90.0)[chance.below(3)],
        rage_s=(40.0, 60.0, 60.0, 120.0)[chance.below(4)],
        climate=_some(Climate(every_s=chance.between(2.0, 12.0)), chance),
        habits=_some(Habits(every_s=chance.between(4.0, 20.0)), chance),
    )


def _some(whole: T, chance: Chance) -> T:
    left_out = {name: 0 for name in _weights(whole) if chance.below(3) == 0}
    return replace(whole, **left_out)


def _weights(of: Climate | Habits) -> list[str]:
    return [each.name for each in fields(of) if each.name != "every_s"]


def _chosen(of: Climate | Habits) -> list[str]:
    return [name for name in _weights(of) if getattr(of, name)]


def pick(of: Climate | Habits, chance: Chance) -> str:
    """The name of one thing, by its weight; empty where nothing may happen."""
    weights = [(name, getattr(of, name)) for name in _weights(of)]
    total = sum(weight for _name, weight in weights)
    left = chance.below(total) if total else 0
    for name, weight in weights:
        left -= weight
        if left < 0:
            return name
    return ""
