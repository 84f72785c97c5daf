"""Which pods, configuration, events and nodes are refused, and what may change in them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.kinds import names
from fairway.kinds.k8s.core.kinds import CONFIG_MAP, EVENT, NAMESPACE, NODE, POD, SECRET
from fairway.kinds.k8s.core.pod import Pod
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.k8s.rules import label_selector, matches
from fairway.kinds.kind import Kind, convert

CONTAINER = {"name": "c", "image": "i:1"}


def made(kind: Kind, body: dict[str, Any]) -> Any:
    new = convert(copy.deepcopy(body), kind.storage_version.type)
    kind.default(new, None)
    kind.prepare(new, None)
    return new


def refused(kind: Kind, body: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    before = None if old is None else made(kind, old)
    return [str(error) for error in kind.validate(made(kind, body), before)]


def pod(**spec: Any) -> list[str]:
    return refused(POD, {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}})


def container(**fields: Any) -> list[str]:
    return pod(containers=[{**CONTAINER, **fields}])


def test_a_plain_pod_is_accepted() -> None:
    assert pod() == []


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an"
    " alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        ({"containers": [{"image": "i"}]}, ["spec.containers[0].name: Required value"]),
        ({"containers": [{"name": "C_1", "image": "i"}]}, [f'spec.containers[0].name: Invalid value: "C_1": {LABEL}']),
        ({"containers": [CONTAINER, CONTAINER]}, ['spec.containers[1].name: Duplicate value: "c"']),
        ({"initContainers": [CONTAINER]}, ['spec.initContainers[0].name: Duplicate value: "c"']),
        (
            {"restartPolicy": "Sometimes"},
            ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
        ),
        ({"activeDeadlineSeconds": 0}, ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
        ({"terminationGracePeriodSeconds": -1}, ["spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"]),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, ['spec.schedulingGates[1]: Duplicate value: "a"']),
        (
            {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        ({"ephemeralContainers": [{"name": "e", "image": "i"}]}, ["spec.ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"preemptionPolicy": "Ask"}, ['spec.preemptionPolicy: Unsupported value: "Ask": supported values: "Never", "PreemptLowerPriority"']),
        ({"hostname": "a.b"}, [f'spec.hostname: Invalid value: "a.b": {LABEL}']),
    ],
)  # fmt: skip
def test_a_wrong_pod_is_refused(spec: dict[str, Any], says: list[str]) -> None:
    assert pod(**spec) == says


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"limits": {"cpu": "-1"}}, ['limits[cpu]: Invalid value: "-1": must be greater than or equal to 0', 'requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        (
            {"limits": {"gpu": "1"}, "requests": {}},
            [
                'limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
                'limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
                'requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
                'requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
            ],
        ),
        ({"requests": {"example.com/gpu": "1"}}, ["limits: Required value: Limit must be set for non overcommitable resources"]),
        (
            {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
            ['requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
        ),
        (
            {"limits": {"example.com/gpu": "500m"}},
            ['limits[example.com/gpu]: Invalid value: "500m": must be an integer', 'requests[example.com/gpu]: Invalid value: "500m": must be an integer'],
        ),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, [": Forbidden: HugePages require cpu or memory"]),
        ({"limits": {"cpu": "1", "memory": "1Gi", "example.com/gpu": "2"}}, []),
        ({"claims": [{"name": "x"}]}, ['claims[0]: Not found: "x"']),
    ],
)  # fmt: skip
def test_requests_and_limits_must_make_sense(resources: dict[str, Any], says: list[str]) -> None:
    expected = [f"spec.containers[0].resources{'' if one.startswith(':') else '.'}{one}" for one in says]
    assert container(resources=resources) == expected


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"imagePullPolicy": "Maybe"}, 'imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"'),
        ({"terminationMessagePolicy": "X"}, 'terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"'),
        ({"ports": [{"containerPort": 0}]}, "ports[0].containerPort: Required value"),
        ({"ports": [{"containerPort": 70000}]}, "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"),
        ({"ports": [{"containerPort": 1, "protocol": "ICMP"}]}, 'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'),
        ({"ports": [{"containerPort": 1, "name": "aB"}]}, 'ports[0].name: Invalid value: "aB": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'),
        ({"env": [{"name": ""}]}, "env[0].name: Required value"),
        ({"env": [{"name": "a=b"}]}, 'env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than \'=\''),
        ({"env": [{"name": "A", "valueFrom": {}}]}, 'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'),
        ({"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}, 'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]}, "env[0].valueFrom.secretKeyRef.name: Required value"),
        ({"envFrom": [{}]}, 'envFrom[0]: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, 'volumeMounts[0].name: Not found: "v"'),
        ({"livenessProbe": {}}, "livenessProbe: Required value: must specify a handler type"),
        ({"livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}}, "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"),
        ({"livenessProbe": {"exec": {"command": ["x"]}, "successThreshold": 2}}, "livenessProbe.successThreshold: Invalid value: 2: must be 1"),
        ({"readinessProbe": {"httpGet": {}}}, "readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        ({"lifecycle": {"preStop": {"exec": {"command": []}}}}, "lifecycle.preStop.exec.command: Required value"),
        ({"securityContext": {"runAsUser": -1}}, "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
    ],
)  # fmt: skip
def test_a_wrong_container_is_refused(fields: dict[str, Any], says: str) -> None:
    assert container(**fields) == [f"spec.containers[0].{says}"]


@pytest.mark.parametrize(
    "path", ["metadata.name", "status.podIP", "metadata.labels['app.kubernetes.io/name']", "metadata.annotations['a']"]
)
def test_variables_may_name_fields_of_the_pod(path: str) -> None:
    assert container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]) == []
    wrong = container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.containers"}}}])
    assert len(wrong) == 1
    assert "Unsupported value" in wrong[0]


def test_the_same_variable_may_be_set_twice() -> None:
    assert container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]) == []


def test_host_ports_are_taken_once() -> None:
    port = {"containerPort": 80, "hostPort": 80}
    says = pod(containers=[{**CONTAINER, "ports": [port]}, {**CONTAINER, "name": "d", "ports": [port]}])
    assert says == ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"']


def test_an_init_container_is_not_probed_unless_it_runs_on() -> None:
    probe = {"exec": {"command": ["x"]}}
    says = pod(initContainers=[{"name": "i", "image": "i", "livenessProbe": probe}])
    assert says == [
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"
    ]
    assert pod(initContainers=[{"name": "i", "image": "i", "livenessProbe": probe, "restartPolicy": "Always"}]) == []


@pytest.mark.parametrize(
    ("volume", "says"),
    [
        ({"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}, "volumes[0].secret: Forbidden: may not specify more than 1 volume type"),
        ({"name": "v", "secret": {}}, "volumes[0].secret.secretName: Required value"),
        ({"name": "v", "hostPath": {"path": "/a/../b"}}, "volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"),
        ({"name": "v", "configMap": {"name": "m", "defaultMode": 1000}}, "volumes[0].configMap.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 (octal), both inclusive"),
        ({"name": "v", "persistentVolumeClaim": {}}, "volumes[0].persistentVolumeClaim.claimName: Required value"),
        ({"name": ""}, "volumes[0].name: Required value"),
    ],
)  # fmt: skip
def test_a_wrong_volume_is_refused(volume: dict[str, Any], says: str) -> None:
    assert [one for one in pod(volumes=[volume]) if "volumes[" in one] == [f"spec.{says}"]


def test_mounts_find_their_volume_and_differ() -> None:
    mount = {"name": "v", "mountPath": "/x"}
    assert pod(volumes=[{"name": "v"}], containers=[{**CONTAINER, "volumeMounts": [mount]}]) == []
    twice = pod(volumes=[{"name": "v"}, {"name": "v"}], containers=[{**CONTAINER, "volumeMounts": [mount, mount]}])
    assert twice == [
        'spec.volumes[1].name: Duplicate value: "v"',
        'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique',
    ]


@pytest.mark.parametrize(
    ("toleration", "says"),
    [
        ({}, "operator: Invalid value: \"\": operator must be Exists when `key` is empty"),
        ({"key": "a", "operator": "Exists", "value": "x"}, "operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"),
        ({"key": "a", "operator": "Has"}, 'operator: Unsupported value: "Has"'),
        ({"key": "a", "effect": "Never"}, 'effect: Unsupported value: "Never"'),
        ({"key": "a", "tolerationSeconds": 3}, "effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"),
        ({"key": "a/b/c"}, 'key: Invalid value: "a/b/c"'),
    ],
)  # fmt: skip
def test_a_wrong_toleration_is_refused(toleration: dict[str, Any], says: str) -> None:
    found = pod(tolerations=[toleration])
    assert len(found) == 1
    assert found[0].startswith(f"spec.tolerations[0].{says}")


def affinity(term: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ({"key": "a", "operator": "In"}, "values: Required value"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values: Forbidden"),
        (
            {"key": "a", "operator": "Gt", "values": ["1", "2"]},
            "values: Required value: must be specified single value",
        ),
        ({"key": "a", "operator": "Near"}, "operator: Invalid value"),
        ({"key": "", "operator": "Exists"}, "key: Invalid value"),
    ],
)
def test_a_wrong_node_affinity_is_refused(term: dict[str, Any], says: str) -> None:
    found = pod(affinity=affinity(term))
    assert found
    assert all(f"matchExpressions[0].{says}" in one or "name part" in one for one in found)


def test_pod_affinity_and_spreading_name_a_topology() -> None:
    weighted = {"weight": 0, "podAffinityTerm": {"labelSelector": {"matchLabels": {"a": "b"}}}}
    found = pod(affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}})
    assert [one.partition(": ")[2] for one in found] == [
        "Invalid value: 0: must be in the range 1-100",
        "Required value: can not be empty",
    ]
    found = pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Cry"}])
    assert [one.partition(":")[0].rpartition(".")[2] for one in found] == [
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
    ]


OLD = {
    "metadata": {"name": "p"},
    "spec": {"containers": [CONTAINER], "tolerations": [{"key": "a", "operator": "Exists"}]},
}


def updated(change: dict[str, Any], old: dict[str, Any] = OLD) -> list[str]:
    return refused(POD, {**old, "spec": {**old["spec"], **change}}, old)


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [{**CONTAINER, "image": "i:2"}]},
        {"activeDeadlineSeconds": 5},
        {"tolerations": [*OLD["spec"]["tolerations"], {"key": "b", "operator": "Exists"}]},  # type: ignore[index]
    ],
)
def test_little_of_a_pod_may_change(change: dict[str, Any]) -> None:
    assert updated(change) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"nodeName": "n"}, "changed: spec.nodeName"),
        ({"nodeSelector": {"a": "b"}}, "changed: spec.nodeSelector"),
        ({"containers": [{**CONTAINER, "command": ["x"]}]}, "changed: spec.containers"),
        ({"containers": [CONTAINER, {"name": "d", "image": "i"}]}, "pod updates may not add or remove containers"),
        ({"tolerations": []}, "existing toleration can not be modified except its tolerationSeconds"),
        ({"schedulingGates": [{"name": "new"}]}, "only deletion is allowed, but found new scheduling gate 'new'"),
        ({"terminationGracePeriodSeconds": 5}, "changed: spec.terminationGracePeriodSeconds"),
    ],
)
def test_the_rest_of_a_pod_is_fixed(change: dict[str, Any], says: str) -> None:
    found = updated(change)
    assert len(found) == 1
    assert says in found[0]


def test_a_deadline_only_comes_closer() -> None:
    old = {**OLD, "spec": {**OLD["spec"], "activeDeadlineSeconds": 9}}  # type: ignore[dict-item]
    assert updated({"activeDeadlineSeconds": 5}, old) == []
    assert "must be less than or equal to previous value" in updated({"activeDeadlineSeconds": 10}, old)[0]
    gone = {**OLD["spec"]}  # type: ignore[dict-item]
    assert "must not update from a positive integer to nil value" in refused(POD, {**OLD, "spec": gone}, old)[0]


def gated(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], "schedulingGates": [{"name": "g"}], **spec}}


def test_a_gated_pod_may_be_steered_further_and_let_go() -> None:
    old = gated(nodeSelector={"pool": "a"}, affinity=affinity({"key": "z", "operator": "Exists"}))
    more = affinity({"key": "z", "operator": "Exists"})
    terms = more["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    terms[0]["matchExpressions"].append({"key": "y", "operator": "Exists"})
    new = gated(nodeSelector={"pool": "a", "zone": "b"}, affinity=more)
    new["spec"]["schedulingGates"] = []
    assert refused(POD, new, old) == []


def test_a_gated_pod_is_not_steered_elsewhere() -> None:
    old = gated(nodeSelector={"pool": "a"}, affinity=affinity({"key": "z", "operator": "Exists"}))
    new = gated(nodeSelector={"pool": "b"}, affinity=affinity({"key": "y", "operator": "Exists"}))
    found = refused(POD, new, old)
    assert len(found) == 2
    assert "only additions to spec.nodeSelector are allowed" in found[0]
    assert "only additions are allowed (no mutations or deletions)" in found[1]


def test_a_container_that_ended_for_good_stays_ended() -> None:
    def status(state: dict[str, Any]) -> Pod:
        body = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
        new: Pod = convert({**body, "status": {"containerStatuses": [{"name": "c", "state": state}]}}, Pod)
        return new

    ended, running = status({"terminated": {"exitCode": 1}}), status({"running": {}})
    assert [str(error) for error in POD.validate_status(running, ended)] == [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]
    assert POD.validate_status(ended, running) == []


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        (CONFIG_MAP, {"data": {"a/b": "x"}}, "data[a/b]: Invalid value"),
        (CONFIG_MAP, {"data": {"a": "x"}, "binaryData": {"a": "eA=="}}, "duplicate of key present in binaryData"),
        (CONFIG_MAP, {"data": {"a": "x" * 2**20, "b": "x"}}, "Too long: may not be more than 1048576 bytes"),
        (SECRET, {"data": {"..": "eA=="}}, "data[..]: Invalid value: \"..\": must not be '..'"),
        (SECRET, {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, "data[tls.key]: Required value"),
        (SECRET, {"type": "kubernetes.io/basic-auth"}, "data[username]: Required value"),
        (SECRET, {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "eA=="}}, "<secret contents redacted>"),
        (SECRET, {"type": "kubernetes.io/service-account-token"}, "metadata.annotations[kubernetes.io/service-account.name]: Required value"),
        (NAMESPACE, {"metadata": {"name": "n"}, "spec": {"finalizers": ["a/b/c"]}}, "spec.finalizers: Invalid value"),
        (NODE, {"spec": {"taints": [{"key": "a", "effect": "Push"}]}}, 'taints[0].effect: Unsupported value: "Push"'),
        (NODE, {"status": {"capacity": {"cpu": "-1"}}}, "status.capacity.cpu: Invalid value"),
    ],
)  # fmt: skip
def test_wrong_configuration_is_refused(kind: Kind, body: dict[str, Any], says: str) -> None:
    assert any(says in one for one in refused(kind, body))


def test_frozen_configuration_does_not_change() -> None:
    frozen = "field is immutable when `immutable` is set"
    old = {"data": {"a": "eA=="}, "immutable": True}
    assert refused(SECRET, {"data": {"a": "eQ=="}}, old) == [
        f"immutable: Forbidden: {frozen}",
        f"data: Forbidden: {frozen}",
    ]
    assert refused(CONFIG_MAP, {"data": {"a": "other"}, "immutable": True}, old) == [f"data: Forbidden: {frozen}"]
    assert refused(SECRET, {**old, "metadata": {"labels": {"a": "b"}}}, old) == []


def test_the_type_of_a_secret_is_fixed() -> None:
    assert refused(SECRET, {"type": "mine"}, {}) == ['type: Invalid value: "mine": field is immutable']


@pytest.mark.parametrize(
    ("namespace", "about", "fine"),
    [("a", "a", True), ("a", "b", False), ("default", "", True), ("a", "", False)],
)
def test_an_event_lives_beside_what_it_is_about(namespace: str, about: str, fine: bool) -> None:
    body = {"metadata": {"name": "e", "namespace": namespace}, "involvedObject": {"kind": "Job", "namespace": about}}
    found = refused(EVENT, body)
    assert found == (
        [] if fine else [f'involvedObject.namespace: Invalid value: "{about}": does not match event.namespace']
    )


def test_an_event_of_the_newer_shape_says_who_reports_what() -> None:
    body = {
        "metadata": {"name": "e", "namespace": "a"},
        "involvedObject": {"namespace": "a"},
        "eventTime": "2026-01-01T00:00:00Z",
        "reportingComponent": "queue",
        "reason": "r" * 129,
    }
    assert [one.partition(":")[0] for one in refused(EVENT, body)] == ["reportingInstance", "action", "reason"]


def test_a_node_keeps_its_provider() -> None:
    old = {"spec": {"providerID": "a"}}
    assert refused(NODE, {"spec": {"providerID": "b"}}, old) == [
        "spec.providerID: Invalid value: null: field cannot be modified once set"
    ]
    assert refused(NODE, old, {}) == []


def selector(body: dict[str, Any]) -> LabelSelector:
    found: LabelSelector = convert(body, LabelSelector)
    return found


@pytest.mark.parametrize(
    ("expression", "labels", "holds"),
    [
        ({"key": "a", "operator": "In", "values": ["x"]}, {"a": "x"}, True),
        ({"key": "a", "operator": "In", "values": ["x"]}, {}, False),
        ({"key": "a", "operator": "NotIn", "values": ["x"]}, {}, True),
        ({"key": "a", "operator": "NotIn", "values": ["x"]}, {"a": "x"}, False),
        ({"key": "a", "operator": "Exists"}, {"a": ""}, True),
        ({"key": "a", "operator": "DoesNotExist"}, {"a": ""}, False),
    ],
)
def test_selectors_match_labels(expression: dict[str, Any], labels: dict[str, str], holds: bool) -> None:
    assert matches(selector({"matchExpressions": [expression]}), labels) is holds
    assert label_selector("s", selector({"matchExpressions": [expression]})) == []


def test_wrong_selectors_are_refused() -> None:
    wrong = selector({"matchLabels": {"a b": "x"}, "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a"}]})
    assert [error.field for error in label_selector("s", wrong)] == [
        "s.matchLabels",
        "s.matchExpressions[0].values",
        "s.matchExpressions[1].operator",
    ]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (names.dns_1035_label, "web-1", "1-web"),
        (names.config_key, "a.b_c-D", "a/b"),
        (names.config_key, ".hidden", ".."),
        (names.port_name, "http-2", "-http"),
        (names.port_name, "a", "8080"),
        (names.env_name, "any thing!", "a=b"),
    ],
)
def test_names_of_many_kinds(rule: Any, good: str, bad: str) -> None:
    assert rule(good) == []
    assert rule(bad) != []
