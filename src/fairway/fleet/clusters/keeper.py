"""Keeps a hub's Clusters and Pools true: watches them and their links, asks the deciding functions, and writes what they say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from fairway.api.client import Client, Item, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.apply import Applier, Note, Write
from fairway.control.conditions import find_condition, set_condition, with_own_status
from fairway.control.mirror import Tables
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, NAMESPACES
from fairway.control.times import render_time
from fairway.core.model import SECOND, Time
from fairway.fleet.clusters import connection, health, member, pools, projection
from fairway.fleet.clusters.checking import Checking
from fairway.fleet.clusters.ports import Link, Links
from fairway.fleet.clusters.probes import Probes
from fairway.fleet.clusters.projection import MEMBER_CLUSTERS
from fairway.fleet.clusters.sight import Sights
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS, NODES, POOLS
from fairway.kinds.own.pool import DEFAULT_POOL
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.fleet")
WATCHED = (
    POOLS,
    CLUSTERS,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    MEMBER_CLUSTERS,
    CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
)
"""What the mirror has to know."""
COMPONENT = "fairway-fleet"
LOOK_SECONDS = 5.0
"""How often a cluster is looked at while only its usage changes."""
_RETRY_SECONDS = 1.0
_LONGEST_NAP = 60.0
_NOBODY: Json = {"metadata": {"name": ""}, "spec": {}}


class Clusters:
    """`start` it once the mirror is true. `eligible` and `refusal` answer at any time."""

    def __init__(
        self,
        client: Client,
        mirror: Tables,
        links: Links,
        clock: Clock,
        *,
        namespace: str,
        record: Callable[[Note], None],
        fenced: Callable[[str], bool | None] = lambda _name: None,
        hold_s: Callable[[str], int | None] = lambda _name: None,
        held: Callable[[str], Sequence[Json]] = lambda _name: (),
    ) -> None:
        """namespace: of kubeconfigs here, and of what a cluster says about itself there. fenced: whether a cluster ends leased work by
        itself, if that is known. hold_s: how long to wait for what a lost one runs, to be noted for a later life of the hub. held: workloads here that are bound to a cluster."""
        self._client = client
        self._namespace = namespace
        self._mirror = mirror
        self._links = links
        self._clock = clock
        self._fenced = fenced
        self._hold_s = hold_s
        self._applier = Applier(client, mirror, record)
        self._probes = Probes(links, namespace, clock, self._touch)
        self._sights = Sights(mirror, links)
        self._checking = Checking(mirror, links, self.pool_of, held, self.wake)
        self._judged: dict[str, tuple[Json, health.Judgement]] = {}
        self._touched: dict[str, None] = {}
        self._used: dict[str, None] = {}
        """Clusters of which only the usage changed."""
        self._looked: dict[str, float] = {}
        self._pools_due = True
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._listen()

    def start(self) -> None:
        self._look_at_everything()
        self._probes.start()
        self._checking.started = self._clock.monotonic
        self._task = asyncio.get_running_loop().create_task(self._run(), name="clusters")

    async def stop(self) -> None:
        await self._probes.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    # --- what others ask ----------------------------------------------------------------------------------------------

    def pool_of(self, name: str) -> str:
        return pools.pool_of(self._judge(name)[0])

    def eligible(self, name: str, pool: str = "") -> bool:
        """Whether a cluster may get new work: of a queue of that pool, if one is named."""
        return not self.refusal(name, pool)

    def refusal(self, name: str, pool: str = "") -> str:
        """Why it may not; empty if it may."""
        return health.refusal(*self._judge(name), pool)

    def _judge(self, name: str) -> tuple[Json, health.Judgement]:
        known = self._judged.get(name)
        if known is None:
            cluster = self._mirror[CLUSTERS].get(f"/{name}") or _NOBODY
            pool = self._mirror[POOLS].get(f"/{pools.pool_of(cluster)}")
            judgement = health.judge(cluster, pool, self._links.get(name), self._probes.get(name), self._now())
            known = self._judged[name] = (cluster, judgement)
        return known

    # --- what changed -------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        mirror = self._mirror
        for resource in (CLUSTERS, MULTIKUEUE_CLUSTERS, MEMBER_CLUSTERS):
            mirror[resource].on_change(self._on_ours)
        mirror[MULTIKUEUE_CLUSTERS].on_change(lambda _key, _before, _after: self._on_active())
        mirror[POOLS].on_change(lambda _key, _before, _after: self._on_pool())
        for resource in (CHECKS, MULTIKUEUE_CONFIGS, CLUSTER_QUEUES, LOCAL_QUEUES):
            mirror[resource].on_change(self._on_queues)
        self._links.on_change(self._on_state)
        self._links.on_new(self._on_link)

    def _on_ours(self, key: str, before: Item | None, after: Item | None) -> None:
        if _is_spec_change(before, after):
            self._pools_due = True
            self._checking.touch()
            self._touch(key.partition("/")[2])

    def _on_active(self) -> None:
        self._checking.checks_due = True
        self.wake()

    def _on_state(self, name: str) -> None:
        self._checking.quota_due = True
        self._touch(name)

    def _on_pool(self) -> None:
        for key in self._mirror[CLUSTERS]:
            self._touch(key.partition("/")[2])
        self._pools_due = True
        self.wake()

    def _on_queues(self, _key: str, before: Item | None, after: Item | None) -> None:
        if not _is_spec_change(before, after):
            return
        self._checking.touch()
        for key in self._mirror[CLUSTERS]:
            self._used[key.partition("/")[2]] = None
        self.wake()

    def _on_link(self, link: Link) -> None:
        for resource in (CLUSTER_QUEUES, LOCAL_QUEUES, NODES):
            link.table(resource).on_change(self._on_remote(link.name, is_queue=resource is not NODES))

    def _on_remote(self, name: str, *, is_queue: bool) -> Callable[[str, Item | None, Item | None], None]:
        def changed(_key: str, before: Item | None, after: Item | None) -> None:
            if _is_spec_change(before, after):
                self._checking.quota_due = self._checking.quota_due or is_queue
                self._touch(name)
            elif name not in self._used:
                self._used[name] = None
                self.wake()

        return changed

    def _touch(self, name: str) -> None:
        """The cluster is to be looked at, whatever it is that changed."""
        self._judged.pop(name, None)
        self._touched[name] = None
        self.wake()

    def _look_at_everything(self) -> None:
        names = {
            key.partition("/")[2] for resource in (CLUSTERS, MULTIKUEUE_CLUSTERS) for key in self._mirror[resource]
        }
        self._judged.clear()
        self._touched.update(dict.fromkeys(sorted(names)))
        self._pools_due = True
        self._checking.touch()
        self.wake()

    def wake(self) -> None:
        self.idle.clear()
        self._wake.set()

    # --- the loop -----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        await self._begin()
        while True:
            try:
                async with asyncio.timeout(self._nap()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            # What happened at the same time is looked at together.
            await asyncio.sleep(0)
            self._wake.clear()
            try:
                await self.step()
                if not self._wake.is_set():
                    self.idle.set()
            except ApiError as error:
                log.warning("clusters: %s; trying again", error.message)
                await asyncio.sleep(_RETRY_SECONDS)
                self._look_at_everything()
            except Exception:
                log.exception("clusters: a pass failed; trying again")
                await asyncio.sleep(_RETRY_SECONDS)
                self._look_at_everything()

    async def _begin(self) -> None:
        """Every hub has the default pool, and a namespace for kubeconfigs."""
        for resource, kind, name in ((POOLS, "Pool", DEFAULT_POOL), (NAMESPACES, "Namespace", self._namespace)):
            body = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name}}
            while True:
                try:
                    await self._client.create(resource, body)
                except ApiError as error:
                    if error.code != 409:
                        log.warning("clusters: %s %s cannot be made: %s; trying again", kind, name, error.message)
                        await asyncio.sleep(_RETRY_SECONDS)
                        continue
                break

    def _nap(self) -> float:
        naps = [_LONGEST_NAP]
        if self._used:
            now = self._clock.monotonic
            naps.append(min(max(self._look_at(name) - now, 0.0) for name in self._used))
        if self._checking.postponed:
            naps.append(_RETRY_SECONDS)
        return min(naps)

    async def step(self) -> None:
        """One pass: objects that others know the clusters by first, what is said about them afterwards."""
        now = self._now()
        names, self._touched = list(self._touched), {}
        await self._apply([write for name in names for write in self._projections(name)])
        writes = [write for name in names for write in self._connection(name, now)]
        writes += self._checking.writes(now, self._clock.monotonic)
        writes += [write for name in [*names, *self._usage_due(names)] for write in self._status(name, now)]
        writes += self._pools(now)
        await self._apply(writes)

    async def _apply(self, writes: list[Write]) -> None:
        if writes:
            await self._applier.apply(writes)
            if self._applier.trouble is not None:
                raise self._applier.trouble

    def _usage_due(self, already: Iterable[str]) -> list[str]:
        now = self._clock.monotonic
        for name in already:
            self._used.pop(name, None)
        due = [name for name in self._used if self._look_at(name) <= now]
        for name in due:
            del self._used[name]
        return due

    def _look_at(self, name: str) -> float:
        """When a cluster is due of which only the usage changed. One sum for all: another one, rounded otherwise, would never be due."""
        return self._looked.get(name, float("-inf")) + LOOK_SECONDS

    def _now(self) -> Time:
        return int(self._clock.now * SECOND)

    # --- writes -------------------------------------------------------------------------------------------------------

    def _projections(self, name: str) -> list[Write]:
        key = f"/{name}"
        tables = (self._mirror[resource].get(key) for resource in (CLUSTERS, MULTIKUEUE_CLUSTERS, MEMBER_CLUSTERS))
        return [self._again(write, name) for write in projection.writes(name, *tables)]

    def _connection(self, name: str, now: Time) -> list[Write]:
        obj, link = self._mirror[MULTIKUEUE_CLUSTERS].get(f"/{name}"), self._links.get(name)
        if obj is None or link is None:
            return []
        if connection.is_being_tried(link) and find_condition(obj, "Active") is None:
            return []
        changed = with_own_status(obj)
        said = connection.active(link)
        generation = int(obj["metadata"].get("generation") or 0)
        if not set_condition(changed, "Active", *said, render_time(now), generation):
            return []
        return [self._again(Write("updateStatus", MULTIKUEUE_CLUSTERS, changed), name)]

    def _status(self, name: str, now: Time) -> list[Write]:
        self._looked[name] = self._clock.monotonic
        cluster = self._mirror[CLUSTERS].get(f"/{name}")
        if cluster is None:
            self._looked.pop(name, None)
            return []
        _, judgement = self._judge(name)
        link = self._links.get(name)
        sight = self._sights.of(link) if link is not None and link.connected else None
        made = health.with_status(cluster, judgement, self._probes.get(name), sight, self._fenced(name), now)
        hold_s = self._hold_s(name)
        if hold_s is not None:
            made["status"]["holdSeconds"] = hold_s
        found: list[Write] = []
        if made["status"] != (cluster.get("status") or {}):
            found.append(self._again(Write("updateStatus", CLUSTERS, made, _notes(cluster, judgement)), name))
        twin = self._mirror[MEMBER_CLUSTERS].get(f"/{name}")
        if twin is not None and projection.is_owned(twin, cluster):
            told = member.with_status(twin, made, render_time(now))
            if told["status"] != (twin.get("status") or {}):
                found.append(self._again(Write("updateStatus", MEMBER_CLUSTERS, told), name))
        return found

    def _pools(self, now: Time) -> list[Write]:
        if not self._pools_due:
            return []
        self._pools_due = False
        members = pools.members(self._all(CLUSTERS))
        found: list[Write] = []
        for pool in self._all(POOLS):
            changed = with_own_status(pool)
            names = members.get(pool["metadata"]["name"], [])
            changed["status"]["clusters"] = names
            generation = int(pool["metadata"].get("generation") or 0)
            said = (
                ("True", "Ready", f"{len(names)} clusters")
                if names
                else ("False", "NoClusters", "it has no clusters yet")
            )
            set_condition(changed, "Ready", *said, render_time(now), generation)
            if changed["status"] != (pool.get("status") or {}):
                found.append(Write("updateStatus", POOLS, changed, failed=lambda _error: self._on_pool()))
        return found

    def _again(self, write: Write, name: str) -> Write:
        def failed(error: ApiError) -> None:
            if error.code == 409:
                self._touch(name)

        write.failed = failed
        return write

    def _all(self, resource: Resource) -> list[Json]:
        table = self._mirror[resource]
        found = (table.get(key) for key in sorted(table))
        return [obj for obj in found if obj is not None]


def _notes(cluster: Json, judgement: health.Judgement) -> list[Note]:
    before = (cluster.get("status") or {}).get("health", "Unknown")
    if before == judgement.health or judgement.health == "Unknown":
        return []
    if judgement.health == "Healthy":
        return [Note(cluster, "Normal", "ClusterHealthy", "it may get new work", COMPONENT)]
    return [Note(cluster, "Warning", "ClusterUnhealthy", "; ".join(judgement.reasons), COMPONENT)]


def _is_spec_change(before: Item | None, after: Item | None) -> bool:
    """Came, went, or means something else now; not merely another status."""
    if before is None or after is None:
        return True
    old, new = before.meta, after.meta
    return (old.uid, old.generation, old.deletion_timestamp) != (new.uid, new.generation, new.deletion_timestamp) or (
        _marks(before) != _marks(after)
    )


def _marks(item: Item) -> tuple[Json, Json]:
    metadata = item.json()["metadata"]
    return metadata.get("labels") or {}, metadata.get("annotations") or {}
