"""A node that stops dead at each step of a pod's life: its next life finds the pod run exactly once, with the right exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.support import asynchronous
from tests.integration.test_pods import PATIENCE_S, PODS, Cluster, cluster, terminated

from fairway.api.local import LocalClient
from fairway.engines.process import ProcessEngine

Call = Callable[..., Awaitable[Any]]


class Dead:
    """Stops whoever makes a certain call, before or after the call has its effect, for good."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, meant: Callable[..., bool], after: bool
    ) -> None:
        self.reached = asyncio.Event()
        self._monkeypatch = monkeypatch
        real: Call = getattr(owner, name)

        async def call(this: Any, *arguments: Any, **named: Any) -> Any:
            if not meant(*arguments, **named):
                return await real(this, *arguments, **named)
            if after:
                await real(this, *arguments, **named)
            self.reached.set()
            return await asyncio.Event().wait()

        monkeypatch.setattr(owner, name, call)

    async def die(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.reached.wait()
        self._monkeypatch.undo()


def status_with(state: str) -> Callable[..., bool]:
    def meant(resource: Any, body: Any = None, *_: Any, **named: Any) -> bool:
        if resource != PODS or named.get("subresource") != "status":
            return False
        statuses = body["status"].get("containerStatuses") or ()
        return bool(statuses) and state in statuses[0]["state"] and bool(statuses[0].get("containerID"))

    return meant


def bound(resource: Any, _name: str, subresource: str, *_: Any, **__: Any) -> bool:
    return bool(resource == PODS and subresource == "binding")


def always(*_: Any, **__: Any) -> bool:
    return True


STEPS = {
    "bind": (LocalClient, "post", bound),
    "mean": (LocalClient, "update", status_with("waiting")),
    "start": (ProcessEngine, "start", always),
    "say it runs": (LocalClient, "update", status_with("running")),
    "say it ended": (LocalClient, "update", status_with("terminated")),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
@asynchronous
async def test_a_pod_runs_once_wherever_its_node_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    marks = tmp_path / "marks"
    async with cluster(tmp_path / "data") as here:
        dead = Dead(monkeypatch, *STEPS[step], after)
        await here.run("p", "sh", "-c", f"echo ran >> {marks}; sleep 0.2; exit 9")
        await dead.die()
    async with cluster(tmp_path / "data") as here:
        ended = await here.ended("p")
        assert (terminated(ended)["exitCode"], ended["status"]["containerStatuses"][0]["restartCount"]) == (9, 0)
        assert await here.output("p") == ""
    assert marks.read_text() == "ran\n"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["stop", "delete", "forget"])
@asynchronous
async def test_a_pod_is_ended_and_forgotten_wherever_its_node_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "300", terminationGracePeriodSeconds=1)
        await here.running("p")
        owner: type = LocalClient if step == "delete" else ProcessEngine

        def meant(*arguments: Any, **_: Any) -> bool:
            return step != "delete" or (arguments[0] == PODS and arguments[3].grace_seconds == 0)

        dead = Dead(monkeypatch, owner, step, _ours(meant), after)
        await here.client.delete(PODS, "p", "default")
        await dead.die()
    async with cluster(tmp_path) as here:
        await _nothing_is_left(here)


def _ours(meant: Callable[..., bool]) -> Callable[..., bool]:
    """Not the test's own deletion, which has no grace period in it."""

    def checked(*arguments: Any, **named: Any) -> bool:
        return len(arguments) != 3 and meant(*arguments, **named)

    return checked


async def _nothing_is_left(here: Cluster) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await here.client.list(PODS)).items:  # noqa: ASYNC110 - it may be gone already
            await asyncio.sleep(0.02)
    await here.engine_is_empty()
