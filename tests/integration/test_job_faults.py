"""Jobs that are bad, through queue, node and engine: each ends as its users expect, and leaves no process, no folder and no quota taken."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.integration.engine_support import cgroups_of, disk_of, end_zygote, processes_of
from tests.integration.support import asynchronous
from tests.integration.test_engine_edges import small_disk  # noqa: F401 - a fixture

from fairway.api.client import Deletion, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.control.resources import CLUSTER_QUEUES, LOCAL_QUEUES, PODS, WORKLOADS
from fairway.node import Node

JOBS = Resource("batch", "v1", "jobs")
PATIENCE_S = 40.0
MEGABYTE = 1 << 20
LOG_BYTES_MAX = 64 * MEGABYTE
"""What is kept of the output of one container: two files."""
Json = dict[str, Any]


class Here:
    def __init__(self, node: Node, folder: Path) -> None:
        self.node = node
        self.client = LocalClient(node.spaces[0], "tester")
        assert node.cluster is not None
        self.engine = node.cluster.engine
        self.folder = folder

    async def submit(self, name: str, *command: str, labels: Json | None = None, **more: Any) -> None:
        resources = {"requests": {"cpu": more.pop("cpu", "100m")}, "limits": more.pop("limits", {})}
        container = {"name": "c", "image": "any", "command": list(command), "resources": resources, "env": []}
        container |= more.pop("container", {})
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **more}
        queue = {"kueue.x-k8s.io/queue-name": "default"}
        body = {
            "metadata": {"name": name, "labels": queue if labels is None else labels},
            "spec": {"backoffLimit": 0, "template": {"spec": pod}},
        }
        await self.client.create(JOBS, body, "default")

    async def until(self, what: Any, why: str) -> Any:
        """Until something that is asked for is there; nobody tells when."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not (found := await what()):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"waited in vain until {why}") from None
        return found

    async def ended(self, name: str) -> Json:
        """The Job's pod, once the Job is over."""

        async def over() -> bool:
            job = (await self.client.get(JOBS, name, "default")).json()
            conditions = (job.get("status") or {}).get("conditions") or ()
            return any(one["type"] in ("Complete", "Failed") for one in conditions)

        await self.until(over, f"{name} is over")
        (pod,) = await self.pods(name)
        return pod

    async def pods(self, job: str = "") -> list[Json]:
        query = Query("default", labels=f"batch.kubernetes.io/job-name={job}" if job else "")
        return [item.json() for item in (await self.client.list(PODS, query)).items]

    async def running(self, name: str) -> Json:
        async def runs() -> Json | None:
            return next((pod for pod in await self.pods(name) if pod["status"].get("phase") == "Running"), None)

        found: Json = await self.until(runs, f"{name} runs")
        return found

    async def output(self, pod: Json) -> bytes:
        return b"".join([piece async for piece in self.engine.logs(f"{pod['metadata']['uid']}.c.0")])

    async def is_clean(self) -> None:
        """Everything is deleted, and then nothing is left of it anywhere."""
        for item in (await self.client.list(JOBS)).items:
            await self.client.delete(JOBS, item.meta.name, "default")

        async def no_quota_is_used() -> bool:
            for item in (await self.client.list(CLUSTER_QUEUES)).items:
                status = item.json()["status"]
                used = [each["total"] for flavor in status["flavorsUsage"] for each in flavor["resources"]]
                if any(amount != "0" for amount in used) or status["reservingWorkloads"]:
                    return False
            return not self.node.queueing["default"].observer.state.ledger.by_key

        async def nothing_is_known() -> bool:
            left = [*(await self.client.list(PODS)).items, *(await self.client.list(WORKLOADS)).items]
            return not left and not await self.engine.list()

        await self.until(no_quota_is_used, "no quota is used")
        await self.until(nothing_is_known, "no pod, workload or run is left")
        folders = self.folder / "spaces" / "default" / "pods"
        assert not folders.exists() or list(folders.iterdir()) == []
        assert processes_of(self.folder / "spaces" / "default" / "engine") == []


