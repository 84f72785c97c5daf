"""What came of a run, in numbers: makespan against the floor, waits, utilisation, evictions, shares over time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fairway.core.model import SECOND, Time
from fairway.core.quota.node import Node
from fairway.sim.engine import Engine, JobRecord, Run


@dataclass(slots=True, frozen=True)
class Waits:
    jobs: int
    mean_s: float
    median_s: float
    p90_s: float
    longest_s: float


@dataclass(slots=True)
class Report:
    scenario: str
    jobs: int
    finished: int
    makespan_s: float
    floor_s: float
    utilisation: dict[str, float]
    admissions: int
    evictions: int
    lost_s: float
    cycles: int
    waits: dict[str, Waits] = field(default_factory=dict)
    shares: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "jobs": self.jobs,
            "finished": self.finished,
            "makespanSeconds": self.makespan_s,
            "floorSeconds": self.floor_s,
            "overFloor": round(self.makespan_s / self.floor_s, 4) if self.floor_s else None,
            "utilisation": self.utilisation,
            "admissions": self.admissions,
            "evictions": self.evictions,
            "lostSeconds": self.lost_s,
            "cycles": self.cycles,
            "waits": {
                kind: {
                    "jobs": waits.jobs,
                    "mean": waits.mean_s,
                    "median": waits.median_s,
                    "p90": waits.p90_s,
                    "longest": waits.longest_s,
                }
                for kind, waits in self.waits.items()
            },
            "shares": [{"at": at, "usage": usage} for at, usage in self.shares],
        }

    def rows(self) -> list[tuple[str, str]]:
        """Name and value, for a table."""
        over = f"{self.makespan_s / self.floor_s:.3f} × floor" if self.floor_s else ""
        rows = [
            ("scenario", self.scenario),
            ("jobs", f"{self.finished} of {self.jobs} finished"),
            ("makespan", f"{self.makespan_s:.2f} s  {over}"),
            ("floor", f"{self.floor_s:.2f} s"),
            *((f"utilisation {name}", f"{part:.1%}") for name, part in self.utilisation.items()),
            ("admissions", str(self.admissions)),
            ("evictions", f"{self.evictions}, {self.lost_s:.1f} s of work lost"),
        ]
        for kind, waits in self.waits.items():
            text = f"mean {waits.mean_s:.2f} s, median {waits.median_s:.2f} s, 90% {waits.p90_s:.2f} s"
            rows.append((f"wait {kind or 'all'}", f"{text}, longest {waits.longest_s:.2f} s"))
        return rows


def report(engine: Engine, run: Run) -> Report:
    records = list(run.records.values())
    kinds = sorted({record.job.kind for record in records})
    waits = {"": _waits(records)}
    if len(kinds) > 1:
        waits.update({kind: _waits(r for r in records if r.job.kind == kind) for kind in kinds})
    return Report(
        scenario=run.scenario.name,
        jobs=len(records),
        finished=sum(1 for record in records if record.finished is not None),
        makespan_s=_seconds(run.makespan),
        floor_s=round(floor_of(engine, records), 3),
        utilisation=_utilisation(engine, run, records),
        admissions=run.admissions,
        evictions=run.evictions,
        lost_s=round(sum(record.lost for record in records) / SECOND, 3),
        cycles=run.cycles,
        waits=waits,
        shares=[(_seconds(at), usage) for at, usage in run.samples],
    )


def floor_of(engine: Engine, records: list[JobRecord]) -> float:
    """No scheduler can be faster: in every tree, what comes at or after any moment still has to be worked off."""
    floor: Time = max((r.job.arrival + r.job.runtime for r in records), default=0)
    trees: dict[str, list[JobRecord]] = {}
    roots: dict[str, Node] = {}
    for record in records:
        root = _root(engine, record)
        if root is not None:
            roots[root.name] = root
            trees.setdefault(root.name, []).append(record)
    result = floor / SECOND
    for name, members in trees.items():
        for resource, capacity in _capacity(roots[name]).items():
            work = 0.0
            for record in sorted(members, key=lambda r: -r.job.arrival):
                job = record.job
                work += job.requests.get(resource, 0) * job.count * job.runtime / SECOND
                if capacity > 0:
                    result = max(result, job.arrival / SECOND + work / capacity)
    return result


def _waits(records: Iterable[JobRecord]) -> Waits:
    waited = sorted((r.started - r.job.arrival) / SECOND for r in records if r.started is not None)
    if not waited:
        return Waits(0, 0.0, 0.0, 0.0, 0.0)
    last = len(waited) - 1
    return Waits(
        len(waited),
        round(sum(waited) / len(waited), 3),
        round(waited[last // 2], 3),
        round(waited[last * 9 // 10], 3),
        round(waited[-1], 3),
    )


def _utilisation(engine: Engine, run: Run, records: list[JobRecord]) -> dict[str, float]:
    """Useful work against what all trees could have done in the time."""
    capacity: dict[str, int] = {}
    for node in {id(n.root): n.root for n in engine.state.tree.queues.values()}.values():
        for resource, amount in _capacity(node).items():
            capacity[resource] = capacity.get(resource, 0) + amount
    span = run.makespan / SECOND
    used: dict[str, float] = {}
    for record in records:
        if record.finished is not None:
            for resource, amount in record.job.requests.items():
                used[resource] = used.get(resource, 0.0) + amount * record.job.count * record.job.runtime / SECOND
    return {
        resource: round(used.get(resource, 0.0) / (amount * span), 4)
        for resource, amount in sorted(capacity.items())
        if amount and span
    }


def _capacity(root: Node) -> dict[str, int]:
    capacity: dict[str, int] = {}
    for at, amount in root.subtree.items():
        resource = at.partition("/")[2]
        capacity[resource] = capacity.get(resource, 0) + amount
    return capacity


def _root(engine: Engine, record: JobRecord) -> Node | None:
    tenant = engine.state.lines.tenants.get(record.job.tenant_queue)
    node = engine.state.tree.queues.get(tenant.queue) if tenant is not None else None
    return node.root if node is not None else None


def _seconds(time: Time) -> float:
    return round(time / SECOND, 3)
