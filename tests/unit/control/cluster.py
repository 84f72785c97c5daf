"""A cluster in memory: a real space with its garbage collector, the controllers under test, and a kubelet that only pretends to run pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from tests.unit.control.virtual import VirtualClock, clock

from fairway.api import bootstrap
from fairway.api.client import EVERYWHERE, Client, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.garbage import GarbageCollector
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.jobs.controller import Jobs
from fairway.control.times import render_time
from fairway.core.model import SECOND
from fairway.kinds.builtin import KINDS
from fairway.runtime.ids import SeededIds
from fairway.store import Store

JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
Json = dict[str, Any]


class Keeper(Protocol):
    def start(self) -> None: ...

    async def stop(self) -> None: ...


class Notes:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, str]] = []

    def note(self, about: Json, type: str, reason: str, message: str, component: str) -> None:
        self.all.append((about["metadata"]["name"], reason, message))

    def reasons(self, name: str) -> list[str]:
        return [reason for about, reason, _ in self.all if about == name]


class Kubelet:
    """Runs each pod for a while and ends it with the code that `code` gives; ends pods that are deleted."""

    def __init__(self, client: Client, now: VirtualClock) -> None:
        self._client = client
        self._clock = now
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None
        self.seconds = 1.0
        self.code: Callable[[Json], int] = lambda _pod: 0
        self.hold: Callable[[Json], bool] = lambda _pod: False
        """Pods that run until they are deleted."""
        self.started: list[str] = []
        self.most = 0
        self.running: set[str] = set()

    def start(self) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._follow())

    async def stop(self) -> None:
        tasks = [task for task in (self._watch, *self._tasks.values()) if task is not None]
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    async def _follow(self) -> None:
        async for event in self._client.watch(PODS):
            pod = event.item.json()
            uid, leaving = pod["metadata"]["uid"], pod["metadata"].get("deletionTimestamp")
            phase = (pod.get("status") or {}).get("phase", "Pending")
            gated = pod["spec"].get("schedulingGates")
            if event.type == "DELETED":
                self.running.discard(uid)
                task = self._tasks.pop(uid, None)
                if task is not None:
                    task.cancel()
            elif leaving and phase not in ("Succeeded", "Failed"):
                self._do(uid, self._end(pod, 143))
            elif phase == "Pending" and not gated and uid not in self._tasks:
                self._do(uid, self._run(pod))

    def _do(self, uid: str, work: Any) -> None:
        before = self._tasks.pop(uid, None)
        if before is not None:
            before.cancel()
        self._tasks[uid] = asyncio.get_running_loop().create_task(work)

    async def _run(self, pod: Json) -> None:
        self.started.append(pod["metadata"]["name"])
        self.running.add(pod["metadata"]["uid"])
        self.most = max(self.most, len(self.running))
        await self._status(pod, "Running", {"running": {"startedAt": self._now()}}, ready=True)
        await asyncio.sleep(self.seconds)
        if not self.hold(pod):
            await self._end(pod, self.code(pod))

    async def _end(self, pod: Json, code: int) -> None:
        self.running.discard(pod["metadata"]["uid"])
        state = {"terminated": {"exitCode": code, "finishedAt": self._now(), "startedAt": self._now()}}
        await self._status(pod, "Failed" if code else "Succeeded", state, ready=False)

    async def _status(self, pod: Json, phase: str, state: Json, *, ready: bool) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "image": "i",
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": self._now()}
        while True:
            try:
                fresh = (await self._client.get(PODS, name, namespace)).json()
                if fresh["metadata"]["uid"] != pod["metadata"]["uid"]:
                    return
                told = {"phase": phase, "conditions": [condition], "containerStatuses": [container]}
                fresh["status"] = {**(fresh.get("status") or {}), **told}
                await self._client.update(PODS, fresh, subresource="status")
                return
            except ApiError as error:
                if error.code == 404:
                    return
                if error.code != 409:
                    raise

    def _now(self) -> str:
        return render_time(int(self._clock.now * SECOND))


class Cluster:
    def __init__(self, *, kubelet: bool = True) -> None:
        self.clock = clock()
        self.ids = SeededIds(7)
        self.space = Space("default", Store(), KINDS, self.clock, self.ids)
        self.client = LocalClient(self.space)
        self.notes = Notes()
        self.kubelet = Kubelet(LocalClient(self.space, "kubelet"), self.clock)
        self._with_kubelet = kubelet
        self.keepers: list[Keeper] = []

    def jobs(self, client: Client | None = None) -> Jobs:
        return Jobs(client or LocalClient(self.space, "job-controller"), self.clock, self.notes, self.ids.uniform)

    async def open(self) -> None:
        await self.space.store.open()
        await bootstrap.ensure(self.space, bootstrap.namespaces())
        garbage = GarbageCollector(self.space)
        self.add(garbage)
        if self._with_kubelet:
            self.add(self.kubelet)

    def add(self, keeper: Keeper) -> None:
        keeper.start()
        self.keepers.append(keeper)

    async def close(self) -> None:
        for keeper in reversed(self.keepers):
            await keeper.stop()
        await self.space.store.close()

    async def submit(self, name: str = "j", *, restart: str = "Never", **spec: Any) -> Json:
        pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": restart}
        template = spec.pop("template", {"spec": pod})
        body = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": template, **spec},
        }
        return (await self.client.create(JOBS, body, "default")).json()

    async def job(self, name: str = "j") -> Json:
        return (await self.client.get(JOBS, name, "default")).json()

    async def pods(self, query: Query = EVERYWHERE) -> list[Json]:
        return [item.json() for item in (await self.client.list(PODS, query)).items]

    async def change(self, resource: Resource, name: str, change: Json) -> Json:
        patched = await self.client.patch(resource, name, change, "default", media="application/merge-patch+json")
        return patched.json()

    async def until(self, holds: Callable[[Json], bool], name: str = "j", resource: Resource = JOBS) -> Json:
        """The object, once it is so; time passes meanwhile."""
        for _ in range(20_000):
            obj = (await self.client.get(resource, name, "default")).json()
            if holds(obj):
                return obj
            await asyncio.sleep(0.05)
        raise AssertionError(f"{name} never became so: {obj.get('status')}")

    async def rest(self, seconds: float = 3.0) -> None:
        await asyncio.sleep(seconds)


@asynccontextmanager
async def cluster(*, jobs: bool = True, kubelet: bool = True) -> AsyncIterator[Cluster]:
    made = Cluster(kubelet=kubelet)
    await made.open()
    if jobs:
        made.add(made.jobs())
    try:
        yield made
    finally:
        await made.close()


def condition(kind: str) -> Callable[[Json], bool]:
    def holds(obj: Json) -> bool:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return any(one["type"] == kind and one["status"] == "True" for one in conditions)

    return holds


def reason(obj: Json, kind: str) -> str:
    return next((one["reason"] for one in obj["status"]["conditions"] if one["type"] == kind), "")


def name_of(item: Item) -> str:
    return item.meta.name
