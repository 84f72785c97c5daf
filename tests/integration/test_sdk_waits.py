"""The Python client's waiting: however close to something that it asks a job ends, it is noticed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.inprocess import PATIENCE_S, job, running

import fairway
from fairway.api.client import Client, Resource
from fairway.api.local import LocalClient
from fairway.sdk.aio import AsyncClient

JOBS = Resource("batch", "v1", "jobs")
TIME = "2026-01-01T00:00:00Z"
ENDED = {
    "status": {
        "startTime": TIME,
        "completionTime": TIME,
        "succeeded": 1,
        "uncountedTerminatedPods": {},
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": TIME, "lastTransitionTime": TIME}
            for kind in ("SuccessCriteriaMet", "Complete")
        ],
    }
}


class Interrupted:
    """A client during whose nth call, before it is answered, the job ends."""

    def __init__(self, client: Client, number: int) -> None:
        self._client = client
        self._left = number

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name == "watch":
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                media = "application/merge-patch+json"
                await self._client.patch(JOBS, "j", ENDED, "default", media=media, subresource="status")
            return await method(*args, **kwargs)

        return call


@pytest.mark.parametrize("number", range(1, 8))
def test_a_job_that_ends_while_somebody_begins_to_wait_is_noticed(number: int) -> None:
    with running() as node:
        client = LocalClient(node.space, "tests")

        async def wait() -> Any:
            body = job("j")
            await client.create(JOBS, {**body, "metadata": {**body["metadata"], "namespace": "default"}})
            people = AsyncClient(client=Interrupted(client, number))  # type: ignore[arg-type]
            waiting = asyncio.ensure_future(people.until("j", "default", lambda view: view.state.final))
            await asyncio.sleep(0.1)
            if not waiting.done():  # it made fewer calls than that
                await Interrupted(client, 1).get(JOBS, "j", "default")
            async with asyncio.timeout(PATIENCE_S):
                return await waiting

        assert node.run(wait()).state.final


def test_who_waits_in_vain_is_told_what_is_left() -> None:
    with running() as node:
        client = LocalClient(node.space, "tests")

        async def wait() -> None:
            people = AsyncClient(client=client)
            for name in ("over", "left"):
                body = job(name)
                await client.create(JOBS, {**body, "metadata": {**body["metadata"], "namespace": "default"}})
            await client.patch(
                JOBS, "over", ENDED, "default", subresource="status", media="application/merge-patch+json"
            )
            with pytest.raises(TimeoutError, match=r"job left is still starting after 0\.2 s"):
                await people.job("left").wait(seconds=0.2)
            with pytest.raises(TimeoutError, match=r"1 of 2 jobs are not over after 0\.2 s"):
                await people.wait([people.job("over"), people.job("left")], seconds=0.2)

        node.run(wait())


def test_a_client_that_is_closed_says_so_and_completion_finds_what_there_is(tmp_path: Path) -> None:
    assert {"Client", "AsyncClient", "ApiError", "JobFailed", "State"} <= set(dir(fairway))
    file = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c"}))
    client = fairway.Client(kubeconfig=file)
    client.close()
    with pytest.raises(RuntimeError, match="this client is closed"):
        client.submit("true")
