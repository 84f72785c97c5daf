"""Finding the node to talk to: a kubeconfig that is named, that of KUBECONFIG, or the one that `fairway up` wrote."""

from __future__ import annotations

import base64
import os
import ssl
from pathlib import Path
from typing import Any

import yaml

from fairway.api.remote import RemoteClient
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem
from fairway.runtime.transport import HttpTransport


def connect(kubeconfig: str | Path | None = None, context: str | None = None) -> RemoteClient:
    path = _path(kubeconfig)
    try:
        document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(f"there is no kubeconfig at {path}", "start a node with: fairway up --detach") from None
    except (OSError, yaml.YAMLError) as error:
        raise Problem(f"cannot read {path}: {error}") from None
    try:
        wanted = context or document["current-context"]
        names = _named(document, "contexts", wanted)["context"]
        cluster = _named(document, "clusters", names["cluster"])["cluster"]
        token = _named(document, "users", names["user"])["user"].get("token", "")
    except (KeyError, TypeError) as error:
        raise Problem(f"{path} has no usable context {context or ''}: {error} is missing") from None
    return RemoteClient(HttpTransport(cluster["server"], _tls(cluster)), lambda: token, "fairway-sdk")


def _path(kubeconfig: str | Path | None) -> Path:
    if kubeconfig is not None:
        return Path(kubeconfig).expanduser()
    own = DataDir.at(None).kubeconfig
    from_environment = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(from_environment) if from_environment else own


def _named(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    for entry in document[section]:
        if entry["name"] == name:
            found: dict[str, Any] = entry
            return found
    raise KeyError(f"{section} {name}")


def _tls(cluster: dict[str, Any]) -> ssl.SSLContext | None:
    if not cluster["server"].startswith("https:"):
        return None
    authority = cluster.get("certificate-authority-data")
    return ssl.create_default_context(cadata=base64.b64decode(authority).decode() if authority else None)
