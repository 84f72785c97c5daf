"""The Node object of this machine: registered at the start, kept alive by a Lease, with what is really used of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fairway import __version__
from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.control import conditions
from fairway.control.pods.containers import stamp
from fairway.control.pods.devices import GPU
from fairway.core.quantity import MILLI, NANO, canonical, render
from fairway.kinds.types import format_microtime
from fairway.runtime.clock import Clock
from fairway.runtime.machine import Machine, Usage

log = logging.getLogger("fairway.control")
NODES = Resource("", "v1", "nodes", namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "leases")
LEASE_NAMESPACE = "kube-node-lease"
ENGINE_LABEL = "fairway.dev/engine"
USED_CPU, USED_MEMORY = "fairway.dev/used-cpu", "fairway.dev/used-memory"
PODS_MAX = 1000
LEASE_SECONDS = 40
HEARTBEAT_SECONDS = 10.0
USAGE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Declared:
    """What a node says it has; what is not declared is as the machine has it."""

    cpu: str | None = None
    memory: str | None = None
    gpus: int = 0
    pods: int = PODS_MAX
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    """Any other resource, by name."""

    def capacity(self, machine: Machine) -> dict[str, str]:
        found = {
            "cpu": canonical(self.cpu) if self.cpu else str(machine.cpus),
            "memory": canonical(self.memory) if self.memory else render(machine.memory_bytes * NANO, "binary"),
            "pods": str(self.pods),
        }
        if self.gpus:
            found[GPU] = str(self.gpus)
        return {**found, **{name: canonical(amount) for name, amount in self.resources.items()}}


class MachineNode:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        machine: Machine,
        declared: Declared,
        *,
        engine: str,
        usage: Callable[[], Usage],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._client = client
        self._clock = clock
        self._machine = machine
        self._declared = declared
        self._engine = engine
        self._usage = usage
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None
        self.name = declared.name
        self.capacity = declared.capacity(machine)

    async def register(self) -> None:
        """Make sure of the Node object, before anything else happens on it. A folder keeps its node's name, even on another host."""
        self.name = self.name or await self._former_name() or self._machine.hostname
        now = stamp(self._clock.now)
        try:
            node = (await self._client.get(NODES, self.name)).json()
        except ApiError as error:
            if error.code != 404:
                raise
            node = (
                await self._client.create(NODES, {"metadata": {"name": self.name, "labels": self._labels()}})
            ).json()
        labels = {**(node["metadata"].get("labels") or {}), **self._labels()}
        if labels != node["metadata"].get("labels"):
            node["metadata"]["labels"] = labels
            node = (await self._client.update(NODES, node)).json()
        node["status"] = {**(node.get("status") or {}), **self._status()}
        _conditions(node, now)
        await self._client.update(NODES, node, subresource="status")
        await self._beat()

    async def _former_name(self) -> str:
        for item in (await self._client.list(NODES)).items:
            meta = item.json()["metadata"]
            if (meta.get("labels") or {}).get(ENGINE_LABEL) == self._engine:
                return str(meta["name"])
        return ""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep(), name="machine-node")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            await self._say_goodbye()

    def _labels(self) -> dict[str, str]:
        machine = self._machine
        return {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": machine.system,
            "kubernetes.io/arch": machine.architecture,
            "beta.kubernetes.io/os": machine.system,
            "beta.kubernetes.io/arch": machine.architecture,
            ENGINE_LABEL: self._engine,
            **self._declared.labels,
        }

    def _status(self) -> dict[str, Any]:
        machine = self._machine
        return {
            "capacity": self.capacity,
            "allocatable": self.capacity,
            "addresses": [
                {"type": "InternalIP", "address": machine.address},
                {"type": "Hostname", "address": machine.hostname},
            ],
            "nodeInfo": {
                "machineID": machine.machine_id,
                "systemUUID": machine.machine_id,
                "bootID": machine.boot_id,
                "kernelVersion": machine.kernel,
                "osImage": machine.image,
                "containerRuntimeVersion": f"fairway-{self._engine}://{__version__}",
                "kubeletVersion": f"fairway-{__version__}",
                "kubeProxyVersion": "",
                "operatingSystem": machine.system,
                "architecture": machine.architecture,
            },
        }

    # --- alive --------------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        before, since, due = self._usage(), self._clock.monotonic, HEARTBEAT_SECONDS
        while True:
            await self._sleep(HEARTBEAT_SECONDS)
            try:
                await self._beat()
                await self._make_sure()
                elapsed = self._clock.monotonic - since
                if elapsed >= due:
                    now = self._usage()
                    await self._show_usage((now.cpu_seconds - before.cpu_seconds) / elapsed, now.memory_bytes)
                    before, since, due = now, self._clock.monotonic, USAGE_SECONDS
            except ApiError as error:
                log.warning("the heartbeat of node %s failed: %s", self.name, error.message)

    async def _beat(self) -> None:
        renewed = format_microtime(datetime.fromtimestamp(self._clock.now, UTC))
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": renewed}
        lease = {"metadata": {"name": self.name, "namespace": LEASE_NAMESPACE}, "spec": spec}
        try:
            await self._client.update(LEASES, lease)
        except ApiError as error:
            if error.code != 404:
                raise
            await self._client.create(LEASES, lease)

    async def _make_sure(self) -> None:
        """A node that somebody deleted while it lives comes back, before its pods are given up."""
        try:
            await self._client.get(NODES, self.name)
        except ApiError as error:
            if error.code != 404:
                raise
            log.warning("node %s was deleted and still runs: it registers again", self.name)
            await self.register()

    async def _show_usage(self, cpus: float, memory_bytes: int) -> None:
        """Rounded, so that a machine that does the same all day is not written about all day."""
        shown = {
            USED_CPU: render(round(max(0.0, cpus) * 10) * 100 * MILLI),
            USED_MEMORY: f"{round(memory_bytes / (256 << 20)) * 256}Mi",
        }
        node = (await self._client.get(NODES, self.name)).json()
        annotations = node["metadata"].get("annotations") or {}
        if any(annotations.get(key) != value for key, value in shown.items()):
            node["metadata"]["annotations"] = {**annotations, **shown}
            await self._client.update(NODES, node)

    async def _say_goodbye(self) -> None:
        try:
            node = (await self._client.get(NODES, self.name)).json()
            now = stamp(self._clock.now)
            why = "the node was stopped; what runs on it runs on"
            conditions.set_condition(node, "Ready", "False", "NodeShutdown", why, now)
            await self._client.update(NODES, node, subresource="status")
        except ApiError as error:
            log.warning("node %s could not be marked as stopped: %s", self.name, error.message)


def _conditions(node: dict[str, Any], now: str) -> None:
    for kind, reason, message in (
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ):
        conditions.set_condition(node, kind, "False", reason, message, now)
    conditions.set_condition(node, "Ready", "True", "KubeletReady", "the node runs containers as processes", now)
    for condition in node["status"]["conditions"]:
        condition["lastHeartbeatTime"] = now
