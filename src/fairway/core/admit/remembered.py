"""What the admit room remembers beyond the objects it is told about, and what a restart does to it.

Everything else in its state follows from objects: queues, cohorts, flavors, workloads and their reservations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class AtRestart(Enum):
    FORGOTTEN = "forgotten: safe, as the next decision finds it out again"
    FROM_STATUS = "read back from a stored status"


@dataclass(slots=True, frozen=True)
class Memory:
    """One thing remembered: where it is kept, what it is for, what becomes of it at a restart."""

    holder: str
    attribute: str
    what: str
    at_restart: AtRestart
    because: str


REMEMBERED = (
    Memory(
        "Line",
        "parked_shapes",
        "shapes that were refused since something last changed",
        AtRestart.FORGOTTEN,
        "all is tried again once, and refused again if nothing changed",
    ),
    Memory(
        "Line",
        "held",
        "workloads that back off",
        AtRestart.FROM_STATUS,
        "the workload's status says until when",
    ),
    Memory(
        "Line",
        "preemptor",
        "the head that waits for its victims, and goes first until it runs",
        AtRestart.FORGOTTEN,
        "it preempts the same victims, who are evicted already and go first in the choice",
    ),
    Memory(
        "Line",
        "woken_at",
        "whether something changed while a head was looked at",
        AtRestart.FORGOTTEN,
        "no head is being looked at after a restart",
    ),
    Memory(
        "Line",
        "in_flight",
        "heads that a cycle is looking at",
        AtRestart.FORGOTTEN,
        "a plan that was not committed did not happen",
    ),
    Memory(
        "AdmitState",
        "progress",
        "at which flavor the next scan of a workload starts",
        AtRestart.FORGOTTEN,
        "scans start over at the first flavor",
    ),
    Memory(
        "AdmitState",
        "rounds",
        "how many rounds each tree had, to know how old scan progress is",
        AtRestart.FORGOTTEN,
        "without scan progress nobody asks",
    ),
    Memory(
        "AdmitState",
        "spent",
        "how often a workload preempted since something new happened in its tree",
        AtRestart.FORGOTTEN,
        "a circle of preemption may turn a few times more",
    ),
    Memory(
        "AdmitState",
        "usage",
        "past usage of tenant queues, with penalties for what was just admitted",
        AtRestart.FROM_STATUS,
        "the tenant queue's status has the last sample; penalties are lost for one sampling interval",
    ),
    Memory(
        "AdmitState",
        "unready",
        "admitted workloads whose pods are not ready, where one starts after the other",
        AtRestart.FROM_STATUS,
        "the workload's conditions say so",
    ),
    Memory(
        "AdmitState",
        "dirty",
        "queues in whose trees something happened since the last decision",
        AtRestart.FORGOTTEN,
        "after a restart every tree is decided upon",
    ),
)
