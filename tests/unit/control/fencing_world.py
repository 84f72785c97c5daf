"""A cluster space in memory with fencing on it, and a hub's hand; time is that of a virtual loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.control import virtual

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.fencing import names
from fairway.control.fencing.fencing import Fencing
from fairway.control.resources import NAMESPACES, WORKLOADS
from fairway.engines.lease import Lease
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

LEASES = Resource("coordination.k8s.io", "v1", "leases")
JOBS = Resource("batch", "v1", "jobs")
HUB = "hub-1"
Json = dict[str, Any]


class LoopBoot:
    """A boot whose clock is the loop's."""

    def __init__(self, id: str = "boot-a", ahead: float = 1000.0) -> None:
        self.id = id
        self._ahead = ahead

    @property
    def now(self) -> float:
        return self._ahead + asyncio.get_running_loop().time()


class Papers:
    """Leases that were handed on, in memory."""

    def __init__(self) -> None:
        self.handed: dict[str, Lease] = {}
        self.history: list[Lease] = []
        self.broken = False

    def known(self) -> dict[str, Lease]:
        return dict(self.handed)

    def path(self, origin: str) -> str:
        return f"leases/{origin}"

    async def write(self, origin: str, granted: Lease) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise OSError("no space left on the device")
        self.handed[origin] = granted
        self.history.append(granted)

    def close(self) -> None:
        return None


class World:
    def __init__(self, papers: Papers | None = None, store: Store | None = None, boot: LoopBoot | None = None) -> None:
        self.clock = virtual.clock()
        self.boot = boot or LoopBoot()
        self.papers = papers or Papers()
        self.space = Space("test", store or Store(), KINDS, self.clock, SeededIds(7))
        self.client = LocalClient(self.space, "test")
        self.fencing = Fencing(self.space, LocalClient(self.space, "fencing"), self.papers, self.clock, boot=self.boot)
        self.space.objects.hooks += self.fencing.hooks

    async def open(self) -> None:
        await self.space.store.open()
        await bootstrap.ensure(self.space, bootstrap.namespaces())
        if self.space.store.latest("namespaces", f"/{names.LEASE_NAMESPACE}") is None:
            await self.client.create(NAMESPACES, {"metadata": {"name": names.LEASE_NAMESPACE}})
        self.fencing.start()

    # --- leases -------------------------------------------------------------------------------------------------------

    async def lease(self, origin: str = HUB) -> Json:
        return (await self.client.get(LEASES, names.lease_name(origin), names.LEASE_NAMESPACE)).json()

    async def renew(self, last: Json | None = None, *, seconds: int = 15, floor: int = 0, origin: str = HUB) -> Json:
        """A hub's write: of what it was given, or for the first time."""
        body: Json = last or {"metadata": {"name": names.lease_name(origin), "namespace": names.LEASE_NAMESPACE}}
        notes = {**(body["metadata"].get("annotations") or {}), names.EPOCH_FLOOR: str(floor)}
        body = {
            "metadata": {**body["metadata"], "annotations": notes},
            "spec": {"holderIdentity": origin, "leaseDurationSeconds": seconds},
        }
        made = await (self.client.update(LEASES, body) if last else self.client.create(LEASES, body))
        await self.breathe()
        return made.json()

    async def leased(self, *, seconds: int = 15, floor: int = 0) -> Json:
        """The lease, valid."""
        return await self.renew(await self.renew(seconds=seconds, floor=floor), seconds=seconds, floor=floor)

    @property
    def valid(self) -> bool:
        return self.fencing.book.term(HUB) is not None

    async def breathe(self) -> None:
        """Let everything run that needs no time to pass."""
        for _ in range(50):
            await asyncio.sleep(0)

    # --- work ---------------------------------------------------------------------------------------------------------

    async def workload(self, name: str, epoch: int | None, origin: str = HUB, **status: Any) -> Json:
        notes = {names.EPOCH: str(epoch)} if epoch is not None else {}
        body = {
            "metadata": {"name": name, "labels": {names.ORIGIN: origin}, "annotations": notes},
            "spec": {"queueName": "q", "podSets": [pod_set()]},
        }
        made = (await self.client.create(WORKLOADS, body, "default")).json()
        if status:
            made = (await self.client.update(WORKLOADS, {**made, "status": status}, subresource="status")).json()
        return made

    async def read(self, name: str) -> Json:
        return (await self.client.get(WORKLOADS, name, "default")).json()

    async def job(self, name: str, workload: str, epoch: int | None, origin: str = HUB) -> Json:
        notes = {names.EPOCH: str(epoch)} if epoch is not None else {}
        labels = {names.ORIGIN: origin, "kueue.x-k8s.io/prebuilt-workload-name": workload}
        body = {
            "metadata": {"name": name, "labels": labels, "annotations": notes},
            "spec": {"suspend": True, "template": pod_set()["template"]},
        }
        return (await self.client.create(JOBS, body, "default")).json()


def pod_set() -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}


def admitted() -> Json:
    """The status of a workload that was admitted."""
    at = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": at}
        for kind in ("QuotaReserved", "Admitted")
    ]
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}
    return {"conditions": conditions, "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}}


def condition(obj: Json, kind: str) -> Json:
    return next((one for one in obj.get("status", {}).get("conditions", ()) if one["type"] == kind), {})


@asynccontextmanager
async def world(
    papers: Papers | None = None, store: Store | None = None, boot: LoopBoot | None = None
) -> AsyncIterator[World]:
    here = World(papers, store, boot)
    await here.open()
    await here.breathe()
    try:
        yield here
    finally:
        await here.fencing.stop()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    virtual.run(scenario)


async def refused(call: Coroutine[Any, Any, Any]) -> ApiError:
    try:
        await call
    except ApiError as error:
        return error
    raise AssertionError("it was let in")
