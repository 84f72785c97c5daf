"""A whole node without its HTTP face that takes one job from submission to its end, and another until it is deleted; to be killed at a given step.

A step is the n-th write of the node's store since the job was submitted (`before-write:3`, `after-write:3`), or a fault point of the engine.
What ran is told by the jobs themselves, in files outside the node.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.control.resources import CLUSTER_QUEUES, PODS, WORKLOADS
from fairway.engines import machine
from fairway.node import Node
from fairway.store.log import Batch
from fairway.store.sqlite import SqliteLog

Json = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs")
_LOOK_S = 0.02


def run(folder: Path, step: str) -> None:
    """One life; leaves `report.json` in the folder if it comes to its end. A step kills it once in all its lives."""
    logging.basicConfig(filename=folder / "node.log", level=logging.WARNING)
    if step and not step.partition("-")[2].startswith("write:"):
        os.environ["FAIRWAY_FAULT"] = f"{step}:{folder / 'fault'}"
        machine.arm()
        step = ""
    asyncio.run(_Life(folder, step).live())


def fatal(step: str, marker: Path) -> Any:
    """From here on the store's writes are counted, and one of them is the last."""
    when, _, number = step.partition("-write:")
    real, count = SqliteLog.write, itertools.count(1)

    def write(log: SqliteLog, batch: Batch) -> None:
        last = step and not marker.exists() and next(count) == int(number)
        if not last or when == "after":
            real(log, batch)
        if last:
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return mock.patch.object(SqliteLog, "write", write)


class _Life:
    def __init__(self, folder: Path, step: str) -> None:
        self._folder = folder
        self._step = step
        self._node = Node(folder / "data", machine=Declared(cpu="4", memory="1Gi"))
        self._client = LocalClient(self._node.spaces[0], "test")
        self._report: Json = {}

    async def live(self) -> None:
        await self._node.start()
        with fatal(self._step, self._folder / "fault"):
            if not self._is_marked("short-deleted"):
                await self._submit("short", f"echo $$POD >> {self._folder}/ran-short; exit 3")
                await self._until(self._over, "short")
                self._report["short"] = await self._status("short")
                (self._folder / "short.json").write_text(json.dumps(self._report["short"]))
                self._mark("short-deleted")
            await self._delete("short")
            if not self._is_marked("long-deleted"):
                await self._submit("long", f"echo $$POD >> {self._folder}/ran-long; sleep 300")
                await self._until(self._started, "long")
                self._mark("long-deleted")
            await self._delete("long")
            await self._until(self._clean, "")
        (self._folder / "report.json").write_text((self._folder / "short.json").read_text())
        await self._node.stop()

    def _mark(self, name: str) -> None:
        (self._folder / name).touch()

    def _is_marked(self, name: str) -> bool:
        return (self._folder / name).exists()

    async def _until(self, holds: Callable[[str], Awaitable[bool]], name: str) -> None:
        while not await holds(name):  # noqa: ASYNC110 - some of it is told by files
            await asyncio.sleep(_LOOK_S)

    async def _submit(self, name: str, script: str) -> None:
        container = {
            "name": "c",
            "image": "any",
            "command": ["/bin/sh", "-c", script],
            "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
            "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "64Mi"}},
        }
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
        metadata = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "default"}}
        try:
            spec = {"backoffLimit": 0, "template": {"spec": pod}}
            await self._client.create(JOBS, {"metadata": metadata, "spec": spec}, "default")
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(JOBS, name, "default")
        except ApiError as error:
            if error.code != 404:
                raise

    async def _status(self, name: str) -> Json:
        status: Json = (await self._client.get(JOBS, name, "default")).json().get("status") or {}
        return status

    async def _over(self, name: str) -> bool:
        workloads = [item.json() for item in (await self._client.list(WORKLOADS)).items]
        return _is(await self._status(name), "Failed") and all(_is(each["status"], "Finished") for each in workloads)

    async def _started(self, name: str) -> bool:
        return self._is_marked(f"ran-{name}") or _is(await self._status(name), "Failed")

    async def _clean(self, _name: str) -> bool:
        left = [item for resource in (JOBS, PODS, WORKLOADS) for item in (await self._client.list(resource)).items]
        (queue,) = (await self._client.list(CLUSTER_QUEUES)).items
        used = [each["total"] for each in queue.json()["status"]["flavorsReservation"][0]["resources"]]
        assert self._node.cluster is not None
        return not left and set(used) == {"0"} and not await self._node.cluster.engine.list()


def _is(status: Json, kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in status.get("conditions") or ())
