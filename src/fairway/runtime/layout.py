"""What a data folder was started as: one cluster, or a hub with clusters beside it. Remembered, so that a plain `fairway up` starts the same.

A folder without this file is one cluster. The clusters of a hub that run on its machine have folders of their own below it:

    DATA/fleet.json             this
    DATA/clusters/cluster-1/    a data folder like any other, with its own launcher, node, port and kubeconfig
"""

from __future__ import annotations

import msgspec

from fairway.runtime.datadir import DataDir
from fairway.runtime.files import write_atomically
from fairway.runtime.status import Problem

HUB = "hub"
"""The space of a hub."""
OWN = "local"
"""The cluster that a hub's own machine is, and the space of it in a new folder."""
SINGLE = "default"
"""The space of a folder that is one cluster."""
CLUSTERS_MAX = 50


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cluster beside the hub, and what it says it has; what it does not say is as the machine has it."""

    name: str
    cpu: str = ""
    memory: str = ""
    gpus: int = 0


class Layout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    hub: bool = False
    own: str = ""
    """The space of the hub's node that is a cluster; empty where its machine runs nothing."""
    clusters: tuple[Member, ...] = ()

    @property
    def spaces(self) -> tuple[str, ...]:
        """Those that the folder's own node serves, the first at its root."""
        if not self.hub:
            return (SINGLE,)
        return (HUB, self.own) if self.own else (HUB,)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.clusters)


def read(data: DataDir) -> Layout:
    """Raises Problem for a file that makes no sense: guessing would start something else than what is in the folder."""
    try:
        return msgspec.json.decode(data.fleet_file.read_bytes(), type=Layout)
    except (FileNotFoundError, NotADirectoryError):
        return Layout()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(
            f"cannot read {data.fleet_file}, which says what runs here: {error}",
            "restore it from a backup; each cluster's data is whole in its own folder below clusters/",
        ) from None


def write(data: DataDir, layout: Layout) -> None:
    data.create()
    try:
        write_atomically(data.fleet_file, msgspec.json.format(msgspec.json.encode(layout)) + b"\n")
    except OSError as error:
        raise Problem(
            f"cannot write {data.fleet_file}: {error.strerror or error}", "make room, or make it yours"
        ) from None


def parse_size(text: str) -> Member:
    """`4`, `4:8Gi` or `4:8Gi:1`: CPUs, memory, GPUs. Memory is twice as many GiB as there are CPUs if nobody says otherwise."""
    parts = [part.strip() for part in text.split(":")]
    cpu, memory, gpus = (*parts, "", "")[:3]
    if not 1 <= len(parts) <= 3 or not cpu or not (gpus or "0").isdecimal():
        raise Problem(f"--cluster-sizes: {text!r} is no size", "give CPUs[:MEMORY[:GPUS]], like 4 or 4:8Gi or 8:16Gi:1")
    if not memory and cpu.isdecimal():
        memory = f"{2 * int(cpu)}Gi"
    return Member(name="", cpu=cpu, memory=memory, gpus=int(gpus or 0))


_SIZES = (
    Member(name="", cpu="2", memory="4Gi"),
    Member(name="", cpu="4", memory="8Gi"),
    Member(name="", cpu="8", memory="16Gi", gpus=1),
)
"""Different on purpose: where a job can run is a question only where clusters differ."""


def grown(known: Layout, count: int | None, sizes: list[Member], *, single: bool) -> Layout:
    """The layout for `--clusters count`. Raises Problem where that would lose something. single: the folder already is one cluster."""
    names = list(known.names)
    wanted = len(names) if count is None else count
    if wanted < len(names):
        surplus = names[wanted:]
        raise Problem(
            f"this folder has {len(names)} clusters ({', '.join(names)}), not {wanted}",
            f"remove those that you do not want: fairway cluster rm {surplus[0]}; or give another folder with --data DIR",
        )
    if single and not known.hub:
        raise Problem(
            "this folder is one cluster already, with its own objects and jobs",
            "give another folder with --data DIR for the fleet; or put a hub in front of it: fairway up --hub",
        )
    if len(sizes) > max(wanted, 1):
        raise Problem(f"--cluster-sizes gives {len(sizes)} sizes for {wanted} clusters", "give one for each, or fewer")
    number = max((_number(name) for name in names), default=0)
    while len(names) < wanted:
        number += 1
        names.append(f"cluster-{number}")
    old = {member.name: member for member in known.clusters}
    members = []
    for index, name in enumerate(names):
        given = sizes[index] if index < len(sizes) else old.get(name) or _SIZES[index % len(_SIZES)]
        members.append(Member(name=name, cpu=given.cpu, memory=given.memory, gpus=given.gpus))
    return Layout(hub=True, own=known.own, clusters=tuple(members))


def without(known: Layout, name: str) -> Layout:
    return msgspec.structs.replace(known, clusters=tuple(each for each in known.clusters if each.name != name))


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
