"""A hub and clusters in memory, with clocks that stand still: the production code of dispatching, without network or processes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.integration.queueing import JOBS, Cluster, Json
from tests.integration.queueing import job as make_job

from fairway.api.client import Client
from fairway.api.errors import ApiError
from fairway.api.kubeconfig import Access
from fairway.api.local import LocalClient
from fairway.control.configuration import Configuration, MultiKueue
from fairway.control.resources import CHECKS, NAMESPACES, WORKLOADS
from fairway.core.dispatch.nominate import ALL_AT_ONCE
from fairway.fleet.fleet import Fleet
from fairway.fleet.pods.hook import MirrorHook
from fairway.fleet.resources import MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS, SECRETS
from fairway.runtime.archive import SqliteArchive

ORIGIN = "hub"
_TURNS = 60
_PATIENCE_S = 20.0


class Wire:
    """A client that a test can cut."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.cut = False
        self.calls: list[str] = []
        self.outputs: dict[str, bytes | ApiError] = {}
        """What pods have written, by namespace/name/container."""
        self.over: set[str] = set()
        """Those that write no more."""
        self._watches: set[asyncio.Event] = set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._check()
            self.calls.append(f"{name} {getattr(args[0], 'plural', '')}".strip())
            return await method(*args, **kwargs)

        return call

    def _check(self) -> None:
        if self.cut:
            raise ApiError(503, "ServiceUnavailable", "cannot be reached")

    async def close(self) -> None:
        return None

    async def open(self, path: str, parameters: dict[str, str] | None = None) -> AsyncIterator[bytes]:
        self._check()
        self.calls.append("log pods")
        *_, namespace, _pods, name, _log = path.split("/")
        key = f"{namespace}/{name}/{(parameters or {})['container']}"
        found = self.outputs.get(key, b"")
        if isinstance(found, ApiError):
            raise found
        return self._pieces(found, follow="follow" in (parameters or {}) and key not in self.over)

    async def _pieces(self, text: bytes, *, follow: bool) -> AsyncIterator[bytes]:
        broken = asyncio.Event()
        self._watches.add(broken)
        yield text
        if follow:
            await broken.wait()
            raise ApiError(0, "Unreachable", "the stream broke off")

    def break_off(self) -> None:
        self.cut = True
        for each in self._watches:
            each.set()

    async def watch(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self._check()
        broken = asyncio.Event()
        self._watches.add(broken)
        stream = self._client.watch(*args, **kwargs)
        ends = asyncio.ensure_future(broken.wait())
        try:
            while True:
                coming = asyncio.ensure_future(anext(stream, None))
                await asyncio.wait({coming, ends}, return_when=asyncio.FIRST_COMPLETED)
                if ends.done():
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                    self._check()
                event = coming.result()
                if event is None:
                    return
                yield event
        finally:
            ends.cancel()
            self._watches.discard(broken)
            await stream.aclose()


class Fleeting:
    """The hub, its clusters, and what a test does to them."""

    def __init__(self, hub: Cluster, clusters: dict[str, Cluster]) -> None:
        self.hub = hub
        self.clusters = clusters
        self.wires: dict[str, Wire] = {}
        self.fleet: Fleet | None = None
        self.archive: str | Path = ":memory:"

    def start(self) -> None:
        assert self.hub.queueing is not None
        self.fleet = Fleet(
            lambda name: LocalClient(self.hub.space, name),
            self.hub.queueing,
            self.hub.config,
            ORIGIN,
            self.hub.clock,
            self.hub.ids,
            lambda: self.hub.space.store.revision,
            self._connect,
            archive=SqliteArchive(self.archive),
            patience=0,
        )
        self.fleet.start()

    def _connect(self, access: Access) -> Client:
        name = access.server.removeprefix("https://")
        wire = Wire(LocalClient(self.clusters[name].space, "fairway-hub"))
        if name in self.wires:
            before = self.wires[name]
            wire.cut, wire.outputs, wire.over = before.cut, before.outputs, before.over
        self.wires[name] = wire
        return self.wires[name]  # type: ignore[return-value]

    async def settle(self) -> None:
        assert self.fleet is not None
        everyone = [self.hub, *self.clusters.values()]
        async with asyncio.timeout(_PATIENCE_S):
            quiet, before = 0, [-1]
            while quiet < _TURNS:
                await asyncio.sleep(0)
                now = [each.space.store.revision for each in everyone]
                idle = all(each.queueing is not None and each.queueing.idle.is_set() for each in everyone)
                busy = not all(
                    each.idle.is_set() for each in (self.fleet.dispatcher, self.fleet.clusters, self.fleet.pods)
                )
                still = now == before and idle and not busy and not self.fleet.pods.saver.busy
                quiet = quiet + 1 if still else 0
                before = now
        for each in everyone:
            await each.check()

    async def settle_real(self, seconds: float) -> None:
        """Connections are noticed and made again in real time: the clock of the fleet stands still meanwhile."""
        await asyncio.sleep(seconds)
        await self.settle()

    async def move(self, seconds: float) -> None:
        assert self.fleet is not None
        for each in (self.hub, *self.clusters.values()):
            each.clock.move(self.hub.clock.now - each.clock.now if each is not self.hub else seconds)
            assert each.queueing is not None
            each.queueing.wake()
        self.fleet.dispatcher._wake.set()
        self.fleet.clusters.wake()
        self.fleet.expiry.wake()
        await self.settle()

    async def submit(self, name: str, cpu: str = "1", **spec: Any) -> Json:
        made = (await self.hub.client.create(JOBS, make_job(name, cpu, "main", **spec))).json()
        await self.settle()
        return made

    async def workload(self, job: str, cluster: str = "") -> Json | None:
        space = self.clusters[cluster] if cluster else self.hub
        for each in await space.all(WORKLOADS):
            if each["metadata"]["name"].startswith(f"job-{job}-"):
                return each
        return None

    async def job(self, name: str, cluster: str = "") -> Json | None:
        space = self.clusters[cluster] if cluster else self.hub
        for each in await space.all(JOBS):
            if each["metadata"]["name"] == name:
                return each
        return None

    async def play(self) -> None:
        """What controllers of jobs do on the clusters; a hub has none."""
        for each in self.clusters.values():
            await each.play_jobs()
        await self.settle()

    async def complete(self, name: str, cluster: str, *, failed: bool = False) -> None:
        await self.clusters[cluster].complete(name, failed=failed)
        await self.settle()

    async def close(self) -> None:
        if self.fleet is not None:
            await self.fleet.stop()
        for each in (self.hub, *self.clusters.values()):
            await each.close()


def kubeconfig(server: str) -> bytes:
    text = f"""
apiVersion: v1
kind: Config
current-context: it
clusters: [{{name: it, cluster: {{server: "https://{server}"}}}}]
users: [{{name: it, user: {{token: secret}}}}]
contexts: [{{name: it, context: {{cluster: it, user: it}}}}]
"""
    return text.encode()


@asynccontextmanager
async def fleet(
    quotas: Mapping[str, str], dispatcher: str = ALL_AT_ONCE, hub_quota: str = "100", **config: Any
) -> AsyncIterator[Fleeting]:
    """quotas: the CPUs of every cluster."""
    multi = MultiKueue(origin=ORIGIN, dispatcher_name=dispatcher, **config)
    hub = Cluster(config=Configuration(multi_kueue=multi), seed=1)
    clusters = {name: Cluster(seed=2 + index) for index, name in enumerate(quotas)}
    made = Fleeting(hub, clusters)
    try:
        for each in (hub, *clusters.values()):
            await each.open()
        hub.space.objects.hooks.append(MirrorHook())
        for name, quota in quotas.items():
            await clusters[name].queue(cpu=quota)
        await _as_hub(hub, list(quotas), hub_quota)
        made.start()
        await made.settle()
        yield made
    finally:
        await made.close()


async def _as_hub(hub: Cluster, names: list[str], quota: str) -> None:
    version = "kueue.x-k8s.io/v1beta2"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}}
    await hub.client.create(NAMESPACES, namespace)
    for name in names:
        data = {"kubeconfig": base64.b64encode(kubeconfig(name)).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        await hub.client.create(SECRETS, secret, "kueue-system")
        source = {"clusterSource": {"kubeConfig": {"location": name, "locationType": "Secret"}}}
        body = {"apiVersion": version, "kind": "MultiKueueCluster", "metadata": {"name": name}, "spec": source}
        await hub.client.create(MULTIKUEUE_CLUSTERS, body)
    config = {
        "apiVersion": version,
        "kind": "MultiKueueConfig",
        "metadata": {"name": "all"},
        "spec": {"clusters": names},
    }
    await hub.client.create(MULTIKUEUE_CONFIGS, config)
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
    check = {
        "apiVersion": version,
        "kind": "AdmissionCheck",
        "metadata": {"name": "fleet"},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
    }
    made = (await hub.client.create(CHECKS, check)).json()
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "The admission check is active",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }
    await hub.client.update(CHECKS, {**made, "status": {"conditions": [active]}}, subresource="status")
    await hub.queue(cpu=quota, admissionChecksStrategy={"admissionChecks": [{"name": "fleet"}]})
