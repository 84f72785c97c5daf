"""What is known of one workload everywhere: its objects on the hub and on clusters, put together for a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairway.api.client import Resource
from fairway.control.adapters import JobAdapter, Json, names
from fairway.control.mirror import Mirror, Table
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.fleet.dispatch.facts import CustomKind, Dispatchable, Scene, check_of, owners_of
from fairway.fleet.link.links import Links
from fairway.fleet.resources import MULTIKUEUE_CONFIGS

Resolve = Callable[[str, str], Resource | None]
"""Of an apiVersion and a kind that has no adapter."""


class Knowledge:
    """Reads the hub's tables and those of its links."""

    def __init__(self, hub: Mirror, fleet: Mirror, links: Links, adapters: Sequence[JobAdapter]) -> None:
        self.hub = hub
        self.fleet = fleet
        self.links = links
        self.kinds: dict[tuple[str, str], Dispatchable] = {
            (adapter.resource.api_version, adapter.kind): adapter for adapter in adapters
        }
        self.awaited: set[tuple[str, str]] = set()
        """apiVersion and kind of what will be dispatched as soon as it is known here."""
        self._tables: dict[Resource, Table] = {}
        self._controllers: dict[str, str] = {}
        hub[CHECKS].on_change(lambda key, _before, _after: self._on_check(key))

    def load(self) -> None:
        """Take in what was known before anybody listened."""
        for key in self.hub[CHECKS]:
            self._on_check(key)

    def _on_check(self, key: str) -> None:
        check = self.hub[CHECKS].get(key)
        name = key.partition("/")[2]
        if check is None:
            self._controllers.pop(name, None)
        else:
            self._controllers[name] = (check.get("spec") or {}).get("controllerName") or ""

    @property
    def controllers(self) -> Mapping[str, str]:
        return self._controllers

    def adopt(self, kind: CustomKind, table: Table) -> None:
        self.kinds[kind.resource.api_version, kind.kind] = kind
        self._tables[kind.resource] = table

    def awaits(self, scene: Scene) -> bool:
        """Whether what a workload belongs to is of a kind that is not known here yet."""
        owners = owners_of(scene.workload)
        return scene.adapter is None and bool(owners) and owners[0][:2] in self.awaited

    def table(self, resource: Resource) -> Table | None:
        for mirror in (self.hub, self.fleet):
            if resource in mirror:
                return mirror[resource]
        return self._tables.get(resource)

    def config_of(self, check: str) -> str:
        """The MultiKueueConfig that a check names, or nothing."""
        obj = self.hub[CHECKS].view(f"/{check}") or {}
        parameters = (obj.get("spec") or {}).get("parameters") or {}
        return str(parameters.get("name", "")) if parameters.get("kind") == "MultiKueueConfig" else ""

    def clusters(self, check: str) -> list[str]:
        """The clusters that a check may hand work to, in the order of its configuration."""
        config = self.fleet[MULTIKUEUE_CONFIGS].view(f"/{self.config_of(check)}") or {}
        return list((config.get("spec") or {}).get("clusters") or ())

    def is_dispatched(self, check: str) -> bool:
        return self._controllers.get(check) == MULTIKUEUE

    def queue_of(self, workload: Json) -> str:
        """The ClusterQueue that it has its quota from, or would."""
        reserved = ((workload.get("status") or {}).get("admission") or {}).get("clusterQueue", "")
        if reserved or LOCAL_QUEUES not in self.hub:
            return str(reserved)
        key = f"{workload['metadata'].get('namespace', '')}/{(workload.get('spec') or {}).get('queueName', '')}"
        return str(((self.hub[LOCAL_QUEUES].get(key) or {}).get("spec") or {}).get("clusterQueue", ""))

    def check_for(self, workload: Json) -> str:
        """The check that will hand it to clusters, though it waits for quota here; empty if none will."""
        queue = self.hub[CLUSTER_QUEUES].get(f"/{self.queue_of(workload)}") or {}
        strategy = (queue.get("spec") or {}).get("admissionChecksStrategy") or {}
        named = (str(each["name"]) for each in strategy.get("admissionChecks") or ())
        return next((name for name in named if self.is_dispatched(name)), "")

    def scene(self, key: str, leaving: frozenset[str], check: str = "") -> Scene | None:
        """None for a workload that is not there, or is no business of ours. check: the one that matters, if it is known."""
        workload = self.hub[WORKLOADS].view(key)
        if workload is None:
            return None
        check = check or check_of(workload, self._controllers)
        if not check:
            return None
        owners = owners_of(workload)
        adapter = self.kinds.get(owners[0][:2]) if owners else None
        namespace = workload["metadata"].get("namespace", "")
        table = self.table(adapter.resource) if adapter is not None else None
        found = [table.view(f"{namespace}/{name}") for _v, _k, name in owners] if table is not None else []
        jobs = [job for job in found if job is not None]
        scene = Scene(workload, check, adapter, jobs, leaving=leaving)
        for name in self.links.names():
            self._look_at(scene, key, name, namespace, [name for _v, _k, name in owners])
        return scene

    def _look_at(self, scene: Scene, key: str, cluster: str, namespace: str, jobs: Sequence[str]) -> None:
        link = self.links.get(cluster)
        if link is None:
            return
        remote = link.table(WORKLOADS).view(key)
        if remote is not None:
            scene.remotes[cluster] = remote
        resource = scene.adapter.resource if scene.adapter is not None else None
        if resource is None or not link.has(resource):
            return
        found = [link.table(resource).view(f"{namespace}/{name}") for name in jobs]
        ours = [job for job in found if job is not None and _is_of(job, scene.workload)]
        if ours:
            scene.remote_jobs[cluster] = ours


def _is_of(job: Json, workload: Json) -> bool:
    return names.prebuilt_workload(job) in ("", workload["metadata"]["name"])
