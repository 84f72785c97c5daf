"""How much memory, processor and network do fifty connected clusters cost their hub while nothing happens?

The hub is `fairway up --hub --no-engine`. The clusters are real APIs with TLS, served by one process beside it, and have nothing to run anything
on: what the hub does with a cluster (watches, leases, probes, heartbeats in its status) it does with them.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fleets, probes, stores
from benchmarks.result import Result
from fairway.api.remote import RemoteClient
from fairway.cli.kubeconfig import Access
from fairway.cli.members import client_of
from fairway.fleet import joining
from fairway.fleet.joining import Joining, Way
from fairway.runtime.clock import SystemClock

COUNT = 50
_SETTLE_S = 10
_MIB = 1 << 20


@dataclass
class Cost:
    alone: int
    """Bytes of memory without clusters."""
    connected: int
    joined_s: float
    """Until all were healthy."""
    cpu: float
    """Share of a processor."""
    requests: float
    """Per second, of all clusters."""


def run(quick: bool) -> list[Result]:
    count, seconds = (10, 15) if quick else (COUNT, 60)
    with (
        probes.folder() as folder,
        fleets.up(folder / "hub", "--hub", "--no-engine") as hub,
        _light(folder / "tls", count) as clusters,
    ):
        cost = stores.run(lambda: _cost(hub, clusters, seconds))
    note = f"{count} clusters, nothing to do for {seconds} s"
    per_cluster = (cost.connected - cost.alone) / count
    return [
        Result(name="memory of a cluster", value=per_cluster / _MIB, unit="MiB", more_is_better=False, note=note),
        Result(name="memory of the hub, all connected", value=cost.connected / _MIB, unit="MiB", more_is_better=False),
        Result(name="processor of the hub", value=cost.cpu * 100, unit="% of one", more_is_better=False, note=note),
        Result(
            name="requests of a cluster", value=cost.requests / count, unit="per s", more_is_better=False, note=note
        ),
        Result(name="until all are healthy", value=cost.joined_s, unit="s", more_is_better=False),
    ]


@contextmanager
def _light(tls: Path, count: int) -> Iterator[list[Access]]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    command = [sys.executable, "-m", "benchmarks.light_clusters", "--fd", str(listening.fileno())]
    command += ["--count", str(count), "--tls", str(tls)]
    process = subprocess.Popen(command, pass_fds=[listening.fileno()], stdout=subprocess.PIPE, text=True)
    listening.close()
    try:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(count)]
        yield [Access(line["server"], line["authority"], line["token"]) for line in lines]
    finally:
        process.kill()
        process.wait()


async def _cost(hub: Path, clusters: list[Access], seconds: int) -> Cost:
    front, pid = fleets.client(hub), fleets.node_pid(hub)
    there = [client_of(access, SystemClock()) for access in clusters]
    alone = fleets.resident_bytes_of(pid)
    begun = time.perf_counter()
    for number, (client, access) in enumerate(zip(there, clusters, strict=True)):
        described = Joining(f"light-{number + 1}", identity=await joining.identity(client))
        await joining.join(front, client, described, Way(access.server, access.authority.encode()))
    await fleets.healthy(front, len(clusters))
    joined_s = time.perf_counter() - begun
    await asyncio.sleep(_SETTLE_S)
    used, asked, at = fleets.cpu_seconds_of(pid), await _asked(there), time.perf_counter()
    await asyncio.sleep(seconds)
    elapsed = time.perf_counter() - at
    cpu, requests = fleets.cpu_seconds_of(pid) - used, await _asked(there) - asked
    connected = fleets.resident_bytes_of(pid)
    for client in (front, *there):
        await client.close()
    return Cost(alone, connected, joined_s, cpu / elapsed, requests / elapsed)


async def _asked(clusters: list[RemoteClient]) -> int:
    """One process serves all of them, and counts for all of them."""
    return (await fleets.requests(clusters[0])).total()
