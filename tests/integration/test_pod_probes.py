"""Probes and hooks of real containers: when they count as ready, when they are ended, what happens before and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.engine_support import alive
from tests.integration.support import asynchronous
from tests.integration.test_pods import EVENTS, PODS, Cluster, Json, cluster

from fairway.api.client import Deletion, Query

SLEEPS = ("/bin/sh", "-c", "exec sleep 300")
QUICK = {"periodSeconds": 1, "failureThreshold": 2}


def _runs(command: str, **more: Any) -> Json:
    return {"exec": {"command": ["/bin/sh", "-c", command]}, **QUICK, **more}


def _main(pod: Json) -> Json:
    found: Json = (pod["status"].get("containerStatuses") or [{}])[0]
    return found


def _side(pod: Json) -> Json:
    found: Json = (pod["status"].get("initContainerStatuses") or [{}])[0]
    return found


def _ready(pod: Json) -> bool:
    return {c["type"]: c["status"] for c in pod["status"].get("conditions", ())}.get("Ready") == "True"


@asynccontextmanager
async def _clean(folder: Path) -> AsyncIterator[Cluster]:
    """A cluster on which nothing runs any more afterwards."""
    async with cluster(folder) as here:
        yield here
        for item in (await here.client.list(PODS, Query("default"))).items:
            await here.client.delete(PODS, item.meta.name, "default", Deletion(grace_seconds=0))
        await here.engine_is_empty()


async def _said(here: Cluster, reason: str) -> list[str]:
    async with asyncio.timeout(10):
        while True:
            events = (await here.client.list(EVENTS, Query("default"))).items
            found = [event["message"] for event in (item.json() for item in events) if event["reason"] == reason]
            if found:
                return found
            await asyncio.sleep(0.05)


@asynchronous
async def test_a_container_is_ready_once_its_probe_passes_and_no_longer_when_it_fails(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with _clean(tmp_path) as here:
        await here.run("p", *SLEEPS, container={"readinessProbe": _runs(f"test -e {mark}")})
        pod = await here.running("p")
        assert _main(pod)["started"]
        assert not _ready(pod)
        assert [w for w in await _said(here, "Unhealthy") if w.startswith("Readiness probe failed: ")]
        mark.touch()
        await here.until("p", _ready)
        mark.unlink()
        pod = await here.until("p", lambda pod: not _ready(pod))
        assert pod["status"]["phase"] == "Running"


@asynchronous
async def test_a_container_that_fails_its_liveness_probe_is_started_again(tmp_path: Path) -> None:
    async with _clean(tmp_path) as here:
        probe = _runs("test ! -e sick; echo it is sick >&2; test ! -e sick", terminationGracePeriodSeconds=1)
        command = ("/bin/sh", "-c", "test $(date +%s) -gt 0; touch sick; exec sleep 300")
        await here.run("p", *command, container={"livenessProbe": probe}, restartPolicy="Always")
        pod = await here.until("p", lambda pod: _main(pod).get("restartCount") == 1)
        assert _main(pod)["lastState"]["terminated"]["exitCode"] == 143
        assert "Liveness probe failed: it is sick" in await _said(here, "Unhealthy")
        assert "Container main: failed liveness probe" in await _said(here, "Killing")


@asynchronous
async def test_a_container_that_never_gets_up_fails_its_pod(tmp_path: Path) -> None:
    async with _clean(tmp_path) as here:
        probes = {"startupProbe": _runs("false"), "livenessProbe": _runs("true"), "readinessProbe": _runs("true")}
        await here.run("p", *SLEEPS, container=probes)
        pod = await here.running("p")
        assert not _main(pod)["started"]
        assert not _ready(pod)
        pod = await here.ended("p")
        assert pod["status"]["phase"] == "Failed"


@asynchronous
async def test_a_probe_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    async with _clean(tmp_path) as here:
        probe = _runs(f"sleep 60 & echo $$ $! >> {tmp_path}/pids; sleep 60")
        await here.run("p", *SLEEPS, container={"readinessProbe": probe})
        assert "Readiness probe failed: no answer within 1 s" in await _said(here, "Unhealthy")
        async with asyncio.timeout(10):
            for pid in (tmp_path / "pids").read_text().split("\n")[0].split():
                while alive(int(pid)):  # noqa: ASYNC110 - the kernel tells nobody
                    await asyncio.sleep(0.02)


@asynccontextmanager
async def _served(*answers: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that gives these answers in turn, and the last one for ever."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(answers[min(len(asked), len(answers)) - 1])
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()


@asynchronous
async def test_a_container_is_asked_over_http_and_over_tcp(tmp_path: Path) -> None:
    async with (
        _clean(tmp_path) as here,
        _served(b"HTTP/1.1 503 No\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n") as (port, asked),
    ):
        probe = {"httpGet": {"path": "healthz?a=b", "port": "web"}, **QUICK}
        ports = [{"name": "web", "containerPort": port}]
        await here.run("p", *SLEEPS, container={"readinessProbe": probe, "ports": ports})
        assert "Readiness probe failed: HTTP probe failed with statuscode: 503" in await _said(here, "Unhealthy")
        await here.until("p", _ready)
        assert asked[0] == b"GET /healthz?a=b HTTP/1.1\r\n"
        await here.run("q", *SLEEPS, container={"readinessProbe": {"tcpSocket": {"port": port}, **QUICK}})
        await here.until("q", _ready)
        await here.run("r", *SLEEPS, container={"readinessProbe": {"tcpSocket": {"port": 1}, **QUICK}})
        assert not _ready(await here.running("r"))


@asynchronous
async def test_a_probe_that_cannot_be_run_here_counts_as_passed_and_says_so(tmp_path: Path) -> None:
    async with _clean(tmp_path) as here:
        await here.run("p", *SLEEPS, container={"readinessProbe": {"grpc": {"port": 9}, **QUICK}})
        await here.until("p", _ready)
        assert "not run here" in (await _said(here, "ProbeNotRun"))[0]


@asynchronous
async def test_hooks_run_after_the_start_and_before_the_end(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    command = f"trap 'echo told >> {diary}; exit 0' TERM; echo $NAME >> {diary}; while :; do sleep 0.05; done"
    hooks = {
        "postStart": {"exec": {"command": ["/bin/sh", "-c", f"sleep 0.3; echo after $NAME in $(pwd) >> {diary}"]}},
        "preStop": {"exec": {"command": ["/bin/sh", "-c", f"echo before >> {diary}"]}},
    }
    container = {"lifecycle": hooks, "env": [{"name": "NAME", "value": "main"}]}
    async with _clean(tmp_path / "node") as here:
        pod = await here.run("p", "/bin/sh", "-c", command, container=container)
        await here.until("p", _ready)
        await here.client.delete(PODS, "p", "default", Deletion(grace_seconds=20))
        await here.gone("p")
        lines = diary.read_text().splitlines()
        assert lines[0] == "main"
        assert lines[1].startswith("after main in ")
        assert pod["metadata"]["uid"] in lines[1]
        assert lines[2:] == ["before", "told"]


@asynchronous
async def test_a_hook_that_fails_after_the_start_ends_the_container(tmp_path: Path) -> None:
    async with _clean(tmp_path) as here:
        hooks = {"postStart": {"exec": {"command": ["/bin/false"]}}}
        await here.run("p", *SLEEPS, container={"lifecycle": hooks})
        assert (await here.ended("p"))["status"]["phase"] == "Failed"
        assert (await _said(here, "FailedPostStartHook"))[0].startswith("PostStartHook failed: ")


@asynchronous
async def test_a_node_that_starts_anew_takes_readiness_from_the_status_and_asks_again(tmp_path: Path) -> None:
    mark, diary = tmp_path / "mark", tmp_path / "diary"
    mark.touch()
    container = {
        "readinessProbe": _runs(f"test -e {mark}"),
        "lifecycle": {"postStart": {"exec": {"command": ["/bin/sh", "-c", f"echo once >> {diary}"]}}},
    }
    async with cluster(tmp_path / "node") as here:
        await here.run("p", *SLEEPS, container=container)
        await here.until("p", _ready)
    async with _clean(tmp_path / "node") as here:
        assert _ready(await here.running("p"))
        mark.unlink()
        await here.until("p", lambda pod: not _ready(pod))
        assert diary.read_text() == "once\n"
        await here.client.delete(PODS, "p", "default", Deletion(grace_seconds=1))
        await here.gone("p")


@pytest.mark.parametrize("policy", ["Always", "Never"])
@asynchronous
async def test_a_sidecar_is_waited_for_until_it_has_started(tmp_path: Path, policy: str) -> None:
    mark = tmp_path / "mark"
    async with _clean(tmp_path / "node") as here:
        sidecar = {
            "name": "side",
            "image": "x",
            "command": list(SLEEPS),
            "restartPolicy": "Always",
            "startupProbe": _runs(f"test -e {mark}", failureThreshold=60),
        }
        await here.run("p", *SLEEPS, initContainers=[sidecar], restartPolicy=policy)
        pod = await here.until("p", lambda pod: "running" in (_side(pod).get("state") or {}))
        assert not _side(pod)["started"]
        assert not _main(pod).get("containerID")
        mark.touch()
        await here.running("p")
