"""Lets go of what nobody uses any more: a ClusterQueue or ResourceFlavor that is being deleted and is not in use.

Both carry a finalizer from birth. A ClusterQueue is in use while a Workload holds quota in it, a ResourceFlavor while a ClusterQueue or a
Cohort offers it. Looked at when one is marked for deletion, and again every moment while one waits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from fairway.api.client import Client, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.control.conditions import is_true

log = logging.getLogger("fairway.control")

FINALIZER = "kueue.x-k8s.io/resource-in-use"
_GROUP, _VERSION = "kueue.x-k8s.io", "v1beta2"
CLUSTER_QUEUES = Resource(_GROUP, _VERSION, "clusterqueues", namespaced=False)
COHORTS = Resource(_GROUP, _VERSION, "cohorts", namespaced=False)
FLAVORS = Resource(_GROUP, _VERSION, "resourceflavors", namespaced=False)
WORKLOADS = Resource(_GROUP, _VERSION, "workloads")
_RETRY_SECONDS = 1.0


class InUse:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: dict[tuple[Resource, str], None] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        for work in (self._follow(CLUSTER_QUEUES), self._follow(FLAVORS), self._release()):
            self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, resource: Resource) -> None:
        while True:
            try:
                async for event in self._client.watch(resource):
                    if event.type in ("ADDED", "MODIFIED") and _leaving(event.item):
                        self._waiting[resource, event.item.meta.name] = None
                        self._wake.set()
            except ApiError as error:
                log.warning("watching %s: %s", resource.plural, error.message)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _release(self) -> None:
        while True:
            await self._wake.wait()
            for resource, name in list(self._waiting):
                try:
                    if not await self._try(resource, name):
                        continue
                except ApiError as error:
                    if error.code != 404:
                        continue  # it changed under our hands; look again
                del self._waiting[resource, name]
            if self._waiting:
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                self._wake.clear()

    async def _try(self, resource: Resource, name: str) -> bool:
        item = await self._client.get(resource, name)
        if not _leaving(item):
            return True
        if await (self._queue_used(name) if resource is CLUSTER_QUEUES else self._flavor_used(name)):
            return False
        obj = item.json()
        left = [finalizer for finalizer in obj["metadata"]["finalizers"] if finalizer != FINALIZER]
        await self._client.update(resource, {**obj, "metadata": {**obj["metadata"], "finalizers": left}})
        return True

    async def _queue_used(self, name: str) -> bool:
        """A finished Workload still says where it ran, but holds nothing there."""
        query = Query(fields=f"status.admission.clusterQueue={name}")
        found = (await self._client.list(WORKLOADS, query)).items
        return any(not is_true(item.json(), "Finished") for item in found)

    async def _flavor_used(self, name: str) -> bool:
        for resource in (CLUSTER_QUEUES, COHORTS):
            for item in (await self._client.list(resource)).items:
                if name in _flavors(item.json()):
                    return True
        return False


def _leaving(item: Item) -> bool:
    meta = item.meta
    return bool(meta.deletion_timestamp) and FINALIZER in meta.finalizers


def _flavors(queue: dict[str, Any]) -> set[str]:
    return {
        flavor["name"]
        for group in queue.get("spec", {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
    }