@asynccontextmanager
async def here(folder: Path) -> AsyncIterator[Here]:
    node = Node(folder, machine=Declared(cpu="4", memory="2Gi"))
    await node.start()
    made = Here(node, folder)
    try:
        yield made
        await made.is_clean()
    finally:
        await node.stop()
        end_zygote(folder / "spaces" / "default" / "engine")
    assert cgroups_of(made.engine) == []


@dataclass(frozen=True)
class Bad:
    command: tuple[str, ...]
    code: int
    reason: str = "Error"
    output: bytes | None = None
    says: str = ""


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script.replace("$", "$$"))


BAD = {
    "not-found": Bad(("no-such-command",), 127, "ContainerCannotRun", says="no-such-command"),
    "not-executable": Bad(("/etc/passwd",), 126, "ContainerCannotRun", says="not executable"),
    "a-folder": Bad(("/",), 126, "ContainerCannotRun", says="is a folder"),
    "killed": Bad(shell("kill -SEGV $$"), 139, says="SIGSEGV"),
    "forks": Bad(shell("setsid sleep 300 & sleep 300 & echo gone; exit 4"), 4, output=b"gone\n"),
    "binary": Bad(shell(r"printf '\377\000\001\r\n\033[2J'; exit 5"), 5, output=b"\xff\x00\x01\r\n\x1b[2J"),
    "attack": Bad(("/bin/echo", "$(touch /tmp/x)", "; rm -rf /", "`id`", "a\nb", "-n"), 0, "Completed"),
    "silent": Bad(shell("exec >&- 2>&-; exit 6"), 6, output=b""),
}


