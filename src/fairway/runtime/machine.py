"""What the machine is and has, and how much of it is in use."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Machine:
    """A picture of the machine, taken once."""

    hostname: str
    address: str
    cpus: int
    memory_bytes: int
    system: str
    architecture: str
    kernel: str
    image: str
    boot_id: str
    machine_id: str


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_seconds: float
    """Busy time of all processors since the machine started."""
    memory_bytes: int


def look() -> Machine:
    known = platform.uname()
    return Machine(
        hostname=node_name(known.node),
        address=_address(),
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=_memory().get("MemTotal", 0) or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        system=known.system.lower(),
        architecture=_ARCHITECTURES.get(known.machine, known.machine),
        kernel=known.release,
        image=_os_name(),
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
        machine_id=_read("/etc/machine-id"),
    )


def usage() -> Usage:
    memory = _memory()
    fields = _read("/proc/stat").split("\n")[0].split()[1:]
    ticks = [int(field) for field in fields]
    busy = sum(ticks[:3]) + sum(ticks[5:8]) if len(ticks) >= 8 else 0
    return Usage(busy / os.sysconf("SC_CLK_TCK"), memory.get("MemTotal", 0) - memory.get("MemAvailable", 0))


def variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables that the processes of users get from the node: where programs are and who runs them, and none of the node's secrets."""
    source = os.environ if environment is None else environment
    return {name: source[name] for name in _PASSED_ON if name in source}


def node_name(host: str) -> str:
    """A host's name as a Node may have it."""
    name = "".join(char if (char.isalnum() and char.isascii()) or char in "-." else "-" for char in host.lower())
    return name.strip("-.") or "localhost"


def _memory() -> dict[str, int]:
    found = {}
    for line in _read("/proc/meminfo").split("\n"):
        name, _colon, rest = line.partition(":")
        amount = rest.split()
        if amount:
            found[name] = int(amount[0]) * 1024
    return found


def _address() -> str:
    """The address that others would see; nothing is sent to find it."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return "127.0.0.1"


def _os_name() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return platform.platform()


def _read(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    return ""
