"""What a new space starts with. Every start makes sure of it, so that what is missing after an upgrade is added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairway.api.request import Options, Target
from fairway.api.space import Space

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_OPTIONS = Options(manager="fairway")


def namespaces() -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]


async def ensure(space: Space, objects: Iterable[dict[str, Any]]) -> None:
    """Create those of the objects that are not there; what a user changed is left alone."""
    writes = []
    for obj in objects:
        kind = space.registry.of(obj["apiVersion"], obj["kind"])
        assert kind is not None, f"{obj['apiVersion']} {obj['kind']} is not served"
        version = kind.version(obj["apiVersion"].rpartition("/")[2])
        target = Target(kind, version, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if space.store.latest(kind.home.bucket, target.path) is None:
            writes.append(space.objects.create(target, obj, _OPTIONS))
    for start in range(0, len(writes), 500):
        await space.objects.transact(writes[start : start + 500])
