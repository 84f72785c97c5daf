"""A hub and three clusters, one queue over them. One cluster dies with work on it; everything finishes, and finishes once.

Every job writes a line when it starts and one when it ends, to a file that Fairway knows nothing of: that is what is counted at the end.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from fairway.cli.demo.stage import LIMIT_SECONDS, Stage, console, stages
from fairway.control.resources import WORKLOADS
from fairway.fleet import joining
from fairway.fleet.resources import CLUSTERS
from fairway.runtime.datadir import DataDir
from fairway.sdk.aio import AsyncClient
from fairway.sdk.request import JobRequest
from fairway.sdk.view import JobView, State

JOBS = 20
SECONDS = 10
FENCING = {"leaseSeconds": 5, "graceSeconds": 2, "marginSeconds": 2}
"""So that nobody has to wait long; unless told otherwise a cluster has 60, 5 and 5."""
ELSEWHERE = "cluster-3"


@dataclass(frozen=True, slots=True)
class Line:
    """What a job wrote down itself."""

    job: str
    event: str


def play() -> None:
    with stages("hub", ELSEWHERE) as (hub, elsewhere):
        hub.fairway("up", "--detach", "--port", "0", "--clusters", "2", "--cluster-sizes", "3:4Gi,4:4Gi")
        console.print("A hub and two clusters. The third is elsewhere, and joins by invitation:")
        elsewhere.fairway("up", "--detach", "--port", "0", "--cpu", "4", "--memory", "8Gi")
        _join(hub, elsewhere)
        console.print(hub.fairway("clusters").rstrip(), soft_wrap=True)
        asyncio.run(_Show(hub, elsewhere).play())
        hub.fairway("down")
    console.print("\nA fleet to keep: fairway up --clusters 3")


def _join(hub: Stage, elsewhere: Stage) -> None:
    words = shlex.split(hub.fairway("cluster", "invite", ELSEWHERE))[1:]
    asyncio.run(_agree(hub))
    elsewhere.fairway(*words, quiet=True)
    console.print(f"[bold]$ fairway {' '.join(words[:2])} --hub … --token … --name {ELSEWHERE}[/bold]")


async def _agree(hub: Stage) -> None:
    """A shorter lease, before there is a longer one: that would have to be over first."""
    connection = {"kubeconfig": {"secretName": joining.secret_name(ELSEWHERE)}}
    spec = {"pool": joining.DEFAULT_POOL, "engine": "process", "connection": connection, "fencing": FENCING}
    async with AsyncClient(kubeconfig=hub.folder / "kubeconfig") as client:
        await client.api.create(CLUSTERS, {"metadata": {"name": ELSEWHERE}, "spec": spec})


class _Show:
    def __init__(self, hub: Stage, elsewhere: Stage) -> None:
        self._hub = hub
        self._elsewhere = elsewhere
        self._tally = hub.folder.parent / "tally"
        self._told = ""
        self._first: dict[str, str] = {}
        """Where each job was sent first."""
        self._since = 0.0
        self._dead = ""

    async def play(self) -> None:
        async with AsyncClient(kubeconfig=self._hub.folder / "kubeconfig") as client, asyncio.timeout(LIMIT_SECONDS):
            console.print(f"\n{JOBS} jobs of one CPU and {SECONDS} seconds, submitted to the hub's one queue:")
            self._since = time.monotonic()
            await client.map([self._job(number) for number in range(1, JOBS + 1)])
            await self._until(client, lambda: self._jobs[State.DONE] >= 8 and self._running[ELSEWHERE] >= 2)
            self._kill()
            await self._until(client, lambda: self._jobs[State.DONE] == JOBS)
            self._report()

    def _job(self, number: int) -> JobRequest:
        name = f"job-{number:02d}"
        say = f"echo {name} {{}} >> {shlex.quote(str(self._tally))}"
        return JobRequest(
            f"{say.format('start')}; sleep {SECONDS}; {say.format('end')}", name=name, cpu=1, memory="16Mi"
        )

    # --- what is to be seen -----------------------------------------------------------------------------------------

    _jobs: Counter[State]
    _where: dict[str, str]
    _running: Counter[str]

    async def _look(self, client: AsyncClient) -> None:
        views = await client.list()
        self._jobs = Counter(view.state for view in views)
        self._where = await self._clusters(client, views)
        for job, cluster in self._where.items():
            self._first.setdefault(job, cluster)
        self._running = Counter(self._where.get(view.name, "") for view in views if view.state is State.RUNNING)

    async def _clusters(self, client: AsyncClient, views: list[JobView]) -> dict[str, str]:
        jobs = {view.workload: view.name for view in views}
        found = {}
        for item in (await client.api.list(WORKLOADS)).items:
            cluster = (item.json().get("status") or {}).get("clusterName")
            if cluster and item.meta.name in jobs:
                found[jobs[item.meta.name]] = cluster
        return found

    async def _until(self, client: AsyncClient, right: Callable[[], bool]) -> None:
        """Follow the jobs, a line for each change, until they are as wanted."""
        while True:
            await self._look(client)
            running = ", ".join(self._place(*each) for each in sorted(self._running.items()))
            waiting = JOBS - self._jobs[State.RUNNING] - self._jobs[State.DONE]
            line = f"{self._jobs[State.DONE]:2} done, {waiting:2} waiting, running: {running or 'none'}"
            if line != self._told:
                console.print(f"  {time.monotonic() - self._since:5.1f} s  {line}", soft_wrap=True)
                self._told = line
            if right():
                return
            await asyncio.sleep(0.25)

    def _place(self, cluster: str, count: int) -> str:
        return f"{count} on {cluster or '…'}" + (" (out of reach)" if cluster == self._dead else "")

    def _kill(self) -> None:
        state = DataDir(self._elsewhere.folder).running()
        assert state is not None
        for pid in (state.pid, state.node_pid):
            os.kill(pid, signal.SIGKILL)
        console.print(f"[bold]$ kill -9 {state.pid} {state.node_pid}[/bold]   [red]{ELSEWHERE} is dead[/red]")
        self._dead = ELSEWHERE
        console.print(
            "  What it ran still runs, and nobody can see it. When its lease is over, it is ended where it is;\n"
            "  only then the hub starts it again on another cluster.",
            soft_wrap=True,
        )

    # --- what came of it --------------------------------------------------------------------------------------------

    def _report(self) -> None:
        lines = [Line(*line.split()) for line in Path(self._tally).read_text(encoding="utf-8").splitlines()]
        starts = Counter(line.job for line in lines if line.event == "start")
        ends = Counter(line.job for line in lines if line.event == "end")
        table = Table("JOB", "RAN ON", "STARTED", "FINISHED", "", box=None, header_style="bold", pad_edge=False)
        for job in sorted(starts):
            table.add_row(job, self._where[job], str(starts[job]), str(ends[job]), self._story(job, starts[job]))
        console.print(table)
        wrong = [job for job in starts if ends[job] != 1]
        if wrong or len(ends) != JOBS:
            raise SystemExit(f"not finished exactly once: {wrong or 'some never started'}")
        moved = sum(1 for job in starts if starts[job] > 1)
        console.print(
            f"[green]✓[/green] {JOBS} jobs, each finished exactly once; {moved} of them moved when {ELSEWHERE} died."
        )

    def _story(self, job: str, starts: int) -> str:
        first = self._first.get(job, "")
        if starts > 1:
            return f"moved: {first} died with it"
        return f"had been sent to {first}" if first != self._where[job] else ""
