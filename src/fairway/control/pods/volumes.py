"""What the volumes of a pod hold, and where its containers find them. Decided here, written by `folders`.

A host process sees the machine's own files: a volume is a folder, and a mount a path at which the engine offers it (below the working
folder, where the path itself cannot be had), named in a variable as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.control.pods.containers import CREATING, Problem
from fairway.control.pods.environment import Sources, Unprepared, expand, field_value, resource_value
from fairway.engines.engine import Mount

Json = Mapping[str, Any]
MOUNT_NOTE = "FailedMount"
FILE_MODE = 0o644
ROOT_CA = "kube-root-ca.crt"
"""In every namespace of a Kubernetes, which mounts it into pods along with a token of their service account. Pods that come from one bring
that mount along; here they get neither token nor certificate, and run."""
_NOT_A_WORD = re.compile(r"[^A-Z0-9]")


@dataclass(frozen=True, slots=True)
class File:
    path: str
    """Below the volume's folder; never leaves it."""
    content: bytes
    mode: int = FILE_MODE


@dataclass(frozen=True, slots=True)
class Filled:
    """A folder of the pod's own, with these files in it to begin with."""

    name: str
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path of the machine."""

    name: str
    path: str
    type: str = ""


Volume = Filled | HostPath


def volumes(pod: Json, sources: Sources) -> list[Volume]:
    """Raises Unprepared for what is not there, and for kinds of volumes that a host process cannot have."""
    return [_volume(volume, pod, sources) for volume in pod["spec"].get("volumes") or ()]


def _volume(volume: Json, pod: Json, sources: Sources) -> Volume:
    name = volume["name"]
    if "emptyDir" in volume:
        return Filled(name)
    if "hostPath" in volume:
        return HostPath(name, volume["hostPath"].get("path", ""), volume["hostPath"].get("type") or "")
    if "projected" in volume:
        files: list[File] = []
        mode = volume["projected"].get("defaultMode", FILE_MODE)
        for source in volume["projected"].get("sources") or ():
            files += _files(name, source, mode, pod, sources, "name")
        return _filled(name, files)
    return _filled(name, _files(name, volume, FILE_MODE, pod, sources, "secretName"))


def _filled(name: str, files: Sequence[File]) -> Filled:
    for file in files:
        if not _stays_inside(file.path):
            raise trouble(name, f"path {file.path!r} leaves the volume")
    return Filled(name, tuple(files))


def _stays_inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _files(name: str, source: Json, mode: int, pod: Json, sources: Sources, secret: str) -> list[File]:
    if "configMap" in source:
        ref = source["configMap"]
        return _entries(name, ref, sources.config_map(ref.get("name", "")), ref.get("name", ""), "configmap", mode)
    if "secret" in source:
        ref = source["secret"]
        return _entries(name, ref, sources.secret(ref.get(secret, "")), ref.get(secret, ""), "secret", mode)
    if "downwardAPI" in source:
        ref = source["downwardAPI"]
        return [_downward(item, ref.get("defaultMode", mode), pod, sources) for item in ref.get("items") or ()]
    if "serviceAccountToken" in source or "clusterTrustBundle" in source:
        return []
    kind = next((key for key in source if key != "name"), "of no kind")
    raise trouble(
        name, f"a host process cannot have volumes of kind {kind}; use emptyDir, hostPath, configMap or secret"
    )


def _entries(name: str, ref: Json, entries: Json | None, object_name: str, kind: str, mode: int) -> list[File]:
    mode = ref.get("defaultMode", mode)
    if entries is None:
        if ref.get("optional") or object_name == ROOT_CA:
            return []
        raise trouble(name, f'{kind} "{object_name}" not found')
    if not ref.get("items"):
        return [File(key, value, mode) for key, value in sorted(entries.items())]
    files = []
    for item in ref["items"]:
        if item["key"] in entries:
            files.append(File(item["path"], entries[item["key"]], item.get("mode", mode)))
        elif not ref.get("optional"):
            raise trouble(name, f"references non-existent config key: {item['key']}")
    return files


def _downward(item: Json, mode: int, pod: Json, sources: Sources) -> File:
    if item.get("fieldRef"):
        value = field_value(pod, item["fieldRef"].get("fieldPath", ""))
    else:
        first = pod["spec"]["containers"][0]
        value = resource_value(pod, first, item.get("resourceFieldRef") or {}, sources.allocatable)
    return File(item["path"], value.encode(), item.get("mode", mode))


def trouble(volume: str, why: str) -> Unprepared:
    return Unprepared(Problem(CREATING, f'MountVolume.SetUp failed for volume "{volume}" : {why}', note=MOUNT_NOTE))


def mounts(container: Json, folders: Mapping[str, str], known: Mapping[str, str]) -> list[Mount]:
    """folders: where each volume is on the machine."""
    found = []
    for mount in container.get("volumeMounts") or ():
        source = folders[mount["name"]]
        part = expand(mount["subPathExpr"], known) if mount.get("subPathExpr") else mount.get("subPath", "")
        if part:
            if not _stays_inside(part):
                raise trouble(mount["name"], f"subPath {part!r} leaves the volume")
            source = f"{source.rstrip('/')}/{part}"
        found.append(Mount(source, mount["mountPath"], bool(mount.get("readOnly"))))
    return found


def variables(container: Json, folders: Mapping[str, str]) -> dict[str, str]:
    """FAIRWAY_VOLUME_NAME for each volume that the container mounts."""
    return {
        f"FAIRWAY_VOLUME_{_NOT_A_WORD.sub('_', mount['name'].upper())}": folders[mount["name"]]
        for mount in container.get("volumeMounts") or ()
    }


def working_folder(container: Json, found: Sequence[Mount]) -> str:
    """Where the process starts: inside a volume if the path is mounted, else as it says; empty is the run's own folder."""
    wanted: str = container.get("workingDir") or ""
    best = max(
        (mount for mount in found if wanted == mount.path or wanted.startswith(mount.path.rstrip("/") + "/")),
        key=lambda mount: len(mount.path),
        default=None,
    )
    return wanted if best is None else best.source + wanted[len(best.path.rstrip("/")) :]
