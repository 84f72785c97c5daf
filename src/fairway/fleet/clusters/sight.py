"""What the hub sees of a cluster through its link: capacity, nodes, and which of the hub's queues the cluster has too."""

from __future__ import annotations

from collections.abc import Mapping

from fairway.api.client import Resource
from fairway.control.adapters import Json
from fairway.control.mirror import Table, Tables
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES
from fairway.fleet.clusters import capacity, checks
from fairway.fleet.clusters.health import Sight
from fairway.fleet.clusters.ports import Link, Links
from fairway.fleet.resources import MULTIKUEUE_CONFIGS, NODES


def objects(table: Table) -> list[Json]:
    found = (table.get(key) for key in sorted(table))
    return [obj for obj in found if obj is not None]


def by_name(table: Table) -> dict[str, Json]:
    return {obj["metadata"]["name"]: obj for obj in objects(table)}


class Sights:
    def __init__(self, mirror: Tables, links: Links) -> None:
        self._mirror = mirror
        self._links = links

    def of(self, link: Link) -> Sight:
        nodes = objects(link.table(NODES))
        has, left = capacity.of_cluster(nodes, objects(link.table(CLUSTER_QUEUES)))
        return Sight(has, left, len(nodes), self._bound(link))

    def _bound(self, link: Link) -> list[str]:
        """LocalQueues of the hub whose work may come to the cluster, and that it has under the same name."""
        remote = link.table(LOCAL_QUEUES)
        leading = self._queues_to(link.name)
        found = []
        for obj in objects(self._mirror[LOCAL_QUEUES]):
            key = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
            if (obj.get("spec") or {}).get("clusterQueue") in leading and key in remote:
                found.append(key)
        return found

    def _queues_to(self, cluster: str) -> set[str]:
        known, configs = self._named(CHECKS), self._named(MULTIKUEUE_CONFIGS)
        return {
            queue["metadata"]["name"]
            for queue in objects(self._mirror[CLUSTER_QUEUES])
            if cluster in _clusters(queue, known, configs)
        }

    def _named(self, resource: Resource) -> dict[str, Json]:
        return by_name(self._mirror[resource])


def _clusters(queue: Json, known: Mapping[str, Json], configs: Mapping[str, Json]) -> list[str]:
    for name in checks.checks_of(queue):
        check = known.get(name)
        if check is not None and checks.is_ours(check):
            try:
                return checks.clusters_of(checks.config_of(check, configs))
            except checks.BadParameters:
                return []
    return []
