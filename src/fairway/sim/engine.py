"""Runs a scenario through the core in virtual time: arrivals and ends are events, decisions follow each instant."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from fairway.core.admit.cycle import cycle, settle
from fairway.core.admit.plan import Admit, Evict, Migrate, Plan
from fairway.core.admit.state import AdmitState
from fairway.core.model import PodSet, Shape, Time, Workload
from fairway.core.shapes import Shapes
from fairway.sim.scenario import Job, Scenario

_ARRIVE, _FINISH, _STOPPED = 0, 1, 2
Decide = Callable[[AdmitState, Time], Plan]


@dataclass(slots=True)
class JobRecord:
    job: Job
    started: Time | None = None
    finished: Time | None = None
    evictions: int = 0
    lost: Time = 0


@dataclass(slots=True)
class Run:
    """What happened: a record per job, and the core's state at the end."""

    scenario: Scenario
    records: dict[str, JobRecord] = field(default_factory=dict)
    admissions: int = 0
    evictions: int = 0
    cycles: int = 0
    makespan: Time = 0
    samples: list[tuple[Time, dict[str, int]]] = field(default_factory=list)

    @property
    def decisions(self) -> int:
        return self.admissions + self.evictions


def one_head_cycles(state: AdmitState, now: Time) -> Plan:
    """Kueue's way: whole rounds over every queue, repeated until a round brings nothing new."""
    plan = Plan()
    while True:
        round_plan = cycle(state, now)
        plan.actions += round_plan.actions
        plan.cycles += round_plan.cycles
        if not any(isinstance(action, Admit | Evict | Migrate) for action in round_plan.actions):
            return plan


class Engine:
    def __init__(self, scenario: Scenario, decide: Decide = settle, sample_every: Time = 0) -> None:
        self.run_ = Run(scenario)
        self.state = AdmitState(scenario.settings)
        self._decide = decide
        self._sample_every = sample_every
        self._shapes = Shapes()
        self._shape_of: dict[tuple[int, int, tuple[tuple[str, int], ...]], Shape] = {}
        self._events: list[tuple[Time, int, int, str, int]] = []
        self._sequence = 0
        self._epoch: dict[str, int] = {}
        self._load(scenario)

    def run(self) -> Run:
        """What was loaded lives as long as the run, so the collector need not look at it over and over."""
        gc.freeze()
        try:
            return self._run()
        finally:
            gc.unfreeze()

    def _run(self) -> Run:
        run, state = self.run_, self.state
        events = self._events
        next_sample: Time = 0
        while events:
            now = events[0][0]
            while events and events[0][0] == now:
                _, kind, _, key, epoch = heappop(events)
                self._happen(kind, key, epoch, now)
            self._carry_out(self._decide(state, now), now)
            run.makespan = now
            if self._sample_every and now >= next_sample:
                run.samples.append((now, self._usage_by_queue()))
                next_sample = now + self._sample_every
        return run

    def _load(self, scenario: Scenario) -> None:
        state = self.state
        for flavor in scenario.flavors:
            state.put_flavor(flavor, 0)
        for cohort in scenario.cohorts:
            state.put_cohort(cohort, 0)
        for queue in scenario.queues:
            state.put_queue(queue, 0)
        for tenant in scenario.tenants:
            state.put_tenant(tenant, 0)
            state.lines.namespaces.setdefault(tenant.key.partition("/")[0], {})
        for job in scenario.jobs:
            self.run_.records[job.key] = JobRecord(job)
            self._sequence += 1
            self._events.append((job.arrival, _ARRIVE, self._sequence, job.key, 0))
        heapify(self._events)

    def _happen(self, kind: int, key: str, epoch: int, now: Time) -> None:
        record = self.run_.records[key]
        if kind == _ARRIVE:
            self.state.submit(self._workload(record.job), now)
        elif self._epoch.get(key, 0) != epoch:
            return
        elif kind == _FINISH:
            record.finished = now
            self.state.release(key, now)
        else:
            self._stop(key, record, now)

    def _stop(self, key: str, record: JobRecord, now: Time) -> None:
        if key not in self.state.ledger:
            return
        self._epoch[key] = self._epoch.get(key, 0) + 1
        if record.started is not None:
            record.lost += now - record.started
        record.evictions += 1
        record.started = None
        self.state.requeue(key, now)

    def _carry_out(self, plan: Plan, now: Time) -> None:
        run = self.run_
        run.cycles += plan.cycles
        for action in plan.actions:
            if isinstance(action, Admit):
                key = action.workload.key
                record = run.records[key]
                record.started = now
                run.admissions += 1
                self._push(now + record.job.runtime, _FINISH, key)
            elif isinstance(action, Evict | Migrate):
                run.evictions += 1
                self._push(now + run.scenario.eviction_delay, _STOPPED, action.victim.key)

    def _push(self, at: Time, kind: int, key: str) -> None:
        self._sequence += 1
        heappush(self._events, (at, kind, self._sequence, key, self._epoch.get(key, 0)))

    def _workload(self, job: Job) -> Workload:
        signature = (job.priority, job.count, tuple(sorted(job.requests.items())))
        shape = self._shape_of.get(signature)
        if shape is None:
            pod_set = PodSet("main", job.count, dict(job.requests))
            shape = self._shape_of[signature] = self._shapes.intern(job.priority, (pod_set,))
        return Workload(job.key, job.key, job.tenant_queue, "", shape, job.arrival, job.arrival)

    def _usage_by_queue(self) -> dict[str, int]:
        return {name: sum(node.usage.values()) for name, node in self.state.tree.queues.items()}
