"""The queue that a fresh space has, so that the first job a newcomer submits runs: made once, and never again once it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.api import bootstrap
from fairway.api.space import Space

NAME = "default"
FLAVOR = "default-flavor"
UNLIMITED = {"cpu": "1000000", "memory": "1Pi", "nvidia.com/gpu": "1000000"}
"""Where nobody says what the node has: more than any machine."""
_MARK = "fairway-default-queue"


async def ensure(space: Space, capacity: Mapping[str, str] | None = None) -> None:
    """At the first start of a space that has no queues yet. capacity: what the node can run, per resource."""
    mark = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _MARK, "namespace": "kube-system"},
        "data": {"made": "true"},
    }
    if space.store.latest("configmaps", f"kube-system/{_MARK}") is not None:
        return
    kind = space.registry.of("kueue.x-k8s.io/v1beta2", "ClusterQueue")
    has_queues = kind is not None and any(True for _ in space.store.records(kind.home.bucket))
    await bootstrap.ensure(space, [mark] if has_queues else [*objects(capacity or UNLIMITED), mark])


def objects(capacity: Mapping[str, str]) -> list[dict[str, Any]]:
    version = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": name, "nominalQuota": quota} for name, quota in capacity.items()]
    group = {"coveredResources": list(capacity), "flavors": [{"name": FLAVOR, "resources": resources}]}
    return [
        {"apiVersion": version, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}, "spec": {}},
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": NAME},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {"clusterQueue": NAME},
        },
    ]
