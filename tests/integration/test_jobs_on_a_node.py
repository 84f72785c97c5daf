"""Jobs and JobSets on a real node: objects in, processes, exit codes and counts out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fairway.api.client import Query, Resource
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.node import Node

JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
QUEUE = {"kueue.x-k8s.io/queue-name": "default"}
Json = dict[str, Any]


@asynccontextmanager
async def node(folder: Path, *, queue: bool = True) -> AsyncIterator[LocalClient]:
    made = Node(folder, machine=Declared(cpu="4", memory="1Gi"), with_default_queue=queue)
    await made.start()
    try:
        yield LocalClient(made.spaces[0])
    finally:
        await made.stop()


def template(script: str, cpu: str = "100m") -> Json:
    container = {
        "name": "c",
        "image": "any",
        "command": ["/bin/sh", "-c", script],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}


async def submit(client: LocalClient, name: str, script: str, *, labels: Json | None = None, **spec: Any) -> None:
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    await client.create(JOBS, {"metadata": metadata, "spec": {"template": template(script), **spec}}, "default")


async def until(client: LocalClient, resource: Resource, name: str, holds: Callable[[Json], bool]) -> Json:
    async with asyncio.timeout(90):
        while True:
            obj = (await client.get(resource, name, "default")).json()
            if holds(obj):
                return obj
            await asyncio.sleep(0.02)


def said(kind: str) -> Callable[[Json], bool]:
    def holds(obj: Json) -> bool:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return any(one["type"] == kind and one["status"] == "True" for one in conditions)

    return holds


async def pods(client: LocalClient, job: str) -> list[Json]:
    query = Query("default", labels=f"batch.kubernetes.io/job-name={job}")
    return [item.json() for item in (await client.list(PODS, query)).items]


def test_a_queued_indexed_job_runs_each_index_once_and_knows_it_by_variable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node(tmp_path / "data") as client:
            out = tmp_path / "out"
            await submit(
                client,
                "many",
                f"echo $JOB_COMPLETION_INDEX >> {out}",
                labels=QUEUE,
                completionMode="Indexed",
                completions=4,
                parallelism=2,
            )
            done = await until(client, JOBS, "many", said("Complete"))
            assert done["status"]["completedIndexes"] == "0-3"
            assert sorted(out.read_text().split()) == ["0", "1", "2", "3"]
            (workload,) = (await client.list(WORKLOADS)).items
            await until(client, WORKLOADS, workload.meta.name, said("Finished"))

    asyncio.run(scenario())


def test_an_exit_code_decides_by_policy_whether_a_job_fails_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node(tmp_path / "data") as client:
            rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
            await submit(client, "doomed", "exit 42", podFailurePolicy={"rules": rules})
            failed = await until(client, JOBS, "doomed", said("Failed"))
            (condition,) = [one for one in failed["status"]["conditions"] if one["type"] == "Failed"]
            assert condition["reason"] == "PodFailurePolicy"
            assert "failed with exit code 42 matching FailJob rule at index 0" in condition["message"]
            assert failed["status"]["failed"] == 1

    asyncio.run(scenario())


def test_deadline_and_suspension_end_what_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        # Without a queue: one that has admitted a job starts it again when somebody else suspends it.
        async with node(tmp_path / "data", queue=False) as client:
            await submit(client, "late", "sleep 300", activeDeadlineSeconds=2)
            await submit(client, "held", f"test -e {tmp_path}/go || sleep 300")
            await until(client, JOBS, "held", lambda job: job["status"].get("active") == 1)
            change = {"spec": {"suspend": True}}
            await client.patch(JOBS, "held", change, "default", media="application/merge-patch+json")
            held = await until(client, JOBS, "held", said("Suspended"))
            assert "active" not in held["status"]
            late = await until(client, JOBS, "late", said("Failed"))
            assert late["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"
            (tmp_path / "go").touch()
            change = {"spec": {"suspend": False}}
            await client.patch(JOBS, "held", change, "default", media="application/merge-patch+json")
            held = await until(client, JOBS, "held", said("Complete"))
            assert "failed" not in held["status"]

    asyncio.run(scenario())


def test_a_job_goes_on_across_a_restart_of_the_node_and_nothing_runs_twice(tmp_path: Path) -> None:
    async def scenario() -> None:
        out = tmp_path / "out"
        async with node(tmp_path / "data") as client:
            script = f"echo start >> {out}; while ! test -e {tmp_path}/go; do sleep 0.05; done; echo end >> {out}"
            await submit(client, "steady", script, labels=QUEUE, parallelism=2, completions=2)
            await until(client, JOBS, "steady", lambda job: job["status"].get("ready") == 2)
        (tmp_path / "go").touch()
        async with node(tmp_path / "data") as client:
            done = await until(client, JOBS, "steady", said("Complete"))
            assert done["status"]["succeeded"] == 2
            assert sorted(out.read_text().split()) == ["end", "end", "start", "start"]
            assert len(await pods(client, "steady")) == 2

    asyncio.run(scenario())


def test_a_set_of_jobs_runs_in_the_order_of_its_dependencies(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node(tmp_path / "data") as client:
            out = tmp_path / "out"

            def entry(name: str, replicas: int, script: str, **more: Any) -> Json:
                job = {"completions": 1, "parallelism": 1, "template": template(script)}
                return {"name": name, "replicas": replicas, "template": {"spec": job}, **more}

            entries = [
                entry("first", 2, f"sleep 0.3; echo first >> {out}"),
                entry("then", 1, f"echo then >> {out}", dependsOn=[{"name": "first", "status": "Complete"}]),
            ]
            body = {"metadata": {"name": "set", "labels": QUEUE}, "spec": {"replicatedJobs": entries}}
            await client.create(JOBSETS, body, "default")
            done = await until(client, JOBSETS, "set", said("Completed"))
            assert done["status"]["terminalState"] == "Completed"
            assert out.read_text().split() == ["first", "first", "then"]
            (workload,) = (await client.list(WORKLOADS)).items
            ended = await until(client, WORKLOADS, workload.meta.name, said("Finished"))
            assert [one["count"] for one in ended["spec"]["podSets"]] == [2, 1]

    asyncio.run(scenario())


def test_a_job_that_waits_says_that_it_is_suspended_from_its_first_version_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node(tmp_path, queue=False) as client:
            for name, suspend in (("waits", True), ("runs", False)):
                body = {"metadata": {"name": name}, "spec": {"suspend": suspend, "template": template("true")}}
                made = (await client.create(JOBS, {**body, "status": {"succeeded": 7}}, "default")).json()
                assert "succeeded" not in made["status"]
                said = [(each["type"], each["status"]) for each in made["status"].get("conditions", ())]
                assert said == ([("Suspended", "True")] if suspend else [])

    asyncio.run(scenario())
