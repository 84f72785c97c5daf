"""A cluster with a hub beside it in one process, to be killed or stopped: the hub renews its lease until a file tells it not to.

    python -m tests.integration.lease_node DATA COMMANDS LEASE_SECONDS

COMMANDS is a folder: `silent` keeps the hub from renewing, `end` ends the node in good order. `ready` appears once the node serves; `job`,
`workload` and `pods` show what became of the work, as JSON, a few times in a second.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.fencing import names
from fairway.control.pods.machine import Declared
from fairway.control.resources import WORKLOADS
from fairway.fleet.lease import Leases, Terms
from fairway.node import Node
from fairway.runtime.clock import SystemClock

JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
ORIGIN = "hub-1"
TERMS = Terms(lease_s=3, grace_s=1, margin_s=1)
Json = dict[str, Any]


def job(name: str, script: str, epoch: int | None, **spec: Any) -> Json:
    """As a hub sends it, tied to the workload of its name."""
    container = {
        "name": "c",
        "image": "i",
        "command": ["/bin/sh", "-c", script],
        "resources": {"requests": {"cpu": "1"}},
    }
    template = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}
    labels = {
        names.ORIGIN: ORIGIN,
        "kueue.x-k8s.io/prebuilt-workload-name": name,
        "kueue.x-k8s.io/queue-name": "default",
    }
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": _epoch(epoch)}
    return {"metadata": metadata, "spec": {"backoffLimit": 0, "suspend": True, "template": template, **spec}}


async def dispatch(client: LocalClient, name: str, script: str, epoch: int | None = 1, **spec: Any) -> None:
    """What a hub does: the workload, and when it is admitted its job. Without an epoch, what a stock manager does."""
    body = job(name, script, epoch, **spec)
    bare = {**body, "metadata": {"name": name, "namespace": "default"}}
    template = (await client.create(JOBS, bare, "default", dry_run=True)).json()["spec"]["template"]
    template["metadata"] = {}
    workload = {
        "metadata": {"name": name, "labels": {names.ORIGIN: ORIGIN}, "annotations": _epoch(epoch)},
        "spec": {"queueName": "default", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }
    await client.create(WORKLOADS, workload, "default")
    await until(client, WORKLOADS, name, lambda obj: holds(obj, "Admitted"))
    await client.create(JOBS, body, "default")


def _epoch(epoch: int | None) -> dict[str, str]:
    return {} if epoch is None else {names.EPOCH: str(epoch)}


def condition(obj: Json, kind: str) -> Json:
    return next((one for one in (obj.get("status") or {}).get("conditions") or () if one["type"] == kind), {})


def holds(obj: Json, kind: str) -> bool:
    return condition(obj, kind).get("status") == "True"


async def until(
    client: LocalClient, resource: Resource, name: str, test: Callable[[Json], Any], namespace: str = "default"
) -> Json:
    seen: Json = {}
    try:
        async with asyncio.timeout(60):
            async for event in client.watch(resource, Query(namespace, fields=f"metadata.name={name}")):
                seen = event.item.json()
                if event.type != "DELETED" and test(seen):
                    return seen
    except TimeoutError:
        raise AssertionError(f"waited in vain; it is {seen}") from None
    raise AssertionError("the watch ended")


async def serve(data: Path, commands: Path, terms: Terms) -> None:
    node = Node(data, machine=Declared(cpu="4", memory="1Gi", name="here"))
    await node.start()
    client = LocalClient(node.spaces[0], "hub")
    keeper = Leases(ORIGIN, SystemClock(), lambda: 1, lambda _cluster: terms).guard("c", client)
    renewing: asyncio.Task[None] | None = None
    renewed = asyncio.Event()

    def report(trouble: ApiError | None) -> None:
        if trouble is None:
            renewed.set()

    while not (commands / "end").exists():
        silent = (commands / "silent").exists()
        if silent and renewing is not None:
            renewing.cancel()
            renewing = None
        elif not silent and renewing is None:
            renewing = asyncio.get_running_loop().create_task(keeper.run(report))
        if renewed.is_set() and (commands / "script").exists():
            await dispatch(client, "work", (commands / "script").read_text())
            (commands / "script").unlink()
        await _show(client, commands)
        _put(commands / "ready", "")
        await asyncio.sleep(0.05)
    if renewing is not None:
        renewing.cancel()
    await node.stop()


async def _show(client: LocalClient, commands: Path) -> None:
    for name, resource in (("job", JOBS), ("workload", WORKLOADS)):
        try:
            _put(commands / name, json.dumps((await client.get(resource, "work", "default")).json()))
        except ApiError as error:
            if error.code != 404:
                raise
    _put(commands / "pods", json.dumps([item.json() for item in (await client.list(PODS)).items]))


def _put(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.replace(path)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), replace(TERMS, lease_s=int(sys.argv[3]))))
