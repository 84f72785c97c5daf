"""Fleets to measure: the command's own processes with their TLS, stores and engines, in a folder that goes away with them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import probes
from fairway.api.client import Query, Resource
from fairway.api.remote import RemoteClient
from fairway.cli import kubeconfig
from fairway.cli.members import client_of
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir

CLUSTERS = Resource("fairway.dev", "v1", "clusters", namespaced=False)
_START_SECONDS_MAX = 120
_TICK = os.sysconf("SC_CLK_TCK")
_REQUESTS = re.compile(r'^apiserver_request_total\{code="\d+",resource="([^"]*)",verb="([^"]*)"\} (\S+)', re.MULTILINE)


class Processes:
    """Launchers, and everything that they started."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._launchers = [_state(folder)[0] for folder in folders]

    def cpu_seconds(self) -> float:
        """Of all that live, and of all that one of them has waited for."""
        children: dict[int, list[int]] = {}
        ticks: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, (parent, used) = int(path.parent.name), _stat(path)
            except OSError:
                continue
            children.setdefault(parent, []).append(pid)
            ticks[pid] = used
        total, ahead = 0, list(self._launchers)
        while ahead:
            pid = ahead.pop()
            total += ticks.get(pid, 0)
            ahead += children.get(pid, ())
        return total / _TICK


def _stat(path: Path) -> tuple[int, int]:
    """Parent, and ticks of the process and its children."""
    fields = path.read_text().rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15]))


def cpu_seconds_of(pid: int) -> float:
    return _stat(Path(f"/proc/{pid}/stat"))[1] / _TICK


def resident_bytes_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _state(folder: Path) -> tuple[int, int]:
    """The pids of launcher and node."""
    state = DataDir.at(str(folder)).running()
    assert state is not None, f"nothing runs in {folder}"
    return state.pid, state.node_pid


def node_pid(folder: Path) -> int:
    return _state(folder)[1]


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[Path]:
    """`fairway up` in this folder."""
    _fairway("up", "--detach", "--port", "0", "--data", str(folder), *arguments)
    try:
        yield folder
    finally:
        _fairway("down", "--data", str(folder))


def _fairway(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairway", *arguments],
        capture_output=True,
        text=True,
        timeout=_START_SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"fairway {' '.join(arguments)}: {done.stderr or done.stdout}")


@contextmanager
def fleet(sizes: Sequence[str]) -> Iterator[tuple[Path, list[Path]]]:
    """A hub's folder, and those of its clusters."""
    with probes.folder() as folder:
        asked = ("--clusters", str(len(sizes)), "--cluster-sizes", ",".join(sizes))
        with up(folder / "hub", *asked) as hub:
            yield hub, [hub / "clusters" / f"cluster-{number + 1}" for number in range(len(sizes))]


@contextmanager
def alone(sizes: Sequence[str]) -> Iterator[list[Path]]:
    """As many clusters of the same sizes, and no hub."""
    with probes.folder() as folder:
        yield from _each(folder, list(sizes), [])


def _each(folder: Path, sizes: list[str], made: list[Path]) -> Iterator[list[Path]]:
    if not sizes:
        yield made
        return
    cpu, _, memory = sizes[0].partition(":")
    name = f"cluster-{len(made) + 1}"
    with up(folder / name, "--cpu", cpu, "--memory", memory) as path:
        yield from _each(folder, sizes[1:], [*made, path])


def client(folder: Path) -> RemoteClient:
    return client_of(kubeconfig.access(DataDir.at(str(folder)), kubeconfig.HOME), SystemClock())


async def requests(client: RemoteClient) -> Counter[str]:
    """Requests that a server has answered so far, by verb and resource, watches that began among them; not those for this."""
    text = b"".join([chunk async for chunk in client.stream("/metrics")]).decode()
    counted = Counter[str]()
    for resource, verb, number in _REQUESTS.findall(text):
        if resource:
            counted[f"{verb} {resource}"] += int(float(number))
    return counted


async def healthy(hub: RemoteClient, count: int) -> None:
    """Until so many clusters are connected, and the hub's default queue may hand work to them."""

    async def all_are() -> bool:
        listed = (await hub.list(CLUSTERS, Query())).items
        return sum((each.json().get("status") or {}).get("health") == "Healthy" for each in listed) == count

    await eventually(all_are, f"{count} clusters are healthy")


async def eventually(true: Callable[[], Awaitable[bool]], what: str, seconds: float = _START_SECONDS_MAX) -> None:
    until = time.monotonic() + seconds
    while not await true():
        if time.monotonic() > until:
            raise RuntimeError(f"not within {seconds:.0f} s: {what}")
        await asyncio.sleep(0.1)
