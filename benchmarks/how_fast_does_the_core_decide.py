"""How many decisions a second does the core make on Kueue's own benchmark shapes, and how good are they?

Virtual time, preemption as in the shapes, processor time measured (a busy machine does not count against it). A decision
is an admission or an eviction. Beside it: plain dictionary updates of the same Python on the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.result import Result, Rounds, Sample
from fairway.core.model import Settings
from fairway.sim.engine import Engine, Run, one_head_cycles
from fairway.sim.report import floor_of
from fairway.sim.shapes import SHAPES, shape_scenario

PROBE = "/s, dictionary updates"
AIMS = {False: 20_000.0, True: 5_000.0}


def run(quick: bool) -> list[Result]:
    runs: dict[str, Run] = {}
    measures: dict[str, Callable[[], float | Sample]] = {PROBE: _dictionary_updates}
    for shape in SHAPES:
        for fair in (False, True):
            name = f"{shape}, {'fair sharing' if fair else 'classical'}"
            measures[name] = _decisions(name, shape, fair, quick, runs)
    rounds = Rounds(measures, quick=quick, count=3)
    results = [
        rounds.result(name, "decisions/s", beside=PROBE, aim=AIMS["fair" in name]) for name in measures if name != PROBE
    ]
    for shape in SHAPES:
        results += _quality(shape, quick)
    return results


def _decisions(name: str, shape: str, fair: bool, quick: bool, runs: dict[str, Run]) -> Callable[[], Sample]:
    def measure() -> Sample:
        engine = _engine(shape, fair, quick)
        start = time.process_time()
        done = runs[name] = engine.run()
        seconds = time.process_time() - start
        return Sample(done.decisions / seconds, seconds / done.decisions * 1e6)

    return measure


def _quality(shape: str, quick: bool) -> list[Result]:
    """Makespan in virtual time, against plain cycles of one head per queue and against what no scheduler can beat."""
    engine = _engine(shape, False, quick)
    ours = engine.run()
    cycles = _engine(shape, False, quick, cycles=True).run()
    floor = floor_of(engine, list(ours.records.values()))
    seconds = ours.makespan / 1e9
    return [
        Result(
            name=f"{shape}, makespan against one-head cycles",
            value=seconds / (cycles.makespan / 1e9),
            unit="×",
            more_is_better=False,
            aim=1.02,
        ),
        Result(name=f"{shape}, makespan against the floor of {floor:.2f} s", value=seconds / floor, unit="×"),
    ]


def _engine(shape: str, fair: bool, quick: bool, cycles: bool = False) -> Engine:
    facts = SHAPES[shape]
    if quick:
        facts = replace(facts, cohorts=1, queues_per_cohort=min(facts.queues_per_cohort, 20))
    scenario = shape_scenario(shape, facts, Settings(fair_sharing=fair))
    return Engine(scenario, one_head_cycles) if cycles else Engine(scenario)


def _dictionary_updates() -> Sample:
    table: dict[str, int] = {}
    keys = [f"flavor/{index}" for index in range(100)]
    count = 1_000_000
    start = time.process_time()
    for index in range(count):
        key = keys[index % 100]
        table[key] = table.get(key, 0) + index
    return Sample(count / (time.process_time() - start))
