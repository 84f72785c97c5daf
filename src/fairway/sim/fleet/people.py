"""What people do: submit, cancel, hold and promote jobs, stop queues, drain, remove and rejoin clusters; again and again until somebody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairway.api import patching
from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.control.resources import CLUSTER_QUEUES, WORKLOADS
from fairway.fleet import access, joining
from fairway.fleet.resources import CLUSTER_SELECTOR, CLUSTERS, SECRETS
from fairway.sim.fleet.golden import PRIORITIES, SIZES, join
from fairway.sim.fleet.machine import PAYLOAD
from fairway.sim.fleet.node import HUB
from fairway.sim.fleet.plan import Plan, pick
from fairway.sim.fleet.world import World

JOBS = Resource("batch", "v1", "jobs")
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
Json = dict[str, Any]
_RETRY_S = 1.0
_NO_ANSWER = (0, 409, 429, 500, 503, 504)


class People:
    def __init__(self, world: World, plan: Plan) -> None:
        self._world = world
        self._plan = plan
        self._chance = world.chance("people")
        self._target = HUB if plan.hub else next(iter(world.nodes))
        self._client: Client = world.client("user", self._target)
        self._clusters = [name for name in world.nodes if name != HUB]
        self._busy: dict[str, None] = {}
        """Clusters that somebody works on."""

    async def live(self) -> None:
        """Until everything is done that was begun, and nothing is left held, stopped or removed."""
        chance, plan = self._chance, self._plan
        moments = sorted(chance.between(0.0, plan.submit_s) for _ in range(plan.jobs))
        async with asyncio.TaskGroup() as group:
            for index, moment in enumerate(moments):
                group.create_task(self._submit(moment, self._job(f"job-{index + 1}")))
            until = self._world.loop.time() + plan.rage_s
            while self._world.loop.time() < until:
                await asyncio.sleep(chance.between(0.0, 2 * plan.habits.every_s))
                name = pick(plan.habits, chance)
                if name:
                    self._world.chronicle.counts[f"people {name}"] += 1
                    group.create_task(getattr(self, f"_{name}")())

    async def tidy(self) -> None:
        """Requests that were long on their way, or came twice, may have undone what was done last: somebody looks, and puts it right."""
        for name in self._clusters if self._plan.hub else ():
            await self._patch(CLUSTERS, name, {"spec": {"state": "Active"}})
        for where in self._world.nodes:
            client = self._world.client("user", where)
            await self._patch(CLUSTER_QUEUES, "default", {"spec": {"stopPolicy": "None"}}, client=client)
        listing = await self._persist("workloads are listed", lambda: self._client.list(WORKLOADS))
        for item in listing.items if listing is not None else ():
            if item.json()["spec"].get("active") is False:
                await self._patch(WORKLOADS, item.json()["metadata"]["name"], {"spec": {"active": True}}, "default")

    # --- jobs ---------------------------------------------------------------------------------------------------------

    async def _submit(self, moment: float, job: Json) -> None:
        await asyncio.sleep(moment)
        name = job["metadata"]["name"]
        while True:
            try:
                await self._client.create(JOBS, job, "default")
                break
            except ApiError as error:
                if error.reason == "AlreadyExists":
                    break  # an earlier try got through, and its answer did not
                await self._pause(f"{name} is submitted", error)
        self._world.acknowledged[self._target][f"default/{name}"] = None
        self._world.chronicle.note("user", f"{name} is acknowledged by {self._target}")

    def _job(self, name: str) -> Json:
        chance = self._chance
        seconds = chance.between(0.5, self._plan.longest_s) if chance.below(3) else chance.between(0.01, 1.0)
        failures = chance.below(3) if chance.below(5) == 0 else 0
        pods = 2 + chance.below(2) if chance.below(4) == 0 else 1
        cpus = 1 + chance.below(4 if pods == 1 else 2)
        container = {
            "name": "main",
            "image": "none",
            "command": [PAYLOAD, name, f"{seconds:.3f}", str(failures), str(cpus)],
            "resources": {"requests": {"cpu": str(cpus), "memory": "1Gi"}},
        }
        labels, notes = {QUEUE: "default"}, {}
        if chance.below(2):
            labels[PRIORITY] = list(PRIORITIES)[chance.below(len(PRIORITIES))]
        if self._plan.hub and chance.below(8) == 0:
            notes[CLUSTER_SELECTOR] = f"name={self._clusters[chance.below(len(self._clusters))]}"
        if pods * cpus > min(SIZES):
            notes.clear()  # it may not fit there
        several = {"completionMode": "Indexed", "completions": pods, "parallelism": pods} if pods > 1 else {}
        pod = {"restartPolicy": "Never", "containers": [container]}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
            "spec": {"backoffLimit": 20, "template": {"spec": pod}, **several},
        }

    def _some_job(self) -> str:
        """The key of one that was acknowledged; empty if there is none."""
        known = list(self._world.acknowledged[self._target])
        return known[self._chance.below(len(known))] if known else ""

    async def _cancel(self) -> None:
        key = self._some_job()
        if not key:
            return
        name = key.partition("/")[2]
        self._note(f"cancels {name}")
        del self._world.acknowledged[self._target][key]
        self._world.cancelled[name] = None
        await self._persist(f"{name} is cancelled", lambda: self._client.delete(JOBS, name, "default"))

    async def _hold(self) -> None:
        name = self._some_job().partition("/")[2]
        workload = await self._workload_of(name) if name else ""
        if workload:
            for active in (False, True):
                self._note(f"{'releases' if active else 'holds'} {name}")
                await self._patch(WORKLOADS, workload, {"spec": {"active": active}}, "default")
                if not active:
                    await asyncio.sleep(self._long())

    async def _workload_of(self, job: str) -> str:
        listing = await self._persist("workloads are listed", lambda: self._client.list(WORKLOADS))
        for item in listing.items if listing is not None else ():
            metadata = item.json()["metadata"]
            if any(owner["name"] == job for owner in metadata.get("ownerReferences") or ()):
                return str(metadata["name"])
        return ""

    async def _promote(self) -> None:
        name = self._some_job().partition("/")[2]
        priority = list(PRIORITIES)[self._chance.below(len(PRIORITIES))]
        if name:
            self._note(f"makes the priority of {name} {priority}")
            await self._patch(JOBS, name, {"metadata": {"labels": {PRIORITY: priority}}}, "default")

    # --- queues and clusters ------------------------------------------------------------------------------------------

    async def _stop_queue(self) -> None:
        names = list(self._world.nodes)
        where = names[self._chance.below(len(names))]
        how = ("Hold", "HoldAndDrain")[self._chance.below(2)]
        client = self._world.client("user", where)
        for policy in (how, "None"):
            self._note(f"sets the queue of {where} to {policy}")
            await self._patch(CLUSTER_QUEUES, "default", {"spec": {"stopPolicy": policy}}, client=client)
            if policy != "None":
                await asyncio.sleep(self._long())

    async def _drain(self) -> None:
        name = self._take_cluster()
        if name:
            for state in ("Draining", "Active"):
                self._note(f"makes {name} {state}")
                await self._patch(CLUSTERS, name, {"spec": {"state": state}})
                if state == "Draining":
                    await asyncio.sleep(self._long())
            del self._busy[name]

    async def _remove(self) -> None:
        """As `fairway cluster rm --force`, and then `cluster join`."""
        name = self._take_cluster()
        if not name:
            return
        self._note(f"removes {name}")
        await self._patch(CLUSTERS, name, {"spec": {"state": "Draining"}})
        await self._persist(f"{name} is removed", lambda: self._client.delete(CLUSTERS, name))
        secret = joining.secret_name(name)
        await self._persist("its way", lambda: self._client.delete(SECRETS, secret, access.NAMESPACE))
        await asyncio.sleep(self._long())
        self._note(f"joins {name} again")
        await self._persist(f"{name} is joined", lambda: join(self._world, name))
        del self._busy[name]

    async def _rotate(self) -> None:
        name = self._take_cluster()
        if name:
            self._note(f"renews the hub's token on {name}")
            await self._persist(f"the token of {name} is renewed", lambda: join(self._world, name))
            del self._busy[name]

    def _take_cluster(self) -> str:
        free = [name for name in self._clusters if name not in self._busy]
        if not free or not self._plan.hub:
            return ""
        name = free[self._chance.below(len(free))]
        self._busy[name] = None
        return name

    # --- how ----------------------------------------------------------------------------------------------------------

    async def _patch(
        self, resource: Resource, name: str, change: Json, namespace: str = "", client: Client | None = None
    ) -> None:
        to, media = client or self._client, patching.MERGE_PATCH
        await self._persist(
            f"{resource.plural} {name} is changed",
            lambda: to.patch(resource, name, change, namespace, media=media),
        )

    async def _persist(self, what: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Until somebody answers: what it says, or None where there is no such thing (any more)."""
        while True:
            try:
                return await work()
            except ApiError as error:
                if error.code == 404:
                    return None
                await self._pause(what, error)

    async def _pause(self, what: str, error: ApiError) -> None:
        if error.code not in _NO_ANSWER:
            self._world.chronicle.breaks("no-errors", f"{what}: {error.code} {error.message}")
        await asyncio.sleep(_RETRY_S)

    def _note(self, what: str) -> None:
        self._world.chronicle.note("user", what)

    def _long(self) -> float:
        return self._chance.between(*((0.1, 3.0), (2.0, 20.0), (10.0, 60.0))[self._chance.below(3)])
