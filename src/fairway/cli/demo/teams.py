"""One node from nothing; two teams share it, borrow, are asked to give back, and finish."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from fairway.api.client import Resource
from fairway.cli.demo.stage import LIMIT_SECONDS, console, stages
from fairway.sdk.aio import AsyncClient
from fairway.sdk.request import JobRequest
from fairway.sdk.view import JobView, State

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
TEAMS = {"vision": "team-vision", "language": "team-language"}
QUEUE = "training"
JOBS_EACH = 15
SECONDS = 3
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads")
_KINDS = {
    "ResourceFlavor": Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", namespaced=False),
    "ClusterQueue": Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", namespaced=False),
    "LocalQueue": Resource("kueue.x-k8s.io", "v1beta2", "localqueues"),
    "Namespace": Resource("", "v1", "namespaces", namespaced=False),
}


def play() -> None:
    with stages("node") as (node,):
        # The demo's machine has eight CPUs, whatever the real one has: its jobs only sleep.
        node.fairway("up", "--detach", "--port", "0", "--cpu", "8", "--memory", "16Gi")
        asyncio.run(_play(node.folder))
        node.fairway("down")
    console.print("\n[green]Thirty jobs of two teams, and nothing is left behind.[/green] A node to keep: fairway up")


async def _play(folder: Path) -> None:
    async with AsyncClient(kubeconfig=folder / "kubeconfig") as client, asyncio.timeout(LIMIT_SECONDS):
        for document in yaml.safe_load_all((EXAMPLES / "two-teams.yaml").read_text(encoding="utf-8")):
            await client.api.create(_KINDS[document["kind"]], document)
        console.print("\nTwo queues in one cohort, four CPUs each: [bold]vision[/bold] and [bold]language[/bold].")
        console.print(f"vision submits {JOBS_EACH} jobs of one CPU, and language is not there yet:")
        await _submit(client, "vision")
        await _until(
            client, lambda seen: seen["vision", State.RUNNING] > 4, "vision runs on all eight: four are borrowed"
        )
        console.print(f"Now language submits {JOBS_EACH} as well, and wants its own four back:")
        await _submit(client, "language")
        await _until(
            client, lambda seen: seen["language", State.RUNNING] >= 4, "language has its four; vision gave them back"
        )
        await _until(client, lambda seen: _done(seen) == 2 * JOBS_EACH, "all are done")
        evicted = await _evictions(client)
        console.print(f"{evicted} jobs were asked to stop and ran again later; each counted once in the end.")


async def _submit(client: AsyncClient, team: str) -> None:
    request = [
        JobRequest(f"sleep {SECONDS}", name=f"{team}-{number:02d}", namespace=TEAMS[team], queue=QUEUE, memory="16Mi")
        for number in range(JOBS_EACH)
    ]
    await client.map(request)


async def _until(client: AsyncClient, right: Any, words: str) -> None:
    """Follow the jobs, a line for each change, until they are as wanted."""
    told = ""
    while True:
        seen = Counter((_team(job), job.state) for job in await client.list(all_namespaces=True))
        line = "   ".join(f"{team}: {_counts(seen, team)}" for team in TEAMS)
        if line != told:
            console.print(f"  {line}", soft_wrap=True)
            told = line
        if right(seen):
            console.print(f"[green]✓[/green] {words}\n")
            return
        await asyncio.sleep(0.25)


def _team(job: JobView) -> str:
    return next((team for team, namespace in TEAMS.items() if namespace == job.namespace), "")


def _counts(seen: Counter[tuple[str, State]], team: str) -> str:
    parts = [f"{seen[team, state]} {state.value}" for state in State if seen[team, state]]
    return ", ".join(parts) or "nothing"


def _done(seen: Counter[tuple[str, State]]) -> int:
    return sum(count for (_team, state), count in seen.items() if state is State.DONE)


async def _evictions(client: AsyncClient) -> int:
    found = 0
    with contextlib.suppress(KeyError):
        for item in (await client.api.list(WORKLOADS)).items:
            stats = (item.json().get("status") or {}).get("schedulingStats") or {}
            found += bool(stats.get("evictions"))
    return found
