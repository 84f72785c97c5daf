"""Caps, turns, gates and claims: what the vectors do not say, because Kueue does not have it or gets it wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairway.core.admit.caps import QueueClosed, QueueFull, refuses_submission
from fairway.core.admit.cycle import settle
from fairway.core.admit.lines import QueueMissing
from fairway.core.admit.plan import Evict, Pending, Plan
from fairway.core.admit.state import AdmitState
from fairway.core.labels import Selector
from fairway.core.model import (
    SECOND,
    Backoff,
    Caps,
    Flavor,
    PodSet,
    Preemption,
    PreemptionPolicy,
    Queue,
    Quota,
    ResourceGroup,
    Settings,
    StopPolicy,
    Strategy,
    TenantQueue,
    Traits,
    UsageDecay,
    Workload,
)
from fairway.core.shapes import Shapes

SHAPES = Shapes()


def _queue(name: str, nominal: int, **fields: object) -> Queue:
    base = Queue(
        name, groups=(ResourceGroup(("gpu",), ("f",)),), quotas={"f/gpu": Quota(nominal)}, namespaces=Selector()
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def _state(*queues: Queue, settings: Settings | None = None, tenants: tuple[str, ...] = ("t",)) -> AdmitState:
    state = AdmitState(settings)
    state.put_flavor(Flavor("f"), 0)
    for tenant in tenants:
        state.put_namespace(tenant, {}, 0)
    for queue in queues:
        state.put_queue(queue, 0)
        for tenant in tenants:
            state.put_tenant(TenantQueue(f"{tenant}/{queue.name}", queue.name), 0)
    return state


def _submit(
    state: AdmitState, name: str, queue: str, gpus: int = 1, priority: int = 0, at: int = 0, tenant: str = "t"
) -> Workload:
    shape = SHAPES.intern(priority, (PodSet("main", 1, {"gpu": gpus}),))
    workload = Workload(f"{tenant}/{name}", f"{tenant}/{name}", f"{tenant}/{queue}", queue, shape, at, at)
    state.submit(workload, at)
    return workload


def _names(plan: Plan) -> list[str]:
    return [admit.workload.key.partition("/")[2] for admit in plan.admissions()]


def _evictions(plan: Plan) -> list[tuple[str, str]]:
    return [(a.victim.key, a.by.key) for a in plan.actions if isinstance(a, Evict)]


def test_tenants_take_turns_in_a_round_robin_queue() -> None:
    state = _state(_queue("q", 4, round_robin=True), tenants=("a", "b"))
    for index in range(4):
        _submit(state, f"a{index}", "q", at=index, tenant="a")
    for index in range(2):
        _submit(state, f"b{index}", "q", at=10 + index, tenant="b")
    assert _names(settle(state, 20)) == ["a0", "b0", "a1", "b1"]


def test_runs_actions_and_resources_are_capped_whatever_quota_allows() -> None:
    for caps, expected in ((Caps(runs=2), 2), (Caps(actions=1), 1), (Caps(resources={"gpu": 3}), 3)):
        state = _state(_queue("q", 10, caps=caps))
        for index in range(5):
            _submit(state, f"w{index}", "q", at=index)
        plan = settle(state, 9)
        assert len(plan.admissions()) == expected
        assert any(wait.pending is Pending.CAPPED for wait in plan.waits())


def test_a_child_counts_as_an_action_but_not_as_a_run() -> None:
    state = _state(_queue("q", 10, caps=Caps(runs=1)))
    _submit(state, "parent", "q")
    child = _submit(state, "child", "q", at=1)
    child.traits = Traits(is_child=True)
    assert _names(settle(state, 2)) == ["parent", "child"]


def test_room_under_a_cap_is_used_as_soon_as_something_finishes() -> None:
    state = _state(_queue("q", 10, caps=Caps(runs=1)))
    _submit(state, "one", "q")
    _submit(state, "two", "q", at=1)
    settle(state, 2)
    state.release("t/one", 3)
    assert _names(settle(state, 4)) == ["two"]


def test_submission_is_refused_when_closed_or_full() -> None:
    state = _state(_queue("q", 10, caps=Caps(depth=2)))
    _submit(state, "one", "q")
    settle(state, 1)
    queue = state.queues["q"]
    assert refuses_submission(queue, state.ledger, waiting=0) is None
    assert refuses_submission(queue, state.ledger, waiting=1) == QueueFull("q", 2)
    assert refuses_submission(replace(queue, accepts=False), state.ledger, waiting=0) == QueueClosed("q")


def test_a_queue_of_higher_priority_goes_first_between_queues_that_share() -> None:
    low, high = _queue("low", 0, cohort="c", priority=1), _queue("high", 0, cohort="c", priority=100)
    state = _state(low, high, _queue("pool", 1, cohort="c"))
    _submit(state, "early", "low", at=0, priority=9)
    _submit(state, "late", "high", at=5)
    assert _names(settle(state, 9)) == ["late"]


def test_trees_that_are_left_over_have_their_turn_the_next_time() -> None:
    state = _state(_queue("a", 2), _queue("b", 1), _queue("c", 1))
    for name, queue in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c")):
        _submit(state, name, queue)
    found = []
    while state.dirty:
        found.append(_names(settle(state, 0, most=1)))
    assert [names for names in found if names] == [["a1", "a2"], ["b1"], ["c1"]]
    _submit(state, "a3", "a")
    assert _names(settle(state, 1, most=1)) == []
    assert not state.dirty


def test_a_stopped_queue_admits_nothing_until_it_is_started_again() -> None:
    state = _state(_queue("q", 4, stop=StopPolicy.HOLD))
    _submit(state, "w", "q")
    assert _names(settle(state, 1)) == []
    state.put_queue(_queue("q", 4), 2)
    assert _names(settle(state, 3)) == ["w"]


def test_a_stopped_tenant_queue_keeps_its_work_out_of_the_way_of_others() -> None:
    strict = _queue("q", 1, strategy=Strategy.STRICT_FIFO)
    state = _state(strict, tenants=("a", "b"))
    _submit(state, "first", "q", at=0, tenant="a")
    state.put_tenant(TenantQueue("a/q", "q", stop=StopPolicy.HOLD), 1)
    _submit(state, "second", "q", at=2, tenant="a")
    _submit(state, "other", "q", at=3, tenant="b")
    assert _names(settle(state, 4)) == ["other"]
    state.release("b/other", 5)
    assert _names(settle(state, 6)) == []
    state.put_tenant(TenantQueue("a/q", "q"), 7)
    assert _names(settle(state, 8)) == ["first"]


def test_a_resource_that_the_queue_does_not_have_is_a_reason_with_a_name() -> None:
    state = _state(_queue("q", 4))
    shape = SHAPES.intern(0, (PodSet("main", 1, {"fpga": 1, "gpu": 1}),))
    state.submit(Workload("t/w", "t/w", "t/q", "q", shape, 0, 0), 0)
    (wait,) = settle(state, 1).waits()
    assert wait.pending is Pending.NO_MATCHING_FLAVOR
    assert wait.message == "couldn't assign flavors to pod set main: resource fpga unavailable in ClusterQueue"


def test_work_that_backs_off_is_not_tried_before_its_time() -> None:
    state = _state(_queue("q", 4))
    shape = SHAPES.intern(0, (PodSet("main", 1, {"gpu": 1}),))
    workload = Workload("t/w", "t/w", "t/q", "q", shape, 0, 0, backoff=Backoff(until=60 * SECOND))
    state.submit(workload, 0)
    assert _names(settle(state, 30 * SECOND)) == []
    state.wake(("q",))
    assert _names(settle(state, 60 * SECOND)) == ["w"]


def test_a_workload_within_its_minimum_runtime_is_not_displaced() -> None:
    queue = _queue("q", 1, preemption=Preemption(within_queue=PreemptionPolicy.LOWER_PRIORITY))
    state = _state(queue)
    running = _submit(state, "running", "q")
    running.traits = Traits(min_runtime=100)
    settle(state, 1)
    _submit(state, "urgent", "q", priority=5, at=2)
    assert _evictions(settle(state, 50)) == []
    state.wake(("q",))
    assert _evictions(settle(state, 101)) == [("t/running", "t/urgent")]


def test_past_usage_decides_between_tenants_and_a_reservation_counts_at_once() -> None:
    settings = Settings(usage_decay=UsageDecay(half_life=10 * SECOND, sampling=SECOND))
    state = _state(_queue("q", 3, usage_based_order=True), settings=settings, tenants=("a", "b"))
    for index in range(3):
        _submit(state, f"a{index}", "q", at=index, tenant="a")
    _submit(state, "b0", "q", at=9, tenant="b")
    assert _names(settle(state, 10)) == ["a0", "b0", "a1"]


def test_usage_fades_by_half_in_a_half_life() -> None:
    settings = Settings(usage_decay=UsageDecay(half_life=10 * SECOND))
    state = _state(_queue("q", 3, usage_based_order=True), settings=settings)
    state.usage.seed("t/q", {"gpu": 8.0}, 0)
    state.usage.sample("t/q", {}, 10 * SECOND)
    assert state.usage.rank("t/q") == 4.0


def test_whoever_made_room_gets_it_even_if_another_queue_would_go_first() -> None:
    """Kueue gives freed quota to whoever sorts first, so that a preemptor can evict for others again and again."""
    lower = PreemptionPolicy.LOWER_PRIORITY
    mine = _queue("mine", 1, cohort="c", preemption=Preemption(lower, lower, borrow_lower_priority=True))
    state = _state(mine, _queue("theirs", 1, cohort="c"))
    _submit(state, "low", "mine", gpus=2)
    settle(state, 1)
    _submit(state, "urgent", "mine", gpus=2, priority=5, at=2)
    assert _evictions(settle(state, 3)) == [("t/low", "t/urgent")]
    _submit(state, "modest", "theirs", gpus=1, priority=9, at=4)
    assert _names(settle(state, 5)) == []
    state.requeue("t/low", 6)
    assert _names(settle(state, 7)) == ["urgent"]


def test_a_circle_of_priority_reclaiming_and_fairness_comes_to_rest() -> None:
    """Small reclaims from other, big displaces small by priority, other displaces big as its share is lower."""
    rules = Preemption(within_queue=PreemptionPolicy.LOWER_PRIORITY, reclaim=PreemptionPolicy.ANY)
    state = _state(
        _queue("heavy", 4, cohort="c", preemption=rules, weight=0.0),
        _queue("light", 2, cohort="c", preemption=rules),
        settings=Settings(fair_sharing=True),
    )
    _submit(state, "big", "heavy", gpus=6, priority=3)
    _submit(state, "other", "light", gpus=4, at=1)
    _submit(state, "small", "heavy", gpus=3, at=2)
    for now in range(3, 60):
        evictions = _evictions(settle(state, now))
        if not evictions:
            return
        for victim, _ in evictions:
            state.requeue(victim, now)
    raise AssertionError("they displace each other for ever")


def test_a_rejected_reservation_is_taken_back_and_tried_again() -> None:
    state = _state(_queue("q", 1))
    _submit(state, "w", "q")
    settle(state, 1)
    state.rejected("t/w", 2)
    assert state.tree.queues["q"].usage["f/gpu"] == 0
    assert _names(settle(state, 3)) == ["w"]


def test_changing_a_queue_wakes_what_waits_in_its_tree() -> None:
    state = _state(_queue("q", 1))
    _submit(state, "w", "q", gpus=2)
    settle(state, 1)
    state.put_queue(_queue("q", 2), 2)
    assert _names(settle(state, 3)) == ["w"]


def test_work_of_a_queue_that_is_not_there_yet_waits_for_it() -> None:
    state = AdmitState()
    state.put_flavor(Flavor("f"), 0)
    state.put_namespace("t", {}, 0)
    state.put_tenant(TenantQueue("t/q", "q"), 0)
    with pytest.raises(QueueMissing, match="queue 'q' of tenant queue t/q does not exist"):
        _submit(state, "w", "q")
    state.put_queue(_queue("q", 1), 1)
    assert _names(settle(state, 2)) == ["w"]


def test_work_follows_its_tenant_queue_to_another_queue() -> None:
    state = _state(_queue("old", 0), _queue("new", 1))
    _submit(state, "w", "old")
    settle(state, 1)
    state.put_tenant(TenantQueue("t/old", "new"), 2)
    assert _names(settle(state, 3)) == ["w"]
    assert state.ledger.by_queue["new"].keys() == {"t/w"}


def test_a_queue_that_comes_back_knows_what_runs_in_it() -> None:
    state = _state(_queue("q", 2))
    _submit(state, "w", "q", gpus=2)
    settle(state, 1)
    state.remove_queue("q", 2)
    state.put_queue(_queue("q", 2), 3)
    assert state.tree.queues["q"].usage == {"f/gpu": 2}
