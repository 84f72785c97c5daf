"""The folder's kubeconfig, written: one cluster, user and context per space, with all it takes to connect inside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fairway.runtime.files import write_atomically


@dataclass(frozen=True, slots=True)
class SpaceContext:
    """How one space is reached, as one user."""

    name: str
    """Of cluster, user and context alike."""
    server: str
    authority: bytes = b""
    """Certificates to trust, PEM; empty where the server speaks without TLS."""
    token: str = field(default="", repr=False)
    namespace: str = "default"
    aliases: tuple[str, ...] = ()
    """Other names of the context."""


def kubeconfig(spaces: Sequence[SpaceContext], current: str = "") -> str:
    """The text of a kubeconfig. current: the context that is used where none is named; the first one if empty."""
    return yaml.safe_dump(_document(spaces, current), sort_keys=False)


def write_kubeconfig(path: Path, spaces: Sequence[SpaceContext], current: str = "") -> None:
    """Readable by its owner only: whoever has it can do what its tokens can."""
    write_atomically(path, kubeconfig(spaces, current).encode())


def _document(spaces: Sequence[SpaceContext], current: str) -> dict[str, Any]:
    named = [(name, space) for space in spaces for name in (space.name, *space.aliases)]
    names = [name for name, _space in named]
    if current and current not in names:
        raise ValueError(f"{current} is not one of the contexts {names}")
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": space.name, "cluster": _cluster(space)} for space in spaces],
        "users": [{"name": space.name, "user": {"token": space.token}} for space in spaces],
        "contexts": [
            {
                "name": name,
                "context": {"cluster": space.name, "user": space.name, "namespace": space.namespace},
            }
            for name, space in named
        ],
        "current-context": current or (names[0] if names else ""),
    }


def _cluster(space: SpaceContext) -> dict[str, str]:
    cluster = {"server": space.server}
    if space.authority:
        cluster["certificate-authority-data"] = base64.b64encode(space.authority).decode()
    return cluster
