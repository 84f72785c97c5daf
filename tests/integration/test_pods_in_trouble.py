"""Pods whose node meets with trouble that passes: what could not be done is done as soon as it can be, and nothing is left."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.engine_support import end_zygote
from tests.integration.support import asynchronous
from tests.integration.test_pods import PATIENCE_S, PODS, cluster

from fairway.api.client import Deletion
from fairway.engines.process import ProcessEngine

AT_ONCE = Deletion(grace_seconds=0)


def fails_at_first(monkeypatch: pytest.MonkeyPatch, name: str, times: int = 2) -> list[str]:
    """The engine cannot do as it is told, so many times; what it was told then."""
    real, failed = getattr(ProcessEngine, name), []

    async def call(engine: ProcessEngine, run_id: str, *arguments: Any) -> Any:
        if len(failed) < times:
            failed.append(run_id)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return await real(engine, run_id, *arguments)

    monkeypatch.setattr(ProcessEngine, name, call)
    return failed


async def until(holds: Callable[[], Any], why: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"waited in vain until {why}") from None


@asynchronous
async def test_a_pod_that_could_not_be_told_to_stop_is_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "1000", terminationGracePeriodSeconds=1)
        await here.running("p")
        failed = fails_at_first(monkeypatch, "stop")
        await here.client.delete(PODS, "p", "default")
        await here.gone("p")
        assert len(failed) == 2
        await here.engine_is_empty()


@pytest.mark.parametrize("what", ["stop", "forget"])
@asynchronous
async def test_a_run_whose_pod_is_gone_is_ended_and_forgotten_however_often_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "1000")
        await here.running("p")
        failed = fails_at_first(monkeypatch, what)
        await here.client.delete(PODS, "p", "default", AT_ONCE)
        await here.engine_is_empty()
        await until(lambda: len(failed) == 2, "it failed as often as it was to")


@asynchronous
async def test_what_a_process_writes_while_it_is_ended_goes_with_its_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pod is gone before it is: there is nobody left to wait for it."""
    told, go_on, real = asyncio.Event(), asyncio.Event(), ProcessEngine.stop

    async def slow(engine: ProcessEngine, run_id: str, grace_seconds: float) -> None:
        async def later() -> None:
            await go_on.wait()
            await real(engine, run_id, grace_seconds)

        stopping.append(asyncio.create_task(later()))
        told.set()

    stopping: list[asyncio.Task[None]] = []
    async with cluster(tmp_path) as here:
        await here.run(
            "p",
            *("sh", "-c", 'while :; do mkdir -p "$$FAIRWAY_VOLUME_V/a"; done'),
            container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            volumes=[{"name": "v", "emptyDir": {}}],
        )
        await here.running("p")
        folders = tmp_path / "spaces" / "default" / "pods"
        monkeypatch.setattr(ProcessEngine, "stop", slow)
        await here.client.delete(PODS, "p", "default", AT_ONCE)
        await told.wait()
        assert here.node.cluster is not None
        assert here.node.cluster.runner is not None
        runner = here.node.cluster.runner
        await until(lambda: not runner._busy, "the pod is done with")
        await until(lambda: os.listdir(folders), "the process wrote again")
        go_on.set()
        await asyncio.gather(*stopping)
        await here.engine_is_empty()
        await until(lambda: not os.listdir(folders), "its folder is gone")


@asynchronous
async def test_news_of_a_pod_that_is_being_cleared_away_do_not_hold_up_others(tmp_path: Path) -> None:
    async with cluster(tmp_path) as here:
        await here.run("p", "sleep", "1000")
        pod = await here.running("p")
        assert here.node.cluster is not None
        assert here.node.cluster.runner is not None
        runner = here.node.cluster.runner
        await here.client.delete(PODS, "p", "default", AT_ONCE)
        await here.engine_is_empty()
        # As a probe of a container does that is ended just then.
        runner._mark(pod["metadata"]["uid"])
        await until(lambda: not runner._dirty, "it was looked at")
        await asyncio.sleep(0)
        assert not runner._busy
    end_zygote(tmp_path / "spaces" / "default" / "engine")
