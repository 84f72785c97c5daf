"""Finding the node to talk to: a kubeconfig that is named, that of KUBECONFIG, or the one that `fairway up` wrote."""

from __future__ import annotations

import os
from pathlib import Path

from fairway.api.kubeconfig import KubeconfigError, load
from fairway.api.remote import RemoteClient
from fairway.runtime.clock import SystemClock
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

_PAUSES = (0.1, 0.4, 1.0)
_STRICTNESS = "Strict"
"""People are told of a field that they mistyped."""


def connect(kubeconfig: str | Path | None = None, context: str | None = None) -> RemoteClient:
    path = _path(kubeconfig)
    try:
        text = path.read_text(encoding="utf-8")
        access = load(text, SystemClock(), context=context or "", folder=path.parent)
        return access.connect("fairway-sdk", _PAUSES, _STRICTNESS)
    except FileNotFoundError:
        raise Problem(f"there is no kubeconfig at {path}", "start a node with: fairway up --detach") from None
    except (OSError, UnicodeDecodeError, KubeconfigError) as error:
        raise Problem(f"{path}: {error}") from None


def _path(kubeconfig: str | Path | None) -> Path:
    if kubeconfig is not None:
        return Path(kubeconfig).expanduser()
    from_environment = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(from_environment) if from_environment else DataDir.at(None).kubeconfig
