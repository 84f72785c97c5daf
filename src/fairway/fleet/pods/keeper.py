"""Keeps the pods of a hub's jobs true on the hub: each is written as its cluster has it, at most a few times a second, many at once.

What is written is derived from the links' tables and the hub's own, and from nothing else: a hub that died anywhere ends with the same pods. A
pod whose output is kept stays as long as its job, whatever becomes of it on its cluster. What nobody can know now (its cluster
is out of reach) stays as it was seen last, until the job is taken from that cluster: then its run there is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from fairway.api.client import BulkResults, Client, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.adapters.names import HUB_JOB
from fairway.control.mirror import Mirror
from fairway.control.resources import WORKLOADS
from fairway.fleet.link.link import Link
from fairway.fleet.link.links import Links
from fairway.fleet.pods.bound import Bound
from fairway.fleet.pods.mirrored import CLUSTER, Owner, facts, is_over, mirrored, owner_of
from fairway.fleet.pods.saving import Saver
from fairway.fleet.resources import PODS
from fairway.runtime.archive import Archive, ArchiveError

log = logging.getLogger("fairway.fleet")
_BATCH = 500
_GATHER_S = 0.05
_EVERY_S = 0.5
"""Changes are gathered a moment before they are written, and while there are more, so long between two times, unless somebody waits."""
_RETRY_S = 1.0
_TICK_S = 0.001
_MARK = CLUSTER.encode()


class Writer(Client, Protocol):
    async def place(self, resource: Resource, bodies: Sequence[Json]) -> BulkResults: ...


class PodKeeper:
    """`start` it when the hub's mirror is true. `told` and `saved` are what dispatching asks before it goes on."""

    def __init__(
        self,
        client: Writer,
        hub: Mirror,
        links: Links,
        jobs: Sequence[Resource],
        archive: Archive,
        changed: Callable[[str], None],
    ) -> None:
        """jobs: kinds whose pods are shown. changed: told the uid of a job when more is known of its pods."""
        self._client = client
        self._hub = hub
        self._links = links
        self._jobs = [resource for resource in jobs if resource != PODS and resource in hub]
        self._archive = archive
        self._changed = changed
        self.saver = Saver(archive, changed)
        self.bound = Bound(hub[WORKLOADS], self._touch_all_of)
        self._owners: dict[str, tuple[Resource, str]] = {}
        """Jobs of the hub by their uid."""
        self._there: dict[str, dict[tuple[str, str], None]] = {}
        """Pods of each job on clusters: cluster and key."""
        self._here: dict[str, dict[str, None]] = {}
        """Pods of each job on the hub."""
        self._dirty: dict[str, None] = {}
        self._writing: dict[str, None] = {}
        self._urgent: dict[str, None] = {}
        """Those that somebody waits for."""
        self._awaited: set[str] = set()
        """Jobs whose pods are to be told of as soon as they are over."""
        self._drops: set[asyncio.Task[None]] = set()
        self._all_at = float("-inf")
        """When all that had changed was written last."""
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        links.on_new(self._on_link)
        links.on_change(self._on_link_state)
        hub[PODS].on_change(self._on_pod_here)
        for resource in self._jobs:
            hub[resource].on_change(lambda key, before, after, kind=resource: self._on_job(kind, key, before, after))  # type: ignore[misc]

    async def start(self) -> None:
        try:
            await self._archive.open()
        except ArchiveError as error:
            log.error("the output of finished pods cannot be kept, so their copies stay on their clusters: %s", error)
        self.bound.load()
        for resource in self._jobs:
            for key in self._hub[resource]:
                item = self._hub[resource].item(key)
                if item is not None:
                    self._owners[item.uid or item.meta.uid] = (resource, key)
        for key in self._hub[PODS]:
            self._on_pod_here(key, None, self._hub[PODS].item(key))
            self._touch(key)
        await self._forget_strangers()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="pods-of-clusters")
        self._wake.set()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.saver.stop()
        await asyncio.gather(*self._drops)
        await self._archive.close()

    async def _forget_strangers(self) -> None:
        """What is kept of pods that went while nobody looked."""
        known = {
            item.uid or item.meta.uid for key in self._hub[PODS] if (item := self._hub[PODS].item(key)) is not None
        }
        await self._drop([uid for uid in self._archive.owners() if uid not in known])

    async def _drop(self, uids: Sequence[str]) -> None:
        try:
            await self._archive.drop(uids)
        except ArchiveError as error:
            log.warning("what was kept of pods that are gone stays until the next start: %s", error)

    # --- what dispatching asks --------------------------------------------------------------------------------------

    def told(self, job: str, cluster: str) -> bool:
        """Whether everything that is known of the job's pods there is written here, and all of them are over."""
        for where, key in self._there.get(job, ()):
            unwritten = key in self._dirty or key in self._writing
            if where == cluster and (unwritten or not self._is_over(cluster, key)):
                self._awaited.add(job)
                if unwritten:
                    self._urgent[key] = None
                    self._wake.set()
                return False
        self._awaited.discard(job)
        return True

    def count(self, job: str, cluster: str) -> int:
        return sum(where == cluster for where, _key in self._there.get(job, ()))

    def saved(self, job: Json, cluster: str, *, finished: bool) -> bool:
        """Whether the output of all its pods there is kept, and they are seen here; sees to it if not. Nobody needs that of a job that is
        gone. finished: whether the job is over: then also pods matter of which nobody has heard yet that they are."""
        link = self._links.get(cluster)
        metadata = job["metadata"]
        if link is None or metadata.get("deletionTimestamp"):
            return True
        if job["kind"] == "Pod":
            pod = link.table(PODS).get(f"{metadata['namespace']}/{metadata['name']}")
            return pod is None or not is_over(pod) or self.saver.saved(link, pod, metadata["uid"], metadata["uid"])
        found = True
        for where, key in self._there.get(metadata["uid"], ()):
            pod = link.table(PODS).get(key) if where == cluster else None
            if pod is not None and (finished or is_over(pod)):
                found = self.saver.saved(link, pod, pod["metadata"]["uid"], metadata["uid"]) and found
                if key in self._dirty or key in self._writing:
                    self._touch(key, urgent=True)
                    found = False
        return found

    def _is_over(self, cluster: str, key: str) -> bool:
        link = self._links.get(cluster)
        item = link.table(PODS).item(key) if link is not None else None
        return item is None or facts(item.value).over

    # --- what changed -----------------------------------------------------------------------------------------------

    def _on_link(self, link: Link) -> None:
        cluster = link.name
        link.table(PODS).on_change(lambda key, before, after: self._on_pod_there(cluster, key, before, after))

    def _on_link_state(self, cluster: str) -> None:
        for job, pods in list(self._there.items()):
            gone = [each for each in pods if each[0] == cluster and self._links.get(cluster) is None]
            for each in gone:
                del pods[each]
                self._touch(each[1])
            if not pods:
                del self._there[job]
        link = self._links.get(cluster)
        if link is None or link.connected:
            for key in self._hub[PODS]:
                item = self._hub[PODS].item(key)
                if item is not None and _is_mirror(item) and facts(item.value).cluster == cluster:
                    self._touch(key)

    def _on_pod_there(self, cluster: str, key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        assert item is not None
        found = facts(item.value)
        if not found.job:
            return
        if after is not None:
            self._there.setdefault(found.job, {})[cluster, key] = None
        else:
            pods = self._there.get(found.job)
            if pods is not None and pods.pop((cluster, key), 0) is None and not pods:
                del self._there[found.job]
        self._touch(key, urgent=found.job in self._awaited)

    def _on_pod_here(self, key: str, before: Item | None, after: Item | None) -> None:
        if after is not None:
            known = facts(after.value) if _is_mirror(after) else None
            if known is not None:
                self._here.setdefault(known.job, {})[key] = None
                if known.leaving:
                    self._touch(key)
        elif before is not None:
            gone = facts(before.value)
            pods = self._here.get(gone.job)
            if pods is not None and pods.pop(key, 0) is None and not pods:
                del self._here[gone.job]
            self._touch(key)
            if self.saver.kept(gone.uid):
                task = asyncio.get_running_loop().create_task(self._drop([gone.uid]), name=f"drop-{gone.uid}")
                self._drops.add(task)
                task.add_done_callback(self._drops.discard)

    def _on_job(self, resource: Resource, key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        assert item is not None
        uid = item.uid or item.meta.uid
        if after is not None and before is None:
            self._owners[uid] = (resource, key)
        elif after is None:
            self._owners.pop(uid, None)
            self._awaited.discard(uid)
        elif not after.meta.deletion_timestamp:
            return
        self._touch_all_of(uid)

    def _touch_all_of(self, job: str) -> None:
        for key in (*(key for _cluster, key in self._there.get(job, ())), *self._here.get(job, ())):
            self._touch(key)

    def _touch(self, key: str, *, urgent: bool = False) -> None:
        self._dirty[key] = None
        if urgent:
            self._urgent[key] = None
        self.idle.clear()
        self._wake.set()

    def _lives(self, job: str) -> bool:
        return self._owner(job) is not None

    def _owner(self, job: str) -> Owner | None:
        """None for one that is gone or on its way out."""
        found = self._owners.get(job)
        item = self._hub[found[0]].item(found[1]) if found is not None else None
        if item is None or item.meta.deletion_timestamp or (item.uid or item.meta.uid) != job:
            return None
        return owner_of(item.json())

    # --- the loop ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._pause()
            try:
                await self._step()
            except Exception as error:
                if isinstance(error, ApiError):
                    log.warning("pods of clusters: %s; trying again", error.message)
                else:
                    log.exception("pods of clusters: a pass failed; trying again")
                await asyncio.sleep(_RETRY_S)

    async def _pause(self) -> None:
        """Until there is something to write, and it is time to."""
        loop = asyncio.get_running_loop()
        while not self._dirty:
            self.idle.set()
            self._wake.clear()
            await self._wake.wait()
        await asyncio.sleep(_GATHER_S)
        while not self._urgent and (left := self._all_at + _EVERY_S - loop.time()) > _TICK_S:
            self._wake.clear()
            try:
                async with asyncio.timeout(left):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _step(self) -> None:
        keys = [key for key in self._urgent if key in self._dirty]
        self._urgent.clear()
        now = asyncio.get_running_loop().time()
        if not keys or now >= self._all_at + _EVERY_S:
            keys, self._all_at = list(self._dirty), now
        self._writing = dict.fromkeys(keys[:_BATCH])
        for key in self._writing:
            del self._dirty[key]
        try:
            await self._write({key: self._look(key) for key in self._writing})
        except Exception:
            self._dirty = {**self._writing, **self._dirty}
            raise
        finally:
            self._writing = {}

    async def _write(self, wanted: dict[str, Json | Literal["remove"] | None]) -> None:
        bodies = [body for body in wanted.values() if isinstance(body, dict)]
        for result in await self._client.place(PODS, bodies) if bodies else ():
            if isinstance(result, ApiError):
                log.info("a pod of a cluster cannot be shown: %s", result.message)
            else:
                self._hub[PODS].put(result)
        for key, body in wanted.items():
            if body == "remove":
                await self._remove(key)
        self._writing = {}
        for job in dict.fromkeys(body["metadata"]["annotations"][HUB_JOB] for body in bodies):
            self._changed(job)

    def _look(self, key: str) -> Json | Literal["remove"] | None:
        """What is to be written of one pod: as it is there, or that it is gone, or nothing."""
        here = self._hub[PODS].item(key)
        known = facts(here.value) if here is not None else None
        if known is not None and not known.cluster:
            return None  # somebody else's
        there = self._find(key, known.uid if known is not None else "")
        if there is not None:
            cluster, pod, owner = there
            if known is not None and known.uid != pod["metadata"]["uid"]:
                self._touch(key)
                return "remove"
            return mirrored(pod, owner, cluster)
        if known is None:
            return None
        unknown = not self._is_known(known.cluster) and self.bound.of(known.job) == known.cluster
        stays = self._lives(known.job) and (unknown or self.saver.kept(known.uid))
        return None if stays else "remove"

    def _is_known(self, cluster: str) -> bool:
        """Whether what is known of a cluster's pods is true now."""
        link = self._links.get(cluster)
        return link.knows(PODS) if link is not None else not self._links.expects(cluster)

    def _find(self, key: str, uid: str) -> tuple[str, Json, Owner] | None:
        """The pod of that name on a cluster whose job is here: the one that was seen before, or else the youngest."""
        found: list[tuple[bool, str, str, Json, Owner]] = []
        for cluster in self._links.names():
            link = self._links.get(cluster)
            item = link.table(PODS).item(key) if link is not None else None
            job = facts(item.value).job if item is not None else ""
            owner = self._owner(job) if job else None
            if owner is not None and key.partition("/")[0] != owner.namespace:
                continue  # a pod of another namespace says so, and has no right to
            may_be = self._is_known(cluster) or self.bound.of(job) == cluster
            if item is not None and owner is not None and may_be:
                pod = item.json()
                metadata = pod["metadata"]
                found.append((metadata["uid"] == uid, metadata.get("creationTimestamp", ""), cluster, pod, owner))
        if not found:
            return None
        _same, _created, cluster, pod, owner = max(found, key=lambda each: each[:3])
        return cluster, pod, owner

    async def _remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        item = self._hub[PODS].item(key)
        if item is None:
            return
        try:
            await self._client.delete(PODS, name, namespace, Deletion(uid=item.uid or item.meta.uid, grace_seconds=0))
        except ApiError as error:
            if error.code not in (404, 409):
                raise
        self._hub[PODS].remove(item)


def _is_mirror(item: Item) -> bool:
    return _MARK in item.value
