"""How a cluster becomes one of a hub's: the hub gets a token of its own there, kept in a Secret, and a Cluster that says so.

Done by whoever is administrator of both (`fairway up --clusters`, for the clusters of one machine), or by the cluster's administrator with an
invitation of the hub's (`fairway cluster join`). Doing it again renews the token and revokes the one before.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from fairway.api import patching
from fairway.api.client import Client, Query, Resource
from fairway.api.errors import ApiError
from fairway.fleet import access
from fairway.fleet.resources import CLUSTERS, SECRETS

TOKENS = Resource("fairway.dev", "v1", "tokens", namespaced=False)
HUB_LABEL = "fairway.dev/hub"
IDENTITY = "fairway.dev/cluster-id"
"""Annotation of a Cluster: who it really is, so that no other takes its name."""
KEY = "kubeconfig"
DEFAULT_POOL = "default"
Json = dict[str, Any]


class NameTaken(Exception):
    """Another cluster has that name on the hub."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the hub reaches a cluster's API; the token is its own."""

    server: str
    authority: bytes = b""
    """Certificates to trust, PEM; empty where the server speaks without TLS."""
    token: str = field(default="", repr=False)
    server_name: str = ""
    """The name on the server's certificate, where it is not that in the URL."""


@dataclass(frozen=True, slots=True)
class Joining:
    """What the hub is told about a cluster."""

    name: str
    pool: str = DEFAULT_POOL
    labels: Mapping[str, str] = field(default_factory=dict)
    engine: str = "process"
    identity: str = ""
    lease_s: int = 0
    """How long its work runs on when nobody renews the lease; nothing: as long as usual."""


def secret_name(cluster: str) -> str:
    return f"fairway-cluster-{cluster}"


def kubeconfig(name: str, way: Way) -> str:
    cluster: Json = {"server": way.server}
    if way.authority:
        cluster["certificate-authority-data"] = base64.b64encode(way.authority).decode()
    if way.server_name:
        cluster["tls-server-name"] = way.server_name
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": access.USER, "user": {"token": way.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": access.USER}}],
            "current-context": name,
        },
        sort_keys=False,
    )


def read_kubeconfig(text: str) -> Way | None:
    """The way that `kubeconfig` wrote; None for anything else."""
    try:
        document = yaml.safe_load(text)
        cluster = document["clusters"][0]["cluster"]
        return Way(
            cluster["server"],
            base64.b64decode(cluster.get("certificate-authority-data", "")),
            document["users"][0]["user"]["token"],
            cluster.get("tls-server-name", ""),
        )
    except (yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return None


async def identity(client: Client) -> str:
    """What tells one space from another, whatever it is called and wherever it moves."""
    return (await client.get(access.NAMESPACES, "kube-system")).meta.uid


def origin(identity: str) -> str:
    """The name under which a hub is known on its clusters."""
    return f"fairway-{identity[:8]}"


# --- on the cluster -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """A token of the hub's on the cluster."""

    name: str
    secret: str = field(repr=False)


async def let_in(cluster: Client, hub: str, until: str | None = None) -> Admitted:
    """Let the hub in: its role, and a new token. The client must speak HTTP: secrets are made where tokens are posted."""
    await access.grant(cluster)
    spec = {"user": access.USER, "description": f"hub {hub} dispatches with it"}
    if until is not None:
        spec["expirationTimestamp"] = until
    metadata = {"generateName": f"{access.USER}-", "labels": {HUB_LABEL: hub}}
    made = await cluster.create(TOKENS, {"metadata": metadata, "spec": spec})
    return Admitted(made.meta.name, made.json()["status"]["token"])


async def shut_out(cluster: Client, hub: str, keep: str = "") -> list[str]:
    """Revoke the hub's tokens on the cluster, but for the one to keep."""
    revoked = []
    for item in (await cluster.list(TOKENS, Query(labels=f"{HUB_LABEL}={hub}"))).items:
        name = item.meta.name
        if name == keep:
            continue
        try:
            await cluster.delete(TOKENS, name)
        except ApiError as error:
            if error.code != 404:
                raise
        revoked.append(name)
    return revoked


# --- on the hub -----------------------------------------------------------------------------------------------------


async def known_way(hub: Client, name: str) -> Way | None:
    try:
        secret = (await hub.get(SECRETS, secret_name(name), access.NAMESPACE)).json()
        return read_kubeconfig(base64.b64decode((secret.get("data") or {}).get(KEY, "")).decode())
    except ApiError as error:
        if error.code != 404:
            raise
    except ValueError:
        pass
    return None


async def write_way(hub: Client, name: str, way: Way) -> None:
    """Creates the Secret, or replaces what is in it; the hub connects anew when it changes."""
    text = base64.b64encode(kubeconfig(name, way).encode()).decode()
    change = {"data": {KEY: text}}
    try:
        await hub.patch(SECRETS, secret_name(name), change, access.NAMESPACE, media=patching.MERGE_PATCH)
    except ApiError as error:
        if error.code != 404:
            raise
        meta = {"name": secret_name(name), "namespace": access.NAMESPACE, "labels": {"fairway.dev/cluster": name}}
        await hub.create(SECRETS, {"metadata": meta, "type": "Opaque", **change}, access.NAMESPACE)


async def check_name(hub: Client, joining: Joining) -> None:
    """Raises NameTaken."""
    try:
        found = (await hub.get(CLUSTERS, joining.name)).json()
    except ApiError as error:
        if error.code == 404:
            return
        raise
    known = (found["metadata"].get("annotations") or {}).get(IDENTITY, "")
    if known and joining.identity and known != joining.identity:
        raise NameTaken(f"another cluster is called {joining.name} on the hub")


async def announce(hub: Client, joining: Joining) -> None:
    """The Cluster itself. One that is there already keeps what its administrator made of it; only labels that are given are set."""
    meta: Json = {"name": joining.name, "labels": dict(joining.labels), "annotations": {IDENTITY: joining.identity}}
    spec: Json = {
        "pool": joining.pool,
        "engine": joining.engine,
        "connection": {"kubeconfig": {"secretName": secret_name(joining.name)}},
    }
    if joining.lease_s:
        spec["fencing"] = {"leaseSeconds": joining.lease_s}
    try:
        await hub.create(CLUSTERS, {"metadata": meta, "spec": spec})
    except ApiError as error:
        if error.code != 409:
            raise
        change = {"metadata": {"labels": meta["labels"], "annotations": meta["annotations"]}}
        await hub.patch(CLUSTERS, joining.name, change, media=patching.MERGE_PATCH)


async def join(hub: Client, cluster: Client, joining: Joining, way: Way) -> Admitted:
    """All of it: a new token on the cluster, the Secret and the Cluster on the hub, and then the end of the tokens before."""
    await check_name(hub, joining)
    own = origin(await identity(hub))
    admitted = await let_in(cluster, own)
    await write_way(hub, joining.name, Way(way.server, way.authority, admitted.secret, way.server_name))
    await announce(hub, joining)
    await shut_out(cluster, own, keep=admitted.name)
    return admitted
