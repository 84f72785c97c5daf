"""Explanations: typed facts with numbers, and a change that does exactly what it says."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.core.worlds import World, layout

from fairway.core.admit.caps import CapReached
from fairway.core.admit.cycle import settle
from fairway.core.admit.state import AdmitState
from fairway.core.explain.facts import (
    BackingOff,
    Behind,
    Bound,
    Change,
    ChangeKind,
    FlavorUnusable,
    NotOffered,
    QueueNotReady,
    Short,
    Where,
)
from fairway.core.explain.redact import redact
from fairway.core.explain.why import explain
from fairway.core.labels import Selector, Taint
from fairway.core.model import (
    SECOND,
    Backoff,
    Caps,
    Flavor,
    PodSet,
    Queue,
    Quota,
    ResourceGroup,
    StopPolicy,
    Strategy,
    TenantQueue,
    Workload,
)
from fairway.core.shapes import Shapes

SHAPES = Shapes()


def _queue(name: str, nominal: int, **fields: object) -> Queue:
    base = Queue(
        name,
        groups=(ResourceGroup(("gpu",), ("f",)),),
        quotas={"f/gpu": Quota(nominal)},
        namespaces=Selector(),
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def _state(*queues: Queue, flavor: Flavor | None = None) -> AdmitState:
    state = AdmitState()
    state.put_namespace("ns", {}, 0)
    state.put_flavor(flavor or Flavor("f"), 0)
    for queue in queues:
        state.put_queue(queue, 0)
        state.put_tenant(TenantQueue(f"ns/{queue.name}", queue.name), 0)
    return state


def _submit(state: AdmitState, name: str, queue: str, gpus: int, priority: int = 0, at: int = 0) -> Workload:
    shape = SHAPES.intern(priority, (PodSet("main", 1, {"gpu": gpus}),))
    workload = Workload(f"ns/{name}", f"ns/{name}", f"ns/{queue}", queue, shape, at, at)
    state.submit(workload, at)
    return workload


def test_a_shortage_names_the_node_the_amount_and_who_holds_it() -> None:
    state = _state(_queue("q", 8))
    _submit(state, "running", "q", 6)
    settle(state, 1)
    _submit(state, "waiting", "q", 4)
    settle(state, 2)
    why = explain(state, "ns/waiting", 3)
    (short,) = why.blockers
    assert isinstance(short, Short)
    assert (short.node, short.bound, short.requested, short.available, short.missing) == ("q", Bound.QUOTA, 4, 2, 2)
    assert [(holder.key, holder.amount) for holder in short.holders] == [("ns/running", 6)]
    assert why.where is Where.PARKED
    assert str(short) == "2 more of gpu needed in flavor f: 4 requested, 2 free under the quota of q"


def test_the_smallest_change_is_the_request_that_fits() -> None:
    state = _state(_queue("q", 8))
    _submit(state, "running", "q", 2)
    settle(state, 1)
    _submit(state, "waiting", "q", 8)
    settle(state, 2)
    change = explain(state, "ns/waiting", 3).smallest_change
    assert change == Change(ChangeKind.LOWER_REQUEST, "main", "gpu", 8, 6)
    assert str(change) == "with 6 gpu per pod of main instead of 8"


def test_a_borrowing_limit_that_binds_is_named_with_its_queue() -> None:
    state = _state(
        _queue("q", 2, cohort="c", quotas={"f/gpu": Quota(2, borrowing_limit=1)}), _queue("other", 8, cohort="c")
    )
    _submit(state, "running", "q", 2)
    settle(state, 1)
    _submit(state, "waiting", "q", 3)
    settle(state, 2)
    why = explain(state, "ns/waiting", 3)
    short = next(blocker for blocker in why.blockers if isinstance(blocker, Short))
    assert (short.node, short.bound) == ("q", Bound.BORROWING_LIMIT)
    assert Change(ChangeKind.RAISE_BORROWING_LIMIT, "q", "gpu", 1, 3, "f") in why.changes


def test_what_exceeds_all_quota_is_said_never_to_fit() -> None:
    state = _state(_queue("q", 8))
    _submit(state, "huge", "q", 20)
    settle(state, 1)
    (short,) = explain(state, "ns/huge", 2).blockers
    assert isinstance(short, Short)
    assert short.never
    assert short.missing == 12


def test_a_resource_that_the_queue_does_not_offer_is_named_beside_those_that_fit() -> None:
    state = _state(_queue("q", 8))
    shape = SHAPES.intern(0, (PodSet("main", 1, {"gpu": 1, "tpu": 2}),))
    state.submit(Workload("ns/w", "ns/w", "ns/q", "q", shape, 0, 0), 0)
    settle(state, 1)
    why = explain(state, "ns/w", 2)
    assert why.blockers == (NotOffered("main", "q", "tpu", 2),)
    assert str(why.blockers[0]) == "2 tpu requested, and queue q offers none"
    assert why.smallest_change == Change(ChangeKind.LOWER_REQUEST, "main", "tpu", 2, 0)
    assert str(why.smallest_change) == "without tpu in main"


def test_a_queue_that_is_stopped_is_not_opened_by_more_quota() -> None:
    state = _state(_queue("q", 8, stop=StopPolicy.HOLD))
    _submit(state, "w", "q", 9)
    why = explain(state, "ns/w", 2)
    assert [type(blocker) for blocker in why.blockers] == [QueueNotReady, Short]
    assert why.changes == ()


def test_a_stopped_queue_a_backoff_and_a_taint_are_facts_of_their_own() -> None:
    tainted = Flavor("f", taints=(Taint("spot", "NoSchedule"),))
    state = _state(_queue("q", 8, stop=StopPolicy.HOLD), flavor=tainted)
    workload = _submit(state, "w", "q", 1)
    state.lines.remove(workload.key)
    workload.backoff = Backoff(until=100 * SECOND)
    state.submit(workload, 0)
    kinds = [type(blocker) for blocker in explain(state, "ns/w", 10 * SECOND).blockers]
    assert kinds == [QueueNotReady, BackingOff, FlavorUnusable]


def test_in_a_strict_queue_the_head_that_blocks_is_named_and_can_be_redacted() -> None:
    state = _state(_queue("q", 8, strategy=Strategy.STRICT_FIFO))
    _submit(state, "running", "q", 6)
    settle(state, 1)
    _submit(state, "head", "q", 8, at=2)
    _submit(state, "behind", "q", 1, at=3)
    settle(state, 4)
    why = explain(state, "ns/behind", 5)
    (behind,) = why.blockers
    assert behind == Behind("q", 1, strict=True, head="ns/head")
    (hidden,) = redact(why, {"elsewhere"}).blockers
    assert hidden == Behind("q", 1, strict=True, head=None)
    assert redact(why, {"ns"}) == why


def test_redaction_adds_up_holders_that_may_not_be_named() -> None:
    state = _state(_queue("q", 8))
    _submit(state, "one", "q", 3)
    _submit(state, "two", "q", 4)
    settle(state, 1)
    _submit(state, "waiting", "q", 4)
    settle(state, 2)
    (short,) = redact(explain(state, "ns/waiting", 3), set()).blockers
    assert isinstance(short, Short)
    assert [(holder.key, holder.queue, holder.amount) for holder in short.holders] == [(None, "q", 7)]


def test_a_hard_cap_is_a_fact_with_its_numbers() -> None:
    state = _state(_queue("q", 8, caps=Caps(runs=1)))
    _submit(state, "one", "q", 1)
    _submit(state, "two", "q", 1, at=1)
    settle(state, 2)
    (capped,) = explain(state, "ns/two", 3).blockers
    assert capped == CapReached("q", "runs", 1, 1, 1)


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_waiting_workload_has_a_reason_and_looking_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    made = layout(rng)
    one = World(made, made.state())
    for _ in range(12):
        one.submit(rng)
    one.run_to_rest()
    before = {n.name: _nonzero(n.usage) for n in one.state.tree.queues.values()}
    quotas = {n.name: dict(n.subtree) for n in one.state.tree.queues.values()}
    for key in list(one.state.lines.waiting):
        assert explain(one.state, key, one.now).blockers, f"{key} waits for no reason"
    assert before == {n.name: _nonzero(n.usage) for n in one.state.tree.queues.values()}
    assert quotas == {n.name: dict(n.subtree) for n in one.state.tree.queues.values()}


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_with_the_change_it_is_admitted_and_with_one_unit_less_it_is_not(seed: int) -> None:
    rng = random.Random(seed)
    made = layout(rng)
    one = World(made, made.state())
    for _ in range(10):
        one.submit(rng)
    one.run_to_rest()
    waiting = sorted(one.state.lines.waiting)
    if not waiting:
        return
    key = rng.choice(waiting)
    for change in explain(one.state, key, one.now).changes:
        for units, expected in ((0, True), (1, False)):
            state = _alone(one, key, change, units)
            if state is not None:
                settle(state, one.now)
                assert (key in state.ledger) == expected, f"{change} less {units}"


def _alone(one: World, key: str, change: Change, less: int) -> AdmitState | None:
    """The same world with what runs in it and only this workload waiting, changed, or changed by one unit too little."""
    step = -1 if change.after < change.before else 1
    value = change.after - less * step
    queues = [_changed(queue, change, value) for queue in one.layout.queues]
    no_preemption = [replace(queue, preemption=type(queue.preemption)()) for queue in queues]
    cohorts = [
        replace(c, quotas=_quota_changed(c.quotas, change, value)) if c.name == change.what else c
        for c in one.layout.cohorts
    ]
    state = replace(one.layout, queues=no_preemption, cohorts=cohorts).state()
    for held in one.state.ledger.by_key.values():
        copy = replace(held, spot=held.spot)
        state.ledger.add(copy)
    waiting = one.state.lines.waiting[key]
    (pod_set,) = waiting.shape.pod_sets
    if change.kind is ChangeKind.LOWER_REQUEST:
        pod_set = replace(pod_set, requests={**pod_set.requests, change.resource: value})
    if change.kind is ChangeKind.FEWER_PODS:
        pod_set = replace(pod_set, count=value, spec_count=value)
    pod_set = replace(pod_set, min_count=None)
    shape = SHAPES.intern(waiting.priority, (pod_set,))
    state.submit(Workload(key, key, waiting.tenant_queue, waiting.queue, shape, 0, 0), one.now)
    return state


def _changed(queue: Queue, change: Change, value: int) -> Queue:
    return replace(queue, quotas=_quota_changed(queue.quotas, change, value)) if queue.name == change.what else queue


def _quota_changed(quotas: object, change: Change, value: int) -> dict[str, Quota]:
    assert isinstance(quotas, dict)
    at = f"{change.flavor}/{change.resource}"
    quota = quotas.get(at, Quota(0))
    if change.kind is ChangeKind.RAISE_QUOTA:
        return {**quotas, at: quota._replace(nominal=value)}
    if change.kind is ChangeKind.RAISE_BORROWING_LIMIT:
        return {**quotas, at: quota._replace(borrowing_limit=value)}
    return dict(quotas)


def _nonzero(amounts: dict[str, int]) -> dict[str, int]:
    return {at: amount for at, amount in amounts.items() if amount}
