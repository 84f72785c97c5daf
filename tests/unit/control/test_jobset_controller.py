"""JobSets on a real space: sets, their Jobs and pods, with a kubelet that only pretends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.control.cluster import JOBS, Cluster, cluster, condition, reason
from tests.unit.control.virtual import run

from fairway.api.client import Query
from fairway.api.errors import ApiError
from fairway.control.jobsets.controller import JOBSETS, SERVICES, JobSets

POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
Json = dict[str, Any]


def entry(name: str, replicas: int = 1, pods: int = 1, **more: Any) -> Json:
    job = {"completions": pods, "parallelism": pods, "backoffLimit": 0, "template": {"spec": POD}}
    return {"name": name, "replicas": replicas, "template": {"spec": job}, **more}


@asynccontextmanager
async def running() -> AsyncIterator[Cluster]:
    async with cluster() as c:
        c.add(JobSets(c.client, c.clock, c.notes, c.ids.uniform))
        yield c


async def submit(c: Cluster, *entries: Json, **spec: Any) -> Json:
    body = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"replicatedJobs": list(entries), **spec}}
    return (await c.client.create(JOBSETS, body, "default")).json()


async def until(c: Cluster, kind: str) -> Json:
    return await c.until(condition(kind), "s", JOBSETS)


async def jobs(c: Cluster) -> dict[str, Json]:
    return {item.meta.name: item.json() for item in (await c.client.list(JOBS, Query("default"))).items}


def test_a_set_runs_to_completion() -> None:
    async def scenario() -> None:
        async with running() as c:
            await submit(c, entry("driver"), entry("worker", 2, 2))
            done = await until(c, "Completed")
            assert reason(done, "Completed") == "AllJobsCompleted"
            assert done["status"]["terminalState"] == "Completed"
            await c.rest()
            done = (await c.client.get(JOBSETS, "s", "default")).json()
            assert {one["name"]: one["succeeded"] for one in done["status"]["replicatedJobsStatus"]} == {
                "driver": 1,
                "worker": 2,
            }
            assert sorted(await jobs(c)) == ["s-driver-0", "s-worker-0", "s-worker-1"]
            assert len(await c.pods()) == 5
            service = (await c.client.get(SERVICES, "s", "default")).json()
            assert service["spec"]["clusterIP"] == "None"
            assert c.notes.reasons("s") == ["AllJobsCompleted"]

    run(scenario())


def test_an_entry_starts_when_what_it_depends_on_is_complete() -> None:
    async def scenario() -> None:
        async with running() as c:
            depends = [{"name": "first", "status": "Complete"}]
            await submit(c, entry("first", 2), entry("second", dependsOn=depends))
            await asyncio.sleep(0.5)
            assert sorted(await jobs(c)) == ["s-first-0", "s-first-1"]
            await until(c, "Completed")
            order = [name.rsplit("-", 3)[0] for name in c.kubelet.started]
            assert order == ["s-first", "s-first", "s-second"]

    run(scenario())


def test_a_failed_job_restarts_the_set_until_the_limit() -> None:
    async def scenario() -> None:
        async with running() as c:
            c.kubelet.code = lambda pod: 1 if "-bad-" in pod["metadata"]["name"] else 0
            await submit(c, entry("good"), entry("bad"), failurePolicy={"maxRestarts": 2})
            ended = await until(c, "Failed")
            assert reason(ended, "Failed") == "ReachedMaxRestarts"
            assert ended["status"]["restarts"] == 2
            assert sum("-bad-" in name for name in c.kubelet.started) == 3
            attempts = {
                job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for job in (await jobs(c)).values()
            }
            assert attempts == {"2"}
            assert c.notes.reasons("s").count("RestartJobSetFailurePolicyAction") == 2

    run(scenario())


def test_a_suspended_set_runs_nothing_and_may_be_steered_before_it_resumes() -> None:
    async def scenario() -> None:
        async with running() as c:
            c.kubelet.hold = lambda _pod: True
            await submit(c, entry("w", 2), suspend=True)
            await until(c, "Suspended")
            await c.rest()
            assert c.kubelet.started == []
            steered = (await c.client.get(JOBSETS, "s", "default")).json()
            steered["spec"]["suspend"] = False
            steered["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
            await c.client.update(JOBSETS, steered)
            await c.rest()
            assert len(c.kubelet.running) == 2
            assert all(pod["spec"]["nodeSelector"] == {"zone": "a"} for pod in await c.pods())

            held = (await c.client.get(JOBSETS, "s", "default")).json()
            held["spec"]["suspend"] = True
            del held["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"]
            await c.client.update(JOBSETS, held)
            await c.rest()
            assert not c.kubelet.running
            c.kubelet.hold = lambda _pod: False
            await c.change(JOBSETS, "s", {"spec": {"suspend": False}})
            await until(c, "Completed")
            assert not any("nodeSelector" in pod["spec"] for pod in await c.pods())

    run(scenario())


def test_a_set_goes_with_all_that_is_its_own() -> None:
    async def scenario() -> None:
        async with running() as c:
            await submit(c, entry("w", 2), ttlSecondsAfterFinished=30)
            await until(c, "Completed")
            await c.rest(60)
            for resource in (JOBSETS, JOBS, SERVICES):
                left = [item.meta.name for item in (await c.client.list(resource, Query("default"))).items]
                assert left == []
            assert await c.pods() == []

    run(scenario())


def test_a_controller_that_starts_in_the_middle_goes_on_where_the_last_one_stopped() -> None:
    async def scenario() -> None:
        async with cluster() as c:
            for _ in range(6):
                sets = JobSets(c.client, c.clock, c.notes, c.ids.uniform)
                sets.start()
                if not (await c.client.list(JOBSETS)).items:
                    depends = [{"name": "a", "status": "Complete"}]
                    await submit(c, entry("a", 2), entry("b", 2, dependsOn=depends))
                await asyncio.sleep(0.4)
                await sets.stop()
            c.add(JobSets(c.client, c.clock, c.notes, c.ids.uniform))
            await until(c, "Completed")
            assert len(c.kubelet.started) == 4

    run(scenario())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"replicatedJobs": [entry("a", dependsOn=[{"name": "b", "status": "Ready"}])]}, "first ReplicatedJob"),
        (
            {"replicatedJobs": [entry("a"), entry("b", dependsOn=[{"name": "c", "status": "Ready"}])]},
            "replicatedJob: b cannot depend on replicatedJob: c",
        ),
        ({"replicatedJobs": [entry("a", dependsOn=[{"name": "b", "status": "Started"}])]}, "supported values"),
        ({"replicatedJobs": [entry("x" * 70)]}, "must be no more than 63"),
        (
            {"replicatedJobs": [entry("a")], "successPolicy": {"operator": "All", "targetReplicatedJobs": ["z"]}},
            "Not found",
        ),
        (
            {"replicatedJobs": [entry("a")], "failurePolicy": {"rules": [{"action": "RestartJob"}]}},
            "alpha feature",
        ),
        (
            {"replicatedJobs": [entry("a")], "failurePolicy": {"rules": [{"action": "FailJobSet", "name": "1"}]}},
            "start with a letter",
        ),
        (
            {
                "replicatedJobs": [entry("a"), entry("b", dependsOn=[{"name": "a", "status": "Ready"}])],
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
            },
            "mutually exclusive",
        ),
        (
            {"replicatedJobs": [entry("a")], "coordinator": {"replicatedJob": "a", "jobIndex": 5}},
            "no Job of that index",
        ),
        ({"replicatedJobs": [entry("a")], "managedBy": "me"}, "domain-prefixed path"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_set_that_makes_no_sense_is_refused_with_the_reason(spec: Json, said: str) -> None:
    async def scenario() -> None:
        async with cluster(jobs=False, kubelet=False) as c:
            with pytest.raises(ApiError) as refused:
                await c.client.create(JOBSETS, {"metadata": {"name": "s"}, "spec": spec}, "default")
            assert said in refused.value.message

    run(scenario())


def test_only_what_steers_pods_may_change_and_only_while_a_set_is_suspended() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False, kubelet=False) as c:
            made = await submit(c, entry("w"))
            pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
            pod["nodeSelector"] = {"zone": "a"}
            with pytest.raises(ApiError, match="field is immutable"):
                await c.client.update(JOBSETS, made)
            made["spec"]["suspend"] = True
            made = (await c.client.update(JOBSETS, made)).json()
            made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = (
                "other"
            )
            with pytest.raises(ApiError, match="field is immutable"):
                await c.client.update(JOBSETS, made)
            made = (await c.client.get(JOBSETS, "s", "default")).json()
            made["spec"]["successPolicy"] = {"operator": "Any"}
            with pytest.raises(ApiError, match="Value is immutable"):
                await c.client.update(JOBSETS, made)

    run(scenario())
