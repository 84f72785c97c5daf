"""Invitations to a fleet: a token that can join one cluster under one name for a short while, and the command that uses it.

All that it may do hangs on the token: when that is revoked or cleared away, its roles go with it.
"""

from __future__ import annotations

import hashlib
import secrets
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.cli.tokens import expiry
from fairway.fleet import access, joining
from fairway.fleet.access import rule
from fairway.fleet.resources import CLUSTERS, SECRETS
from fairway.runtime.datadir import DataDir
from fairway.runtime.status import Problem

REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", namespaced=False)
USER_PREFIX = "fairway-join:"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Invitation:
    name: str
    """Of the token."""
    secret: str = field(repr=False)
    until: str = ""


async def invite(hub: Client, cluster: str, lasts: str) -> Invitation:
    """Raises Problem for a name that is taken."""
    await access.ensure_namespace(hub)
    name = f"join-{cluster}-{secrets.token_hex(3)}"
    until = expiry(lasts, datetime.now(UTC))
    made = await hub.create(
        joining.TOKENS,
        {
            "metadata": {"name": name},
            "spec": {
                "user": USER_PREFIX + name,
                "description": f"cluster {cluster} may join with it",
                "expirationTimestamp": until,
            },
        },
    )
    await _prepare_secret(hub, cluster)
    for resource, obj in _rights(name, cluster, made.meta.uid):
        await hub.create(resource, obj, obj["metadata"].get("namespace", ""))
    return Invitation(name, made.json()["status"]["token"], until)


async def _prepare_secret(hub: Client, cluster: str) -> None:
    """Made here, so that whoever joins need not be let to create secrets."""
    meta = {"name": joining.secret_name(cluster), "namespace": access.NAMESPACE}
    labels = {"fairway.dev/cluster": cluster}
    await access.put(hub, SECRETS, {"metadata": {**meta, "labels": labels}, "type": "Opaque"})


def _rights(token: str, cluster: str, uid: str) -> list[tuple[Resource, Json]]:
    owner = {"apiVersion": "fairway.dev/v1", "kind": "Token", "name": token, "uid": uid}
    role = f"fairway:{token}"
    meta = {"name": role, "ownerReferences": [owner]}
    here = {**meta, "namespace": access.NAMESPACE}
    whom = {"subjects": [access.subject(USER_PREFIX + token)]}
    rules = [
        rule(["fairway.dev"], ["clusters"], ["create"]),
        rule(["fairway.dev"], ["clusters"], ["get", "update", "patch"], [cluster]),
        rule(["fairway.dev"], ["pools"], ["get", "list"]),
        rule(["fairway.dev"], ["tokens"], ["delete"], [token]),
        rule([""], ["namespaces"], ["get"], ["kube-system"]),
    ]
    secret = [rule([""], ["secrets"], ["get", "update", "patch"], [joining.secret_name(cluster)])]
    return [
        (access.CLUSTER_ROLES, {"metadata": meta, "rules": rules}),
        (
            access.CLUSTER_ROLE_BINDINGS,
            {"metadata": meta, **whom, "roleRef": access.role_ref(role, cluster=True)},
        ),
        (access.ROLES, {"metadata": here, "rules": secret}),
        (access.ROLE_BINDINGS, {"metadata": here, **whom, "roleRef": access.role_ref(role, cluster=False)}),
    ]


async def use_up(hub: Client) -> None:
    """An invitation is for once: revoke the one that the client speaks with, if it is one."""
    try:
        review = {"apiVersion": REVIEWS.api_version, "kind": "SelfSubjectReview"}
        user = (await hub.create(REVIEWS, review)).json()["status"]["userInfo"]["username"]
        if user.startswith(USER_PREFIX):
            await hub.delete(joining.TOKENS, user.removeprefix(USER_PREFIX))
    except ApiError:
        return  # It expires by itself.


async def taken(hub: Client, cluster: str) -> bool:
    try:
        await hub.get(CLUSTERS, cluster)
    except ApiError as error:
        if error.code == 404:
            return False
        raise
    return True


def authority_hash(pem: str | bytes) -> str:
    """The hash of a certificate, as invitations say it."""
    text = pem.decode("ascii") if isinstance(pem, bytes) else pem
    return "sha256:" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest()


def own_authority(folder: DataDir) -> str:
    try:
        return (folder.tls / "ca.crt").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(
            f"cannot read the certificate in {folder.tls}: {error}", "start the node once: fairway up"
        ) from None


def checked_authority(pem: bytes, wanted: str, server: str) -> str:
    """A certificate that came from anybody, if it is the one that the invitation means."""
    try:
        text = pem.decode("ascii")
        found = authority_hash(text)
    except ValueError:
        raise Problem(f"{server} shows no certificate authority", "is it a Fairway hub? check the URL") from None
    if found != wanted:
        raise Problem(
            f"{server} has another certificate authority ({found}) than the invitation says ({wanted})",
            "somebody else answers there, or the hub was made anew: make a new invitation on the hub "
            "(fairway cluster invite NAME) and compare",
        )
    return text
