"""The list of clusters behind a hub's default queue: those of the default pool, as they come and go.

It is an ordinary MultiKueueConfig with an annotation that says which pool it follows. Whoever wants another list takes the annotation
off; from then on it is theirs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

from fairway.api import patching
from fairway.api.client import Client, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.worker import Worker
from fairway.control.default_queue import FLEET, FOLLOWS
from fairway.control.mirror import Mirror
from fairway.control.resources import CHECKS
from fairway.fleet.joining import DEFAULT_POOL
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CONFIGS
from fairway.kinds.kueue.constants import CLUSTERS_MAX

Json = dict[str, Any]


class HomeClusters:
    """Keeps the list true."""

    def __init__(self, client: Client, uniform: Callable[[], float]) -> None:
        self._client = client
        self._mirror = Mirror(client, [CLUSTERS], uniform)
        self._worker = Worker("home-clusters", self.step)
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._mirror[CLUSTERS].on_change(self._changed)
        self._starting = asyncio.get_running_loop().create_task(self._start(), name="home-clusters-start")

    async def _start(self) -> None:
        await self._mirror.start()
        self._worker.start()

    def _changed(self, _key: str, _before: Item | None, _now: Item | None) -> None:
        self._worker.wake()

    async def stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._worker.stop()
        await self._mirror.stop()

    async def step(self) -> bool:
        table = self._mirror[CLUSTERS]
        clusters = [cluster for key in table if (cluster := table.get(key)) is not None]
        try:
            return await self._write(members(clusters))
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            return True  # Somebody was quicker; look again.

    async def _write(self, names: list[str]) -> bool:
        found = await self._find(MULTIKUEUE_CONFIGS, FLEET)
        if found is None:
            if names and await self._find(CHECKS, FLEET) is not None:
                await self._client.create(MULTIKUEUE_CONFIGS, _config(listed([], names)))
            return False
        if (found["metadata"].get("annotations") or {}).get(FOLLOWS) != DEFAULT_POOL:
            return False
        now = found["spec"]["clusters"]
        wanted = listed(now, names)
        if not wanted:
            await self._client.delete(MULTIKUEUE_CONFIGS, FLEET, how=Deletion(uid=found["metadata"]["uid"]))
        elif wanted != now:
            change = {
                "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
                "spec": {"clusters": wanted},
            }
            await self._client.patch(MULTIKUEUE_CONFIGS, FLEET, change, media=patching.MERGE_PATCH)
        return False

    async def _find(self, resource: Resource, name: str) -> Json | None:
        try:
            return (await self._client.get(resource, name)).json()
        except ApiError as error:
            if error.code == 404:
                return None
            raise


def members(clusters: Sequence[Json]) -> list[str]:
    """Those of the default pool that can be dispatched to, in the order in which people count."""
    found = [
        cluster["metadata"]["name"]
        for cluster in clusters
        if (cluster.get("spec") or {}).get("pool", DEFAULT_POOL) == DEFAULT_POOL
        and (cluster.get("spec") or {}).get("engine") != "runners"
        and not cluster["metadata"].get("deletionTimestamp")
    ]
    return sorted(
        found, key=lambda name: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
    )


def listed(now: Sequence[str], names: Sequence[str]) -> list[str]:
    """The order that is there is somebody's preference: newcomers go last."""
    kept = [name for name in now if name in names]
    return [*kept, *(name for name in names if name not in kept)][:CLUSTERS_MAX]


def _config(clusters: list[str]) -> Json:
    return {
        "metadata": {"name": FLEET, "annotations": {FOLLOWS: DEFAULT_POOL}},
        "spec": {"clusters": clusters, "quotaManagement": "Automated"},
    }
