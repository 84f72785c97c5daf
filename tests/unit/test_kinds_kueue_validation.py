"""What is refused, and how it is said: types and bounds, the schema's rules, and the rules of Kueue's webhooks."""

from __future__ import annotations

import re

import pytest
from tests.unit.kueue_oracle import FOLDER, needs_oracle
from tests.unit.kueue_writing import BY_NAME, REF, Json, group, pod_set, queue, quota, reserved, stored, workload, write

from fairway.kinds.kind import convert
from fairway.kinds.types import to_json

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
