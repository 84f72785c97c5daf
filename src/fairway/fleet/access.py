"""What a hub may do on a cluster: as much as dispatching needs, and nothing else.

The role is aggregated: a cluster's administrator lets the hub handle a custom kind of jobs by a ClusterRole with the label
fairway.dev/aggregate-to-hub: "true".
"""

from __future__ import annotations

from typing import Any

from fairway.api import patching
from fairway.api.client import Client, Resource
from fairway.api.errors import ApiError

USER = "fairway-hub"
NAMESPACE = "kueue-system"
ROLE = "fairway:hub"
AGGREGATE = "fairway.dev/aggregate-to-hub"
RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC = f"{RBAC_GROUP}/v1"
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
CLUSTER_ROLES = Resource(RBAC_GROUP, "v1", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(RBAC_GROUP, "v1", "clusterrolebindings", namespaced=False)
ROLES = Resource(RBAC_GROUP, "v1", "roles")
ROLE_BINDINGS = Resource(RBAC_GROUP, "v1", "rolebindings")
Json = dict[str, Any]

_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete"]


def rules() -> list[Json]:
    """On the whole cluster."""
    return [
        rule(["kueue.x-k8s.io"], ["workloads"], [*_READ, *_WRITE]),
        rule(["kueue.x-k8s.io"], ["workloads/status"], ["get", "update", "patch"]),
        rule(
            ["kueue.x-k8s.io"],
            ["localqueues", "clusterqueues", "cohorts", "resourceflavors", "topologies", "workloadpriorityclasses"],
            _READ,
        ),
        rule(["batch"], ["jobs"], [*_READ, *_WRITE]),
        rule(["batch"], ["jobs/status"], ["get"]),
        rule(["jobset.x-k8s.io"], ["jobsets"], [*_READ, *_WRITE]),
        rule(["jobset.x-k8s.io"], ["jobsets/status"], ["get"]),
        # Plain pods and groups of pods are jobs, too.
        rule([""], ["pods"], [*_READ, *_WRITE]),
        rule([""], ["pods/status", "pods/log"], ["get"]),
        rule([""], ["nodes"], _READ),
        rule([""], ["namespaces"], [*_READ, "create"]),
        rule(["", "events.k8s.io"], ["events"], _READ),
        rule(["fairway.dev"], ["explanations"], ["get"]),
        rule(
            ["visibility.kueue.x-k8s.io"], ["clusterqueues/pendingworkloads", "localqueues/pendingworkloads"], ["get"]
        ),
    ]


def local_rules() -> list[Json]:
    """In the namespace of the queues' own objects only: the lease, and what the cluster reports of itself."""
    return [
        rule(["coordination.k8s.io"], ["leases"], [*_READ, "create", "update", "patch"]),
        rule([""], ["configmaps"], _READ),
    ]


def rule(groups: list[str], resources: list[str], verbs: list[str], names: list[str] | None = None) -> Json:
    named = {"resourceNames": names} if names else {}
    return {"apiGroups": groups, "resources": resources, "verbs": list(verbs), **named}


def subject(user: str) -> Json:
    return {"kind": "User", "name": user, "apiGroup": RBAC_GROUP}


def role_ref(name: str, *, cluster: bool) -> Json:
    return {"kind": "ClusterRole" if cluster else "Role", "name": name, "apiGroup": RBAC_GROUP}


def manifests(namespace: str = NAMESPACE) -> list[Json]:
    """The same for a Kubernetes cluster that is not ours, whose administrator applies them: there the hub is a service account."""
    account = {"kind": "ServiceAccount", "name": USER, "namespace": namespace}
    here = {"name": ROLE, "namespace": namespace}
    whole = role_ref(ROLE, cluster=True)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": USER, "namespace": namespace}},
        {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": ROLE}, "rules": rules()},
        {
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ROLE},
            "subjects": [account],
            "roleRef": whole,
        },
        {"apiVersion": RBAC, "kind": "Role", "metadata": here, "rules": local_rules()},
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": here,
            "subjects": [account],
            "roleRef": role_ref(ROLE, cluster=False),
        },
    ]


async def grant(cluster: Client) -> None:
    """Make sure of the hub's role and of who has it. What an administrator aggregated to it stays."""
    await ensure_namespace(cluster)
    dispatch = {"metadata": {"name": f"{ROLE}-dispatch", "labels": {AGGREGATE: "true"}}, "rules": rules()}
    whole = {
        "metadata": {"name": ROLE},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE: "true"}}]},
        "rules": [],
    }
    binding = {"metadata": {"name": ROLE}, "subjects": [subject(USER)], "roleRef": role_ref(ROLE, cluster=True)}
    here = {"name": ROLE, "namespace": NAMESPACE}
    await put(cluster, CLUSTER_ROLES, dispatch, "rules")
    await put(cluster, CLUSTER_ROLES, whole)
    await put(cluster, CLUSTER_ROLE_BINDINGS, binding, "subjects")
    await put(cluster, ROLES, {"metadata": here, "rules": local_rules()}, "rules")
    bound = {"metadata": here, "subjects": [subject(USER)], "roleRef": role_ref(ROLE, cluster=False)}
    await put(cluster, ROLE_BINDINGS, bound, "subjects")


async def ensure_namespace(client: Client) -> None:
    await put(client, NAMESPACES, {"metadata": {"name": NAMESPACE}})


async def put(client: Client, resource: Resource, wanted: Json, *fields: str) -> Json:
    """Create it; if it is there, only make the named fields as wanted."""
    meta = wanted["metadata"]
    namespace = meta.get("namespace", "")
    try:
        return (await client.create(resource, wanted, namespace)).json()
    except ApiError as error:
        if error.code != 409:
            raise
    found = (await client.get(resource, meta["name"], namespace)).json()
    change = {name: wanted[name] for name in fields if found.get(name) != wanted[name]}
    if not change:
        return found
    media = patching.MERGE_PATCH
    return (await client.patch(resource, meta["name"], change, namespace, media=media)).json()
