"""Whatever people do in whatever order: quota is held, nothing holds it twice, and only what is admitted runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.queueing import JOBS, Cluster, cluster, conditions, job

from fairway.api.client import BulkItem, BulkResults, Client, Deletion
from fairway.api.errors import ApiError
from fairway.control.conditions import is_true
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PRIORITY_CLASSES, WORKLOADS
from fairway.sim import invariants

QUEUES = ("red", "blue")
PREEMPTION = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}

ops = st.one_of(
    st.tuples(st.just("submit"), st.sampled_from(QUEUES), st.integers(1, 5), st.sampled_from(["", "low", "high"])),
    st.tuples(st.sampled_from(["complete", "fail", "delete", "deactivate", "activate", "drop"]), st.integers(0, 20)),
    st.tuples(st.just("stop"), st.sampled_from(QUEUES), st.sampled_from(["None", "Hold", "HoldAndDrain"])),
    st.tuples(st.just("more"), st.sampled_from(QUEUES), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.integers(1, 2000)),
)


class Player:
    """Does what people do, as far as it makes sense at the moment."""

    def __init__(self, here: Cluster) -> None:
        self.here = here
        self.made = 0

    async def play(self, op: tuple[Any, ...]) -> None:
        here, name = self.here, op[0]
        if name == "submit":
            labels = {"kueue.x-k8s.io/priority-class": op[3]} if op[3] else {}
            await here.submit(f"job{self.made}", str(op[2]), queue=op[1], labels=labels)
            self.made += 1
        elif name == "stop":
            await here.patch(CLUSTER_QUEUES, op[1], {"spec": {"stopPolicy": op[2]}}, "")
        elif name == "more":
            await self._more(op[1], op[2])
        elif name == "wait":
            await here.move(op[1])
        else:
            await self._on_one(name, op[1])
        await here.play_jobs()

    async def _more(self, queue: str, cpu: int) -> None:
        """More quota. With less, what runs would be over it, and nobody takes it away."""
        obj = await self.here.get(CLUSTER_QUEUES, queue, "")
        groups = obj["spec"]["resourceGroups"]
        offer = groups[0]["flavors"][0]["resources"][0]
        offer["nominalQuota"] = str(int(offer["nominalQuota"]) + cpu)
        await self.here.patch(CLUSTER_QUEUES, queue, {"spec": {"resourceGroups": groups}}, "")

    async def _on_one(self, name: str, index: int) -> None:
        here = self.here
        if name in ("complete", "fail"):
            running = [each for each in await here.all(JOBS) if each["status"].get("active")]
            if running:
                await here.complete(running[index % len(running)]["metadata"]["name"], failed=name == "fail")
        elif name == "delete":
            jobs = await here.all(JOBS)
            if jobs:
                await here.client.delete(JOBS, jobs[index % len(jobs)]["metadata"]["name"], "default")
                await here.settle()
        else:
            await self._on_workload(name, index)

    async def _on_workload(self, name: str, index: int) -> None:
        workloads = await self.here.all(WORKLOADS)
        if not workloads:
            return
        chosen = workloads[index % len(workloads)]["metadata"]["name"]
        if name == "drop":
            await self.here.client.delete(WORKLOADS, chosen, "default", Deletion())
            await self.here.settle()
        else:
            await self.here.patch(WORKLOADS, chosen, {"spec": {"active": name == "activate"}})


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ops, min_size=4, max_size=10))
def test_quota_is_held_and_nothing_runs_that_is_not_admitted(script: list[tuple[Any, ...]]) -> None:
    async def scenario() -> None:
        async with cluster() as here:
            for name in QUEUES:
                await here.queue(name, "4", cohortName="team", preemption=PREEMPTION)
            for name, value in (("low", 1), ("high", 9)):
                await here.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
            player = Player(here)
            for op in script:
                await player.play(op)
                jobs, workloads = await here.all(JOBS), await here.all(WORKLOADS)
                invariants.runs_only_admitted(jobs, workloads)
                counted = {q["metadata"]["name"]: q["status"] for q in await here.all(CLUSTER_QUEUES)}
                for name in QUEUES:
                    held = [w for w in invariants.holders(workloads) if w.reservation and w.reservation.queue == name]
                    assert counted[name]["reservingWorkloads"] == len(held)

    asyncio.run(scenario())


class Flaky:
    """A client whose every third write does not go through, as on a disk that is full for a moment."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        self._calls += 1
        if self._calls % 3 == 0:
            raise ApiError(507, "InsufficientStorage", "no space left")
        return await self._client.bulk(items)


def test_writes_that_do_not_go_through_are_decided_again() -> None:
    async def scenario() -> None:
        here = Cluster()
        await here.open(lambda client: Flaky(client))  # type: ignore[arg-type,return-value]
        try:
            await here.settle()
            await here.queue(cpu="2")
            for index in range(4):
                await here.submit(f"job{index}")
            await here.play_jobs()
            admitted = [w for w in await here.all(WORKLOADS) if is_true(w, "Admitted")]
            assert len(admitted) == 2
        finally:
            await here.close()

    asyncio.run(scenario())


def test_many_admissions_are_few_writes_to_their_queues() -> None:
    async def scenario() -> None:
        async with cluster() as here:
            await here.queue(cpu="100")
            before = {q["metadata"]["name"]: q for q in await here.all(LOCAL_QUEUES)}
            writes = 0

            async def count() -> None:
                nonlocal writes
                async for event in here.client.watch(
                    CLUSTER_QUEUES, revision=before["main"]["metadata"]["resourceVersion"]
                ):
                    writes += event.type == "MODIFIED"

            watcher = asyncio.create_task(count())
            await here.client.bulk([BulkItem("create", JOBS, job(f"j{index}", "1", "main")) for index in range(100)])
            await here.settle()
            queue = await here.get(CLUSTER_QUEUES, "main", "")
            assert queue["status"]["admittedWorkloads"] == 100
            assert conditions(queue)["Active"][0] == "True"
            assert 1 <= writes <= 10
            watcher.cancel()

    asyncio.run(scenario())
