"""What is refused, and how it is said: types and bounds, the schema's rules, and the rules of Kueue's webhooks."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from tests.unit.kueue_oracle import FOLDER, needs_oracle

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.kinds.kind import convert
from fairway.kinds.kueue import KINDS
from fairway.kinds.types import to_json

GROUP = "kueue.x-k8s.io"
BY_NAME = {kind.name: kind for kind in KINDS}
Json = dict[str, Any]
TIME = "2026-01-02T03:04:05Z"


def write(name: str, body: Json, old: Json | None = None, version: str = "v1beta2", status: bool = False) -> list[str]:
    """Everything that is wrong with an object, as the API would say it."""
    kind = BY_NAME[name]
    served = kind.version(version)
    try:
        obj, _ = codec.read(kind, served, {"metadata": {"name": "a"}, **copy.deepcopy(body)}, "Strict")
    except ApiError as error:
        causes = (error.details or {}).get("causes", [])
        return [f"{cause['field']}: {cause['message']}" for cause in causes] or [error.message]
    new = codec.to_storage(kind, served, obj)
    before = (
        None if old is None else convert({"metadata": {"name": "a"}, **copy.deepcopy(old)}, kind.storage_version.type)
    )
    kind.default(new, before)
    errors = kind.validate_status(new, before) if status else kind.validate(new, before)
    return [str(error) for error in errors]


def stored(name: str, body: Json) -> Json:
    """A valid object as it would be stored."""
    assert write(name, body) == []
    kind = BY_NAME[name]
    new = codec.to_storage(
        kind, kind.storage_version, convert({"metadata": {"name": "a"}, **body}, kind.storage_version.type)
    )
    kind.default(new, None)
    result: Json = to_json(new)
    return result


def quota(name: str = "cpu", **more: Any) -> Json:
    return {"name": name, "nominalQuota": "5", **more}


def group(flavors: list[str], resources: list[Json] | None = None) -> Json:
    resources = resources or [quota()]
    return {
        "coveredResources": [resource["name"] for resource in resources],
        "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
    }


def queue(**spec: Any) -> Json:
    return {"spec": {"resourceGroups": [group(["f"])], **spec}}


TEMPLATE: Json = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def pod_set(name: str = "main", count: int = 3, **more: Any) -> Json:
    return {"name": name, "count": count, "template": TEMPLATE, **more}


def workload(*pod_sets: Json, status: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    body: Json = {"metadata": {"name": "a"}, "spec": {"podSets": list(pod_sets) or [pod_set()], **spec}}
    if annotations is not None:
        body["metadata"]["annotations"] = annotations
    return body if status is None else {**body, "status": status}


def conditions(*kinds: str) -> list[Json]:
    return [
        {"type": kind, "status": "True", "lastTransitionTime": TIME, "reason": "Test", "message": ""} for kind in kinds
    ]


def reserved(*kinds: str, assignments: list[Json] | None = None, **more: Any) -> Json:
    given = [{"name": "main", "count": 3}] if assignments is None else assignments
    admission = {"clusterQueue": "cq", "podSetAssignments": given}
    return {"conditions": conditions("QuotaReserved", *kinds), "admission": admission, **more}


# --- what a real one said ---------------------------------------------------------------------------------------------


BAD_OBJECTS: list[tuple[str, str, str, Json, Json | None]] = [
    (
        "## CQ: two flavors of different resources",
        "ClusterQueue",
        "v1beta1",
        {
            "spec": {
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu", "memory"],
                        "flavors": [{"name": "f", "resources": [quota()]}],
                    }
                ]
            }
        },
        None,
    ),
    (
        "## CQ: negative quota, borrowingLimit without cohort",
        "ClusterQueue",
        "v1beta2",
        {"spec": {"resourceGroups": [group(["f"], [{"name": "cpu", "nominalQuota": "-1", "borrowingLimit": "1"}])]}},
        None,
    ),
    (
        "## CQ: same flavor twice",
        "ClusterQueue",
        "v1beta2",
        {"spec": {"resourceGroups": [group(["f"]), group(["f"])]}},
        None,
    ),
    (
        "## CQ: bad enum, unknown field, bad cohort name",
        "ClusterQueue",
        "v1beta1",
        {"spec": {"cohort": "Bad_Name", "queueingStrategy": "FIFO"}},
        None,
    ),
    (
        "## LQ: change clusterQueue",
        "LocalQueue",
        "v1beta2",
        {"spec": {"clusterQueue": "noflavor"}},
        {"spec": {"clusterQueue": "cluster-queue"}},
    ),
    (
        "## workload: immutable podsets",
        "Workload",
        "v1beta2",
        workload(pod_set(count=9), status=reserved()),
        workload(pod_set(), status=reserved()),
    ),
]
_SAID = re.compile(
    r"(?P<field>[a-z]\w*(?:[.\[]\S*)?): (?P<type>Invalid value|Unsupported value|Duplicate value|Required value|Forbidden): "
)


def section(title: str) -> str:
    """What the real one answered, without the parts that no field is named in."""
    text = (FOLDER / "G-validation.txt").read_text()
    answer = text.split(title)[1].split("\n##")[0]
    return answer.partition("denied the request: ")[2] or answer


@needs_oracle
@pytest.mark.parametrize(("title", "name", "version", "body", "old"), BAD_OBJECTS)
def test_a_bad_object_is_refused_for_the_fields_and_reasons_that_a_real_kueue_names(
    title: str, name: str, version: str, body: Json, old: Json | None
) -> None:
    theirs = [(said["field"].lstrip("["), said["type"]) for said in _SAID.finditer(section(title))]
    assert theirs, "the section names no field"
    ours = [(said["field"], said["type"]) for line in write(name, body, old, version) if (said := _SAID.match(line))]
    assert ours == theirs


@needs_oracle
def test_messages_that_users_search_for_are_the_same() -> None:
    for title, name, version, body, old in BAD_OBJECTS[:3] + BAD_OBJECTS[4:5]:
        for line in write(name, body, old, version):
            assert line in section(title)


def test_a_local_queue_may_be_made_before_it_leads_anywhere() -> None:
    assert write("LocalQueue", {"spec": {}}, version="v1beta1") == []


# --- ClusterQueue and Cohort ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (queue(), []),
        (queue(cohortName="c", resourceGroups=[group(["f"], [quota(borrowingLimit="1", lendingLimit="5")])]), []),
        (
            queue(resourceGroups=[group(["f"], [quota(borrowingLimit="1")])]),
            ["spec: Invalid value: borrowingLimit must be nil when cohort is empty"],
        ),
        (
            queue(resourceGroups=[group(["f"], [quota(lendingLimit="1")])]),
            [
                'spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "1": '
                "must be nil when cohort is empty"
            ],
        ),
        (
            queue(cohortName="c", resourceGroups=[group(["f"], [quota(lendingLimit="6")])]),
            [
                'spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "6": '
                "must be less than or equal to the nominalQuota"
            ],
        ),
        (
            queue(cohortName="c", resourceGroups=[group(["f"], [quota(borrowingLimit="-1")])]),
            [
                'spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: "-1": '
                "must be greater than or equal to 0"
            ],
        ),
        (
            queue(resourceGroups=[group(["f", "f"])]),
            ['spec.resourceGroups[0].flavors[1]: Duplicate value: {"name":"f"}'],
        ),
        (
            queue(flavorFungibility={"preference": "BorrowingOverPreemption"}),
            [
                "spec.flavorFungibility: Invalid value: "
                "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
            ],
        ),
        (
            queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
            ["spec.preemption: Invalid value: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"],
        ),
        (queue(preemption={"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}), []),
        (queue(fairSharing={"weight": "0"}), []),
        (
            queue(fairSharing={"weight": "-1"}),
            ['spec.fairSharing: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            queue(fairSharing={"weight": "1n"}),
            ['spec.fairSharing: Invalid value: "1n": When not 0, weight must be > 10e-9'],
        ),
        (
            queue(admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["ghost"]}]}),
            [
                'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "ghost": supported values: "f"'
            ],
        ),
        (
            queue(namespaceSelector={"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["v"]}]}),
            [
                "spec.namespaceSelector.matchExpressions[0].values: Forbidden: "
                "not allowed with operator Exists or DoesNotExist"
            ],
        ),
        (
            queue(namespaceSelector={"matchExpressions": [{"key": "k", "operator": "Is"}]}),
            [
                'spec.namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": '
                "not a selector operator: use In, NotIn, Exists or DoesNotExist"
            ],
        ),
        (
            queue(resourceGroups=[group([f"f{index}" for index in range(65)])]),
            ["spec.resourceGroups[0].flavors: Too many: 65: must have at most 64 items"],
        ),
    ],
)
def test_cluster_queues(body: Json, errors: list[str]) -> None:
    assert write("ClusterQueue", body) == errors


def test_lists_of_a_cluster_queue_that_are_too_long_only_together_are_refused() -> None:
    groups = [
        {
            "coveredResources": [f"r{number}"],
            "flavors": [{"name": f"f{number}-{each}", "resources": [quota(f"r{number}")]} for each in range(64)],
        }
        for number in range(5)
    ]
    (error,) = write("ClusterQueue", queue(resourceGroups=groups))
    assert error.startswith("spec.resourceGroups: Invalid value: 320: total number of flavors")


def test_a_check_on_a_flavor_that_is_gone_does_not_stop_an_update_of_something_else() -> None:
    checks = {"admissionChecks": [{"name": "c", "onFlavors": ["ghost"]}]}
    old = queue(admissionChecksStrategy=checks)
    assert write("ClusterQueue", queue(admissionChecksStrategy=checks, stopPolicy="Hold"), old) == []
    changed = queue(admissionChecksStrategy=checks, resourceGroups=[group(["g"])])
    (error,) = write("ClusterQueue", changed, old)
    assert "onFlavors[0]: Unsupported value" in error


def test_a_queue_cannot_start_to_wait_for_several_flavors_at_once() -> None:
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    (error,) = write("ClusterQueue", queue(concurrentAdmissionPolicy=policy), queue())
    assert error.startswith("spec.concurrentAdmissionPolicy: Invalid value: ")
    assert error.endswith("field is immutable")


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"parentName": "p", "resourceGroups": [group(["f"], [quota(lendingLimit="9", borrowingLimit="1")])]}, []),
        (
            {"resourceGroups": [group(["f"], [quota(borrowingLimit="1")])]},
            [
                'spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: "1": '
                "must be nil when parent is empty"
            ],
        ),
        (
            {
                "resourceGroups": [
                    {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [quota()]}]}
                ]
            },
            [
                "spec.resourceGroups[0]: Invalid value: flavors must have the same number of resources as the coveredResources"
            ],
        ),
    ],
)
def test_cohorts(spec: Json, errors: list[str]) -> None:
    assert write("Cohort", {"spec": spec}) == errors


# --- the small kinds --------------------------------------------------------------------------------------------------

_EFFECT = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"


@pytest.mark.parametrize(
    ("name", "spec", "old", "errors"),
    [
        ("ResourceFlavor", {"nodeLabels": {"a": "b"}, "topologyName": "t"}, None, []),
        (
            "ResourceFlavor",
            {"topologyName": "t"},
            None,
            ["spec: Invalid value: at least one nodeLabel is required when topology is set"],
        ),
        (
            "ResourceFlavor",
            {"nodeLabels": {"a": "b"}},
            {"nodeLabels": {"a": "b"}, "topologyName": "t"},
            ["spec: Invalid value: topologyName is immutable when topologyName is set"],
        ),
        (
            "ResourceFlavor",
            {"nodeTaints": [{"key": "k", "effect": "Never"}]},
            None,
            [f"spec.nodeTaints: Invalid value: {_EFFECT}"],
        ),
        (
            "ResourceFlavor",
            {"nodeTaints": [{"key": "k", "effect": "NoExecute"}, {"key": "k", "value": "v", "effect": "NoExecute"}]},
            None,
            [
                'spec.nodeTaints[1]: Duplicate value: {"key":"k","value":"v","effect":"NoExecute"}: '
                "taints must be unique by key and effect pair"
            ],
        ),
        ("ResourceFlavor", {"nodeTaints": [{"effect": "NoExecute"}]}, None, ["spec.nodeTaints[0].key: Required value"]),
        (
            "ResourceFlavor",
            {"tolerations": [{"operator": "Exists"}, {"key": "k", "value": "v"}]},
            None,
            [],
        ),
        (
            "ResourceFlavor",
            {"tolerations": [{}, {"key": "k", "operator": "Exists", "value": "v", "tolerationSeconds": 1}]},
            None,
            [
                "spec.tolerations: Invalid value: operator must be Exists when 'key' is empty, which means "
                "'match all values and all keys'",
                "spec.tolerations: Invalid value: effect must be 'NoExecute' when 'tolerationSeconds' is set",
                "spec.tolerations: Invalid value: a value must be empty when 'operator' is 'Exists'",
            ],
        ),
        (
            "ResourceFlavor",
            {"tolerations": [{"key": "k", "operator": "Like", "effect": "Never"}]},
            None,
            [
                "spec.tolerations: Invalid value: supported toleration values: 'Equal'(default), 'Exists'",
                f"spec.tolerations: Invalid value: {_EFFECT}",
            ],
        ),
        (
            "AdmissionCheck",
            {"controllerName": "b"},
            {"controllerName": "a"},
            ['spec.controllerName: Invalid value: "b": field is immutable'],
        ),
        (
            "MultiKueueConfig",
            {"clusters": ["a", "b", "a"]},
            None,
            ["spec.clusters: Invalid value: must be unique"],
        ),
        (
            "MultiKueueConfig",
            {"clusters": []},
            None,
            ["spec.clusters: Invalid value: 0: must have at least 1 items"],
        ),
        (
            "MultiKueueCluster",
            {"clusterSource": {}},
            None,
            [
                "spec.clusterSource: Invalid value: exactly one of the fields in [kubeConfig clusterProfileRef] must be set"
            ],
        ),
        ("Topology", {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}, None, []),
        (
            "Topology",
            {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}, {"nodeLabel": "rack"}]},
            None,
            [
                "spec.levels: Invalid value: must be unique",
                "spec.levels: Invalid value: "
                "the kubernetes.io/hostname label can only be used at the lowest level of topology",
            ],
        ),
        (
            "Topology",
            {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "kubernetes.io/hostname"}]},
            {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
            [],
        ),
        (
            "Topology",
            {"levels": [{"nodeLabel": "block"}]},
            {"levels": [{"nodeLabel": "rack"}]},
            [
                "spec.levels: Invalid value: "
                "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change"
            ],
        ),
    ],
)
def test_small_kinds(name: str, spec: Json, old: Json | None, errors: list[str]) -> None:
    assert write(name, {"spec": spec}, None if old is None else {"spec": old}) == errors


def test_a_priority_class_needs_a_value_of_32_bits() -> None:
    assert write("WorkloadPriorityClass", {}) == ["value: Required value"]
    (error,) = write("WorkloadPriorityClass", {"value": 2**31})
    assert error.startswith("value: Invalid value: 2147483648: must be less than or equal to")


# --- Workload ---------------------------------------------------------------------------------------------------------


def with_requests(**requests: str) -> Json:
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


REF = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}
POD_REF = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (workload(), []),
        (workload(pod_set(minCount=3)), []),
        (
            workload(pod_set(minCount=4)),
            ["spec.podSets[0]: Invalid value: minCount should be positive and less or equal to count"],
        ),
        (
            workload(pod_set(minCount=1), pod_set("b", minCount=1)),
            ["spec.podSets: Invalid value: 2: at most one podSet can use minCount"],
        ),
        (workload(pod_set(), pod_set()), ['spec.podSets[1]: Duplicate value: {"name":"main"}']),
        (workload({"name": "main"}), ["spec.podSets[0].template: Required value"]),
        (
            workload(priorityClassRef=REF),
            ["spec: Invalid value: priority should not be nil when priorityClassRef is set"],
        ),
        (workload(priorityClassRef=REF, priority=1), []),
        (
            workload(priorityClassRef={**POD_REF, "kind": "WorkloadPriorityClass"}, priority=1),
            [
                "spec.priorityClassRef: Invalid value: only the PriorityClass kind is allowed for the scheduling.k8s.io group"
            ],
        ),
        (
            workload(pod_set(template=with_requests(pods="1", cpu="-1"))),
            [
                'spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "pods": '
                "the key is reserved for internal kueue use",
                'spec.podSets[0].template.spec.containers[0].resources.requests[cpu]: Invalid value: "-1": '
                "must be greater than or equal to 0",
            ],
        ),
        (
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": "rack"})),
            [
                "spec.podSets[0].topologyRequest.podSetSliceSize: Required value: "
                "must be set when podSetSliceRequiredTopology is specified"
            ],
        ),
        (
            workload(annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/c,,d"}),
            [
                'metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.b/c,,d": '
                "cannot contain empty gate names",
                'metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "d": '
                'must be a domain-prefixed path, such as "acme.io/foo"',
            ],
        ),
        (
            workload(annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/" + "c" * 60}),
            ["metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Too long: may not be more than 63 bytes"],
        ),
    ],
)
def test_workloads_when_they_are_created(body: Json, errors: list[str]) -> None:
    assert write("Workload", body) == errors


TOPOLOGY: Json = {
    "levels": ["host"],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
            "podCounts": {"individual": [1, 2]},
        }
    ],
}


def placed(**change: Any) -> Json:
    topology = copy.deepcopy(TOPOLOGY)
    topology["slices"][0].update(change)
    assignment = {"name": "main", "count": 3, "topologyAssignment": topology}
    return workload(status=reserved(assignments=[assignment]))


_SLICE = "status.admission.podSetAssignments[0].topologyAssignment.slices[0]"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (workload(status=reserved()), []),
        (
            workload(status=reserved(assignments=[])),
            ["Invalid value: podSetAssignments must have the same number of podSets as the spec"],
        ),
        (
            workload(status={"conditions": conditions("QuotaReserved")}),
            ["status.admission: Required value: must be set while the QuotaReserved condition is true"],
        ),
        (
            workload(status={"clusterName": "c", "nominatedClusterNames": ["c"]}),
            ["status: Invalid value: clusterName and nominatedClusterNames are mutually exclusive"],
        ),
        (
            workload(status={"reclaimablePods": [{"name": "main", "count": 4}, {"name": "x", "count": 1}]}),
            [
                "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3",
                'status.reclaimablePods[x].name: Unsupported value: "x": supported values: "main"',
            ],
        ),
        (placed(), []),
        (
            placed(podCounts={"universal": 1, "individual": [1, 2]}),
            [f"{_SLICE}.podCounts: Invalid value: exactly one of the fields in [universal individual] must be set"],
        ),
        (
            placed(podCounts={"individual": [1]}),
            [f"{_SLICE}: Invalid value: podCounts.individual must have length equal to domainCount"],
        ),
        (
            placed(valuesPerLevel=[{}]),
            [
                f"{_SLICE}.valuesPerLevel[0]: Invalid value: exactly one of the fields in [universal individual] must be set"
            ],
        ),
        (
            placed(valuesPerLevel=[{"universal": "a"}, {"universal": "b"}]),
            [
                "status.admission.podSetAssignments[0].topologyAssignment: Invalid value: "
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment"
            ],
        ),
        (
            placed(valuesPerLevel=[{"individual": {"roots": ["a"]}}]),
            [
                f"{_SLICE}: Invalid value: valuesPerLevel.individual, if set, must have roots of length equal to "
                "domainCount of this TopologyAssignmentSlice"
            ],
        ),
    ],
)
def test_the_status_of_a_workload(body: Json, errors: list[str]) -> None:
    assert write("Workload", body, status=True) == errors


HELD = workload(
    priorityClassRef=POD_REF, priority=1, queueName="q", maximumExecutionTimeSeconds=9, status=reserved("Admitted")
)


def held(**spec: Any) -> Json:
    body = copy.deepcopy(HELD)
    body["spec"].update(spec)
    body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
    return body


@pytest.mark.parametrize(
    ("new", "detail"),
    [
        (held(priority=7), None),
        (held(active=False), None),
        (held(podSets=[pod_set(count=2)]), None),
        (held(priorityClassRef={**POD_REF, "name": "x"}), "priorityClassRef.name is immutable for scheduling.k8s.io"),
        (held(priorityClassRef=None), "priorityClassRef is immutable while workload quota reserved"),
        (held(priorityClassRef=REF), "priorityClassRef.group is immutable while workload quota reserved"),
        (held(queueName="other"), "queueName is immutable while workload quota reserved"),
        (held(queueName=None), "queueName is immutable while workload quota reserved"),
        (held(maximumExecutionTimeSeconds=10), "maximumExecutionTimeSeconds is immutable"),
        (held(podSets=[pod_set(count=4)]), "spec.podSets.0: Invalid value: "),
    ],
)
def test_what_quota_was_reserved_for_stays_while_it_is_held(new: Json, detail: str | None) -> None:
    errors = write("Workload", new, HELD)
    assert (errors == []) if detail is None else any(detail in error for error in errors)


def test_another_workload_priority_class_may_be_named_while_quota_is_held() -> None:
    old = workload(priorityClassRef=REF, priority=1, status=reserved())
    new = workload(priorityClassRef={**REF, "name": "x"}, priority=2, status=reserved())
    assert write("Workload", new, old) == []


def test_everything_may_change_while_no_quota_is_held() -> None:
    old = workload(priorityClassRef=POD_REF, priority=1, queueName="q")
    assert write("Workload", workload(pod_set("x", 9), queueName="other"), old) == []


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ({}, {"clusterName": "c"}, ["status.clusterName: Invalid value"]),
        ({"nominatedClusterNames": ["c", "d"]}, {"clusterName": "c"}, []),
        ({"clusterName": "c"}, {"clusterName": "d"}, ["status: Invalid value: clusterName is immutable once set"]),
        ({"clusterName": "c"}, {}, []),
        (
            reserved(reclaimablePods=[{"name": "main", "count": 2}]),
            reserved(reclaimablePods=[{"name": "main", "count": 1}]),
            ["status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"],
        ),
        (
            reserved(reclaimablePods=[{"name": "main", "count": 2}]),
            reserved(),
            ["status.reclaimablePods[main]: Required value: cannot be removed"],
        ),
        (reserved(), reserved(assignments=[{"name": "main", "count": 2}]), ["status.admission: Invalid value"]),
        (reserved(), {}, []),
        (reserved(), reserved(assignments=[{"name": "main", "count": 3, "topologyAssignment": TOPOLOGY}]), []),
    ],
)
def test_changes_of_the_status(before: Json, after: Json, errors: list[str]) -> None:
    said = write("Workload", workload(status=after), workload(status=before), status=True)
    assert len(said) == len(errors)
    assert all(ours.startswith(wanted) for ours, wanted in zip(said, errors, strict=True))


def test_amounts_that_are_written_differently_are_the_same_amount() -> None:
    def given(cpu: str) -> Json:
        return workload(status=reserved(assignments=[{"name": "main", "count": 3, "resourceUsage": {"cpu": cpu}}]))

    assert write("Workload", given("3"), given("3000m")) == []
    assert write("Workload", given("3e0"), given("3")) == []
    assert write("Workload", given("6"), given("3")) != []


def test_v1beta1_is_checked_by_the_same_rules() -> None:
    body = {
        "spec": {
            "podSets": [pod_set()],
            "priorityClassName": "p",
            "priorityClassSource": "scheduling.k8s.io/priorityclass",
        }
    }
    assert write("Workload", body, version="v1beta1") == [
        "spec: Invalid value: priority should not be nil when priorityClassRef is set"
    ]
    kubeconfig = {"spec": {"kubeConfig": {"location": ""}}}
    (error,) = write("MultiKueueCluster", kubeconfig, version="v1beta1")
    assert "exactly one of the fields" in error


def test_every_stored_object_can_be_read_in_both_versions() -> None:
    objects = {
        "ClusterQueue": queue(cohortName="c"),
        "Workload": workload(priorityClassRef=REF, priority=1, status=reserved()),
        "MultiKueueCluster": {"spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}}},
        "Cohort": {"spec": {}},
        "LocalQueue": {"spec": {"clusterQueue": "q"}},
        "AdmissionCheck": {"spec": {"controllerName": "x"}},
        "MultiKueueConfig": {"spec": {"clusters": ["a"]}},
    }
    for name, body in objects.items():
        old = BY_NAME[name].version("v1beta1")
        assert old.from_storage is not None
        served = to_json(old.from_storage(convert(stored(name, body), BY_NAME[name].storage_version.type)))
        assert write(name, served, version="v1beta1") == []
