"""Leased work on a real node with the real engine and shim: it ends when its hub does not renew, whatever becomes of the node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.engine_support import alive, end_zygote, processes_of
from tests.integration.lease_node import (
    JOBS,
    ORIGIN,
    PODS,
    TERMS,
    condition,
    dispatch,
    holds,
    until,
)
from tests.integration.support import ROOT, asynchronous, eventually

from fairway.api.client import Query
from fairway.api.local import LocalClient
from fairway.control.fencing import names
from fairway.control.pods.machine import Declared
from fairway.control.resources import WORKLOADS
from fairway.engines.lease import read as read_lease
from fairway.engines.machine import boot_clock, read_small
from fairway.fleet.lease import LeaseKeeper, Leases
from fairway.node import Node
from fairway.runtime.clock import SystemClock

Json = dict[str, Any]


def payload(folder: Path) -> str:
    """Leaves its pid, deaf to SIGTERM, and ends when a file appears."""
    return (
        f"trap '' TERM; echo $$$$ >> {folder}/pids; while ! [ -e {folder}/finish ]; do sleep 0.02; done; "
        f"echo done >> {folder}/ends"
    )


def pids(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


# --- in this process --------------------------------------------------------------------------------------------------


class Here:
    def __init__(self, node: Node) -> None:
        self.client = LocalClient(node.spaces[0], "tester")
        self.keeper: LeaseKeeper = Leases(ORIGIN, SystemClock(), lambda: 1, lambda _cluster: TERMS).guard(
            "c", self.client
        )
        self._task: asyncio.Task[None] | None = None

    async def renew(self) -> None:
        renewed = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self.keeper.run(lambda _trouble: renewed.set()))
        await renewed.wait()

    async def fall_silent(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def pods(self) -> list[Json]:
        return [item.json() for item in (await self.client.list(PODS, Query("default"))).items]


@contextlib.asynccontextmanager
async def cluster(data: Path) -> AsyncIterator[Here]:
    node = Node(data, machine=Declared(cpu="4", memory="1Gi", name="here"))
    await node.start()
    here = Here(node)
    try:
        yield here
    finally:
        await here.fall_silent()
        await node.stop()
        end_zygote(data / "spaces" / "default" / "engine")


@asynchronous
async def test_leased_work_goes_on_while_its_hub_renews_and_finishes(tmp_path: Path) -> None:
    async with cluster(tmp_path / "data") as here:
        await here.renew()
        await dispatch(here.client, "work", payload(tmp_path))
        await asyncio.to_thread(eventually, lambda: pids(tmp_path), "the payload runs")
        [pod] = await here.pods()
        assert pod["metadata"]["annotations"][names.LEASE] == ORIGIN
        await asyncio.sleep(2 * TERMS.lease_s)
        assert alive(pids(tmp_path)[0])
        (tmp_path / "finish").touch()
        await until(here.client, JOBS, "work", lambda job: holds(job, "Complete"))
        done = await until(here.client, WORKLOADS, "work", lambda obj: holds(obj, "Finished"))
        assert not condition(done, "Evicted")
        assert (tmp_path / "ends").read_text() == "done\n"


@asynchronous
async def test_leased_work_is_evicted_when_its_hub_falls_silent_and_its_job_does_not_fail(tmp_path: Path) -> None:
    async with cluster(tmp_path / "data") as here:
        await here.renew()
        await dispatch(here.client, "work", payload(tmp_path))
        await asyncio.to_thread(eventually, lambda: pids(tmp_path), "the payload runs")
        await here.fall_silent()
        await asyncio.to_thread(eventually, lambda: not alive(pids(tmp_path)[0]), "the payload has ended")
        gone = await until(
            here.client, WORKLOADS, "work", lambda obj: condition(obj, "QuotaReserved").get("status") == "False"
        )
        assert gone["spec"]["active"] is False
        assert condition(gone, "Evicted")["reason"] == "LeaseExpired"
        assert ORIGIN in condition(gone, "Evicted")["message"]
        job = await until(here.client, JOBS, "work", lambda obj: obj["spec"]["suspend"] is True)
        assert not holds(job, "Failed")
        assert "failed" not in job["status"]
        # The hub is back, and the old work stays where it is until the hub deletes it.
        await here.renew()
        await asyncio.sleep(TERMS.lease_s)
        assert await here.pods() == []
        assert len(pids(tmp_path)) == 1
        await here.client.delete(JOBS, "work", "default")
        await here.client.delete(WORKLOADS, "work", "default")
        while (await here.client.list(WORKLOADS)).items:  # noqa: ASYNC110 - its deletion takes a few steps
            await asyncio.sleep(0.02)
        (tmp_path / "finish").touch()
        await dispatch(here.client, "work", payload(tmp_path), epoch=2)
        await until(here.client, JOBS, "work", lambda obj: holds(obj, "Complete"))
        assert len(pids(tmp_path)) == 2


@asynchronous
async def test_work_of_a_stock_manager_has_no_lease_and_simply_runs(tmp_path: Path) -> None:
    async with cluster(tmp_path / "data") as here:
        await dispatch(here.client, "work", payload(tmp_path), epoch=None)
        await asyncio.to_thread(eventually, lambda: pids(tmp_path), "the payload runs")
        [pod] = await here.pods()
        assert names.LEASE not in pod["metadata"]["annotations"]
        (tmp_path / "finish").touch()
        await until(here.client, JOBS, "work", lambda obj: holds(obj, "Complete"))


@asynchronous
async def test_a_pod_whose_lease_is_not_valid_waits_and_says_for_what(tmp_path: Path) -> None:
    async with cluster(tmp_path / "data") as here:
        container = {"name": "c", "image": "i", "command": ["sh", "-c", payload(tmp_path)]}
        notes = {names.LEASE: "nobody", names.WORKLOAD: "w", names.ADMITTED_AS: "u"}
        body = {"metadata": {"name": "p", "annotations": notes}, "spec": {"containers": [container]}}
        elsewhere = "kube-public"  # where there is no queue
        await here.client.create(PODS, body, elsewhere)

        def waiting(pod: Json) -> Json:
            statuses = pod["status"].get("containerStatuses") or [{}]
            found: Json = (statuses[0].get("state") or {}).get("waiting") or {}
            return found

        pod = await until(here.client, PODS, "p", lambda obj: waiting(obj).get("reason") == "LeaseNotValid", elsewhere)
        assert 'hub "nobody"' in waiting(pod)["message"]
        assert pod["status"]["phase"] == "Pending"
        assert pids(tmp_path) == []


# --- in a process of its own ------------------------------------------------------------------------------------------


class Apart:
    """A node that can be killed and stopped, with a hub in it that can be told to be silent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.commands = folder / "commands"
        self.commands.mkdir()
        self.lease_s = TERMS.lease_s
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.commands / "ready").unlink(missing_ok=True)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        command = [sys.executable, "-m", "tests.integration.lease_node", str(self.data), str(self.commands)]
        command.append(str(self.lease_s))
        self._process = subprocess.Popen(command, env=environment, cwd=ROOT)
        eventually((self.commands / "ready").exists, "the node serves")

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def say(self, command: str, text: str = "") -> None:
        draft = self.commands / f".{command}"
        draft.write_text(text)
        draft.replace(self.commands / command)

    def seen(self, name: str) -> Any:
        path = self.commands / name
        return json.loads(path.read_text()) if path.exists() else {}

    def work(self) -> int:
        """The pid of its payload."""
        self.say("script", payload(self.folder))
        eventually(lambda: pids(self.folder), "the payload runs")
        return pids(self.folder)[0]

    def settled(self) -> bool:
        """Evicted, and nothing of it lives."""
        workload = self.seen("workload")
        over = all(pod["status"].get("phase") == "Failed" for pod in self.seen("pods"))
        released = condition(workload, "QuotaReserved").get("status") == "False"
        return released and over and condition(workload, "Evicted").get("reason") == "LeaseExpired"

    def close(self) -> None:
        assert self._process is not None
        self.signal(signal.SIGCONT)
        self.say("end")
        try:
            self._process.wait(30)
        finally:
            self.kill()


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Apart]:
    node = Apart(tmp_path)
    yield node
    node.close()
    engine = node.data / "spaces" / "default" / "engine"
    end_zygote(engine)
    assert processes_of(engine) == []


