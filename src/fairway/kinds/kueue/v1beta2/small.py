"""The small kinds: WorkloadPriorityClass, AdmissionCheck, Topology, ProvisioningRequestConfig."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.kueue.v1beta2.shared import DNS_LABEL, DNS_SUBDOMAIN, LABEL_KEY, Conditions
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Type


class WorkloadPriorityClass(Object, kw_only=True):
    """A named priority for queueing and preemption, independent of the priority of pods."""

    value: Annotated[Int32, F("priority of workloads of this class; higher goes first")]
    description: Opt[Annotated[str, F("when to use the class", max_length=2048)]] = UNSET


class AdmissionCheckParameters(Type):
    """The object that configures a check."""

    api_group: Annotated[str, F("API group of the object", pattern=DNS_SUBDOMAIN, min_length=1, max_length=253)]
    kind: Annotated[
        str,
        F("kind of the object", pattern=r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$", min_length=1, max_length=63),
    ]
    name: Annotated[str, F("name of the object", pattern=DNS_LABEL, min_length=1, max_length=63)]


class AdmissionCheckSpec(Type):
    """Who decides, and with which settings."""

    controller_name: Annotated[str, F("controller that decides; cannot be changed", min_length=1, max_length=253)]
    parameters: Opt[Annotated[AdmissionCheckParameters, F("object with the controller's settings")]] = UNSET


class AdmissionCheckStatus(Type):
    """Whether the check works, as last observed."""

    conditions: Opt[Conditions] = UNSET


class AdmissionCheck(Object):
    """A decision that must be taken outside the quota rules before a workload starts."""

    spec: Opt[Annotated[AdmissionCheckSpec, F("who decides, and with which settings")]] = UNSET
    status: Opt[Annotated[AdmissionCheckStatus, F("whether the check works")]] = UNSET


class TopologyLevel(Type):
    """One level of the hierarchy of nodes."""

    node_label: Annotated[
        str,
        F(
            "node label whose value names the domain, for example a rack",
            pattern=LABEL_KEY,
            min_length=1,
            max_length=316,
        ),
    ]


class TopologySpec(Type):
    """The levels, from the widest to the narrowest."""

    levels: Annotated[
        list[TopologyLevel],
        F(
            "levels from widest to narrowest; kubernetes.io/hostname only as the last",
            list_type="atomic",
            min_length=1,
            max_length=16,
        ),
    ]


class Topology(Object):
    """How nodes are grouped (zones, blocks, racks, hosts), so that pods can be placed close together."""

    spec: Opt[Annotated[TopologySpec, F("the levels")]] = UNSET


class RetryStrategy(Type):
    """How often a failed provisioning request is repeated."""

    backoff_limit_count: Opt[Annotated[Int32, F("how many times", default=3)]] = UNSET
    backoff_base_seconds: Opt[Annotated[Int32, F("first delay, doubled each time", default=60)]] = UNSET
    backoff_max_seconds: Opt[Annotated[Int32, F("longest delay", default=1800)]] = UNSET


class NodeSelectorUpdate(Type):
    """A node selector entry that is filled in from the answer to a provisioning request."""

    key: Annotated[str, F("node label", pattern=LABEL_KEY, min_length=1, max_length=317)]
    value_from_provisioning_class_detail: Annotated[
        str, F("detail of the answer that holds the value", min_length=1, max_length=32768)
    ]


class ProvisioningPodSetUpdates(Type):
    """Changes to pods once capacity was provisioned."""

    node_selector: Opt[Annotated[list[NodeSelectorUpdate], F("node selector entries", keys=("key",), max_length=8)]] = (
        UNSET
    )


class ProvisioningRequestConfigSpec(Type):
    """How capacity is asked for."""

    provisioning_class_name: Annotated[
        str, F("class of provisioning requests", pattern=DNS_SUBDOMAIN, min_length=1, max_length=253)
    ]
    parameters: Opt[
        Annotated[
            dict[str, Annotated[str, F(max_length=255)]], F("parameters passed on with each request", max_length=100)
        ]
    ] = UNSET
    managed_resources: Opt[
        Annotated[
            list[str],
            F("only pods that ask for one of these need a request; empty: all", list_type="set", max_length=100),
        ]
    ] = UNSET
    retry_strategy: Opt[
        Annotated[
            RetryStrategy,
            F(
                "how often a failed request is repeated",
                default={"backoffBaseSeconds": 60, "backoffLimitCount": 3, "backoffMaxSeconds": 1800},
            ),
        ]
    ] = UNSET
    pod_set_updates: Opt[Annotated[ProvisioningPodSetUpdates, F("changes to pods once capacity was provisioned")]] = (
        UNSET
    )
    pod_set_merge_policy: Opt[
        Annotated[
            Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"],
            F("which pod sets are joined in one request; absent: none"),
        ]
    ] = UNSET


class ProvisioningRequestConfig(Object):
    """Settings of the provisioning check. Kept for manifests that carry one; no engine here provisions nodes."""

    spec: Opt[Annotated[ProvisioningRequestConfigSpec, F("how capacity is asked for")]] = UNSET
