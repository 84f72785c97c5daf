"""What makes a space a hub: links to clusters, and what hands workloads to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from fairway.api.client import Client, Query
from fairway.api.kubeconfig import Access
from fairway.control.adapters import ADAPTERS, JobAdapter, Json
from fairway.control.admission.queueing import Queueing
from fairway.control.apply import Note
from fairway.control.configuration import Configuration
from fairway.control.events import Recorder
from fairway.control.mirror import Joined, Mirror
from fairway.control.times import parse_duration
from fairway.core.model import SECOND, Time
from fairway.fleet.clusters.keeper import Clusters
from fairway.fleet.clusters.projection import MEMBER_CLUSTERS
from fairway.fleet.dispatch.custom import CustomKinds
from fairway.fleet.dispatch.dispatcher import PATIENCE, Dispatcher
from fairway.fleet.expiry import Expiry
from fairway.fleet.explaining import FleetExplanations
from fairway.fleet.lease import LeaseKeeper, Leases, Terms
from fairway.fleet.link.link import ANSWER_S
from fairway.fleet.link.links import Connect, Links
from fairway.fleet.pods.keeper import PodKeeper, Writer
from fairway.fleet.pods.logs import PodLogs
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS, POOLS, SECRETS
from fairway.runtime.archive import Archive, SqliteArchive
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids

log = logging.getLogger("fairway.fleet")
MANAGER = "kueue-admission"
KEEPER = "fairway-fleet"
PODS_MANAGER = "fairway-pods"
EXPIRY = "ttl-after-finished-controller"


def connect(access: Access) -> Client:
    return access.connect("fairway-hub", answer_seconds=ANSWER_S)


class Fleet:
    """`start` it after queueing: they share what they know."""

    def __init__(
        self,
        client: Callable[[str], Writer],
        queueing: Queueing,
        config: Configuration,
        origin: str,
        clock: Clock,
        ids: Ids,
        revision: Callable[[], int],
        connect: Connect = connect,
        adapters: Sequence[JobAdapter] = ADAPTERS,
        archive: Archive | None = None,
        patience: Time = PATIENCE,
    ) -> None:
        """client: one for each name under which something is written. archive: keeps the output of what has run; in memory without one.
        patience: how long the end of a job waits for its pods to be seen here as they ended."""
        enabled = [each for each in adapters if each.framework in config.integrations.frameworks]
        self._queueing = queueing
        self.origin = origin
        self.recorder = Recorder(client(MANAGER), clock)
        self.mirror = Mirror(
            client(MANAGER),
            (POOLS, CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS, MULTIKUEUE_CLUSTERS, MEMBER_CLUSTERS),
            ids.uniform,
            {SECRETS: Query(namespace=config.namespace)},
        )
        self._lost = parse_duration(config.multi_kueue.worker_lost_timeout)
        self.leases = Leases(origin, clock, revision, self._terms, self._was_fenced, self._noted_s)
        self.links = Links(
            self.mirror,
            config.namespace,
            origin,
            [each.resource for each in enabled],
            clock,
            ids.uniform,
            connect,
            self.leases.guard,
        )
        self.clusters = Clusters(
            client(KEEPER),
            Joined(queueing.mirror, self.mirror),
            self.links,
            clock,
            namespace=config.namespace,
            record=self._record,
            fenced=self._is_fenced,
            hold_s=self.leases.hold_s,
            held=lambda cluster: self.dispatcher.bound_to(cluster),
        )
        archive = archive or SqliteArchive()
        self.pods = PodKeeper(
            client(PODS_MANAGER),
            queueing.mirror,
            self.links,
            [each.resource for each in enabled],
            archive,
            self._pods_changed,
        )
        self.logs = PodLogs(self.links, archive, self.pods.bound.of)
        self.dispatcher = Dispatcher(
            client(MANAGER),
            queueing.mirror,
            self.mirror,
            self.links,
            config,
            origin,
            clock,
            self._record,
            revision,
            enabled,
            self._window,
            lambda cluster: self.leases.safe_at(cluster, self.links.now()),
            lambda: self.leases.departed(self.links.names(), self.links.now()),
            self.pods,
            patience,
        )
        self.custom = CustomKinds(client(MANAGER), config.dispatched_kinds(), ids.uniform, self.dispatcher)
        self.expiry = Expiry(client(EXPIRY), queueing.mirror, [each.resource for each in enabled], clock)
        self.explanations = FleetExplanations(queueing.explain, self.dispatcher, self.links, config.request_rules())
        self._task: asyncio.Task[None] | None = None

    def _pods_changed(self, job: str) -> None:
        self.dispatcher.touch_job(job)

    def _fencing(self, cluster: str) -> Json:
        obj = self.mirror[CLUSTERS].get(f"/{cluster}") or {}
        found: Json = (obj.get("spec") or {}).get("fencing") or {}
        return found

    def _terms(self, cluster: str) -> Terms:
        given, usual = self._fencing(cluster), Terms()
        return Terms(
            given.get("leaseSeconds", usual.lease_s),
            given.get("graceSeconds", usual.grace_s),
            given.get("marginSeconds", usual.margin_s),
        )

    def _window(self, cluster: str) -> Time:
        """How long to wait for a cluster that cannot fence itself."""
        seconds = self._fencing(cluster).get("windowSeconds")
        return self._lost if seconds is None else int(seconds) * SECOND

    def _is_fenced(self, cluster: str) -> bool | None:
        link = self.links.get(cluster)
        return link.guard.fenced if link is not None and isinstance(link.guard, LeaseKeeper) else None

    def _was_fenced(self, cluster: str) -> bool | None:
        obj = self.mirror[CLUSTERS].get(f"/{cluster}") or {}
        found: bool | None = (obj.get("status") or {}).get("fenced")
        return found

    def _noted_s(self, cluster: str) -> float:
        obj = self.mirror[CLUSTERS].get(f"/{cluster}") or {}
        return float((obj.get("status") or {}).get("holdSeconds") or 0)

    def _record(self, note: Note) -> None:
        self.recorder.note(note.about, note.type, note.reason, note.message, note.component)

    def start(self) -> None:
        self.recorder.start()
        self._task = asyncio.get_running_loop().create_task(self._begin(), name="fleet")

    async def _begin(self) -> None:
        try:
            await self._start()
        except Exception:
            log.exception("the fleet cannot begin: nothing is dispatched until the node is started again")

    async def _start(self) -> None:
        await self._queueing.known.wait()
        await self.mirror.start((CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS))
        await self.custom.start()
        await self.pods.start()
        self.links.start()
        self.clusters.start()
        self.dispatcher.start()
        self.expiry.start()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.expiry.stop()
        await self.dispatcher.stop()
        await self.custom.stop()
        await self.pods.stop()
        await self.clusters.stop()
        await self.links.stop()
        await self.mirror.stop()
        await self.recorder.stop()