def check_settled(node: Apart) -> None:
    """The work was evicted and its job has not failed."""
    eventually(node.settled, "the work is evicted and its pods are over")
    assert node.seen("workload")["spec"]["active"] is False
    job = node.seen("job")
    assert job["spec"]["suspend"] is True
    assert not holds(job, "Failed")
    assert "failed" not in job["status"]
    assert len(pids(node.folder)) == 1


def test_work_ends_with_its_lease_though_its_node_was_killed(apart: Apart) -> None:
    apart.start()
    pid = apart.work()
    apart.kill()
    assert alive(pid)
    eventually(lambda: not alive(pid), "the payload has ended")
    apart.start()
    check_settled(apart)


def test_work_ends_with_its_lease_though_its_node_is_stopped_and_does_not_come_back_with_it(apart: Apart) -> None:
    apart.start()
    pid = apart.work()
    apart.signal(signal.SIGSTOP)
    assert alive(pid)
    eventually(lambda: not alive(pid), "the payload has ended")
    apart.signal(signal.SIGCONT)
    check_settled(apart)


def test_work_goes_on_over_a_restart_of_its_node_within_the_lease(apart: Apart) -> None:
    apart.lease_s = 60
    apart.start()
    pid = apart.work()
    apart.kill()
    apart.start()
    assert alive(pid)
    assert holds(apart.seen("workload"), "Admitted")
    (apart.folder / "finish").touch()
    eventually(lambda: holds(apart.seen("job"), "Complete"), "the job is complete")
    assert not condition(apart.seen("workload"), "Evicted")
    assert pids(apart.folder) == [pid]


