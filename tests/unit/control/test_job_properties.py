"""Whatever happens to the pods of a Job, and wherever the controller crashes: what must never be, and that it ends."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.control.job_world import STEPS, World, make_job

from fairway.control.jobs.index_set import IndexSet
from fairway.control.jobs.policies import match_failure, replaces_only_failed
from fairway.kinds.k8s.opt import number, text
from fairway.kinds.types import UNSET

EVENTS = ("run", "succeed", "fail", "fail42", "delete", "tick", "suspend", "resume")


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "parallelism": draw(st.integers(1, 4)),
        "completions": draw(st.integers(1, 5)),
        "backoffLimit": draw(st.integers(0, 4)),
    }
    if draw(st.booleans()):
        spec["completionMode"] = "Indexed"
        if draw(st.booleans()):
            spec["backoffLimitPerIndex"] = draw(st.integers(0, 2))
            spec["backoffLimit"] = 1000
            if draw(st.booleans()):
                spec["maxFailedIndexes"] = draw(st.integers(0, 2))
        if draw(st.booleans()):
            spec["successPolicy"] = {"rules": [{"succeededCount": draw(st.integers(1, spec["completions"]))}]}
    elif draw(st.integers(0, 3)) == 0:
        del spec["completions"]
    if draw(st.booleans()):
        action = draw(st.sampled_from(["Ignore", "FailJob", "Count"]))
        spec["podFailurePolicy"] = {"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [42]}}]}
    else:
        spec["podReplacementPolicy"] = draw(st.sampled_from(["Failed", "TerminatingOrFailed"]))
    return spec


moves = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 5), st.integers(0, len(STEPS) + 1)), min_size=1, max_size=40
)


def happen(world: World, event: str, choice: int) -> None:
    """Something befalls a pod, or time passes."""
    if event == "tick":
        world.now += 400
        return
    if event in ("suspend", "resume"):
        world.job.spec.suspend = event == "suspend"
        return
    alive = world.alive()
    if not alive:
        return
    pod = alive[choice % len(alive)]
    if event == "run":
        world.run(pod.uid)
    elif event == "succeed":
        world.end(pod.uid)
    elif event == "delete":
        world.put(changed(pod, deleting=True, finished_at=world.now))
    else:
        world.end(pod.uid, 42 if event == "fail42" else 1)


def check(world: World, *, whole: bool) -> None:
    """What must hold after every step; whole: the last plan was carried out to its end."""
    job, status, spec = world.job, world.job.status, world.job.spec
    assert len(world.active()) <= number(spec.parallelism)
    if replaces_only_failed(job):
        running_at_most = number(spec.parallelism)
        assert len(world.alive()) <= running_at_most
    good = [pod for pod in world.ever.values() if pod.phase == "Succeeded"]
    assert number(status.succeeded) <= len(good)
    if spec.completions is not UNSET:
        assert number(status.succeeded) <= spec.completions
    if spec.completion_mode == "Indexed":
        indexes = [pod.index for pod in world.active()]
        assert len(indexes) == len(set(indexes))
        done = IndexSet.parse(text(status.completed_indexes), number(spec.completions))
        assert len(done) == number(status.succeeded)
        assert all(index in {pod.index for pod in good} for index in range(number(spec.completions)) if index in done)
    if whole and world.outcome is None:
        assert number(status.active) == len(world.active())


def finish(world: World) -> None:
    """Let every pod succeed from here on; the Job must come to an end."""
    for _ in range(60):
        if world.outcome is not None and not world.alive():
            return
        world.end_all()
        world.now += 400
        world.settle()
    raise AssertionError(f"the Job does not end: {world.job.status}")


@settings(max_examples=100, deadline=None)
@given(specs(), moves, st.booleans())
def test_no_sequence_of_events_and_crashes_breaks_a_job(
    spec: dict[str, Any], events: list[tuple[str, int, int]], graceful: bool
) -> None:
    world = World(make_job(**spec), graceful=graceful)
    for event, choice, steps in events:
        happen(world, event, choice)
        world.sync(steps, contended=steps > len(STEPS))
        check(world, whole=steps == len(STEPS))
    world.job.spec.suspend = False
    world.settle()
    finish(world)
    check(world, whole=True)
    assert world.job.status.uncounted_terminated_pods is not UNSET
    assert not any(pod.tracked for pod in world.pods.values())


@settings(max_examples=60, deadline=None)
@given(specs(), moves)
def test_each_pod_is_counted_exactly_once_if_nothing_is_taken_away(
    spec: dict[str, Any], events: list[tuple[str, int, int]]
) -> None:
    spec.pop("successPolicy", None)  # what still runs when enough have succeeded is taken away
    world = World(make_job(**spec))
    for event, choice, steps in events:
        happen(world, "tick" if event in ("delete", "suspend") else event, choice)
        world.sync(steps, contended=steps > len(STEPS))
    world.job.spec.suspend = False
    world.settle()
    finish(world)
    pods = list(world.ever.values())
    good = [pod for pod in pods if pod.phase == "Succeeded"]
    bad = [pod for pod in pods if pod.phase == "Failed" and match_failure(world.job, pod).counts]
    if world.outcome is not None and world.outcome[0] == "Complete" and not any(pod.deleting for pod in pods):
        indexed = world.job.spec.completion_mode == "Indexed"
        assert number(world.job.status.succeeded) == len({pod.index for pod in good} if indexed else good)
        assert number(world.job.status.failed) == len(bad)
    elif world.outcome == ("Failed", "BackoffLimitExceeded"):
        assert number(world.job.status.failed) > number(world.job.spec.backoff_limit)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40)), st.integers(1, 45))
def test_a_set_of_indexes_is_what_its_text_says(indexes: list[int], below: int) -> None:
    found = IndexSet.of(indexes)
    assert len(found) == len(set(indexes))
    assert IndexSet.parse(found.text, 41) == found
    assert [index for index in range(45) if index in found] == sorted(set(indexes))
    assert list(found.missing(below)) == [index for index in range(below) if index not in set(indexes)]
