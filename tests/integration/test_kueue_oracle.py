"""What a real Kueue wrote, step by step, against what we write for the same steps: conditions, amounts, counts and events.

The script is the recording's own: the objects that were applied, at the times at which they were, with the uids that they got. Three things
differ on purpose. A queue name that is an annotation counts, where Kueue waits for the label. Work that asks for a resource that its
queue does not have is told so, where Kueue's own status write was refused and the user saw nothing. And a finished Workload keeps its
finalizer until somebody deletes it, which saves a write for each.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import pytest
from tests.integration.queueing import EVENTS, JOBS, Cluster, Json, conditions
from tests.unit.kueue_oracle import FOLDER, _stream, items, needs_oracle

from fairway.api.client import Deletion
from fairway.control.resources import CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES, NAMESPACES, PRIORITY_CLASSES, WORKLOADS
from fairway.control.times import parse_time
from fairway.core.model import SECOND
from fairway.runtime.ids import SeededIds

SPACE = "compute-jobs"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
UNTOLD = "job-badres-ccf7e"
STEPS = ("B1-labelled-admitted", "B2-finished", "C-pending", "D-preemption", "E-inactive", "F-holdanddrain", "G-after")
KEPT = ("admission", "resourceRequests", "schedulingStats", "requeueState")

pytestmark = needs_oracle


class GivenIds(SeededIds):
    """Uids from a list first."""

    def __init__(self) -> None:
        super().__init__(7)
        self.given: list[str] = []

    def uid(self) -> str:
        return self.given.pop(0) if self.given else super().uid()


class Replay:
    """The script, and what we had after each of its steps."""

    def __init__(self) -> None:
        self.here = Cluster()
        self.ids = GivenIds()
        self.here.ids = self.here.space.ids = self.here.space.objects.ids = self.ids
        self.here.clock.now = _seconds("2026-11-15T04:40:30Z")
        self.after: dict[str, dict[str, list[Json]]] = {}
        self.seen: dict[str, list[Json]] = {}
        self._watchers: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        await self.here.open()
        for resource in (WORKLOADS, JOBS):
            self._watchers.append(asyncio.create_task(self._watch(resource)))
        try:
            await self._script()
        finally:
            for task in self._watchers:
                task.cancel()
            await self.here.close()

    async def _watch(self, resource: Any) -> None:
        async for event in self.here.client.watch(resource):
            if event.type != "BOOKMARK":
                obj = event.item.json()
                self.seen.setdefault(f"{obj['kind']}/{obj['metadata']['name']}", []).append(obj)

    async def _script(self) -> None:
        here = self.here
        self._at("2026-11-15T04:40:32Z")
        await here.create(NAMESPACES, {"metadata": {"name": SPACE}})
        await here.create(FLAVORS, _applied(items("A-seed-verbatim/resourceflavors.v1beta2.yaml")[0]))
        await here.create(CLUSTER_QUEUES, _applied(items("A-seed-verbatim/clusterqueues.v1beta2.yaml")[0]))
        await here.create(LOCAL_QUEUES, _applied(items("A-seed-verbatim/localqueues.v1beta2.yaml")[0]))
        self._at("2026-11-15T04:41:00Z")
        await self._job("mock-workload", "B1-labelled-admitted")
        await self._keep("B1-labelled-admitted")
        self._at("2026-11-15T04:41:08Z")
        await here.ready("mock-workload", SPACE)
        self._at("2026-11-15T04:41:10Z")
        await here.complete("mock-workload", SPACE)
        await self._keep("B2-finished")
        for name in ("fill", "pend", "huge", "small", "noqueue", "badres"):
            self._at(_job("C-pending", name)["metadata"]["creationTimestamp"])
            await self._job(name, "C-pending")
        await self._keep("C-pending")
        await self._preempt()
        await self._deactivate()
        await self._drain_and_go_on()

    async def _preempt(self) -> None:
        here = self.here
        self._at("2026-11-15T04:42:10Z")
        await here.client.delete(JOBS, "mock-workload", SPACE)
        for name, value in (("high", 1000), ("low", 10)):
            await here.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        await here.patch(
            CLUSTER_QUEUES, "cluster-queue", {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}, ""
        )
        await self._job("urgent", "D-preemption")
        await self._keep("D-preemption")

    async def _deactivate(self) -> None:
        here = self.here
        self._at("2026-11-15T04:42:36Z")
        await here.patch(WORKLOADS, "job-urgent-5ccc3", {"spec": {"active": False}}, SPACE)
        await here.play_jobs()
        for name in ("huge", "noqueue"):
            await here.client.delete(JOBS, name, SPACE)
        await here.settle()
        await here.create(CLUSTER_QUEUES, _applied(_named("E-inactive/clusterqueues.v1beta2.yaml", "noflavor")))
        for name in ("lq-nocq", "lq-noflavor"):
            await here.create(LOCAL_QUEUES, _applied(_named("E-inactive/localqueues.v1beta2.yaml", name)))
        for name in ("onnoflavor", "onnocq"):
            self._at("2026-11-15T04:42:37Z")
            await self._job(name, "E-inactive")
        await self._keep("E-inactive")

    async def _drain_and_go_on(self) -> None:
        here = self.here
        self._at("2026-11-15T04:42:43Z")
        await here.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "HoldAndDrain"}}, "")
        await here.play_jobs()
        await self._keep("F-holdanddrain")
        self._at("2026-11-15T04:42:49Z")
        await here.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "None"}}, "")
        await here.play_jobs()
        self._at("2026-11-15T04:43:27Z")
        await here.create(LOCAL_QUEUES, {"metadata": {"name": "lqbad", "namespace": SPACE}, "spec": {}})
        self._at("2026-11-15T04:43:29Z")
        await self._job("notsusp", "G-after")
        self._at("2026-11-15T04:43:31Z")
        await here.client.delete(WORKLOADS, "job-pend-e52a9", SPACE, Deletion())
        await here.settle()
        await here.play_jobs()
        await self._keep("G-after")

    def _at(self, time: str) -> None:
        self.here.clock.now = _seconds(time)

    async def _job(self, name: str, step: str) -> None:
        """Submit a job under its recorded uid; its workload gets the recorded one too."""
        recorded = _job(step, name)
        owned = [w for w in items(f"{step}/workloads.v1beta2.yaml") if w["metadata"]["name"].startswith(f"job-{name}-")]
        self.ids.given = [recorded["metadata"]["uid"], owned[0]["metadata"]["uid"]]
        await self.here.create(JOBS, _applied(recorded))
        await self.here.play_jobs()

    async def _keep(self, step: str) -> None:
        await asyncio.sleep(0)
        kinds = {
            "workloads": WORKLOADS,
            "clusterqueues": CLUSTER_QUEUES,
            "localqueues": LOCAL_QUEUES,
            "jobs": JOBS,
            "events": EVENTS,
        }
        self.after[step] = {name: await self.here.all(resource) for name, resource in kinds.items()}


@cache
def replayed() -> Replay:
    replay = Replay()
    asyncio.run(replay.run())
    return replay


def _seconds(time: str) -> float:
    return parse_time(time) / SECOND


def _named(path: str, name: str) -> Json:
    return next(item for item in items(path) if item["metadata"]["name"] == name)


def _job(step: str, name: str) -> Json:
    return _named(f"{step}/jobs.yaml", name)


def _applied(recorded: Json) -> Json:
    """What the user wrote."""
    body: Json = json.loads(recorded["metadata"]["annotations"][APPLIED])
    if body["apiVersion"].startswith("kueue"):  # written in the older version; what was stored is in the newer
        stored = {key: value for key, value in recorded.items() if key in ("spec", "kind")}
        return {**stored, "metadata": {k: v for k, v in body["metadata"].items() if k in ("name", "namespace")}}
    return body


def _by_name(objects: list[Json]) -> dict[str, Json]:
    return {obj["metadata"]["name"]: obj for obj in objects if obj["metadata"].get("namespace", SPACE) == SPACE}


@pytest.mark.parametrize("step", STEPS)
def test_workloads_say_what_kueue_says(step: str) -> None:
    ours, theirs = _by_name(replayed().after[step]["workloads"]), _by_name(items(f"{step}/workloads.v1beta2.yaml"))
    assert sorted(ours) == sorted(theirs)
    for name, expected in theirs.items():
        if name != UNTOLD:
            assert conditions(ours[name]) == conditions(expected), name
            for field in KEPT:
                assert ours[name]["status"].get(field) == expected["status"].get(field), (name, field)
            spent = [each["status"].get("accumulatedPastExecutionTimeSeconds", 0) for each in (ours[name], expected)]
            assert abs(spent[0] - spent[1]) <= 1, name
        assert ours[name]["spec"] == expected["spec"], name
        for field in ("labels", "ownerReferences", "generation"):
            assert ours[name]["metadata"].get(field) == expected["metadata"].get(field), (name, field)


@pytest.mark.parametrize("step", STEPS)
def test_queues_count_what_kueue_counts(step: str) -> None:
    for kind in ("clusterqueues", "localqueues"):
        ours, theirs = _by_name(replayed().after[step][kind]), _by_name(items(f"{step}/{kind}.v1beta2.yaml"))
        assert sorted(ours) == sorted(theirs)
        for name, expected in theirs.items():
            assert conditions(ours[name]) == conditions(expected), name
            status, wanted = ours[name]["status"], expected["status"]
            rest = [field for field in wanted if field != "conditions"]
            assert {f: status.get(f) for f in rest} == {f: wanted[f] for f in rest}, name


@pytest.mark.parametrize("step", STEPS)
def test_jobs_run_or_wait_as_with_kueue(step: str) -> None:
    ours, theirs = _by_name(replayed().after[step]["jobs"]), _by_name(items(f"{step}/jobs.yaml"))
    assert sorted(set(ours) - {"mock-workload"}) == sorted(set(theirs) - {"mock-workload"})
    for name, expected in theirs.items():
        job = ours[name]
        assert job["spec"]["suspend"] == expected["spec"]["suspend"], name
        assert job["spec"]["template"] == expected["spec"]["template"], name
        assert job["metadata"]["generation"] == expected["metadata"]["generation"], name
        assert "kueue.x-k8s.io/stopping" not in (job["metadata"].get("annotations") or {}), name


def _states(objects: list[Json]) -> list[Json]:
    """How the conditions of a workload went, without PodsReady, which comes and goes beside the rest."""
    states: list[Json] = []
    for obj in objects:
        state = {kind: said for kind, said in conditions(obj).items() if kind != "PodsReady"}
        if state and (not states or states[-1] != state):
            states.append(state)
    return states


@pytest.mark.parametrize("name", ["job-mock-workload-f32fd", "job-urgent-5ccc3", "job-fill-6cc0b", "job-pend-e52a9"])
def test_a_workload_goes_through_the_states_that_kueue_takes_it_through(name: str) -> None:
    theirs: list[Json] = []
    for path in ("B-workload-watch.json", "D-workload-watch.json"):
        theirs += [e["object"] for e in _stream((FOLDER / path).read_text()) if e["object"]["metadata"]["name"] == name]
    wanted, ours = _states(theirs), _states(replayed().seen[f"Workload/{name}"])
    at = ours.index(wanted[0])
    assert ours[at : at + len(wanted)] == wanted


def test_events_tell_what_kueues_tell() -> None:
    """Each of Kueue's events, by reason and message; waiting times are in seconds that differ with the machine."""

    def told(events: list[Json]) -> set[tuple[str, str, str, str]]:
        return {
            (e["involvedObject"]["name"], e["type"], e["reason"], e["message"].partition(", wait time")[0])
            for e in events
            if "kueue" in e.get("reportingComponent", "")
        }

    wanted = told(items("G-after/events.yaml"))
    assert wanted - told(replayed().after["G-after"]["events"]) == set()
