"""Where leases are handed on to the shims: a file for each origin, written beside the event loop."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from fairway.engines import lease
from fairway.engines.lease import Lease
from fairway.runtime.disk import Disk


class LeaseFiles(Protocol):
    def known(self) -> dict[str, Lease]:
        """What was handed on in this boot, by origin."""
        ...

    def path(self, origin: str) -> str: ...

    async def write(self, origin: str, granted: Lease) -> None: ...

    def close(self) -> None: ...


class FolderOfLeases:
    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        folder.mkdir(parents=True, exist_ok=True)

    def known(self) -> dict[str, Lease]:
        found = {path.name: lease.read(path) for path in sorted(self._folder.iterdir()) if path.name[0] != "."}
        return {origin: one for origin, one in found.items() if one is not None}

    def path(self, origin: str) -> str:
        return str(self._folder / origin)

    async def write(self, origin: str, granted: Lease) -> None:
        await self._disk.run(lambda: lease.write(self._folder / origin, granted))

    def close(self) -> None:
        self._disk.close()
