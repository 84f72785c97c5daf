"""The objects that other systems know a Cluster by: its MultiKueueCluster and its MemberCluster; and Clusters for those that users write.

A Cluster with a connection owns both. A MultiKueueCluster that a user wrote keeps the connection; a Cluster of its name is made for it and
goes with it.
"""

from __future__ import annotations

from fairway.api.client import Resource
from fairway.control.adapters import Json
from fairway.control.apply import Write
from fairway.fleet.clusters.pools import POOL, marked_pool, pool_of
from fairway.fleet.resources import CLUSTERS, MULTIKUEUE_CLUSTERS
from fairway.kinds.own.pool import NAME_MAX

MEMBER_CLUSTERS = Resource("cluster.kubernetes-fleet.io", "v1beta1", "memberclusters", namespaced=False)
CLUSTER = "fairway.dev/cluster"
"""Label of what is made from a Cluster."""
ADOPTED = "fairway.dev/adopted-from"
"""Annotation of a Cluster whose connection another object has."""
_ADOPTED_FROM = "MultiKueueCluster"


def writes(name: str, cluster: Json | None, connection: Json | None, member: Json | None) -> list[Write]:
    """What is to be written so that the three objects of that name agree. connection: the MultiKueueCluster."""
    if connection is not None and _leaving(connection):
        return []
    if cluster is None:
        if connection is None or _owner_kind(connection) == "Cluster":
            return []
        return [Write("create", CLUSTERS, adopted(connection))]
    if _leaving(cluster):
        return []
    found: list[Write] = []
    if has_connection(cluster):
        found += _released(cluster)
        found += _follow(MULTIKUEUE_CLUSTERS, connection, projected_connection(cluster, connection))
    elif connection is not None and is_owned(connection, cluster):
        found.append(Write("delete", MULTIKUEUE_CLUSTERS, connection))
        connection = None
    elif connection is not None:
        found += _claimed(cluster)
    if (has_connection(cluster) or connection is not None) and len(name) <= NAME_MAX:
        if member is None or is_owned(member, cluster):
            found += _follow(MEMBER_CLUSTERS, member, projected_member(cluster, member))
    elif member is not None and is_owned(member, cluster):
        found.append(Write("delete", MEMBER_CLUSTERS, member))
    return found


def has_connection(cluster: Json) -> bool:
    return bool((cluster.get("spec") or {}).get("connection"))


def adopted(connection: Json) -> Json:
    """The Cluster for a MultiKueueCluster that somebody wrote."""
    metadata = connection["metadata"]
    made: Json = {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "metadata": {
            "name": metadata["name"],
            "annotations": {ADOPTED: _ADOPTED_FROM},
            "ownerReferences": [_reference(connection, MULTIKUEUE_CLUSTERS, _ADOPTED_FROM)],
        },
        "spec": {"pool": marked_pool(connection), "engine": "kubernetes"},
    }
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in (CLUSTER, POOL)}
    if labels:
        made["metadata"]["labels"] = labels
    return made


def projected_connection(cluster: Json, now: Json | None) -> Json:
    """The MultiKueueCluster of a Cluster that has a connection; what else stands in the one that is there stays."""
    source = cluster["spec"]["connection"]["kubeconfig"]
    kubeconfig = (
        {"location": source["secretName"], "locationType": "Secret"}
        if source.get("secretName")
        else {"location": source["path"], "locationType": "Path"}
    )
    made = _made(cluster, now, MULTIKUEUE_CLUSTERS, "MultiKueueCluster")
    made["spec"] = {"clusterSource": {"kubeConfig": kubeconfig}}
    if len(cluster["metadata"]["name"]) <= NAME_MAX:
        made["metadata"]["labels"] = {
            **(made["metadata"].get("labels") or {}),
            CLUSTER: cluster["metadata"]["name"],
        }
    return made


def projected_member(cluster: Json, now: Json | None) -> Json:
    """Its labels are the Cluster's, so that placements select by them."""
    name = cluster["metadata"]["name"]
    made = _made(cluster, now, MEMBER_CLUSTERS, "MemberCluster")
    made["metadata"]["labels"] = {**(cluster["metadata"].get("labels") or {}), CLUSTER: name, POOL: pool_of(cluster)}
    spec = {
        "identity": {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"fairway:cluster:{name}"},
        "heartbeatPeriodSeconds": 60,
        **(made.get("spec") or {}),
    }
    taints = [{"effect": "NoSchedule", **taint} for taint in (cluster.get("spec") or {}).get("taints") or ()]
    spec.pop("taints", None)
    made["spec"] = {**spec, "taints": taints} if taints else spec
    return made


def is_owned(obj: Json, owner: Json) -> bool:
    return any(
        reference.get("uid") == owner["metadata"].get("uid")
        for reference in obj["metadata"].get("ownerReferences") or ()
    )


def _made(cluster: Json, now: Json | None, resource: Resource, kind: str) -> Json:
    made: Json = {"apiVersion": resource.api_version, "kind": kind, **(now or {})}
    metadata = dict(made.get("metadata") or {"name": cluster["metadata"]["name"]})
    if now is None or not is_owned(now, cluster):
        metadata["ownerReferences"] = [
            *(metadata.get("ownerReferences") or ()),
            _reference(cluster, CLUSTERS, "Cluster"),
        ]
    return {**made, "metadata": metadata}


def _follow(resource: Resource, now: Json | None, wanted: Json) -> list[Write]:
    if now is None:
        return [Write("create", resource, wanted)]
    return [] if now == wanted else [Write("update", resource, wanted)]


def _released(cluster: Json) -> list[Write]:
    """A Cluster that has a connection of its own now needs no other object for it."""
    metadata = cluster["metadata"]
    annotations = metadata.get("annotations") or {}
    if ADOPTED not in annotations:
        return []
    left = {key: value for key, value in annotations.items() if key != ADOPTED}
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("kind") != _ADOPTED_FROM]
    return [
        Write("update", CLUSTERS, {**cluster, "metadata": {**metadata, "annotations": left, "ownerReferences": owners}})
    ]


def _claimed(cluster: Json) -> list[Write]:
    """A Cluster without a connection, beside a MultiKueueCluster that somebody wrote, has that one's."""
    metadata = cluster["metadata"]
    annotations = metadata.get("annotations") or {}
    if ADOPTED in annotations:
        return []
    body = {**cluster, "metadata": {**metadata, "annotations": {**annotations, ADOPTED: _ADOPTED_FROM}}}
    return [Write("update", CLUSTERS, body)]


def _reference(owner: Json, resource: Resource, kind: str) -> Json:
    metadata = owner["metadata"]
    return {
        "apiVersion": resource.api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def _owner_kind(obj: Json) -> str:
    return next((str(each.get("kind")) for each in obj["metadata"].get("ownerReferences") or ()), "")


def _leaving(obj: Json) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))
