"""v1beta1 and v1beta2 say the same things: what goes from one to the other and back comes back as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.kinds.kind import convert
from fairway.kinds.kueue import KINDS
from fairway.kinds.kueue.v1beta1.topology_assignment import TopologyAssignment, TopologyDomain, fold, unfold
from fairway.kinds.kueue.v1beta2 import topology_assignment as v2
from fairway.kinds.types import UNSET, to_json

GROUP = "kueue.x-k8s.io"
BY_NAME = {kind.name: kind for kind in KINDS}
Json = dict[str, Any]


def to_v2(kind: str, body: Json) -> Json:
    version = BY_NAME[kind].version("v1beta1")
    assert version.to_storage is not None
    obj = convert({"apiVersion": f"{GROUP}/v1beta1", "kind": kind, **body}, version.type)
    return _without_type(to_json(version.to_storage(obj)), kind, "v1beta2")


def to_v1(kind: str, body: Json) -> Json:
    version = BY_NAME[kind].version("v1beta1")
    assert version.from_storage is not None
    obj = convert({"apiVersion": f"{GROUP}/v1beta2", "kind": kind, **body}, BY_NAME[kind].storage_version.type)
    return _without_type(to_json(version.from_storage(obj)), kind, "v1beta1")


def _without_type(obj: Json, kind: str, version: str) -> Json:
    assert (obj.pop("apiVersion"), obj.pop("kind")) == (f"{GROUP}/{version}", kind)
    return obj


META = {"name": "a", "uid": "u", "labels": {"x": "y"}}
TIME = "2026-01-02T03:04:05Z"
CONDITION = {"type": "Active", "status": "True", "lastTransitionTime": TIME, "reason": "Ready", "message": ""}
POD_SET = {"name": "main", "count": 2, "template": {"metadata": {}, "spec": {"containers": []}}}
GROUPS = [
    {
        "coveredResources": ["cpu"],
        "flavors": [
            {
                "name": "f",
                "resources": [{"name": "cpu", "nominalQuota": "2", "borrowingLimit": "1", "lendingLimit": "500m"}],
            }
        ],
    }
]
USAGE = [{"name": "f", "resources": [{"name": "cpu", "total": "1"}]}]
CHECK_STATE = {"name": "c", "state": "Ready", "lastTransitionTime": TIME, "message": "m", "retryCount": 1}

# kind, v1beta1, v1beta2: the same object in both versions.
PAIRS: list[tuple[str, Json, Json]] = [
    ("ClusterQueue", {"metadata": META}, {"metadata": META}),
    (
        "ClusterQueue",
        {
            "metadata": META,
            "spec": {
                "cohort": "all",
                "resourceGroups": GROUPS,
                "queueingStrategy": "StrictFIFO",
                "namespaceSelector": {},
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
                "preemption": {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 7}},
                "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["f"]}]},
                "stopPolicy": "Hold",
                "fairSharing": {"weight": "2"},
                "admissionScope": {"admissionMode": "NoAdmissionFairSharing"},
            },
            "status": {
                "conditions": [CONDITION],
                "flavorsUsage": USAGE,
                "pendingWorkloads": 3,
                "fairSharing": {"weightedShare": 4},
            },
        },
        {
            "metadata": META,
            "spec": {
                "cohortName": "all",
                "resourceGroups": GROUPS,
                "queueingStrategy": "StrictFIFO",
                "namespaceSelector": {},
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
                "preemption": {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 7}},
                "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["f"]}]},
                "stopPolicy": "Hold",
                "fairSharing": {"weight": "2"},
                "admissionScope": {"admissionMode": "NoAdmissionFairSharing"},
            },
            "status": {
                "conditions": [CONDITION],
                "flavorsUsage": USAGE,
                "pendingWorkloads": 3,
                "fairSharing": {"weightedShare": 4},
            },
        },
    ),
    (
        "LocalQueue",
        {
            "metadata": META,
            "spec": {"clusterQueue": "cq", "fairSharing": {"weight": "3"}},
            "status": {
                "flavorUsage": USAGE,
                "flavorsReservation": USAGE,
                "fairSharing": {
                    "weightedShare": 0,
                    "admissionFairSharingStatus": {"consumedResources": {"cpu": "5"}, "lastUpdate": TIME},
                },
            },
        },
        {
            "metadata": META,
            "spec": {"clusterQueue": "cq", "fairSharing": {"weight": "3"}},
            "status": {
                "flavorsUsage": USAGE,
                "flavorsReservation": USAGE,
                "fairSharing": {
                    "weightedShare": 0,
                    "admissionFairSharingStatus": {"consumedResources": {"cpu": "5"}, "lastUpdate": TIME},
                },
            },
        },
    ),
    (
        "Cohort",
        {"metadata": META, "spec": {"parentName": "p"}, "status": {"fairSharing": {"weightedShare": 9}}},
        {"metadata": META, "spec": {"parentName": "p"}, "status": {"fairSharing": {"weightedShare": 9}}},
    ),
    (
        "AdmissionCheck",
        {
            "metadata": META,
            "spec": {
                "controllerName": "x.io/y",
                "parameters": {"apiGroup": "x.io", "kind": "Conf", "name": "c"},
            },
            "status": {"conditions": [CONDITION]},
        },
        {
            "metadata": META,
            "spec": {
                "controllerName": "x.io/y",
                "parameters": {"apiGroup": "x.io", "kind": "Conf", "name": "c"},
            },
            "status": {"conditions": [CONDITION]},
        },
    ),
    (
        "MultiKueueConfig",
        {"metadata": META, "spec": {"clusters": ["b", "a"]}},
        {"metadata": META, "spec": {"clusters": ["b", "a"]}},
    ),
    (
        "MultiKueueCluster",
        {"metadata": META, "spec": {"kubeConfig": {"location": "secret", "locationType": "Secret"}}},
        {"metadata": META, "spec": {"clusterSource": {"kubeConfig": {"location": "secret", "locationType": "Secret"}}}},
    ),
    (
        "MultiKueueCluster",
        {
            "metadata": META,
            "spec": {"kubeConfig": {"location": "", "locationType": "Secret"}, "clusterProfileRef": {"name": "p"}},
            "status": {"conditions": [CONDITION]},
        },
        {
            "metadata": META,
            "spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}},
            "status": {"conditions": [CONDITION]},
        },
    ),
    (
        "Workload",
        {
            "metadata": META,
            "spec": {
                "podSets": [{**POD_SET, "minCount": 1, "topologyRequest": {"required": "rack", "podSetSliceSize": 2}}],
                "queueName": "q",
                "priorityClassName": "high",
                "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
                "priority": 10,
                "active": False,
            },
            "status": {
                "conditions": [CONDITION],
                "admission": {
                    "clusterQueue": "cq",
                    "podSetAssignments": [
                        {
                            "name": "main",
                            "flavors": {"cpu": "f"},
                            "resourceUsage": {"cpu": "2"},
                            "count": 2,
                            "topologyAssignment": {
                                "levels": ["rack", "host"],
                                "domains": [{"values": ["r1", "h1"], "count": 1}, {"values": ["r1", "h2"], "count": 1}],
                            },
                        }
                    ],
                },
                "admissionChecks": [CHECK_STATE],
                "reclaimablePods": [{"name": "main", "count": 1}],
                "accumulatedPastExexcutionTimeSeconds": 12,
                "unhealthyNodes": [{"name": "n"}],
                "clusterName": "c1",
            },
        },
        {
            "metadata": META,
            "spec": {
                "podSets": [{**POD_SET, "minCount": 1, "topologyRequest": {"required": "rack", "podSetSliceSize": 2}}],
                "queueName": "q",
                "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
                "priority": 10,
                "active": False,
            },
            "status": {
                "conditions": [CONDITION],
                "admission": {
                    "clusterQueue": "cq",
                    "podSetAssignments": [
                        {
                            "name": "main",
                            "flavors": {"cpu": "f"},
                            "resourceUsage": {"cpu": "2"},
                            "count": 2,
                            "topologyAssignment": {
                                "levels": ["rack", "host"],
                                "slices": [
                                    {
                                        "domainCount": 2,
                                        "valuesPerLevel": [
                                            {"universal": "r1"},
                                            {"individual": {"prefix": "h", "roots": ["1", "2"]}},
                                        ],
                                        "podCounts": {"universal": 1},
                                    }
                                ],
                            },
                        }
                    ],
                },
                "admissionChecks": [CHECK_STATE],
                "reclaimablePods": [{"name": "main", "count": 1}],
                "accumulatedPastExecutionTimeSeconds": 12,
                "unhealthyNodes": [{"name": "n"}],
                "clusterName": "c1",
            },
        },
    ),
    (
        "Workload",
        {
            "metadata": META,
            "spec": {
                "podSets": [POD_SET],
                "priorityClassName": "pods",
                "priorityClassSource": "scheduling.k8s.io/priorityclass",
                "priority": 1,
            },
        },
        {
            "metadata": META,
            "spec": {
                "podSets": [POD_SET],
                "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "pods"},
                "priority": 1,
            },
        },
    ),
]


@pytest.mark.parametrize(("kind", "old", "new"), PAIRS)
def test_both_versions_convert_into_each_other(kind: str, old: Json, new: Json) -> None:
    assert to_v2(kind, old) == new
    assert to_v1(kind, new) == old


# kind, v1beta1 as written, v1beta2 that it means: words and fields that v1beta2 no longer has.
ONE_WAY: list[tuple[str, Json, Json]] = [
    (
        "ClusterQueue",
        {"spec": {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}},
        {"spec": {"flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}}},
    ),
    (
        "ClusterQueue",
        {"spec": {"admissionChecks": ["a", "b"]}},
        {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}}},
    ),
    ("ClusterQueue", {"spec": {"admissionChecksStrategy": {"admissionChecks": []}}}, {"spec": {}}),
    (
        "ClusterQueue",
        {
            "status": {
                "pendingWorkloadsStatus": {"lastChangeTime": TIME},
                "fairSharing": {
                    "weightedShare": 1,
                    "admissionFairSharingStatus": {"consumedResources": {}, "lastUpdate": TIME},
                },
            }
        },
        {"status": {"fairSharing": {"weightedShare": 1}}},
    ),
    (
        "LocalQueue",
        {"status": {"flavors": [{"name": "f", "resources": ["cpu"]}], "pendingWorkloads": 1}},
        {"status": {"pendingWorkloads": 1}},
    ),
    (
        "AdmissionCheck",
        {"spec": {"controllerName": "x", "retryDelayMinutes": 15}},
        {"spec": {"controllerName": "x"}},
    ),
    (
        "Workload",
        {"spec": {"podSets": [POD_SET], "priorityClassName": "x", "priorityClassSource": ""}},
        {"spec": {"podSets": [POD_SET]}},
    ),
]


@pytest.mark.parametrize(("kind", "old", "new"), ONE_WAY)
def test_what_v1beta2_dropped_is_read_for_what_it_meant(kind: str, old: Json, new: Json) -> None:
    assert to_v2(kind, {"metadata": {}, **old}) == {"metadata": {}, **new}


LOST: list[tuple[str, Json, Json]] = [
    (
        "ClusterQueue",
        {"spec": {"cohortName": "c", "concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}}}},
        {"spec": {"cohort": "c"}},
    ),
    ("MultiKueueConfig", {"spec": {"clusters": ["a"], "quotaManagement": "Automated"}}, {"spec": {"clusters": ["a"]}}),
    (
        "Workload",
        {
            "spec": {
                "podSets": [
                    {
                        **POD_SET,
                        "topologyRequest": {
                            "required": "rack",
                            "podsetSliceRequiredTopologyConstraints": [{"topology": "host", "size": 2}],
                        },
                    }
                ],
                "preemptionGates": [{"name": "g"}],
            },
            "status": {"preemptionGates": [{"name": "g", "position": "Open", "lastTransitionTime": TIME}]},
        },
        {"spec": {"podSets": [{**POD_SET, "topologyRequest": {"required": "rack"}}]}, "status": {}},
    ),
]


@pytest.mark.parametrize(("kind", "new", "old"), LOST)
def test_what_v1beta1_cannot_say_is_left_out_of_it(kind: str, new: Json, old: Json) -> None:
    assert to_v1(kind, {"metadata": {}, **new}) == {"metadata": {}, **old}


value = st.text(alphabet="abh-1", min_size=0, max_size=6)
domains = st.integers(1, 3).flatmap(
    lambda levels: st.tuples(
        st.just([f"level{index}" for index in range(levels)]),
        st.lists(
            st.builds(
                TopologyDomain, values=st.lists(value, min_size=levels, max_size=levels), count=st.integers(1, 9)
            ),
            max_size=6,
        ),
    )
)


@settings(max_examples=100)
@given(domains)
def test_folding_domains_into_slices_and_back_loses_nothing(given: tuple[list[str], list[TopologyDomain]]) -> None:
    levels, flat = given
    folded = fold(TopologyAssignment(levels=levels, domains=flat))
    stored = convert(to_json(folded), v2.TopologyAssignment)
    assert unfold(stored).domains == flat


def test_what_domains_share_is_written_once_and_never_twice() -> None:
    flat = [TopologyDomain(values=["b1", name], count=2) for name in ("aba", "ababa")]
    (part,) = fold(TopologyAssignment(levels=["block", "host"], domains=flat)).slices
    assert part.pod_counts == v2.PodCounts(universal=2)
    assert part.values_per_level[0] == v2.LevelValues(universal="b1")
    assert part.values_per_level[1].individual == v2.IndividualValues(prefix=UNSET, suffix="aba", roots=["", "ab"])


def test_more_domains_than_a_slice_may_hold_make_several_slices() -> None:
    flat = [TopologyDomain(values=[str(index)], count=1) for index in range(v2.DOMAINS_MAX + 1)]
    folded = fold(TopologyAssignment(levels=["host"], domains=flat))
    assert [part.domain_count for part in folded.slices] == [v2.DOMAINS_MAX, 1]
    assert unfold(folded).domains == flat


def test_a_domain_without_a_value_for_every_level_is_refused() -> None:
    body = {"levels": ["rack", "host"], "domains": [{"values": ["r1"], "count": 1}]}
    with pytest.raises(
        msgspec.ValidationError, match=r"domains\[0\].values must have one value for each of the 2 levels"
    ):
        convert(body, TopologyAssignment)
