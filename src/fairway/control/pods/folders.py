"""A pod's own folder on disk: its volumes, made before its first container starts and removed with the pod."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from fairway.control.pods.volumes import File, Filled, HostPath, Volume, trouble
from fairway.engines import bundles
from fairway.engines.bundles import Reference


class Folders:
    def __init__(self, root: Path) -> None:
        self._root = root

    def make(self, uid: str, volumes: Sequence[Volume]) -> dict[str, str]:
        """Where each volume is. What is there already is left as it is: containers may have written to it."""
        return {volume.name: self._one(uid, volume) for volume in volumes}

    def bundle(self, uid: str, reference: Reference) -> str:
        """The code of a pod, fetched and unpacked once. Raises BundleError."""
        folder = self._root / uid / "bundle"
        if not folder.is_dir():
            bundles.unpack(bundles.get(reference), folder)
        return str(folder)

    def remove(self, uid: str) -> None:
        shutil.rmtree(self._root / uid, ignore_errors=True)

    def known(self) -> list[str]:
        """Uids of pods that have a folder."""
        return [entry.name for entry in self._root.iterdir()] if self._root.is_dir() else []

    def _one(self, uid: str, volume: Volume) -> str:
        try:
            if isinstance(volume, HostPath):
                return _host_path(volume)
            return self._filled(uid, volume)
        except OSError as error:
            raise trouble(volume.name, f"{error.strerror or error}: {error.filename or ''}") from None

    def _filled(self, uid: str, volume: Filled) -> str:
        folder = self._root / uid / "volumes" / volume.name
        if folder.is_dir():
            return str(folder)
        # Filled aside and then moved, so that a crash never leaves half a volume that looks whole.
        aside = folder.with_name(f".{volume.name}")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for file in volume.files:
            _write(aside, file)
        aside.rename(folder)
        return str(folder)


def _write(folder: Path, file: File) -> None:
    path = folder / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as out:
        out.write(file.content)
        os.fchmod(fd, file.mode & 0o777)


def _host_path(volume: HostPath) -> str:
    path = Path(volume.path)
    if volume.type == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif volume.type == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    checks = {"Directory": path.is_dir, "File": path.is_file, "Socket": path.is_socket}
    check = checks.get(volume.type)
    if check is not None and not check():
        raise trouble(volume.name, f"hostPath type check failed: {volume.path} is not a {volume.type.lower()}")
    return volume.path
