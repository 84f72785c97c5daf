"""Every built-in kind: complete, decodable, shown; and what is particular to the smaller API groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fairway.kinds import schema
from fairway.kinds.k8s import BODIES, KINDS, REVIEWS, rbac
from fairway.kinds.k8s.core.kinds import EVENT as CORE_EVENT
from fairway.kinds.k8s.events import EVENT
from fairway.kinds.kind import Kind, convert
from fairway.kinds.types import to_json

NOW = SimpleNamespace(now=1_767_225_600.0)  # 2026-01-01T00:00:00Z
BY_NAME = {kind.bucket: kind for kind in KINDS}


def created(bucket: str, body: dict[str, Any]) -> dict[str, Any]:
    kind = BY_NAME[bucket]
    new = convert(body, kind.storage_version.type)
    kind.default(new, None)
    kind.prepare(new, None)
    assert kind.validate(new, None) == []
    got: dict[str, Any] = to_json(new)
    return got


def cells(bucket: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.value(obj, NOW) for column in BY_NAME[bucket].versions[0].columns}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.bucket)
def test_every_kind_is_native_named_and_has_a_row(kind: Kind) -> None:
    assert kind.native
    assert kind.name == kind.versions[0].type.__name__
    assert kind.singular == kind.name.lower()
    assert (kind.versions[0].type.__doc__ or "").strip()
    columns = kind.versions[0].columns
    assert sum(column.format == "name" for column in columns) == 1
    obj = {"metadata": {"name": "x", "creationTimestamp": "2025-12-31T23:59:00Z"}}
    for column in columns:
        column.value(obj, NOW)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.bucket)
def test_an_empty_object_can_be_defaulted_and_judged_and_read_back(kind: Kind) -> None:
    type_ = kind.storage_version.type
    new = convert({"metadata": {"name": "x", "namespace": "n", "uid": "u"}}, type_)
    kind.default(new, None)
    kind.prepare(new, None)
    for error in kind.validate(new, None):
        assert str(error)
    again = convert(to_json(new), type_)
    assert again == new


@pytest.mark.parametrize("kind", KINDS + REVIEWS, ids=lambda kind: kind.bucket)
def test_every_field_has_one_number_on_the_wire(kind: Kind) -> None:
    seen: set[type] = set()

    def walk(struct: type[msgspec.Struct]) -> None:
        if struct in seen:
            return
        seen.add(struct)
        inherited = {
            field.encode_name
            for parent in struct.__dict__.get("PROTO_INLINE", {}).values()
            for field in msgspec.structs.fields(parent)
        }
        fields = schema.of(struct).fields
        own = [name for name in fields if name not in inherited and name not in ("apiVersion", "kind")]
        numbers = [fields[name].proto for name in own] + list(struct.__dict__.get("PROTO_INLINE", {}))
        assert len(set(numbers)) == len(numbers), struct
        for node in fields.values():
            while node.item is not None:
                node = node.item
            if node.struct is not None:
                walk(node.struct)

    walk(kind.versions[0].type)


def test_kinds_are_served_once_and_reviews_only_answer() -> None:
    buckets = [kind.bucket for kind in KINDS + REVIEWS]
    assert len(set(buckets)) == len(buckets)
    assert all(kind.verbs == ("create",) for kind in REVIEWS)
    assert set(BODIES) == {"DeleteOptions", "Binding", "Eviction", "Scale", "TokenRequest"}


def test_kubectl_get_all_names_the_workloads() -> None:
    assert {kind.plural for kind in KINDS if "all" in kind.categories} == {
        "pods",
        "services",
        "replicationcontrollers",
        "jobs",
        "cronjobs",
        "deployments",
        "statefulsets",
        "daemonsets",
        "replicasets",
        "horizontalpodautoscalers",
    }


@pytest.mark.parametrize(
    ("short", "bucket"),
    [("ns", "namespaces"), ("po", "pods"), ("svc", "services"), ("deploy", "deployments.apps"), ("cm", "configmaps")],
)
def test_short_names_lead_to_their_kind(short: str, bucket: str) -> None:
    assert [kind.bucket for kind in KINDS if short in kind.short_names] == [bucket]


def test_only_what_may_be_lost_is_volatile() -> None:
    assert {kind.plural for kind in KINDS if kind.volatile} == {"events", "leases"}


POD_TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
WORKLOAD = {"selector": {"matchLabels": {"app": "a"}}, "template": POD_TEMPLATE}


def test_a_deployment_rolls_over_a_quarter_at_a_time() -> None:
    got = created("deployments.apps", {"spec": WORKLOAD})["spec"]
    assert got["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert (got["replicas"], got["revisionHistoryLimit"], got["progressDeadlineSeconds"]) == (1, 10, 600)
    assert got["template"]["spec"]["restartPolicy"] == "Always"
    shown = cells("deployments.apps", {"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 1}})
    assert (shown["Ready"], shown["Up-to-date"], shown["Available"]) == ("2/3", 1, 0)


def test_stateful_and_daemon_sets_get_their_update_strategies() -> None:
    got = created("statefulsets.apps", {"spec": WORKLOAD})["spec"]
    assert got["podManagementPolicy"] == "OrderedReady"
    assert got["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert got["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    got = created("daemonsets.apps", {"spec": WORKLOAD})["spec"]
    assert got["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}


@pytest.mark.parametrize("bucket", ["deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps"])
def test_a_workload_selects_its_own_pods_for_ever(bucket: str) -> None:
    kind = BY_NAME[bucket]
    assert errors(kind, {"spec": {**WORKLOAD, "selector": {}}}) == [
        f"spec.selector: Invalid value: {{}}: empty selector is invalid for {kind.singular}"
    ]
    other = {"matchLabels": {"app": "b"}}
    assert errors(kind, {"spec": {**WORKLOAD, "selector": other}}, {"spec": WORKLOAD}) == [
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
    ]


def test_a_revision_names_its_controller() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}
    shown = cells("controllerrevisions.apps", {"metadata": {"ownerReferences": [owner]}, "revision": 2})
    assert (shown["Controller"], shown["Revision"]) == ("statefulset.apps/s", 2)


def test_a_service_gets_no_address_but_all_else() -> None:
    got = created("services", {"spec": {"ports": [{"port": 80}, {"port": 443, "targetPort": "tls"}]}})["spec"]
    assert got["ports"] == [
        {"port": 80, "protocol": "TCP", "targetPort": 80},
        {"port": 443, "protocol": "TCP", "targetPort": "tls"},
    ]
    assert (got["type"], got["sessionAffinity"], got["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert "clusterIP" not in got


@pytest.mark.parametrize(
    ("spec", "status", "external"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]}, {"ingress": [{"ip": "1.2.3.4"}]}, "1.2.3.4,9.9.9.9"),
        ({"type": "ExternalName", "externalName": "x.org"}, {}, "x.org"),
    ],
)
def test_a_service_shows_how_it_is_reached(spec: dict[str, Any], status: dict[str, Any], external: str) -> None:
    shown = cells("services", {"spec": spec, "status": {"loadBalancer": status}})
    assert (shown["External-IP"], shown["Port(s)"], shown["Selector"]) == (external, "<none>", "<none>")


def test_ports_of_a_service_show_node_port_and_protocol() -> None:
    ports = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    assert cells("services", {"spec": {"ports": ports, "clusterIP": "None"}})["Port(s)"] == "80:30080/TCP,53/UDP"


def test_endpoints_show_three_and_count_the_rest() -> None:
    addresses = [{"ip": f"10.0.0.{last}"} for last in range(1, 6)]
    subset = {"addresses": addresses, "ports": [{"port": 80}]}
    assert cells("endpoints", {"subsets": [subset]})["Endpoints"] == ("10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...")
    assert cells("endpoints", {"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]})["Endpoints"] == "10.0.0.1"


def test_a_claim_shows_its_size_once_it_is_bound() -> None:
    claim = {"spec": {"volumeName": "", "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}
    assert (cells("persistentvolumeclaims", claim)["Capacity"], cells("persistentvolumeclaims", claim)["Status"]) == (
        "",
        "Pending",
    )
    claim = {"spec": {"volumeName": "v"}, "status": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"]}}
    shown = cells("persistentvolumeclaims", claim)
    assert (shown["Capacity"], shown["Access Modes"], shown["VolumeMode"]) == ("1Gi", "RWX", "<unset>")


def test_a_quota_shows_requests_and_limits_apart() -> None:
    status = {"hard": {"limits.cpu": "4", "pods": "10", "cpu": "2"}, "used": {"pods": "3"}}
    shown = cells("resourcequotas", {"status": status})
    assert (shown["Request"], shown["Limit"]) == ("cpu: 0/2, pods: 3/10", "limits.cpu: 0/4")


def test_a_limit_range_fills_in_from_its_extremes() -> None:
    limits = [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}}]
    item = created("limitranges", {"spec": {"limits": limits}})["spec"]["limits"][0]
    assert item["default"] == {"cpu": "2"}
    assert item["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def test_a_replication_controller_selects_its_template_by_label() -> None:
    template = {**POD_TEMPLATE, "metadata": {"labels": {"app": "a"}}}
    got = created("replicationcontrollers", {"spec": {"template": template}})
    assert (got["spec"]["selector"], got["metadata"]["labels"], got["spec"]["replicas"]) == (
        {"app": "a"},
        {"app": "a"},
        1,
    )


def test_a_priority_class_keeps_its_value() -> None:
    kind = BY_NAME["priorityclasses.scheduling.k8s.io"]
    old = convert({"metadata": {"name": "high"}, "value": 1000}, kind.storage_version.type)
    kind.default(old, None)
    assert old.preemption_policy == "PreemptLowerPriority"
    new = convert({"metadata": {"name": "high"}, "value": 5, "preemptionPolicy": "Never"}, kind.storage_version.type)
    assert [str(error) for error in kind.validate(new, old)] == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


@pytest.mark.parametrize(
    ("name", "value", "field"), [("system-x", 1, "metadata.name"), ("high", 1_000_000_001, "value")]
)
def test_system_priorities_are_not_for_users(name: str, value: int, field: str) -> None:
    kind = BY_NAME["priorityclasses.scheduling.k8s.io"]
    new = convert({"metadata": {"name": name}, "value": value}, kind.storage_version.type)
    kind.default(new, None)
    assert [error.field for error in kind.validate(new, None)] == [field]


def test_a_lease_lasts_some_time() -> None:
    kind = BY_NAME["leases.coordination.k8s.io"]
    new = convert({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}, kind.storage_version.type)
    assert [error.field for error in kind.validate(new, None)] == ["spec.leaseDurationSeconds", "spec.leaseTransitions"]


def test_an_event_of_the_newer_shape_is_a_core_event_and_back() -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "n"},
        "eventTime": "2025-12-31T23:59:00.000000Z",
        "regarding": {"kind": "Job", "name": "j", "namespace": "n"},
        "reason": "Admitted",
        "note": "fits",
        "type": "Normal",
        "action": "Admit",
        "reportingController": "queue",
        "reportingInstance": "q-1",
        "series": {"count": 2, "lastObservedTime": "2025-12-31T23:59:30.000000Z"},
        "deprecatedSource": {"component": "queue"},
    }
    version = EVENT.versions[0]
    assert version.to_storage is not None
    assert version.from_storage is not None
    stored = version.to_storage(convert(body, version.type))
    assert EVENT.home is CORE_EVENT
    assert to_json(stored)["involvedObject"] == body["regarding"]
    assert (stored.message, stored.reporting_component, stored.api_version) == ("fits", "queue", "v1")
    assert to_json(version.from_storage(stored)) == body
    assert cells("events.events.k8s.io", body)["Object"] == "job/j"
    assert cells("events.events.k8s.io", body)["Last Seen"] == "30s"


def binding(**changes: Any) -> dict[str, Any]:
    role = {"apiGroup": rbac.GROUP, "kind": "Role", "name": "r"}
    return {"metadata": {"name": "b"}, "roleRef": role, "subjects": [{"kind": "User", "name": "u"}], **changes}


def test_bindings_name_the_group_of_people_and_roles() -> None:
    got = created("rolebindings.rbac.authorization.k8s.io", binding(roleRef={"kind": "Role", "name": "r"}))
    assert got["roleRef"]["apiGroup"] == rbac.GROUP
    assert got["subjects"][0]["apiGroup"] == rbac.GROUP


def errors(kind: Kind, body: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    new = convert(body, kind.storage_version.type)
    kind.default(new, None)
    before = convert(old, kind.storage_version.type) if old is not None else None
    if before is not None:
        kind.default(before, None)
    return [f"{error.field}: {error.message}" for error in kind.validate(new, before)]


def test_the_role_of_a_binding_cannot_change() -> None:
    other = binding(roleRef={"apiGroup": rbac.GROUP, "kind": "Role", "name": "other"})
    found = errors(rbac.ROLE_BINDING, other, binding())
    assert len(found) == 1
    assert found[0].startswith("roleRef: Invalid value: ")
    assert found[0].endswith("cannot change roleRef")


def test_a_binding_says_who_and_what_properly() -> None:
    wrong = binding(
        roleRef={"apiGroup": "x", "kind": "Job", "name": ""},
        subjects=[
            {"kind": "ServiceAccount", "name": "Not Valid", "apiGroup": "x"},
            {"kind": "User", "name": "u", "apiGroup": "x"},
            {"kind": "Robot", "name": ""},
        ],
    )
    fields = [message.partition(":")[0] for message in errors(rbac.ROLE_BINDING, wrong)]
    assert fields == [
        "roleRef.apiGroup",
        "roleRef.kind",
        "roleRef.name",
        "subjects[0].name",
        "subjects[0].apiGroup",
        "subjects[1].apiGroup",
        "subjects[2].name",
        "subjects[2].kind",
    ]
    account = binding(roleRef={"kind": "ClusterRole", "name": "r"}, subjects=[{"kind": "ServiceAccount", "name": "s"}])
    assert errors(rbac.CLUSTER_ROLE_BINDING, account) == ["subjects[0].namespace: Required value"]


def test_rules_of_a_role_are_whole() -> None:
    body = {"rules": [{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/healthz"], "resources": ["pods"]}]}
    fields = [message.partition(":")[0] for message in errors(rbac.ROLE, body)]
    assert fields == [
        "rules[0].verbs",
        "rules[0].apiGroups",
        "rules[0].resources",
        "rules[1].nonResourceURLs",
        "rules[1].nonResourceURLs",
    ]
    assert errors(rbac.CLUSTER_ROLE, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}) == []


def test_roles_may_have_names_with_colons() -> None:
    assert rbac.CLUSTER_ROLE.name_rule("system:node") == []
    assert rbac.CLUSTER_ROLE.name_rule("a/b") != []


def test_subjects_of_a_binding_show_by_kind() -> None:
    subjects = [
        {"kind": "User", "name": "a"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
    ]
    shown = cells("rolebindings.rbac.authorization.k8s.io", binding(subjects=subjects))
    assert (shown["Role"], shown["Users"], shown["Groups"], shown["ServiceAccounts"]) == ("Role/r", "a", "g", "n/s")


def test_webhooks_are_completed_though_none_is_called() -> None:
    hook = {
        "name": "h",
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "rules": [{"resources": ["pods"]}],
    }
    got = created("mutatingwebhookconfigurations.admissionregistration.k8s.io", {"webhooks": [hook]})["webhooks"][0]
    assert got["clientConfig"]["service"]["port"] == 443
    assert got["rules"][0]["scope"] == "*"
    assert (got["failurePolicy"], got["matchPolicy"], got["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (got["reinvocationPolicy"], got["namespaceSelector"], got["objectSelector"]) == ("Never", {}, {})
    assert cells("mutatingwebhookconfigurations.admissionregistration.k8s.io", {"webhooks": [hook]})["Webhooks"] == 1


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        (None, "Unknown"),
        ({"type": "Available", "status": "True", "reason": "Passed"}, "True"),
        ({"type": "Available", "status": "False", "reason": "MissingEndpoints"}, "False (MissingEndpoints)"),
    ],
)
def test_an_api_service_shows_whether_it_answers(condition: dict[str, str] | None, shown: str) -> None:
    obj = {
        "spec": {"service": {"name": "s", "namespace": "n"}},
        "status": {"conditions": [condition] if condition else []},
    }
    got = cells("apiservices.apiregistration.k8s.io", obj)
    assert (got["Service"], got["Available"]) == ("n/s", shown)


def test_storage_classes_do_not_change_and_mark_the_default() -> None:
    kind = BY_NAME["storageclasses.storage.k8s.io"]
    old = {"provisioner": "a"}
    assert errors(kind, {"provisioner": "b"}, old) == ["provisioner: Forbidden: updates to provisioner are forbidden."]
    marked = {"metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    assert cells("storageclasses.storage.k8s.io", marked)["Name"] == "s (default)"


def test_network_policies_name_the_directions_they_rule() -> None:
    got = created("networkpolicies.networking.k8s.io", {"spec": {"egress": [{"ports": [{"port": 53}]}]}})["spec"]
    assert got["policyTypes"] == ["Ingress", "Egress"]
    assert got["egress"][0]["ports"] == [{"port": 53, "protocol": "TCP"}]
    assert created("networkpolicies.networking.k8s.io", {})["spec"]["policyTypes"] == ["Ingress"]


def test_an_ingress_shows_three_hosts_and_counts_the_rest() -> None:
    rules = [{"host": f"h{index}"} for index in range(5)]
    shown = cells("ingresses.networking.k8s.io", {"spec": {"rules": rules, "tls": [{}]}})
    assert (shown["Hosts"], shown["Ports"], shown["Class"]) == ("h0,h1,h2 + 2 more...", "80, 443", "<none>")
    assert cells("ingresses.networking.k8s.io", {})["Hosts"] == "*"


@pytest.mark.parametrize(
    ("metric", "status", "shown"),
    [
        (
            {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
            {"resource": {"current": {"averageUtilization": 50}}},
            "cpu: 50%/80%",
        ),
        ({"type": "Resource", "resource": {"name": "cpu", "target": {}}}, {}, "cpu: <unknown>/<auto>"),
        ({"type": "Pods", "pods": {"target": {"averageValue": "10"}}}, {}, "<unknown>/10"),
        ({"type": "External", "external": {"target": {"averageValue": "10"}}}, {}, "<unknown>/10 (avg)"),
        ({"type": "Object", "object": {"target": {"value": "3"}}}, {"object": {"current": {"value": "1"}}}, "1/3"),
        ({"type": "New"}, {}, "<unknown type>"),
    ],
)
def test_an_autoscaler_shows_its_targets(metric: dict[str, Any], status: dict[str, Any], shown: str) -> None:
    obj = {"spec": {"metrics": [metric]}, "status": {"currentMetrics": [status]}}
    assert cells("horizontalpodautoscalers.autoscaling", obj)["Targets"] == shown


def test_an_autoscaler_without_metrics_watches_the_cpu() -> None:
    spec = created("horizontalpodautoscalers.autoscaling", {"spec": {"maxReplicas": 3}})["spec"]
    assert spec["minReplicas"] == 1
    assert spec["metrics"][0]["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80},
    }


def test_a_priority_level_is_completed() -> None:
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}
    got = created("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", {"spec": spec})["spec"]["limited"]
    assert (got["nominalConcurrencyShares"], got["lendablePercent"]) == (30, 0)
    assert got["limitResponse"]["queuing"] == {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def test_a_disruption_budget_says_one_of_two_things() -> None:
    kind = BY_NAME["poddisruptionbudgets.policy"]
    assert errors(kind, {"spec": {"minAvailable": 1, "maxUnavailable": "50%"}}) != []
    shown = cells("poddisruptionbudgets.policy", {"spec": {"minAvailable": "50%"}})
    assert (shown["Min Available"], shown["Max Unavailable"], shown["Allowed Disruptions"]) == ("50%", "N/A", 0)


def test_a_crd_is_named_completely() -> None:
    spec = {"group": "g.io", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced", "versions": []}
    got = created("customresourcedefinitions.apiextensions.k8s.io", {"spec": spec})["spec"]
    assert (got["names"]["singular"], got["names"]["listKind"]) == ("widget", "WidgetList")
    assert got["conversion"] == {"strategy": "None"}


def test_an_open_schema_of_a_crd_is_kept_as_it_is() -> None:
    open_schema = {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": open_schema}}
    spec = {
        "group": "g.io",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Cluster",
        "versions": [version],
    }
    got = created("customresourcedefinitions.apiextensions.k8s.io", {"spec": spec})["spec"]
    assert got["versions"][0]["schema"]["openAPIV3Schema"] == open_schema


def test_numbers_that_go_clients_cannot_hold_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        convert({"spec": {"parallelism": 2**31}}, BY_NAME["jobs.batch"].storage_version.type)


@pytest.mark.parametrize(
    "bucket", ["cronjobs.batch", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps"]
)
def test_whoever_creates_what_nothing_runs_is_warned_once(bucket: str) -> None:
    kind = BY_NAME[bucket]
    new = convert({"metadata": {"name": "x"}}, kind.storage_version.type)
    assert kind.warn(new, None) == [f"{kind.name}s are only kept here: nothing runs because of them"]
    assert kind.warn(new, new) == []
