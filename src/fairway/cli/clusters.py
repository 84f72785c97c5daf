"""The clusters of a fleet, looked at: `fairway clusters`, cluster ls and show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fairway.api.client import Client, Resource
from fairway.cli import options
from fairway.cli.output import Output, note, say, show_json, show_table
from fairway.cli.people import talk
from fairway.fleet import joining
from fairway.fleet.resources import CLUSTERS
from fairway.kinds.own.cluster import amounts
from fairway.runtime.status import Problem
from fairway.sdk.aio import AsyncClient

WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The cluster's name on the hub.")]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A cluster, and what the hub has sent there."""

    cluster: Json
    running: int
    pending: int

    @property
    def health(self) -> str:
        found = str((self.cluster.get("status") or {}).get("health") or "Unknown")
        draining = (self.cluster.get("spec") or {}).get("state") == "Draining"
        return f"{found},Draining" if draining else found

    @property
    def why(self) -> str:
        status = self.cluster.get("status") or {}
        return "; ".join([*(status.get("reasons") or []), *(f"drift: {each}" for each in status.get("drift") or [])])


async def rows_of(client: Client) -> list[Row]:
    clusters = [item.json() for item in (await client.list(CLUSTERS)).items]
    workloads = [item.json() for item in (await client.list(WORKLOADS)).items]
    running = Counter(str((each.get("status") or {}).get("clusterName") or "") for each in workloads if not done(each))
    pending = Counter(
        str(name)
        for each in workloads
        if not done(each)
        for name in (each.get("status") or {}).get("nominatedClusterNames") or ()
    )
    names = [cluster["metadata"]["name"] for cluster in clusters]
    return [Row(cluster, running[name], pending[name]) for cluster, name in zip(clusters, names, strict=True)]


def done(workload: Json) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Finished" and each["status"] == "True" for each in conditions)


def ls(data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """List the clusters: health, capacity, what is free, what runs and waits there, and what is wrong."""
    rows = talk(data, "default", lambda client: rows_of(client.api))
    if output is Output.JSON:
        show_json([{**row.cluster, "running": row.running, "pending": row.pending} for row in rows])
        return
    if not rows:
        note(
            "no clusters; on a hub, fairway cluster invite NAME prints how one joins; fairway up --clusters 3 makes three"
        )
        return
    headings = ["NAME", "POOL", "HEALTH", "CAPACITY", "FREE", "RUNNING", "PENDING", "ENGINE", "WHY"]
    show_table(headings, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    spec, status = row.cluster.get("spec") or {}, row.cluster.get("status") or {}
    return [
        row.cluster["metadata"]["name"],
        spec.get("pool", joining.DEFAULT_POOL),
        row.health,
        amounts(status.get("capacity") or {}) or "–",
        amounts(status.get("available") or {}) or "–",
        str(row.running),
        str(row.pending),
        spec.get("engine", ""),
        row.why,
    ]


def clusters(data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """Show the fleet: every cluster with its health, capacity and work."""
    ls(data, output)


def show(name: Name, data: options.Data = None, output: options.Format = Output.TEXT) -> None:
    """Show one cluster: how it is reached, how it does, what it has."""

    async def work(client: AsyncClient) -> Row:
        found = next((row for row in await rows_of(client.api) if row.cluster["metadata"]["name"] == name), None)
        if found is None:
            raise unknown(name)
        return found

    row = talk(data, "default", work)
    if output is Output.JSON:
        show_json({**row.cluster, "running": row.running, "pending": row.pending})
        return
    meta, spec, status = row.cluster["metadata"], row.cluster.get("spec") or {}, row.cluster.get("status") or {}
    source = ((spec.get("connection") or {}).get("kubeconfig")) or {}
    lines = [
        ("Cluster", name),
        ("Pool", spec.get("pool", "")),
        ("Engine", spec.get("engine", "")),
        ("Health", row.health),
        ("Why", row.why),
        ("Heard of", status.get("lastHeartbeatTime", "")),
        ("Kubeconfig", f"Secret {source['secretName']}" if source.get("secretName") else source.get("path", "")),
        ("Version", status.get("version", "")),
        (
            "Fences",
            "" if "fenced" not in status else "yes" if status["fenced"] else "no, the window of its spec applies",
        ),
        ("Capacity", _amounts(status.get("capacity"))),
        ("Free", _amounts(status.get("available"))),
        ("Running", f"{row.running} workloads of this hub"),
        ("Pending", f"{row.pending} workloads of this hub" if row.pending else ""),
        ("Queues", ", ".join(status.get("queues") or ())),
        ("Labels", ", ".join(f"{key}={value}" for key, value in (meta.get("labels") or {}).items())),
    ]
    for heading, value in lines:
        if value:
            say(f"{heading:<12}{value}")


def _amounts(found: Json | None) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in (found or {}).items())


def unknown(name: str) -> Problem:
    return Problem(f"there is no cluster {name!r}", "fairway clusters shows them all")
