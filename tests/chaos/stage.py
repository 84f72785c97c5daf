"""The stage of these tests: a hub and two clusters with a bad network between, jobs that keep a diary, and what must be true in the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fairway.api.client import Deletion, Query, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters.names import MULTIKUEUE_ORIGIN
from fairway.control.conditions import find_condition, is_true
from fairway.control.resources import CLUSTER_QUEUES, PODS, WORKLOADS
from fairway.fleet import joining
from fairway.fleet.lease import Terms
from fairway.fleet.resources import CLUSTER_SELECTOR, CLUSTERS
from tests.chaos import nodes
from tests.chaos.nodes import NodeProcess
from tests.chaos.proxy import Passing, Proxy

T = TypeVar("T")
Json = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs")
PAYLOAD = Path(__file__).with_name("payload.py")
PATIENCE_S = 60.0
_LOOK_S = 0.05


class Entry(NamedTuple):
    """A line of the diary."""

    word: str
    """start, end, or double: another one of the same job was alive."""
    job: str
    pid: int
    pod: str
    at: float


@dataclass(slots=True)
class Held:
    """A message that waits at a point of a job's life until the test lets it pass."""

    passing: Passing
    go_on: asyncio.Event


class Stage:
    """Lives in a loop of its own, so that one stage serves many tests; `run` takes a test there."""

    def __init__(self, folder: Path, terms: Terms, cpus: tuple[int, ...] = (2, 2)) -> None:
        self.folder = folder
        self.terms = terms
        self.hub = nodes.hub(folder / "hub")
        names = [f"cluster-{number}" for number in range(1, len(cpus) + 1)]
        self.clusters = {name: nodes.cluster(name, folder / name, cpu) for name, cpu in zip(names, cpus, strict=True)}
        self.proxies = {name: Proxy(name, node.port) for name, node in self.clusters.items()}
        self.broken = False
        self._count = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stage", daemon=True)
        self._thread.start()

    def run(self, test: Coroutine[Any, Any, T], seconds: float = 2 * PATIENCE_S) -> T:
        async def limited() -> T:
            async with asyncio.timeout(seconds):
                return await test

        return asyncio.run_coroutine_threadsafe(limited(), self._loop).result()

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """A test that fails leaves a stage behind on which nothing is as it should be."""
        try:
            yield
        except BaseException:
            self.broken = True
            raise

    # --- begin and end ----------------------------------------------------------------------------------------------

    async def open(self) -> None:
        everyone = (self.hub, *self.clusters.values())
        await asyncio.gather(*(each.start() for each in everyone), *(each.start() for each in self.proxies.values()))
        for name in self.clusters:
            await self.join(name)
        for name in self.clusters:
            await self.until(lambda name=name: self.is_healthy(name), f"{name} is healthy")

    async def join(self, name: str) -> None:
        """With a new token; done again, the one before is revoked."""
        node, hub = self.clusters[name], self.hub.client
        described = joining.Joining(name, identity=await joining.identity(node.client))
        fencing = {
            "leaseSeconds": self.terms.lease_s,
            "graceSeconds": self.terms.grace_s,
            "marginSeconds": int(self.terms.margin_s),
        }
        connection = {"kubeconfig": {"secretName": joining.secret_name(name)}}
        body = {"metadata": {"name": name}, "spec": {"connection": connection, "fencing": fencing}}
        with contextlib.suppress(ApiError):
            await hub.create(CLUSTERS, body)
        way = joining.Way(f"http://127.0.0.1:{self.proxies[name].port}")
        await joining.join(hub, node.client, described, way)

    async def is_healthy(self, name: str) -> bool:
        found = (await self.hub.client.get(CLUSTERS, name)).json()
        return bool((found.get("status") or {}).get("health") == "Healthy")

    def close(self) -> None:
        async def close() -> None:
            await asyncio.gather(*(each.close() for each in (self.hub, *self.clusters.values())))
            await asyncio.gather(*(each.stop() for each in self.proxies.values()))

        self.run(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # --- jobs -------------------------------------------------------------------------------------------------------

    async def submit(self, seconds: float = -1, *options: str, on: str = "", name: str = "") -> str:
        """A job that runs for so long, or until `let_end`; on a certain cluster, if one is named. Not one failure is allowed to it."""
        self._count += 1
        name = name or f"job-{self._count}"
        command = [sys.executable, "-I", "-S", str(PAYLOAD), str(self.folder), name, str(seconds), *options]
        container = {
            "name": "c",
            "image": "any",
            "command": command,
            "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
            "resources": {"requests": {"cpu": "1"}},
        }
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
        body = {
            "metadata": {
                "name": name,
                "labels": {"kueue.x-k8s.io/queue-name": "default"},
                "annotations": {CLUSTER_SELECTOR: f"name={on}"} if on else {},
            },
            "spec": {"backoffLimit": 0, "suspend": True, "template": {"spec": pod}},
        }
        await self.hub.client.create(JOBS, body, "default")
        return name

    def let_end(self, name: str) -> None:
        (self.folder / f"go-{name}").touch()

    def diary(self, job: str = "", word: str = "") -> list[Entry]:
        path = self.folder / "diary"
        lines = path.read_text().splitlines() if path.exists() else []
        split = (line.split(" ") for line in lines)
        found = [Entry(what, name, int(pid), pod, float(at)) for what, name, pid, pod, at in split]
        return [each for each in found if job in ("", each.job) and word in ("", each.word)]

    async def started(self, name: str, times: int = 1) -> None:
        async def there() -> bool:
            return len(self.diary(name, "start")) >= times

        await self.until(there, f"{name} has started")

    async def workload(self, name: str) -> Json:
        """Of a job, on the hub."""
        for item in (await self.hub.client.list(WORKLOADS, Query("default"))).items:
            obj = item.json()
            if any(owner["name"] == name for owner in obj["metadata"].get("ownerReferences") or ()):
                return obj
        return {}

    async def until(self, holds: Callable[[], Awaitable[Any]], what: str, patience_s: float = PATIENCE_S) -> None:
        """While nodes come and go: one that does not answer says no."""
        trouble = ""
        try:
            async with asyncio.timeout(patience_s):
                while True:
                    try:
                        async with asyncio.timeout(5):
                            if await holds():
                                return
                    except (ApiError, TimeoutError) as error:
                        trouble = str(error) or type(error).__name__
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise AssertionError(f"waited in vain until {what}; {trouble}\n{await self._story()}") from None

    async def _story(self) -> str:
        """What is not over yet, everywhere, for whoever has to find out."""
        lines = [" ".join(map(str, entry)) for entry in self.diary()[-20:]]
        for node in (self.hub, *self.clusters.values()):
            lines += [f"{node.name}: {line}" for line in (node.folder / "node.log").read_text().splitlines()[-10:]]
            for resource in (JOBS, WORKLOADS, PODS):
                with contextlib.suppress(ApiError, TimeoutError):
                    async with asyncio.timeout(5):
                        found = [item.json() for item in (await node.client.list(resource)).items]
                        left = [each for each in found if not (is_true(each, "Complete") or is_true(each, "Finished"))]
                        lines += [f"{node.name} {resource.plural} {_brief(each)}" for each in left[:3]]
        return "\n".join(lines)

    # --- points of a job's life -------------------------------------------------------------------------------------

    def hold(self, matches: Callable[[Passing], bool]) -> tuple[asyncio.Future[Held], Callable[[], None]]:
        """The first message that matches waits, wherever it passes. Returns it, once it is there, and what calls that off."""
        found: asyncio.Future[Held] = self._loop.create_future()

        async def tap(passing: Passing) -> None:
            if found.done() or not matches(passing):
                return
            held = Held(passing, asyncio.Event())
            found.set_result(held)
            await held.go_on.wait()

        ends = [proxy.tap(tap) for proxy in self.proxies.values()]
        return found, lambda: [end() for end in ends].clear()

    # --- what must be true ------------------------------------------------------------------------------------------

    async def is_complete(self, name: str) -> bool:
        job = (await self.hub.client.get(JOBS, name, "default")).json()
        assert not is_true(job, "Failed"), f"{name} failed: {job['status']}\n{await self._story()}"
        workload = await self.workload(name)
        return is_true(job, "Complete") and is_true(workload, "Finished")

    async def is_clean(self) -> bool:
        """No copy is left on any cluster, no process, and no quota is in use anywhere."""
        for node in self.clusters.values():
            for resource in (WORKLOADS, JOBS):
                if (await node.client.list(resource, Query(labels=MULTIKUEUE_ORIGIN))).items:
                    return False
            if (await node.client.list(PODS)).items or node.left():
                return False
        return not any([await _usage(node) for node in (self.hub, *self.clusters.values())])

    async def check(self, *jobs: str, patience_s: float = PATIENCE_S) -> None:
        """Each job completed once, one payload at a time, and nothing is left of it. patience_s: for each of them."""
        for name in jobs:
            await self.until(lambda name=name: self.is_complete(name), f"{name} is complete", patience_s)
        await self.until(self.is_clean, "everything is cleaned up")
        for name in jobs:
            await self._check_one(name)
            await self.hub.client.delete(JOBS, name, "default", Deletion("Background"))
        for node in (self.hub, *self.clusters.values()):
            assert not node.troubles(), (
                f"{node.name}: {node.troubles()}\n{(node.folder / 'node.log').read_text()[-6000:]}"
            )

    async def _check_one(self, name: str) -> None:
        job = (await self.hub.client.get(JOBS, name, "default")).json()
        workload = await self.workload(name)
        words = Counter(entry.word for entry in self.diary(name))
        told = f"{self.diary(name)}\n{await self._story()}"
        assert not words["double"], f"{name} ran twice at the same time: {told}"
        assert words["end"] >= 1, told
        assert job["status"].get("succeeded") == 1, told
        assert not job["status"].get("failed"), told
        lost = lost_attempts(workload)
        assert words["start"] <= 1 + lost, (
            f"{name} started {words['start']} times, though only {lost} were lost: {told}"
        )


def _brief(obj: Json) -> str:
    shown = {
        key: obj["metadata"][key] for key in ("name", "annotations", "deletionTimestamp") if key in obj["metadata"]
    }
    return json.dumps({**shown, "active": obj["spec"].get("active"), "status": obj.get("status")})


def lost_attempts(workload: Json) -> int:
    stats = ((workload.get("status") or {}).get("schedulingStats") or {}).get("evictions") or []
    found = sum(int(each["count"]) for each in stats)
    assert found or find_condition(workload, "Evicted") is None
    return found


async def _usage(node: NodeProcess) -> list[str]:
    used = []
    for item in (await node.client.list(CLUSTER_QUEUES)).items:
        status = item.json().get("status") or {}
        for flavor in status.get("flavorsReservation") or ():
            used += [each["total"] for each in flavor["resources"] if each["total"] != "0"]
    return used
