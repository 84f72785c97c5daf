"""A lane is in order whenever somebody looks, however those in it came."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.core.admit.lane import Lane
from fairway.core.model import Shape, Workload

SHAPE = Shape("shape", 0, ())
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "pop", "remove", "look", "ask", "absorb"]), st.integers(0, 300)),
    max_size=120,
)


def workload(number: int) -> Workload:
    """Some came in the same second."""
    return Workload(
        key=f"ns/{number}",
        uid=f"{number * 7919 % 1000}",
        tenant_queue="ns/q",
        queue="q",
        shape=SHAPE,
        created=0,
        queued=number // 9,
    )


@given(STEPS, st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_lane_is_a_sorted_list(steps: list[tuple[str, int]], many: bool) -> None:
    lane, model = Lane("ns/q", SHAPE), {}
    for number in range(1000, 1200) if many else ():
        model[number] = workload(number)
        lane.add(model[number])
    for step, number in steps:
        waiting = sorted(model.values(), key=lambda each: each.order)
        if step == "add" and number not in model:
            model[number] = workload(number)
            lane.add(model[number])
        elif step == "pop" and model:
            first = lane.pop()
            assert first is waiting[0]
            del model[int(first.key[3:])]
        elif step == "remove":
            known = model.pop(number, None)
            assert lane.remove(known or workload(number)) is (known is not None)
        elif step == "look":
            assert list(lane) == waiting
        elif step == "ask":
            one = workload(number)
            assert lane.before(one) == sum(each.order < one.order for each in waiting)
            assert (model.get(number, one) in lane) is (number in model)
        elif step == "absorb":
            other = Lane("ns/q", SHAPE)
            for new in range(number + 400, number + 400 + number % 5):
                if new not in model:
                    model[new] = workload(new)
                    other.add(model[new])
            lane.absorb(other)
        head = min(model.values(), key=lambda each: each.order, default=None)
        assert lane.head is head
        assert len(lane) == len(model)