def shim_of(pid: int) -> int:
    return int(read_small(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])


def zygote_of(node: Apart) -> int:
    return int((node.data / "spaces" / "default" / "engine" / "zygote.lock").read_text())


def test_a_shim_that_somebody_stopped_ends_its_payload_with_the_lease_all_the_same(apart: Apart) -> None:
    apart.start()
    pid = apart.work()
    apart.kill()
    os.kill(shim_of(pid), signal.SIGSTOP)
    assert alive(pid)
    eventually(lambda: not alive(pid), "the payload has ended")
    apart.start()
    check_settled(apart)


def test_a_stopped_shim_that_nobody_looks_after_ends_its_payload_when_its_node_evicts_it(apart: Apart) -> None:
    apart.start()
    pid = apart.work()
    os.kill(zygote_of(apart), signal.SIGSTOP)
    try:
        os.kill(shim_of(pid), signal.SIGSTOP)
        apart.say("silent")
        eventually(lambda: not alive(pid), "the payload has ended")
    finally:
        os.kill(zygote_of(apart), signal.SIGCONT)
    check_settled(apart)


def test_a_stopped_shim_ends_its_payload_first_of_all_when_it_goes_on_after_the_lease(apart: Apart) -> None:
    apart.start()
    pid = apart.work()
    shim = shim_of(pid)
    os.kill(zygote_of(apart), signal.SIGSTOP)
    os.kill(shim, signal.SIGSTOP)
    apart.kill()
    try:
        lease = read_lease(next((apart.data / "spaces" / "default" / "leases").iterdir()))
        assert lease is not None
        eventually(lambda: boot_clock() > lease.until + lease.grace_s, "lease and grace are over")
        assert alive(pid), "nobody is left who could end it: the one case that is not covered"
        os.kill(shim, signal.SIGCONT)
        eventually(lambda: not alive(pid), "the payload has ended")
    finally:
        os.kill(shim, signal.SIGCONT)
        os.kill(zygote_of(apart), signal.SIGCONT)
    apart.start()
    check_settled(apart)
