"""pods/NAME/log over the application: which run is meant, what is sent, what is refused in which words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.server.harness import Harness

from fairway.server.app import App, Served

PODS = "/api/v1/namespaces/default/pods"
ENDED = "2027-01-15T07:59:00Z"  # a minute before the harness' clock


class Output:
    """Engine output by run: what there is, as it would come in pieces."""

    def __init__(self, runs: dict[str, list[bytes]]) -> None:
        self.runs = runs
        self.asked: list[tuple[str, bool, int | None]] = []

    def logs(self, run_id: str, *, follow: bool = False, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        self.asked.append((run_id, follow, tail_lines))
        return self._pieces(self.runs[run_id])

    async def _pieces(self, pieces: list[bytes]) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece


def container(name: str = "main", **status: Any) -> Any:
    return {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "lastState": {}, **status}


def ended(run: str) -> Any:
    return {"terminated": {"exitCode": 0, "finishedAt": ENDED, "containerID": f"fairway://{run}"}}


RUNNING = container(state={"running": {}}, containerID="fairway://r1")
ENDED_ONCE = container(state=ended("r1"), containerID="fairway://r1")
BACKING_OFF = container(
    state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended("r1"), containerID="fairway://r1", restartCount=3
)
CREATING = container(state={"waiting": {"reason": "ContainerCreating"}})
AGAIN = container(state={"running": {}}, lastState=ended("r0"), containerID="fairway://r1", restartCount=1)


async def ask(
    statuses: list[Any], query: str = "", *, names: tuple[str, ...] = ("main",), bound: bool = True, **meta: Any
) -> Any:
    harness = await Harness.new()
    output = Output({"r0": [b"before\n"], "r1": [b"one\ntw", b"o\nthree"]})
    harness.app = App([Served(harness.space, harness.access, output)])
    containers = [{"name": name, "image": "i", "command": ["true"]} for name in names]
    spec = {"containers": containers, **({"nodeName": "n"} if bound else {})}
    pod = await harness.ok("admin", "POST", PODS, {"metadata": {"name": "p", **meta}, "spec": spec})
    pod["status"]["containerStatuses"] = statuses
    await harness.ok("admin", "PUT", f"{PODS}/p/status", pod)
    status, body = await harness.call("admin", "GET", f"{PODS}/p/log{query}")
    return status, body, output.asked


@pytest.mark.parametrize(
    ("status", "query", "text", "asked"),
    [
        (ENDED_ONCE, "", "one\ntwo\nthree", ("r1", False, None)),
        (RUNNING, "?follow=true", "one\ntwo\nthree", ("r1", True, None)),
        (ENDED_ONCE, "?follow=true", "one\ntwo\nthree", ("r1", False, None)),
        (RUNNING, "?tailLines=2&container=main", "one\ntwo\nthree", ("r1", False, 2)),
        (RUNNING, "?limitBytes=5", "one\nt", ("r1", False, None)),
        (RUNNING, "?limitBytes=7", "one\ntwo", ("r1", False, None)),
        (AGAIN, "?previous=true", "before\n", ("r0", False, None)),
        (BACKING_OFF, "", "one\ntwo\nthree", ("r1", False, None)),
        (ENDED_ONCE, "?sinceSeconds=3600", "one\ntwo\nthree", ("r1", False, None)),
    ],
)
def test_the_output_of_the_run_that_is_meant_is_sent(status: Any, query: str, text: str, asked: Any) -> None:
    code, body, seen = asyncio.run(ask([status], query))
    assert (code, body, seen) == (200, text, [asked])


def test_lines_can_carry_a_time() -> None:
    _code, body, _asked = asyncio.run(ask([ENDED_ONCE], "?timestamps=true"))
    stamp = "2027-01-15T07:59:00.000000000Z"
    assert body == f"{stamp} one\n{stamp} two\n{stamp} three"


def test_what_ended_before_is_left_out() -> None:
    assert asyncio.run(ask([ENDED_ONCE], "?sinceSeconds=10")) == (200, "", [])


def test_a_pod_without_a_node_has_no_output() -> None:
    assert asyncio.run(ask([], bound=False)) == (200, "", [])


def test_a_run_that_is_forgotten_is_said_to_be_gone() -> None:
    lost = container(state=ended("r9"), containerID="fairway://r9")
    code, body, _asked = asyncio.run(ask([lost]))
    assert (code, body) == (200, "unable to retrieve container logs for fairway://r9")


def test_of_several_containers_one_must_be_named_unless_the_pod_names_it() -> None:
    both = [container("a", state={"running": {}}, containerID="fairway://r0"), {**RUNNING, "name": "b"}]
    code, body, _asked = asyncio.run(ask(both, names=("a", "b")))
    assert (code, body["message"]) == (400, "a container name must be specified for pod p, choose one of: [a b]")
    chosen = {"kubectl.kubernetes.io/default-container": "b"}
    assert asyncio.run(ask(both, names=("a", "b"), annotations=chosen))[2] == [("r1", False, None)]


@pytest.mark.parametrize(
    ("status", "query", "code", "message"),
    [
        (RUNNING, "?container=x", 400, "container x is not valid for pod p"),
        (RUNNING, "?previous=true", 400, 'previous terminated container "main" in pod "p" not found'),
        (CREATING, "", 400, 'container "main" in pod "p" is waiting to start: ContainerCreating'),
        (RUNNING, "?tailLines=x", 400, "tailLines: 'x' is not a whole number"),
        (RUNNING, "?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 400, "at most one of sinceTime or sinceSeconds"),
    ],
)
def test_what_cannot_be_had_is_refused(status: Any, query: str, code: int, message: str) -> None:
    found, body, _asked = asyncio.run(ask([status], query))
    assert found == code
    assert message in body["message"]


def test_logs_need_the_right_to_read_them() -> None:
    async def run() -> None:
        harness = await Harness.new()
        await harness.user("eve")
        assert "pods/log" in await harness.refused("eve", "GET", f"{PODS}/p/log")

    asyncio.run(run())


def test_a_space_without_an_engine_says_that_nothing_is_logged() -> None:
    async def run() -> None:
        harness = await Harness.new()
        spec = {"containers": [{"name": "main", "image": "i"}], "nodeName": "n"}
        pod = await harness.ok("admin", "POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        pod["status"]["containerStatuses"] = [RUNNING]
        await harness.ok("admin", "PUT", f"{PODS}/p/status", pod)
        status, body = await harness.call("admin", "GET", f"{PODS}/p/log")
        assert (status, body["reason"]) == (501, "NotImplemented")

    asyncio.run(run())