@asynchronous
async def test_jobs_that_cannot_run_or_end_badly_say_how(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        for name, bad in BAD.items():
            await node.submit(name, *bad.command)
        for name, bad in BAD.items():
            pod = await node.ended(name)
            ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
            assert (name, ended["exitCode"], ended["reason"]) == (name, bad.code, bad.reason)
            assert bad.says in ended.get("message", ""), name
            if bad.output is not None:
                assert await node.output(pod) == bad.output, name
        attacked = await node.output((await node.pods("attack"))[0])
        assert attacked == b"$(touch /tmp/x) ; rm -rf / `id` a\nb -n\n"


@asynchronous
async def test_a_job_over_its_memory_is_killed_and_says_so(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        if "memory" not in node.engine.controllers:
            pytest.skip("no memory cgroup that we may write")
        await node.submit("hungry", sys.executable, "-Ic", "x = bytearray(300 << 20)", limits={"memory": "64Mi"})
        ended = (await node.ended("hungry"))["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


@asynchronous
async def test_a_job_that_prints_100_mb_takes_only_the_room_it_may(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        await node.submit("chatty", *shell(f"yes | head -c {100 * MEGABYTE}; echo the end"))
        pod = await node.ended("chatty")
        assert pod["status"]["phase"] == "Succeeded"
        kept = await node.output(pod)
        assert kept.endswith(b"the end\n")
        assert MEGABYTE < len(kept) < LOG_BYTES_MAX


@asynchronous
async def test_a_job_that_fills_the_disk_fails_alone_and_its_room_is_free_again(
    tmp_path: Path,
    small_disk: Path,  # noqa: F811
) -> None:
    """The volume that it fills is on a small disk of its own; the node's data is not."""
    async with here(tmp_path / "data") as node:
        volume = {"volumes": [{"name": "v", "hostPath": {"path": str(small_disk)}}]}
        mount = {"volumeMounts": [{"name": "v", "mountPath": "/full"}]}
        await node.submit("greedy", *shell("dd if=/dev/zero of=full/big bs=64k"), container=mount, **volume)
        pod = await node.ended("greedy")
        assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
        assert b"No space left" in await node.output(pod)
        await node.submit("modest", *shell("rm full/big; echo room > full/small"), container=mount, **volume)
        assert (await node.ended("modest"))["status"]["phase"] == "Succeeded"


@asynchronous
async def test_a_job_that_fills_the_nodes_own_disk_can_be_cancelled_and_harms_no_other(tmp_path: Path) -> None:
    with disk_of("32m", tmp_path / "disk") as disk:
        async with here(disk / "data") as node:
            await node.submit("beside", *shell(f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 7"))
            await node.submit("greedy", *shell("while :; do dd if=/dev/zero bs=4k >> big; sleep 0.1; done"))
            await node.running("beside")

            async def full() -> bool:
                return os.statvfs(disk).f_bavail == 0

            await node.until(full, "the disk is full")
            await asyncio.to_thread((tmp_path / "go").touch)
            ended = (await node.ended("beside"))["status"]["containerStatuses"][0]["state"]["terminated"]
            assert ended["exitCode"] == 7
            await node.client.delete(JOBS, "greedy", "default")

            async def gone() -> bool:
                return await node.pods("greedy") == [] and not await full()

            await node.until(gone, "there is room again")


@asynchronous
async def test_a_job_that_ignores_the_request_to_end_is_ended_and_its_place_given_on_only_then(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        stubborn = f"trap '' TERM; echo x > {tmp_path}/up; while true; do sleep 0.05; done"
        await node.submit("stubborn", *shell(stubborn), cpu="4", terminationGracePeriodSeconds=2)
        await node.running("stubborn")
        await node.until(lambda: _there(tmp_path / "up"), "it does not listen any more")
        await node.submit("next", *shell("true"), cpu="4")
        await node.client.delete(JOBS, "stubborn", "default")
        await node.until(lambda: _told(node, "stubborn"), "it was told to end")
        assert await node.pods("next") == [], "the next one was let in while this one still ran"
        assert (await node.ended("next"))["status"]["phase"] == "Succeeded"


async def _there(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


async def _told(node: Here, job: str) -> bool:
    return any(pod["metadata"].get("deletionTimestamp") for pod in await node.pods(job))


@asynchronous
async def test_jobs_deleted_at_any_moment_of_their_start_leave_nothing(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        for number in range(24):
            name = f"brief-{number}"
            await node.submit(name, *shell("sleep 300"))
            await asyncio.sleep(number * 0.006)
            how = Deletion("Foreground" if number % 3 == 0 else "Background")
            await node.client.delete(JOBS, name, "default", how)
        await node.is_clean()
        await node.submit("after", *shell("true"), cpu="4")
        assert (await node.ended("after"))["status"]["phase"] == "Succeeded"


@asynchronous
async def test_a_queue_deleted_with_work_in_it_lets_it_finish_and_holds_the_rest(tmp_path: Path) -> None:
    async with here(tmp_path) as node:
        gate = f"while ! test -e {tmp_path}/go; do sleep 0.05; done"
        await node.submit("runs", *shell(gate), cpu="3")
        await node.submit("waits", *shell("true"), cpu="3")
        await node.running("runs")
        await node.client.delete(LOCAL_QUEUES, "default", "default")
        await node.client.delete(CLUSTER_QUEUES, "default")
        queue = (await node.client.get(CLUSTER_QUEUES, "default")).json()
        assert queue["metadata"]["deletionTimestamp"], "it stays while somebody uses it"
        (tmp_path / "go").touch()
        assert (await node.ended("runs"))["status"]["phase"] == "Succeeded"

        async def gone() -> bool:
            try:
                await node.client.get(CLUSTER_QUEUES, "default")
            except ApiError as error:
                return error.code == 404
            return False

        await node.until(gone, "the queue is gone")
        assert await node.pods("waits") == []
        waiting = [
            each
            for each in (item.json() for item in (await node.client.list(WORKLOADS)).items)
            if each["metadata"]["ownerReferences"][0]["name"] == "waits"
        ]
        (said,) = [one for one in waiting[0]["status"]["conditions"] if one["type"] == "QuotaReserved"]
        assert (said["status"], said["message"]) == ("False", "LocalQueue default doesn't exist")
