"""What this machine offers to hold runs within their limits: cgroup v2, v1, both, or nothing.

Looked up once, by trying; the shim then only makes folders and writes numbers, as the plan in the run's spec says. Where cgroups are missing or
not ours to write, runs go on with what else there is (rlimits).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairway.engines.engine import Limits

CONTROLLERS = ("memory", "cpu", "pids")
_V2_LINE: frozenset[str] = frozenset(("",))
_CPU_PERIOD_US = 100_000
_CPU_QUOTA_US_MIN = 1_000


@dataclass(frozen=True, slots=True)
class Mounted:
    """One hierarchy of cgroups, and our own place in it."""

    folder: Path
    top: Path
    version: int
    controllers: frozenset[str]

    def places(self) -> Iterator[Path]:
        """Ours first, then upwards: in v2 a group that has processes of its own cannot have limited groups below it."""
        here = self.folder
        yield here
        while here != self.top:
            here = here.parent
            yield here


@dataclass(frozen=True, slots=True)
class Cgroups:
    v2: Path | None = None
    v2_controllers: frozenset[str] = frozenset()
    v1: Mapping[str, Path] = field(default_factory=dict)
    """Where groups of runs are made, by controller; "freezer" too."""

    @property
    def controllers(self) -> frozenset[str]:
        return self.v2_controllers | frozenset(self.v1) & frozenset(CONTROLLERS)

    def plan(self, run_id: str, limits: Limits) -> dict[str, object] | None:
        """What the shim is to make for a run; None where there is nothing to hold, or nothing to hold it with."""
        wanted = {
            "memory": limits.memory_bytes,
            "cpu": limits.cpu_millis,
            "pids": limits.processes,
        }
        held = {name: value for name, value in wanted.items() if value and name in self.controllers}
        if not held:
            return None
        # A group's folder also holds the kernel's files: no id may be the name of one of them.
        name = f"run-{run_id}"
        folders: dict[str, dict[str, str]] = {}
        plan: dict[str, object] = {"folders": folders}
        if self.v2 is not None:
            here = str(self.v2 / name)
            folders[here] = {}
            plan["kill"] = f"{here}/cgroup.kill" if (self.v2 / "cgroup.kill").exists() else ""
        elif "freezer" in self.v1:
            here = str(self.v1["freezer"] / name)
            folders[here] = {}
            plan["freezer"] = f"{here}/freezer.state"
        for controller, value in held.items():
            if controller in self.v2_controllers and self.v2 is not None:
                here = str(self.v2 / name)
                folders[here].update(_V2[controller](value))
                oom, peak = f"{here}/memory.events", f"{here}/memory.peak"
            else:
                here = str(self.v1[controller] / name)
                folders.setdefault(here, {}).update(_V1[controller](value))
                oom, peak = f"{here}/memory.oom_control", f"{here}/memory.max_usage_in_bytes"
            if controller == "memory":
                plan["oom"], plan["peak"] = oom, peak
        return plan

    def remove(self) -> None:
        """The groups above those of runs; the kernel keeps them for as long as there is one."""
        for path in {*self.v1.values(), *((self.v2,) if self.v2 else ())}:
            with contextlib.suppress(OSError):
                path.rmdir()


def _cpu_quota_us(millis: int) -> int:
    return max(millis * _CPU_PERIOD_US // 1000, _CPU_QUOTA_US_MIN)


_V2 = {
    "memory": lambda value: {"memory.max": str(value), "memory.swap.max?": "0", "memory.oom.group?": "1"},
    "cpu": lambda value: {"cpu.max": f"{_cpu_quota_us(value)} {_CPU_PERIOD_US}"},
    "pids": lambda value: {"pids.max": str(value)},
}
_V1 = {
    "memory": lambda value: {"memory.limit_in_bytes": str(value), "memory.memsw.limit_in_bytes?": str(value)},
    "cpu": lambda value: {"cpu.cfs_period_us": str(_CPU_PERIOD_US), "cpu.cfs_quota_us": str(_cpu_quota_us(value))},
    "pids": lambda value: {"pids.max": str(value)},
}


def detect(name: str, mountinfo: Path = Path("/proc/self/mountinfo"), own: Path = Path("/proc/self/cgroup")) -> Cgroups:
    """Makes the groups above those of runs, under the name, wherever that works."""
    try:
        hierarchies = list(_hierarchies(mountinfo.read_text(), own.read_text()))
    except (OSError, ValueError, IndexError):
        return Cgroups()
    v2_path, v2_controllers = _settle_v2(hierarchies, name)
    v1: dict[str, Path] = {}
    for hierarchy in hierarchies:
        missing = (hierarchy.controllers & {*CONTROLLERS, "freezer"}) - v2_controllers
        if hierarchy.version == 1 and missing and (path := _settle_v1(hierarchy, name)):
            v1.update(dict.fromkeys(sorted(missing), path))
    return Cgroups(v2_path, v2_controllers, v1)


def _hierarchies(mountinfo: str, own: str) -> Iterator[Mounted]:
    places: dict[frozenset[str], str] = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        places[frozenset(names.split(",")) if names else _V2_LINE] = path
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, mountpoint = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup2":
            yield _mounted(mountpoint, root, places.get(_V2_LINE, "/"), 2, frozenset())
        elif kind == "cgroup":
            named = frozenset(options.split(","))
            for controllers, place in places.items():
                if controllers <= named and controllers != _V2_LINE:
                    yield _mounted(mountpoint, root, place, 1, controllers)


def _mounted(mountpoint: str, root: str, place: str, version: int, controllers: frozenset[str]) -> Mounted:
    top = Path(mountpoint)
    below = os.path.relpath(place, root)
    folder = top if below.startswith("..") or below == "." else top / below
    if version == 2:
        controllers = frozenset(_words(folder / "cgroup.controllers"))
    return Mounted(folder, top, version, controllers)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _settle_v2(hierarchies: list[Mounted], name: str) -> tuple[Path | None, frozenset[str]]:
    """The first place where all limits work; failing that, one where most do, or where at least all processes of a run can be killed at once."""
    best: tuple[Path | None, frozenset[str]] = (None, frozenset())
    for hierarchy in hierarchies:
        for place in hierarchy.places() if hierarchy.version == 2 else ():
            path = place / name
            if not _make(path):
                continue
            for controller in CONTROLLERS:
                for enabling in (place, path):
                    with contextlib.suppress(OSError):
                        (enabling / "cgroup.subtree_control").write_text(f"+{controller}")
            enabled = frozenset(_words(path / "cgroup.subtree_control")) & frozenset(CONTROLLERS)
            if not _joinable(path) or (best[0] is not None and len(enabled) <= len(best[1])):
                _remove(path)
                continue
            if best[0] is not None:
                _remove(best[0])
            best = (path, enabled)
            if len(enabled) == len(CONTROLLERS):
                return best
    return best


def _settle_v1(hierarchy: Mounted, name: str) -> Path | None:
    for place in hierarchy.places():
        path = place / name
        if _make(path):
            if _joinable(path):
                return path
            _remove(path)
    return None


def _make(path: Path) -> bool:
    try:
        path.mkdir(exist_ok=True)
    except OSError:
        return False
    return True


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir()


def _joinable(path: Path) -> bool:
    """Whether a process of ours may move into a group below: known for sure only by doing it."""
    probe = path / "probe"
    if not _make(probe):
        return False
    try:
        command = ["/bin/sh", "-c", 'echo 0 > "$0"', str(probe / "cgroup.procs")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0
    except OSError:
        return False
    finally:
        _remove(probe)
