"""Properties of the core that hold for every world: quota is held, nothing is lost, preemption ends."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.core.worlds import World, admitted, evicted, layout, world

from fairway.core.admit.assign import Assigner
from fairway.core.admit.assignment import Assignment
from fairway.core.admit.cycle import cycle
from fairway.core.admit.plan import Admit, Evict, Migrate
from fairway.core.admit.preempt import Search
from fairway.core.admit.state import AdmitState
from fairway.core.model import Spot, Strategy
from fairway.core.quota.node import Node

SEEDS = st.integers(min_value=0, max_value=2**32)
# A head that is put back may start its next scan at another flavor; more than this many flavors there are not.
QUIET_CYCLES = 4
PROPERTY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _play(rng: random.Random, made: World, steps: int = 25) -> None:
    for _ in range(steps):
        action = rng.random()
        if action < 0.6:
            made.submit(rng)
        elif action < 0.8:
            made.finish_one(rng)
        else:
            made.run_to_rest()
    made.run_to_rest()


def _nodes(state: AdmitState) -> list[Node]:
    return [*state.tree.queues.values(), *state.tree.cohorts.values()]


def _usage(state: AdmitState) -> dict[str, dict[str, int]]:
    return {
        f"{node.is_queue}/{node.name}": {cell: amount for cell, amount in node.usage.items() if amount}
        for node in _nodes(state)
    }


@given(SEEDS)
@PROPERTY
def test_usage_is_the_sum_of_reservations_and_never_more_than_can_be_borrowed(seed: int) -> None:
    rng = random.Random(seed)
    made = world(rng)
    _play(rng, made)
    state = made.state
    for name, node in state.tree.queues.items():
        held = state.ledger.usage_of(name)
        assert {c: a for c, a in node.usage.items() if a} == {c: a for c, a in held.items() if a}
        for at in node.usage:
            assert node.available(at) >= 0, f"{name} uses more of {at} than it may"


@given(SEEDS)
@PROPERTY
def test_every_workload_is_in_exactly_one_place(seed: int) -> None:
    rng = random.Random(seed)
    made = world(rng)
    _play(rng, made)
    state = made.state
    for key, workload in made.submitted.items():
        waits, holds, done = key in state.lines.waiting, key in state.ledger, key in made.finished
        assert waits + holds + done == 1, f"{key}: waits {waits}, holds {holds}, finished {done}"
        if waits:
            line = state.lines.by_queue[workload.queue]
            assert line.is_active(workload) != line.is_parked(workload)
            assert workload.spot in (Spot.LANE, Spot.HELD)
    assert all(not line.in_flight for line in state.lines.by_queue.values())


@given(SEEDS)
@PROPERTY
def test_in_a_strict_queue_nobody_of_equal_or_lower_priority_overtakes_the_head(seed: int) -> None:
    rng = random.Random(seed)
    made = world(rng, strict=True)
    for _ in range(12):
        for _ in range(rng.randint(0, 4)):
            made.submit(rng)
        made.finish_one(rng)
        plan = made.settle()
        for action in plan.actions:
            if not isinstance(action, Admit) or action.queue.strategy is not Strategy.STRICT_FIFO:
                continue
            for other in made.state.lines.by_queue[action.queue.name].ordered():
                ahead = (-other.priority, *other.order) < (-action.workload.priority, *action.workload.order)
                assert not ahead, f"{action.workload.key} overtook {other.key}"
        for key in evicted(plan):
            made.stop(key)


@given(SEEDS, st.booleans())
@PROPERTY
def test_preemption_comes_to_rest(seed: int, fair: bool) -> None:
    rng = random.Random(seed)
    made = world(rng, fair=fair)
    for _ in range(15):
        for _ in range(rng.randint(1, 4)):
            made.submit(rng)
        made.run_to_rest(limit=150)


@given(SEEDS)
@PROPERTY
def test_incremental_state_equals_state_rebuilt_from_scratch(seed: int) -> None:
    rng = random.Random(seed)
    made = world(rng)
    _play(rng, made)
    rebuilt = made.layout.state()
    for workload in list(made.state.ledger.by_key.values()):
        rebuilt.ledger.add(workload)
    assert _usage(made.state) == _usage(rebuilt)
    for node, other in zip(_nodes(made.state), _nodes(rebuilt), strict=True):
        assert node.subtree == other.subtree
        over = {c: {n.name for n in nodes} for c, nodes in node.over.items() if nodes}
        assert over == {c: {n.name for n in nodes} for c, nodes in other.over.items() if nodes}


@given(SEEDS)
@PROPERTY
def test_decisions_do_not_depend_on_the_order_in_which_queues_became_known(seed: int) -> None:
    made = layout(random.Random(seed))
    results = []
    for order in (None, random.Random(seed + 1)):
        rng = random.Random(seed)
        one = World(made, made.state(order))
        log: list[tuple[list[str], list[str]]] = []
        for _ in range(8):
            for _ in range(rng.randint(0, 4)):
                one.submit(rng)
            one.finish_one(rng)
            plan = one.settle()
            log.append((sorted(admitted(plan)), sorted(evicted(plan))))
            for key in evicted(plan):
                one.stop(key)
        results.append(log)
    assert results[0] == results[1]


@given(SEEDS)
@PROPERTY
def test_one_pass_equals_cycles_repeated_until_nothing_changes(seed: int) -> None:
    made = layout(random.Random(seed))
    outcomes = []
    for in_one_pass in (True, False):
        rng = random.Random(seed)
        one = World(made, made.state())
        log: list[tuple[list[str], list[str], dict[str, list[str]]]] = []
        for _ in range(8):
            for _ in range(rng.randint(0, 4)):
                one.submit(rng)
            one.finish_one(rng)
            got, gone = _pass(one) if in_one_pass else _cycles(one)
            parked = {n: sorted(w.key for w in line.parked()) for n, line in one.state.lines.by_queue.items()}
            log.append((sorted(got), sorted(gone), parked))
            for key in gone:
                one.stop(key)
        outcomes.append(log)
    assert outcomes[0] == outcomes[1]


@given(SEEDS)
@PROPERTY
def test_the_short_way_says_what_the_long_way_says(seed: int) -> None:
    rng = random.Random(seed)
    made = world(rng)
    for _ in range(14):
        made.submit(rng)
    made.run_to_rest()
    state = made.state
    for workload in made.submitted.values():
        queue, node = state.queues[workload.queue], state.tree.queues[workload.queue]
        recipe = state.recipe(queue, workload.shape)
        assert recipe is not None
        search = Search(state.field(made.now), workload, queue, node)
        short = recipe.try_on(node) or recipe.try_hard(node, search.simulate)
        if short is not None:
            long = Assigner(workload.shape, queue, node, state.flavors, state.settings, search.simulate).assign()
            assert _answer(short) == _answer(long)


def _answer(assignment: Assignment) -> object:
    return (
        assignment.mode,
        assignment.borrowing,
        {at: amount for at, amount in assignment.usage.items() if amount},
        assignment.no_fit,
        assignment.tried,
        assignment.message(),
        [(ps.choices, ps.attempts, ps.requests) for ps in assignment.pod_sets],
    )


def _pass(one: World) -> tuple[list[str], list[str]]:
    plan = one.settle()
    return admitted(plan), evicted(plan)


def _cycles(one: World) -> tuple[list[str], list[str]]:
    one.now += 1
    one.state.flush(one.now)
    got: list[str] = []
    gone: list[str] = []
    quiet = 0
    while quiet < QUIET_CYCLES:
        before = _fingerprint(one.state)
        plan = cycle(one.state, one.now)
        got += admitted(plan)
        gone += evicted(plan)
        moved = any(isinstance(action, Admit | Evict | Migrate) for action in plan.actions)
        quiet = 0 if moved or _fingerprint(one.state) != before else quiet + 1
    return got, gone


def _fingerprint(state: AdmitState) -> object:
    return (
        {n: sorted(w.key for w in line.active()) for n, line in state.lines.by_queue.items()},
        {n: sorted(w.key for w in line.parked()) for n, line in state.lines.by_queue.items()},
    )
