"""Pods on a real node with the real engine: real processes, from the object to the exit code."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.integration.support import asynchronous

from fairway.api.client import Deletion, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.node import Node

PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes", namespaced=False)
EVENTS = Resource("", "v1", "events")
CONFIG_MAPS = Resource("", "v1", "configmaps")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
PATIENCE_S = 30.0
Json = dict[str, Any]


class Cluster:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.client = LocalClient(node.spaces[0], "tester")

    async def run(self, name: str, *command: str, **spec: Any) -> Json:
        container = {"name": "main", "image": "busybox", "command": list(command), **spec.pop("container", {})}
        body = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}
        return (await self.client.create(PODS, body, "default")).json()

    async def get(self, name: str) -> Json:
        return (await self.client.get(PODS, name, "default")).json()

    async def until(self, name: str, holds: Callable[[Json], Any]) -> Json:
        """The pod, once something holds of it."""
        query = Query("default", fields=f"metadata.name={name}")
        seen: Json = {}
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for event in self.client.watch(PODS, query):
                    seen = event.item.json()
                    if event.type != "DELETED" and holds(seen):
                        return seen
        except TimeoutError:
            raise AssertionError(f"waited in vain; the pod is {seen.get('status')}") from None
        raise AssertionError("the watch ended")

    async def ended(self, name: str) -> Json:
        return await self.until(name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))

    async def running(self, name: str) -> Json:
        return await self.until(name, lambda pod: pod["status"].get("phase") == "Running")

    async def gone(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            async for event in self.client.watch(PODS, Query("default", fields=f"metadata.name={name}")):
                if event.type == "DELETED":
                    return

    async def output(self, name: str, container: str = "main", attempt: int = 0) -> str:
        cluster = self.node.cluster
        assert cluster is not None
        uid = (await self.get(name))["metadata"]["uid"]
        return b"".join([piece async for piece in cluster.engine.logs(f"{uid}.{container}.{attempt}")]).decode()

    async def printed(self, name: str) -> str:
        """What it prints first: that it runs does not mean that it has."""
        async with asyncio.timeout(PATIENCE_S):
            while not (text := await self.output(name)):  # noqa: ASYNC110 - output tells nobody
                await asyncio.sleep(0.02)
        return text

    async def engine_is_empty(self) -> None:
        cluster = self.node.cluster
        assert cluster is not None
        async with asyncio.timeout(PATIENCE_S):
            while await cluster.engine.list():  # noqa: ASYNC110 - forgetting is silent
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def cluster(folder: Path, **declared: Any) -> AsyncIterator[Cluster]:
    node = Node(
        folder, with_default_queue=False, machine=Declared(**{"cpu": "4", "memory": "8Gi", "name": "here", **declared})
    )
    try:
        await node.start()
        yield Cluster(node)
    finally:
        await node.stop()


def terminated(pod: Json, index: int = 0) -> Json:
    found: Json = pod["status"]["containerStatuses"][index]["state"]["terminated"]
    return found


@asynchronous
async def test_a_pod_runs_to_its_exit_code_and_its_output_is_kept(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("ok", "sh", "-c", "echo out; echo err >&2")
        await here.run("bad", "sh", "-c", "exit 3")
        await here.run("hit", "sh", "-c", "kill -9 $$$$")
        ok, bad, hit = await here.ended("ok"), await here.ended("bad"), await here.ended("hit")
        assert (ok["status"]["phase"], terminated(ok)["reason"]) == ("Succeeded", "Completed")
        assert await here.output("ok") == "out\nerr\n"
        assert (bad["status"]["phase"], terminated(bad)["exitCode"], terminated(bad)["reason"]) == (
            "Failed",
            3,
            "Error",
        )
        assert terminated(hit)["exitCode"] == 137
        assert ok["spec"]["nodeName"] == "here"
        await here.client.delete(PODS, "ok", "default")
        await here.client.delete(PODS, "bad", "default")
        await here.client.delete(PODS, "hit", "default")
        await here.engine_is_empty()


@asynchronous
async def test_a_command_that_is_not_there_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "no-such-program", "x")
        ended = terminated(await here.ended("p"))
        assert ended["exitCode"] in (126, 127, 128)
        assert "no-such-program" in ended["message"]


@asynchronous
async def test_init_containers_variables_and_volumes_reach_the_processes(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.client.create(CONFIG_MAPS, {"metadata": {"name": "cm"}, "data": {"who": "world"}}, "default")
        mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}, {"name": "conf", "mountPath": "/conf"}]}
        await here.run(
            "p",
            "sh",
            "-c",
            "cat shared/note; cat $FAIRWAY_VOLUME_CONF/who; echo /$WHO/$NAME",
            container={
                **mount,
                "env": [
                    {"name": "WHO", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "who"}}},
                    {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
            },
            initContainers=[
                {
                    "name": "first",
                    "image": "i",
                    "command": ["sh", "-c", "echo hello > $FAIRWAY_VOLUME_SHARED/note"],
                    **mount,
                }
            ],
            volumes=[{"name": "shared", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "cm"}}],
        )
        assert (await here.ended("p"))["status"]["phase"] == "Succeeded"
        assert await here.output("p") == "hello\nworld/world/p\n"
        folder = tmp_path / "spaces/default/pods"
        assert len(os.listdir(folder)) == 1
        await here.client.delete(PODS, "p", "default")
        await here.engine_is_empty()
        async with asyncio.timeout(PATIENCE_S):
            while os.listdir(folder):  # noqa: ASYNC110 - nobody tells when a folder is gone
                await asyncio.sleep(0.02)


@asynchronous
async def test_a_pod_waits_for_the_config_map_that_it_needs(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "true", container={"envFrom": [{"configMapRef": {"name": "late"}}]})
        waiting = await here.until("p", lambda pod: "containerStatuses" in pod["status"])
        assert waiting["status"]["containerStatuses"][0]["state"]["waiting"] == {
            "reason": "CreateContainerConfigError",
            "message": 'configmap "late" not found',
        }
        assert waiting["status"]["phase"] == "Pending"


@asynchronous
async def test_a_container_is_restarted_and_its_log_before_is_kept(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        script = "echo once; test -e $FAIRWAY_VOLUME_V/again && sleep 60; touch $FAIRWAY_VOLUME_V/again; exit 5"
        await here.run(
            "p",
            "sh",
            "-c",
            script,
            restartPolicy="OnFailure",
            container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            volumes=[{"name": "v", "emptyDir": {}}],
        )
        again = await here.until("p", lambda pod: _restarted(pod))
        status = again["status"]["containerStatuses"][0]
        assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 5)
        assert await here.output("p", attempt=0) == "once\n"
        await here.client.delete(PODS, "p", "default", Deletion(grace_seconds=0))
        await here.engine_is_empty()


def _restarted(pod: Json) -> bool:
    statuses = pod["status"].get("containerStatuses") or [{"restartCount": 0, "state": {}}]
    return bool(statuses[0]["restartCount"] and "running" in statuses[0]["state"])


@asynchronous
async def test_a_deleted_pod_gets_its_grace_and_is_then_gone(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("kind", "sh", "-c", "trap 'exit 4' TERM; echo ready; while true; do sleep 0.05; done")
        await here.run("stubborn", "sh", "-c", "trap '' TERM; while true; do sleep 0.05; done")
        await here.running("kind")
        await here.running("stubborn")
        leaving = asyncio.ensure_future(here.gone("kind")), asyncio.ensure_future(here.gone("stubborn"))
        await asyncio.sleep(0)
        await here.client.delete(PODS, "kind", "default")
        await here.client.delete(PODS, "stubborn", "default", Deletion(grace_seconds=1))
        await asyncio.gather(*leaving)
        await here.engine_is_empty()


@asynchronous
async def test_a_pod_deleted_by_force_leaves_no_process(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "300")
        await here.running("p")
        await here.client.delete(PODS, "p", "default", Deletion(grace_seconds=0))
        await here.engine_is_empty()


@asynchronous
async def test_pods_deleted_at_any_moment_of_their_start_leave_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path, cpu="100") as here:
        names = [f"p{number}" for number in range(20)]
        for number, name in enumerate(names):
            await here.run(name, "sleep", "300")
            for _ in range(number):
                await asyncio.sleep(0.002)
            with contextlib.suppress(ApiError):
                await here.client.delete(PODS, name, "default", Deletion(grace_seconds=number % 2))
        async with asyncio.timeout(PATIENCE_S):
            while (await here.client.list(PODS)).items:  # noqa: ASYNC110 - the last of many
                await asyncio.sleep(0.02)
        await here.engine_is_empty()


@asynchronous
async def test_a_deadline_ends_a_pod(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "300", activeDeadlineSeconds=1, terminationGracePeriodSeconds=1)
        ended = await here.ended("p")
        assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "DeadlineExceeded")


@asynchronous
async def test_what_does_not_fit_waits_says_so_and_starts_when_there_is_room(tmp_path: Path) -> None:
    async with cluster(tmp_path, cpu="1", gpus=1) as here:
        wants = {"resources": {"requests": {"cpu": "800m"}}}
        await here.run("first", "sleep", "300", container=wants, terminationGracePeriodSeconds=0)
        await here.running("first")
        await here.run("second", "true", container=wants)
        waiting = await here.until("second", lambda pod: pod["status"].get("conditions"))
        condition = waiting["status"]["conditions"][0]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        )
        assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        await here.client.delete(PODS, "first", "default", Deletion(grace_seconds=0))
        assert (await here.ended("second"))["status"]["phase"] == "Succeeded"


@asynchronous
async def test_a_gated_pod_waits_for_its_gate(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "true", schedulingGates=[{"name": "hold"}])
        await here.run("q", "true")
        await here.ended("q")
        held = await here.get("p")
        assert "nodeName" not in held["spec"]
        held["spec"]["schedulingGates"] = []
        await here.client.update(PODS, held)
        assert (await here.ended("p"))["status"]["phase"] == "Succeeded"


@asynchronous
async def test_a_sidecar_ends_with_the_work(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        side = {"name": "side", "image": "i", "command": ["sleep", "300"], "restartPolicy": "Always"}
        await here.run("p", "sleep", "0.1", initContainers=[side], terminationGracePeriodSeconds=2)
        ended = await here.ended("p")
        assert ended["status"]["phase"] == "Succeeded"
        assert "terminated" in ended["status"]["initContainerStatuses"][0]["state"]


@asynchronous
async def test_the_machine_is_a_node_with_what_is_declared_and_goodbye_is_said(tmp_path: Path) -> None:
    async with cluster(tmp_path, cpu="3500m", memory="2Gi", gpus=2) as here:
        node = (await here.client.get(NODES, "here")).json()
        assert node["status"]["allocatable"] == {"cpu": "3500m", "memory": "2Gi", "nvidia.com/gpu": "2", "pods": "1k"}
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "here"
        assert {c["type"]: c["status"] for c in node["status"]["conditions"]}["Ready"] == "True"
        assert (await here.client.get(LEASES, "here", "kube-node-lease")).json()["spec"]["holderIdentity"] == "here"
    again = Node(tmp_path)
    await again.start()
    try:
        left = (await LocalClient(again.spaces[0]).get(NODES, "here")).json()
        assert {c["type"]: c["status"] for c in left["status"]["conditions"]}["Ready"] == "False"
    finally:
        await again.stop()


@asynchronous
async def test_a_node_that_comes_back_adopts_what_runs_notices_what_ended_and_starts_nothing_twice(
    tmp_path: Path,
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    async with cluster(tmp_path / "data") as here:
        for name, then in (
            ("long", f"while ! test -e {marks}/go; do sleep 0.02; done; exit 6"),
            ("short", "sleep 0.3; exit 7"),
        ):
            await here.run(name, "sh", "-c", f"echo started >> {marks}/{name}; {then}")
            await here.running(name)
    await asyncio.sleep(0.6)
    async with cluster(tmp_path / "data") as here:
        short = await here.ended("short")
        assert (terminated(short)["exitCode"], short["status"]["containerStatuses"][0]["restartCount"]) == (7, 0)
        assert (await here.get("long"))["status"]["phase"] == "Running"
        (marks / "go").touch()
        assert terminated(await here.ended("long"))["exitCode"] == 6
    assert (marks / "long").read_text() == (marks / "short").read_text() == "started\n"


@asynchronous
async def test_a_pod_deleted_while_its_node_was_away_is_ended_when_it_returns(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "300")
        await here.running("p")
    without = Node(tmp_path)
    await without.start()
    await LocalClient(without.spaces[0]).delete(PODS, "p", "default", Deletion(grace_seconds=0))
    await without.stop()
    async with cluster(tmp_path) as here:
        await here.engine_is_empty()


@asynchronous
async def test_events_tell_what_happened(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "true")
        await here.ended("p")

        async def reasons() -> set[str]:
            query = Query("default", fields="involvedObject.name=p")
            return {item.json()["reason"] for item in (await here.client.list(EVENTS, query)).items}

        await _eventually(reasons, {"Scheduled"})


async def _eventually(ask: Callable[[], Awaitable[set[str]]], wanted: set[str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not wanted <= await ask():  # noqa: ASYNC110 - events come when they come
            await asyncio.sleep(0.02)


@asynchronous
async def test_words_that_are_attacks_on_a_shell_are_just_words(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        for number, word in enumerate(("$(rm -rf x)", "a;b", "../../up", "a\nb", "'\"`")):
            await here.run(f"p{number}", "printf", "%s", word.replace("$", "$$"))
            await here.ended(f"p{number}")
            assert await here.output(f"p{number}") == word


@asynchronous
async def test_a_pod_put_on_a_full_node_by_hand_is_turned_away(tmp_path: Path) -> None:
    async with cluster(tmp_path, cpu="1") as here:
        wants = {"resources": {"requests": {"cpu": "600m"}}}
        await here.run("first", "sleep", "300", container=wants, nodeName="here")
        await here.running("first")
        await here.run("second", "true", container=wants, nodeName="here")
        status = (await here.ended("second"))["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
        assert status["message"].endswith("cpu, requested: 600, used: 600, capacity: 1000")
        await here.client.delete(PODS, "first", "default", Deletion(grace_seconds=0))
        await here.engine_is_empty()


@asynchronous
async def test_a_pod_of_a_node_that_is_gone_is_failed_and_removed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("fairway.control.pods.binder.STRANDED_SECONDS", 0.05)
    async with cluster(tmp_path) as here:
        leaving = asyncio.ensure_future(here.gone("p"))
        await asyncio.sleep(0)
        await here.run("p", "true", nodeName="elsewhere")
        await leaving


@asynchronous
async def test_each_gpu_goes_to_one_pod_at_a_time(tmp_path: Path) -> None:
    async with cluster(tmp_path, gpus=2) as here:
        for name in ("a", "b"):
            limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
            await here.run(name, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 300", container=limits)
            await here.running(name)
        assert {await here.printed("a"), await here.printed("b")} == {"0\n", "1\n"}
    async with cluster(tmp_path, gpus=2) as here:
        await here.client.delete(PODS, "a", "default", Deletion(grace_seconds=0))
        free = "0\n" if await here.output("b") == "1\n" else "1\n"
        await here.run("c", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", container=limits)
        await here.ended("c")
        assert await here.output("c") == free
        await here.client.delete(PODS, "b", "default", Deletion(grace_seconds=0))
        await here.client.delete(PODS, "c", "default")
        await here.engine_is_empty()


BAD: dict[str, tuple[list[str], Json, str]] = {
    "nul": (["echo", "a\0b"], {}, "NUL"),
    "folder": (["true"], {"workingDir": "/no/such/folder"}, "/no/such/folder"),
    "not-executable": (["/etc/hostname"], {}, "/etc/hostname"),
    "a-folder": (["/etc"], {}, "/etc"),
    "too-long": (["echo", "x" * 300_000], {}, ""),
    "empty": ([""], {}, "no command specified"),
}


@asynchronous
async def test_what_cannot_run_fails_and_says_why(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        for name, (command, more, message) in BAD.items():
            await here.run(name, *command, container=more)
            ended = await here.ended(name)
            assert ended["status"]["phase"] == "Failed", name
            assert terminated(ended)["exitCode"] in (126, 127, 128), name
            assert message in terminated(ended)["message"], name
            await here.client.delete(PODS, name, "default")
        await here.engine_is_empty()


@asynchronous
async def test_a_binary_secret_can_be_a_file_and_not_a_variable(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        raw = base64.b64encode(b"\xff\xfe!").decode()
        await here.client.create(
            Resource("", "v1", "secrets"), {"metadata": {"name": "s"}, "data": {"k": raw}}, "default"
        )
        mount = {"volumeMounts": [{"name": "s", "mountPath": "/s"}]}
        volumes = [{"name": "s", "secret": {"secretName": "s"}}]
        await here.run("file", "od", "-An", "-tx1", "s/k", container=mount, volumes=volumes)
        await here.ended("file")
        assert await here.output("file") == " ff fe 21\n"
        key = {"env": [{"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}
        await here.run("variable", "true", container=key)
        waiting = await here.until("variable", lambda pod: "containerStatuses" in pod["status"])
        state = waiting["status"]["containerStatuses"][0]["state"]["waiting"]
        assert state["reason"] == "CreateContainerError"
        assert "variable K" in state["message"]
