"""Roles and bindings as short as tests want them, written straight to a store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from fairway.server.rbac.index import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES
from fairway.store import Delete, Put, Store

T = TypeVar("T")
JsonObject = dict[str, Any]
BUCKETS = {
    "Role": ROLES,
    "ClusterRole": CLUSTER_ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
}


def run(body: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(body)


def rule(verbs: str, groups: str, resources: str, names: str = "") -> JsonObject:
    """Words apart by spaces; "core" is the group without a name."""
    made: JsonObject = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    if names:
        made["resourceNames"] = names.split()
    return made


def urls(verbs: str, paths: str) -> JsonObject:
    return {"verbs": verbs.split(), "nonResourceURLs": paths.split()}


def role(name: str, *rules: JsonObject, namespace: str = "", labels: dict[str, str] | None = None) -> JsonObject:
    return {
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "rules": list(rules),
    }


def aggregate(name: str, *selectors: JsonObject, labels: dict[str, str] | None = None) -> JsonObject:
    return {**role(name, labels=labels), "aggregationRule": {"clusterRoleSelectors": list(selectors)}}


def subject(text: str) -> JsonObject:
    """User:alice, Group:devs, ServiceAccount:ns/name or ServiceAccount:name."""
    kind, _colon, name = text.partition(":")
    if kind != "ServiceAccount":
        return {"kind": kind, "name": name, "apiGroup": GROUP}
    namespace, slash, short = name.rpartition("/")
    return {"kind": kind, "name": short, **({"namespace": namespace} if slash else {})}


def binding(name: str, to: str, *subjects: str, namespace: str = "") -> JsonObject:
    """to: Role/name or ClusterRole/name."""
    kind, _slash, role_name = to.partition("/")
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"kind": kind, "name": role_name, "apiGroup": GROUP},
        "subjects": [subject(text) for text in subjects],
    }


def operation(obj: JsonObject) -> Put:
    meta = obj["metadata"]
    labels = tuple(word for pair in (meta.get("labels") or {}).items() for word in pair)
    path = f"{meta.get('namespace') or ''}/{meta['name']}"
    return Put(BUCKETS[obj["kind"]], path, msgspec.json.encode(obj), labels=labels)


async def put(store: Store, *objects: JsonObject) -> None:
    await store.commit([operation(obj) for obj in objects])


async def drop(store: Store, obj: JsonObject) -> None:
    written = operation(obj)
    await store.commit([Delete(written.bucket, written.path)])
