"""Roles and bindings that every new space has. They are ordinary objects afterwards: an administrator may change them.

    cluster-admin   everything                      system:basic-user          who am I, what may I do
    admin           a namespace, its roles too      system:discovery           what the API offers
    edit            work in a namespace             system:public-info-viewer  health and version, for anybody
    view            read a namespace, no secrets

admin, edit and view are aggregated: view flows into edit, edit into admin, and any cluster role with a label
rbac.authorization.k8s.io/aggregate-to-{admin,edit,view} adds to them. So do the two that Kueue's documentation tells people to bind,
kueue-batch-admin-role and kueue-batch-user-role, with the labels rbac.kueue.x-k8s.io/{batch-admin,batch-user}.
"""

from __future__ import annotations

from typing import Any

from fairway.server.rbac.index import GROUP
from fairway.server.rbac.rules import Rule, to_json

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
ALL = (*READ, *WRITE)

_BOOTSTRAPPING = "kubernetes.io/bootstrapping"
_KUEUE = ("kueue.x-k8s.io",)
_VISIBILITY = ("visibility.kueue.x-k8s.io",)
_PLACEMENT = ("placement.kubernetes-fleet.io",)
_BATCH_ADMIN, _BATCH_USER = "rbac.kueue.x-k8s.io/batch-admin", "rbac.kueue.x-k8s.io/batch-user"

_WORKING_CORE = ("configmaps", "events", "persistentvolumeclaims", "pods", "replicationcontrollers", "services")
_SCALED_APPS = ("deployments", "replicasets", "statefulsets")
_CONNECTING = ("pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy")


def bootstrap_objects() -> list[dict[str, Any]]:
    """To be created once, when a space is new, in this order."""
    return [*_roles(), *_bindings()]


def _aggregate_to(name: str) -> str:
    return f"{GROUP}/aggregate-to-{name}"


def _roles() -> list[dict[str, Any]]:
    everything = [Rule(("*",), ("*",), ("*",)), Rule(("*",), non_resource_urls=("*",))]
    return [
        _role("cluster-admin", everything),
        _role("admin", aggregates=_aggregate_to("admin")),
        _role("edit", aggregates=_aggregate_to("edit"), labels=(_aggregate_to("admin"),)),
        _role("view", aggregates=_aggregate_to("view"), labels=(_aggregate_to("edit"),)),
        _role("system:aggregate-to-view", _view(), labels=(_aggregate_to("view"),)),
        _role("system:aggregate-to-edit", _edit(), labels=(_aggregate_to("edit"),)),
        _role("system:aggregate-to-admin", _admin(), labels=(_aggregate_to("admin"),)),
        *_kueue_roles(),
        *_placement_roles(),
        *_fleet_roles(),
        *_system_roles(),
    ]


def _view() -> list[Rule]:
    """Everything that is about work in a namespace, but no secrets: who reads those can act as others."""
    core = (*_WORKING_CORE, "bindings", "endpoints", "limitranges", "namespaces", "resourcequotas", "serviceaccounts")
    core_parts = ("pods/log", "replicationcontrollers/scale")
    with_status = (
        "namespaces",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "services",
    )
    apps = ("controllerrevisions", "daemonsets", *_SCALED_APPS)
    return [
        Rule(READ, ("",), (*core, *core_parts, *_status(with_status))),
        Rule(READ, ("events.k8s.io",), ("events",)),
        Rule(READ, ("batch",), ("cronjobs", "jobs", *_status(("cronjobs", "jobs")))),
        Rule(READ, ("apps",), (*apps, *_scale(_SCALED_APPS), *_status(("daemonsets", *_SCALED_APPS)))),
        Rule(READ, ("autoscaling",), ("horizontalpodautoscalers", "horizontalpodautoscalers/status")),
        Rule(READ, ("policy",), ("poddisruptionbudgets", "poddisruptionbudgets/status")),
        Rule(READ, ("networking.k8s.io",), ("ingresses", "ingresses/status", "networkpolicies")),
        Rule(READ, ("discovery.k8s.io",), ("endpointslices",)),
        Rule(READ, ("coordination.k8s.io",), ("leases",)),
    ]


def _edit() -> list[Rule]:
    """Work, and what work needs: secrets, service accounts and acting as them, shells and logs. Not quotas, not roles."""
    return [
        Rule(WRITE, ("",), (*_WORKING_CORE, "replicationcontrollers/scale", "serviceaccounts")),
        Rule(ALL, ("",), ("secrets",)),
        Rule(ALL, ("",), _CONNECTING),
        Rule(("create",), ("",), ("pods/eviction", "serviceaccounts/token")),
        Rule(("impersonate",), ("",), ("serviceaccounts",)),
        Rule(WRITE, ("events.k8s.io",), ("events",)),
        Rule(WRITE, ("batch",), ("cronjobs", "jobs")),
        Rule(WRITE, ("apps",), ("daemonsets", *_SCALED_APPS, *_scale(_SCALED_APPS))),
        Rule(WRITE, ("autoscaling",), ("horizontalpodautoscalers",)),
        Rule(WRITE, ("policy",), ("poddisruptionbudgets",)),
        Rule(WRITE, ("networking.k8s.io",), ("ingresses", "networkpolicies")),
        Rule(WRITE, ("coordination.k8s.io",), ("leases",)),
    ]


def _admin() -> list[Rule]:
    return [
        Rule(ALL, (GROUP,), ("rolebindings", "roles")),
        Rule(("create",), ("authorization.k8s.io",), ("localsubjectaccessreviews",)),
    ]


