"""A space in memory with queueing on it, a clock that stands still until it is moved, and a job controller that a test plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fairway.api import bootstrap
from fairway.api.client import Client, Query, Resource
from fairway.api.garbage import GarbageCollector
from fairway.api.local import LocalClient
from fairway.api.namespaces import NamespaceController
from fairway.api.space import Space
from fairway.control.adapters import ADAPTERS
from fairway.control.admission.queueing import AT_ONCE, Queueing
from fairway.control.configuration import Configuration
from fairway.control.in_use import InUse
from fairway.control.resources import CLUSTER_QUEUES, COHORTS, FLAVORS, LOCAL_QUEUES, NAMESPACES, WORKLOADS
from fairway.control.workloads.hook import JobHook
from fairway.kinds import builtin
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.types import format_time
from fairway.runtime.clock import moment
from fairway.runtime.ids import SeededIds
from fairway.sim import invariants
from fairway.store import Store

Json = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs")
EVENTS = Resource("", "v1", "events")
_TURNS = 40
_PATIENCE_S = 20.0


class StoppedClock:
    def __init__(self, now: float = 1_763_000_000.0) -> None:
        self.now = now
        self.monotonic = 0.0

    def move(self, seconds: float) -> None:
        self.now += seconds
        self.monotonic += max(0.0, seconds)


class Cluster:
    """Objects, queueing, and what a test does to them."""

    def __init__(self, store: Store | None = None, config: Configuration | None = None, seed: int = 1) -> None:
        self.clock = StoppedClock()
        self.ids = SeededIds(seed)
        self.config = config or Configuration()
        kinds = builtin.kinds(Gates.of(self.config.feature_gates))
        self.space = Space("test", store or Store(), kinds, self.clock, self.ids)
        self.client = LocalClient(self.space, "test")
        self.queueing: Queueing | None = None
        self.pace = AT_ONCE
        self._keepers: list[Any] = []

    async def open(self, client: Callable[[Client], Client] = lambda client: client, *, keep: bool = True) -> None:
        await self.space.store.open()
        await bootstrap.ensure(self.space, bootstrap.namespaces())
        self.space.objects.hooks.append(JobHook(self.space, self.config, ADAPTERS))
        if keep:
            namespaces = NamespaceController(self.space)
            namespaces.load()
            in_use = InUse(LocalClient(self.space, "kueue-admission"))
            self._keepers = [GarbageCollector(self.space), namespaces, in_use]
            for keeper in self._keepers:
                keeper.start()
        self.start(client)

    def start(self, client: Callable[[Client], Client] = lambda client: client) -> None:
        ours = client(LocalClient(self.space, "kueue", reports=True))
        self.queueing = Queueing(ours, self.clock, self.ids, self.config, pace=self.pace)
        self.queueing.start()

    async def close(self) -> None:
        if self.queueing is not None:
            await self.queueing.stop()
        for keeper in self._keepers:
            await keeper.stop()
        await self.space.store.close()

    async def settle(self) -> None:
        """Until nothing happens any more."""
        assert self.queueing is not None
        async with asyncio.timeout(_PATIENCE_S):
            quiet, revision = 0, -1
            while quiet < _TURNS:
                await asyncio.sleep(0)
                if self.queueing.died is not None:
                    await self.queueing.stop()
                    self.start()
                still = self.space.store.revision == revision and self.queueing.idle.is_set()
                quiet = quiet + 1 if still else 0
                revision = self.space.store.revision
        await self.check()

    async def check(self) -> None:
        """What must always hold."""
        assert self.queueing is not None
        workloads = await self.all(WORKLOADS)
        for item, seen in (view for table in self.queueing.mirror for view in table.views()):
            assert seen == item.json(), "whoever looks at what others look at too must not change it"
        for workload in workloads:
            verdict = self.queueing.life.look(workload, self.queueing.now())
            left = (verdict.status, verdict.spec, verdict.remove, verdict.said)
            assert left == (None, None, False, []), "whoever was not looked at has nothing new to say"
        live = self.queueing.observer.state
        invariants.quota_held(await self.all(CLUSTER_QUEUES), await self.all(COHORTS), workloads, live)
        invariants.admitted_once(workloads, live)

    async def move(self, seconds: float) -> None:
        assert self.queueing is not None
        self.clock.move(seconds)
        self.queueing.wake()
        await self.settle()

    # --- objects ----------------------------------------------------------------------------------------------------

    async def create(self, resource: Resource, body: Json, namespace: str = "") -> Json:
        made = (await self.client.create(resource, body, namespace)).json()
        await self.settle()
        return made

    async def get(self, resource: Resource, name: str, namespace: str = "default") -> Json:
        return (await self.client.get(resource, name, namespace)).json()

    async def all(self, resource: Resource) -> list[Json]:
        return [item.json() for item in (await self.client.list(resource, Query())).items]

    async def patch(self, resource: Resource, name: str, change: Json, namespace: str = "default") -> Json:
        media = "application/merge-patch+json"
        made = (await self.client.patch(resource, name, change, namespace, media=media)).json()
        await self.settle()
        return made

    async def workload_of(self, job: str, namespace: str = "default") -> Json:
        for workload in await self.all(WORKLOADS):
            owners = workload["metadata"].get("ownerReferences") or ()
            if workload["metadata"]["namespace"] == namespace and any(owner["name"] == job for owner in owners):
                return workload
        raise AssertionError(f"job {namespace}/{job} has no workload")

    async def queue(self, name: str = "main", cpu: str = "10", namespace: str = "default", **spec: Any) -> None:
        """A flavor, a ClusterQueue and a LocalQueue of the same name."""
        flavor = spec.pop("flavor", {})
        if not await self.all(FLAVORS):
            await self.create(FLAVORS, {"metadata": {"name": "flavor"}, "spec": flavor})
        groups = [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "flavor", "resources": [{"name": "cpu", "nominalQuota": cpu}]}],
            }
        ]
        body = {"metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec}}
        await self.create(CLUSTER_QUEUES, body)
        await self.create_tenant(name, name, namespace)

    async def create_tenant(self, name: str, queue: str, namespace: str = "default") -> None:
        body = {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": queue}}
        await self.create(LOCAL_QUEUES, body)

    async def submit(
        self, name: str, cpu: str = "1", queue: str = "main", namespace: str = "default", **more: Any
    ) -> Json:
        return await self.create(JOBS, job(name, cpu, queue, namespace, **more))

    # --- the job controller, played ---------------------------------------------------------------------------------

    async def play_jobs(self) -> None:
        """What the controller of Jobs does to their status, until there is nothing left to do."""
        while True:
            writes = 0
            for obj in await self.all(JOBS):
                status = _status_after(obj, format_time(moment(self.clock)))
                if status != obj.get("status"):
                    await self.client.update(JOBS, {**obj, "status": status}, subresource="status")
                    writes += 1
            await self.settle()
            if not writes:
                return

    async def ready(self, name: str, namespace: str = "default") -> None:
        obj = await self.get(JOBS, name, namespace)
        await self._set(obj, {**obj["status"], "ready": obj["status"].get("active", 0)})

    async def complete(self, name: str, namespace: str = "default", *, failed: bool = False) -> None:
        obj = await self.get(JOBS, name, namespace)
        now = format_time(moment(self.clock))
        status = {key: value for key, value in obj["status"].items() if key != "active"}
        status["ready"] = 0
        kinds = ("FailureTarget", "Failed") if failed else ("SuccessCriteriaMet", "Complete")
        text = "Job has reached the specified backoff limit" if failed else "Reached expected number of succeeded pods"
        reason = "BackoffLimitExceeded" if failed else "CompletionsReached"
        extra = [
            {"type": kind, "status": "True", "reason": reason, "message": text, "lastTransitionTime": now}
            for kind in kinds
        ]
        status["conditions"] = [*status.get("conditions", []), *extra]
        if not failed:
            status |= {"succeeded": obj["spec"].get("completions", 1), "completionTime": now}
        await self._set(obj, status)

    async def _set(self, obj: Json, status: Json) -> None:
        await self.client.update(JOBS, {**obj, "status": status}, subresource="status")
        await self.settle()


def job(name: str, cpu: str, queue: str, namespace: str = "default", *, pods: int = 1, **more: Any) -> Json:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    labels |= more.pop("labels", {})
    container = {"name": "c", "image": "ubuntu:22.04", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template, **more}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}


def _status_after(obj: Json, now: str) -> Json:
    status: Json = dict(obj.get("status") or {})
    conditions = [each for each in status.get("conditions") or () if each["type"] != "Suspended"]
    known = next((each for each in status.get("conditions") or () if each["type"] == "Suspended"), None)
    if any(each["type"] in ("Complete", "Failed") for each in conditions):
        return status
    if obj["spec"].get("suspend"):
        status.pop("active", None)
        wanted = {"status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    else:
        status["active"] = min(obj["spec"]["parallelism"], obj["spec"].get("completions", obj["spec"]["parallelism"]))
        status.setdefault("startTime", now)
        wanted = {"status": "False", "reason": "JobResumed", "message": "Job resumed"}
        if known is None:
            return {**status, "ready": status.get("ready", 0)}
    status.setdefault("ready", 0)
    if obj["spec"].get("suspend"):
        status["ready"] = 0
    if known is None or known["status"] != wanted["status"]:
        known = {"type": "Suspended", "lastProbeTime": now, "lastTransitionTime": now, **wanted}
    return {**status, "conditions": [known, *conditions]}


def conditions(obj: Json) -> dict[str, tuple[str, str, str]]:
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in (obj.get("status") or {}).get("conditions") or ()
    }


@asynccontextmanager
async def cluster(config: Configuration | None = None) -> AsyncIterator[Cluster]:
    made = Cluster(config=config)
    await made.open()
    try:
        await made.settle()
        yield made
    finally:
        await made.close()


__all__ = ["EVENTS", "JOBS", "NAMESPACES", "Cluster", "cluster", "conditions", "job"]
