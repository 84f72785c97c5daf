"""Pools: who is in which, where a cluster's data plane differs from its pool's, and what crosses the boundary between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.control.adapters import Json
from fairway.kinds.own.pool import DEFAULT_POOL

POOL = "fairway.dev/pool"
"""Label (or annotation) of a ClusterQueue: the pool that its work stays in. Also of a MultiKueueCluster that is adopted."""
DATA_PLANE = "fairway-data-plane"
"""ConfigMap in which a cluster says what its data plane really is, under the keys below. Without it, it follows its pool."""
_KEYS = (
    ("objectStore", "uri"),
    ("objectStore", "endpoint"),
    ("secretStore", "type"),
    ("secretStore", "locator"),
    ("registry", "locator"),
)
_STRICT = ("registry",)
"""Must be the pool's even where the pool names none: images from elsewhere would be other images."""


def pool_of(cluster: Json | None) -> str:
    """Of a Cluster; one that nobody wrote a Cluster for is in the default pool."""
    return str(((cluster or {}).get("spec") or {}).get("pool") or DEFAULT_POOL)


def marked_pool(obj: Json) -> str:
    """Of an object that only has a mark: a label, else an annotation, else the default pool."""
    metadata = obj.get("metadata") or {}
    for where in ("labels", "annotations"):
        name = (metadata.get(where) or {}).get(POOL)
        if name:
            return str(name)
    return DEFAULT_POOL


def members(clusters: Iterable[Json]) -> dict[str, list[str]]:
    """Names of the clusters of each pool, sorted."""
    found: dict[str, list[str]] = {}
    for cluster in clusters:
        found.setdefault(pool_of(cluster), []).append(cluster["metadata"]["name"])
    return {pool: sorted(names) for pool, names in sorted(found.items())}


# --- data plane -----------------------------------------------------------------------------------------------------


def reported_plane(config_map: Json | None) -> Json | None:
    """What a cluster says it has, in the shape of a pool's spec; None where it says nothing."""
    if config_map is None:
        return None
    data = config_map.get("data") or {}
    plane: Json = {}
    for part, name in _KEYS:
        value = data.get(f"{part}.{name}")
        if value:
            plane.setdefault(part, {})[name] = value
    return plane


def drift(pool: Json, reported: Json | None) -> list[str]:
    """Where a cluster's data plane is not its pool's. What the pool leaves open may be anything, but for the registry."""
    if reported is None:
        return []
    contract = pool.get("spec") or {}
    found = []
    for part, name in _KEYS:
        wanted, has = _value(contract, part, name), _value(reported, part, name)
        if wanted == has or not (wanted or part in _STRICT):
            continue
        found.append(f"{part}.{name} is {has or 'not set'} on the cluster and {wanted or 'not set'} in its pool")
    return found


def _value(plane: Json, part: str, name: str) -> str:
    return str((plane.get(part) or {}).get(name) or "").rstrip("/")


# --- isolation ------------------------------------------------------------------------------------------------------


def crossing(config: str, clusters: Mapping[str, str], queues: Mapping[str, str]) -> str:
    """What is wrong with a configuration whose clusters, or the queues that use it, are in more than one pool; empty if nothing.

    clusters: the pool of each cluster it names; queues: the pool of each ClusterQueue that it serves.
    """
    pools = sorted(set(clusters.values()))
    if len(pools) > 1:
        where = "; ".join(f"{pool}: {', '.join(_of(clusters, pool))}" for pool in pools)
        return (
            f'MultiKueueConfig "{config}" names clusters of more than one pool ({where}): work never leaves its pool, so make one '
            "configuration and check for each"
        )
    strangers = {name: pool for name, pool in queues.items() if pools and pool != pools[0]}
    if not strangers:
        return ""
    said = ", ".join(f'"{name}" is in pool {pool}' for name, pool in sorted(strangers.items()))
    return (
        f'The clusters of MultiKueueConfig "{config}" ({", ".join(clusters)}) are in pool {pools[0]}, but ClusterQueue {said}: '
        f"set its label {POOL}, or name clusters of its own pool"
    )


def _of(members_: Mapping[str, str], pool: str) -> list[str]:
    return [name for name, its in members_.items() if its == pool]
