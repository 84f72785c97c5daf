"""The simulator: same input, same result; numbers that can be checked by hand."""

from __future__ import annotations

import json

import pytest

from fairway.core.model import SECOND, Settings
from fairway.sim.chance import Chance
from fairway.sim.describe import DescriptionError
from fairway.sim.engine import Engine, one_head_cycles
from fairway.sim.picture import draw
from fairway.sim.shapes import KueueShape, WorkClass, shape_scenario
from fairway.sim.simulate import SimulationOptions, scenario_of, simulate
from fairway.sim.swf import TraceError

TWO_QUEUES = """
queues:
- {name: a, cohort: all, quota: {cpu: 2}}
- {name: b, cohort: all, quota: {cpu: 2}}
jobs:
- {queue: a, kind: short, count: 4, every: 0s, runtime: 10s, requests: {cpu: 1}}
- {queue: b, kind: long, count: 2, every: 0s, runtime: 20s, requests: {cpu: 2}}
"""

SMALL_SHAPE = KueueShape(
    2,
    3,
    (
        WorkClass("small", 30, 100, 200, 50, 1),
        WorkClass("medium", 10, 300, 500, 100, 5),
        WorkClass("large", 4, 700, 900, 200, 20),
    ),
    0.0,
)

TRACE = """; MaxProcs: 4
1 0 -1 10 2 -1 -1 2 -1 -1 1 1 1 -1 0 -1 -1 -1
2 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1
3 5 -1 0 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1
"""


def test_a_description_runs_to_the_makespan_that_one_can_count() -> None:
    report = simulate(scenario_of("two.yaml", TWO_QUEUES))
    assert report.finished == 6
    assert report.makespan_s == 40.0
    assert report.floor_s == 30.0
    assert report.waits["long"].longest_s == 20.0


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    def run(seed: int) -> tuple[str, str]:
        report = simulate(scenario_of("lublin", None, SimulationOptions(seed=seed, jobs=120)))
        return json.dumps(report.as_json()), draw(report)

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_chance_is_the_same_on_every_machine() -> None:
    chance = Chance(42)
    assert [chance.bits() for _ in range(2)] == [13679457532755275413, 2949826092126892291]


def test_a_trace_leaves_out_jobs_without_time_and_knows_the_machine() -> None:
    scenario = scenario_of("a.swf", TRACE)
    assert [job.count for job in scenario.jobs] == [2, 4]
    assert sum(q.nominal for queue in scenario.queues for q in queue.quotas.values()) == 4000
    assert simulate(scenario).makespan_s == 20.0


def test_what_cannot_be_run_says_what_to_write() -> None:
    with pytest.raises(TraceError, match="line 1 has 2 fields of 18"):
        scenario_of("a.swf", "1 2\n")
    with pytest.raises(DescriptionError, match="has several parts"):
        scenario_of("a.yaml", "one: {queues: []}\ntwo: {queues: []}\n")
    with pytest.raises(DescriptionError, match=r"jobs\[0\] goes to queue 'c'"):
        scenario_of("a.yaml", "queues: [{name: a, quota: {cpu: 1}}]\njobs: [{queue: c, runtime: 1s}]\n")
    with pytest.raises(DescriptionError, match="there are baseline, large, lublin"):
        scenario_of("nothing", None)


@pytest.mark.parametrize("fair", [False, True])
def test_one_pass_is_not_slower_in_virtual_time_than_cycles_of_one_head_each(fair: bool) -> None:
    settings = Settings(fair_sharing=fair)
    passes = Engine(shape_scenario("small", SMALL_SHAPE, settings)).run()
    cycles = Engine(shape_scenario("small", SMALL_SHAPE, settings), one_head_cycles).run()
    assert passes.makespan <= cycles.makespan * 1.02
    assert all(record.finished is not None for record in passes.records.values())


def test_an_evicted_job_starts_over_and_its_lost_work_is_counted() -> None:
    text = """
queues:
- {name: q, quota: {cpu: 1}, preemption: {withinClusterQueue: LowerPriority}}
jobs:
- {queue: q, runtime: 10s, requests: {cpu: 1}, priority: 0}
- {queue: q, runtime: 5s, start: 4s, requests: {cpu: 1}, priority: 9}
"""
    report = simulate(scenario_of("evict.yaml", text))
    assert (report.evictions, report.lost_s, report.makespan_s) == (1, 4.0, 19.0)


def test_a_picture_shows_every_queue() -> None:
    picture = draw(simulate(scenario_of("two.yaml", TWO_QUEUES)))
    assert picture.startswith("<svg")
    assert picture.count("<polygon") == 2


def test_shares_are_sampled_over_the_whole_run() -> None:
    report = simulate(scenario_of("two.yaml", TWO_QUEUES))
    assert report.shares[0][1] == {"a": 4000, "b": 0} or sum(report.shares[0][1].values()) == 4000
    assert report.shares[-1][0] * SECOND <= report.makespan_s * SECOND
