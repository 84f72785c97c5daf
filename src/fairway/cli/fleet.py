"""A folder's fleet, as `up`, `down` and `status` see it: what is to run, what runs, and how it stops."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from fairway.cli import launch
from fairway.cli.output import say, show_table
from fairway.core import quantity
from fairway.runtime import layout, process
from fairway.runtime.datadir import DataDir, LauncherState
from fairway.runtime.layout import Layout, Member
from fairway.runtime.status import Problem

_STOP_TIMEOUT_S = 45.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says about the fleet."""

    clusters: int | None
    sizes: str
    hub: bool
    sized: bool
    """Whether it says what one machine has (--cpu, --memory, --gpus)."""
    no_engine: bool


def settle(folder: DataDir, asked: Asked) -> Layout:
    """What the folder is from now on. Raises Problem where that cannot be, before anything has changed."""
    known = layout.read(folder)
    wanted = _wanted(known, asked, single=folder.store(layout.SINGLE).exists())
    if asked.sized and wanted.hub and not wanted.own:
        raise Problem(
            "--cpu, --memory and --gpus are about one machine's cluster; this hub runs nothing itself",
            "say what its clusters have: --cluster-sizes 2,4:8Gi,8:16Gi:1; or make its machine a cluster: --hub",
        )
    if wanted != known:
        layout.write(folder, wanted)
    return wanted


def _wanted(known: Layout, asked: Asked, *, single: bool) -> Layout:
    sizes = [_checked(layout.parse_size(text)) for text in asked.sizes.split(",") if text.strip()]
    if sizes and asked.clusters is None and not known.clusters:
        raise Problem("--cluster-sizes needs --clusters", f"say how many: --clusters {len(sizes)}")
    if asked.hub:
        own = known.own or (layout.SINGLE if single and not known.hub else layout.OWN)
        known = Layout(hub=True, own="" if asked.no_engine else own, clusters=known.clusters)
        single = False
    if asked.clusters is None and not sizes:
        return known
    return layout.grown(known, asked.clusters, sizes, single=single)


def _checked(size: Member) -> Member:
    for name, text in (("CPUs", size.cpu), ("memory", size.memory)):
        try:
            if text and quantity.parse(text).nanos <= 0:
                raise Problem(f"--cluster-sizes: {name} {text}: must be more than nothing")
        except quantity.QuantityError as error:
            raise Problem(f"--cluster-sizes: {name}: {error}") from None
    return size


def running(folder: DataDir) -> dict[str, LauncherState | None]:
    """The launchers of the clusters beside the hub, by their clusters' names."""
    return {name: folder.cluster(name).running() for name in layout.read(folder).names}


def stop(folder: DataDir, name: str) -> bool:
    """Stops one of them, and waits until it is gone. Whether it ran."""
    state = folder.cluster(name).running()
    if state is None:
        return False
    try:
        process.send(state.pid, state.identity, signal.SIGTERM)
    except PermissionError as error:
        raise Problem(f"not allowed to stop pid {state.pid}: it is another user's", "stop it as that user") from error
    if not process.wait_until(lambda: not process.same(state.pid, state.identity), _STOP_TIMEOUT_S):
        raise Problem(
            f"the launcher of {name} (pid {state.pid}) did not stop within {_STOP_TIMEOUT_S:.0f} s",
            f"end it with: kill -9 {state.pid} (its node follows; nothing acknowledged is lost)",
        )
    return True


def describe(folder: DataDir) -> list[dict[str, object]]:
    """For programs."""
    return [
        {
            "name": member.name,
            "running": state is not None,
            "phase": state.phase if state else None,
            "pid": state.pid if state else None,
            "nodePid": state.node_pid or None if state else None,
            "address": state.url if state else None,
            "restarts": state.restarts if state else None,
            "context": member.name,
            "cpu": member.cpu,
            "memory": member.memory,
            "gpus": member.gpus,
            "data": str(folder.cluster(member.name).path),
        }
        for member, state in _states(folder)
    ]


def show(folder: DataDir) -> None:
    """For people."""
    states = _states(folder)
    if not states:
        return
    say()
    rows = [
        [
            member.name,
            state.phase if state else "not running",
            state.url if state else "",
            size(member),
            f"launcher {state.pid}, node {state.node_pid or '–'}" if state else "",
            str(state.restarts) if state else "",
        ]
        for member, state in states
    ]
    show_table(["CLUSTER", "PHASE", "ADDRESS", "SIZE", "PROCESS", "RESTARTS"], rows)


def size(member: Member) -> str:
    gpus = f"{member.gpus} GPU{'s' * (member.gpus > 1)}" if member.gpus else ""
    parts = [f"{member.cpu} CPUs" if member.cpu else "", member.memory, gpus]
    return ", ".join(part for part in parts if part) or "as the machine"


def _states(folder: DataDir) -> list[tuple[Member, LauncherState | None]]:
    return [(member, folder.cluster(member.name).running()) for member in layout.read(folder).clusters]


def machine(known: Layout, arguments: list[str]) -> list[str]:
    """What the folder's own node is told: a hub that runs nothing has no machine."""
    if known.hub and not known.own and "--no-engine" not in arguments:
        return [*launch.machine_arguments(cpu="", memory="", gpus=0, no_engine=True), *arguments]
    return arguments
