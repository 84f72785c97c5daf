"""What a new hub has: the default pool, and one queue over all clusters of it. The queue is made once, and never again once removed.

The MultiKueueConfig of a check that follows a pool lists the pool's clusters, as long as nobody else changes the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.apply import Write
from fairway.control.resources import CHECKS, CLUSTER_QUEUES, FLAVORS, KUEUE, LOCAL_QUEUES, NAMESPACES
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.fleet.clusters.checks import clusters_of
from fairway.fleet.clusters.quota import FOLLOWS, follows
from fairway.fleet.resources import MULTIKUEUE_CONFIGS, POOLS
from fairway.kinds.own.pool import DEFAULT_POOL

QUEUE = "default"
FLEET = "fleet"
"""Name of the check, of its configuration and of the flavor."""
FOLLOWED = "fairway.dev/followed"
"""Annotation of a configuration: the clusters as they were last written here. A list that differs is somebody else's."""
COVERED = ("cpu", "memory")
"""To begin with; the queue covers more as soon as a cluster has it."""
_MARK = "fairway-default-queue"
_MAPS = Resource("", "v1", "configmaps")


async def ensure(client: Client, namespace: str, *, with_queue: bool = True) -> None:
    """At every start of a hub. namespace: where kubeconfigs are kept."""
    await _create(client, POOLS, {"metadata": {"name": DEFAULT_POOL}, "spec": {}})
    await _create(client, NAMESPACES, {"metadata": {"name": namespace}})
    if not with_queue or await _is_there(client, _MAPS, _MARK, "kube-system"):
        return
    if not (await client.list(CLUSTER_QUEUES, limit=1)).items:
        for resource, body in objects():
            await _create(client, resource, body)
    # Last: a start that is cut short is made good by the next one.
    mark = {"metadata": {"name": _MARK, "namespace": "kube-system"}, "data": {FLEET: DEFAULT_POOL}}
    await _create(client, _MAPS, mark)


def objects() -> list[tuple[Resource, Json]]:
    """The queue of a new hub, in the order in which to make it."""
    following = {FOLLOWS: DEFAULT_POOL}
    parameters = {"apiGroup": KUEUE, "kind": "MultiKueueConfig", "name": FLEET}
    quotas = [{"name": name, "nominalQuota": "0"} for name in COVERED]
    group = {"coveredResources": list(COVERED), "flavors": [{"name": FLEET, "resources": quotas}]}
    return [
        (FLAVORS, {"metadata": {"name": FLEET}, "spec": {}}),
        (
            CHECKS,
            {
                "metadata": {"name": FLEET, "annotations": following},
                "spec": {"controllerName": MULTIKUEUE, "parameters": parameters},
            },
        ),
        (LOCAL_QUEUES, {"metadata": {"name": QUEUE, "namespace": "default"}, "spec": {"clusterQueue": QUEUE}}),
        (
            CLUSTER_QUEUES,
            {
                "metadata": {"name": QUEUE, "annotations": following},
                "spec": {
                    "namespaceSelector": {},
                    "resourceGroups": [group],
                    "admissionChecksStrategy": {"admissionChecks": [{"name": FLEET}]},
                },
            },
        ),
    ]


async def _create(client: Client, resource: Resource, body: Json) -> None:
    try:
        await client.create(resource, {"apiVersion": resource.api_version, "kind": _KINDS[resource], **body})
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


async def _is_there(client: Client, resource: Resource, name: str, namespace: str) -> bool:
    try:
        await client.get(resource, name, namespace)
    except ApiError as error:
        if error.code == 404:
            return False
        raise
    return True


_KINDS = {
    POOLS: "Pool",
    NAMESPACES: "Namespace",
    FLAVORS: "ResourceFlavor",
    CHECKS: "AdmissionCheck",
    LOCAL_QUEUES: "LocalQueue",
    CLUSTER_QUEUES: "ClusterQueue",
    _MAPS: "ConfigMap",
}


# --- follow ---------------------------------------------------------------------------------------------------------


def config_write(check: Json, config: Json | None, members: Iterable[str]) -> list[Write]:
    """Keeps the configuration of a check that follows a pool in step. members: the pool's clusters that have an API."""
    name = ((check.get("spec") or {}).get("parameters") or {}).get("name")
    if not follows(check) or not name:
        return []
    if config is None:
        wanted = sorted(members)
        return [Write("create", MULTIKUEUE_CONFIGS, _config(str(name), wanted))] if wanted else []
    annotations = config["metadata"].get("annotations") or {}
    listed = clusters_of(config)
    if FOLLOWED not in annotations or annotations[FOLLOWED] != ",".join(listed):
        return []
    wanted = _in_order(listed, set(members))
    # A configuration names at least one cluster: when the last one is gone, it goes on naming it, and its check says so.
    if not wanted or wanted == listed:
        return []
    metadata = {**config["metadata"], "annotations": {**annotations, FOLLOWED: ",".join(wanted)}}
    body = {**config, "metadata": metadata, "spec": {**config["spec"], "clusters": wanted}}
    return [Write("update", MULTIKUEUE_CONFIGS, body)]


def _in_order(listed: Sequence[str], members: set[str]) -> list[str]:
    """Who is there keeps its place; who comes, comes last."""
    return [name for name in listed if name in members] + sorted(members - set(listed))


def _config(name: str, clusters: list[str]) -> Json:
    return {
        "apiVersion": MULTIKUEUE_CONFIGS.api_version,
        "kind": "MultiKueueConfig",
        "metadata": {"name": name, "annotations": {FOLLOWED: ",".join(clusters)}},
        "spec": {"clusters": clusters, "quotaManagement": "Automated"},
    }
