"""From a container to the run of it that an engine is given: objects it refers to are read, its volumes made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.control.pods import environment, volumes
from fairway.control.pods.containers import CREATING, Problem
from fairway.control.pods.environment import Sources, Unprepared
from fairway.control.pods.folders import Folders
from fairway.core.quantity import parse
from fairway.engines import bundles
from fairway.engines.engine import Limits, RunSpec
from fairway.runtime.disk import Disk, InlineDisk

Json = Mapping[str, Any]
CONFIG_MAPS = Resource("", "v1", "configmaps")
SECRETS = Resource("", "v1", "secrets")


class Grant(NamedTuple):
    """Leave to run for as long as a lease holds."""

    path: str
    """Of the file that shims read."""
    since: float
    """The term of the lease."""


class Grants(Protocol):
    async def grant(self, pod: Json) -> Grant | None:
        """None for a pod that runs under no lease. Raises Unprepared for one whose lease does not hold now."""
        ...


NO_LEASE = Grant("", 0.0)


@dataclass(slots=True)
class Preparer:
    client: Client
    folders: Folders
    base: Mapping[str, str] = field(default_factory=dict)
    """Variables that every process gets: where programs are, above all."""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    grants: Grants | None = None
    disk: Disk = field(default_factory=InlineDisk)

    async def prepare(self, pod: Json, container: Json, run_id: str) -> RunSpec:
        """Raises Unprepared for what is missing."""
        grant = (await self.grants.grant(pod) if self.grants is not None else None) or NO_LEASE
        sources = await self._sources(pod)
        meta = pod["metadata"]
        folders = self.folders.make(meta["uid"], volumes.volumes(pod, sources))
        base = {
            **self.base,
            "HOSTNAME": pod["spec"].get("hostname") or meta["name"],
            **volumes.variables(container, folders),
        }
        known = environment.environment(pod, container, sources, base)
        mounts = volumes.mounts(container, folders, known)
        argv = environment.command(container, known)
        environment.check(argv, known)
        code, where = await self._bundle(pod), volumes.working_folder(container, mounts)
        return RunSpec(
            id=run_id,
            argv=argv,
            env=known,
            cwd=os.path.join(code, where) if code and where else code or where,
            limits=limits(container),
            mounts=tuple(mounts),
            lease=grant.path,
            lease_since=grant.since,
        )

    async def _bundle(self, pod: Json) -> str:
        """The folder with the code that the job brought along; empty if it brought none."""
        text = (pod["metadata"].get("annotations") or {}).get(bundles.ANNOTATION, "")
        if not text:
            return ""
        try:
            reference, uid = bundles.parse(text), pod["metadata"]["uid"]
            return await self.disk.run(lambda: self.folders.bundle(uid, reference))
        except bundles.BundleError as error:
            raise Unprepared(Problem(CREATING, f"code bundle: {error}", note=volumes.MOUNT_NOTE)) from None

    async def _sources(self, pod: Json) -> Sources:
        maps, secrets = environment.references(pod["spec"])
        namespace = pod["metadata"].get("namespace", "")
        return Sources(
            {name: await self._find(CONFIG_MAPS, name, namespace) for name in sorted(maps)},
            {name: await self._find(SECRETS, name, namespace) for name in sorted(secrets)},
            self.allocatable,
        )

    async def _find(self, resource: Resource, name: str, namespace: str) -> Json | None:
        try:
            return (await self.client.get(resource, name, namespace)).json()
        except ApiError as error:
            if error.code == 404:
                return None
            raise


def limits(container: Json) -> Limits:
    given = (container.get("resources") or {}).get("limits") or {}
    return Limits(
        cpu_millis=parse(str(given["cpu"])).millis if "cpu" in given else None,
        memory_bytes=parse(str(given["memory"])).units if "memory" in given else None,
    )