def _kueue_roles() -> list[dict[str, Any]]:
    """Users of a namespace see its queues and handle its workloads; who may submit where is for its admin to say."""
    fleet_wide = (
        "admissionchecks",
        "clusterqueues",
        "cohorts",
        "multikueueclusters",
        "multikueueconfigs",
        "provisioningrequestconfigs",
        "resourceflavors",
        "topologies",
        "workloadpriorityclasses",
    )
    view = [
        Rule(READ, _KUEUE, ("localqueues", "workloads", "localqueues/status", "workloads/status")),
        Rule(("get",), _VISIBILITY, ("localqueues/pendingworkloads",)),
    ]
    batch_admin = [
        Rule(ALL, _KUEUE, fleet_wide),
        Rule(("get",), _KUEUE, _status(fleet_wide)),
        Rule(("get",), _VISIBILITY, ("clusterqueues/pendingworkloads",)),
    ]
    batch_user = [Rule(ALL, ("batch",), ("jobs",)), Rule(("get",), ("batch",), ("jobs/status",))]
    return [
        _role("fairway:kueue-view", view, labels=(_aggregate_to("view"), _BATCH_ADMIN, _BATCH_USER)),
        _role(
            "fairway:kueue-edit", [Rule(WRITE, _KUEUE, ("workloads",))], labels=(_aggregate_to("edit"), _BATCH_ADMIN)
        ),
        _role(
            "fairway:kueue-admin",
            [Rule(WRITE, _KUEUE, ("localqueues",))],
            labels=(_aggregate_to("admin"), _BATCH_ADMIN),
        ),
        _role("fairway:kueue-batch-admin", batch_admin, labels=(_BATCH_ADMIN,)),
        _role("fairway:kueue-batch-user", batch_user, labels=(_BATCH_ADMIN, _BATCH_USER)),
        _role("kueue-batch-admin-role", aggregates=_BATCH_ADMIN),
        _role("kueue-batch-user-role", aggregates=_BATCH_USER),
    ]


def _placement_roles() -> list[dict[str, Any]]:
    """Placing what is in one's own namespace. Snapshots, bindings and works are made by the fleet: to be read, not written."""
    written = (
        "resourceenvelopes",
        "resourceoverrides",
        "resourceplacements",
        "stagedupdateruns",
        "stagedupdatestrategies",
    )
    made = (
        "approvalrequests",
        "clusterresourceplacementstatuses",
        "resourcebindings",
        "resourceoverridesnapshots",
        "resourcesnapshots",
        "schedulingpolicysnapshots",
        "works",
    )
    view = [Rule(READ, _PLACEMENT, (*written, *made, *_status((*written, *made))))]
    # An approval is a condition in the status of its request.
    admin = [Rule(("patch", "update"), _PLACEMENT, ("approvalrequests", "approvalrequests/status"))]
    return [
        _role("fairway:placement-view", view, labels=(_aggregate_to("view"),)),
        _role("fairway:placement-edit", [Rule(WRITE, _PLACEMENT, written)], labels=(_aggregate_to("edit"),)),
        _role("fairway:placement-admin", admin, labels=(_aggregate_to("admin"),)),
    ]


def _fleet_roles() -> list[dict[str, Any]]:
    """Which clusters there are and how they do is no secret to whoever may look at everything, or runs the queues."""
    ours = ("clusters", "pools")
    view = [
        Rule(READ, ("fairway.dev",), (*ours, *_status(ours))),
        Rule(READ, ("cluster.kubernetes-fleet.io",), ("memberclusters", "memberclusters/status")),
    ]
    return [_role("fairway:fleet-view", view, labels=(_aggregate_to("view"), _BATCH_ADMIN))]


def _system_roles() -> list[dict[str, Any]]:
    public = ("/healthz", "/livez", "/readyz", "/version", "/version/")
    reviews = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
    return [
        _role(
            "system:basic-user",
            [
                Rule(("create",), ("authorization.k8s.io",), reviews),
                Rule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
            ],
        ),
        _role(
            "system:discovery",
            [
                Rule(
                    ("get",),
                    non_resource_urls=("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *public),
                )
            ],
        ),
        _role("system:public-info-viewer", [Rule(("get",), non_resource_urls=public)]),
        _role("system:monitoring", [Rule(("get",), non_resource_urls=("/metrics", "/metrics/*", *public))]),
        _role(
            "system:auth-delegator",
            [
                Rule(("create",), ("authentication.k8s.io",), ("tokenreviews",)),
                Rule(("create",), ("authorization.k8s.io",), ("subjectaccessreviews",)),
            ],
        ),
    ]


def _bindings() -> list[dict[str, Any]]:
    return [
        _binding("cluster-admin", "system:masters"),
        _binding("system:basic-user", "system:authenticated"),
        _binding("system:discovery", "system:authenticated"),
        _binding("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
        _binding("system:monitoring", "system:monitoring"),
    ]


def _status(resources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{resource}/status" for resource in resources)


def _scale(resources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{resource}/scale" for resource in resources)


def _role(
    name: str, rules: list[Rule] | None = None, *, aggregates: str = "", labels: tuple[str, ...] = ()
) -> dict[str, Any]:
    role: dict[str, Any] = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {_BOOTSTRAPPING: "rbac-defaults", **dict.fromkeys(labels, "true")}},
        "rules": to_json(rules or []),
    }
    if aggregates:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {aggregates: "true"}}]}
    return role


def _binding(role: str, *groups: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": {_BOOTSTRAPPING: "rbac-defaults"}},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }
