"""Pieces that several kinds of the group share: names, quotas, usage, fair sharing, conditions."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.k8s import meta
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Time, Type

DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
LABEL_KEY = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"

Name = Annotated[str, F(pattern=DNS_SUBDOMAIN, max_length=253)]
"""A reference to another object of the group."""
PodSetName = Annotated[str, F(pattern=DNS_LABEL, max_length=63)]
CheckName = Annotated[str, F(min_length=1, max_length=316)]
Count = Annotated[int, F(ge=0, le=2**31 - 1)]
Positive = Annotated[int, F(ge=1, le=2**31 - 1)]

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class Condition(meta.Condition, kw_only=True):
    """One aspect of an object's state, as last observed."""

    type: Annotated[str, F("which aspect this is", pattern=LABEL_KEY, max_length=316)]
    status: Annotated[Literal["True", "False", "Unknown"], F("whether the aspect holds")]
    observed_generation: Opt[Annotated[int, F("metadata.generation that the observation is about", ge=0)]] = UNSET
    last_transition_time: Annotated[Time, F("when the status last changed")]
    reason: Annotated[
        str, F("one word for why, for programs to compare", pattern=REASON, min_length=1, max_length=1024)
    ]
    message: Annotated[str, F("why, for people; may be empty", max_length=32768)]


Conditions = Annotated[list[Condition], F("observed state, one entry per type", keys=("type",), max_length=16)]


class ResourceQuota(Type):
    """How much of one resource a flavor offers here."""

    name: Annotated[str, F("resource, for example cpu, memory or nvidia.com/gpu")]
    nominal_quota: Annotated[
        Quantity, F("amount that is always available here; pods are admitted while the sum of their requests fits")
    ]
    borrowing_limit: Opt[
        Annotated[
            Quantity,
            F("most that may be used above the nominal quota, from what others in the cohort leave; absent: no limit"),
        ]
    ] = UNSET
    lending_limit: Opt[
        Annotated[
            Quantity, F("most of the nominal quota that others in the cohort may use; absent: all that is unused")
        ]
    ] = UNSET


class FlavorQuotas(Type):
    """The quotas of one flavor, one per covered resource."""

    name: Annotated[Name, F("ResourceFlavor that the quotas are for")]
    resources: Annotated[
        list[ResourceQuota],
        F("quotas, in the order of coveredResources", keys=("name",), min_length=1, max_length=64),
    ]


class ResourceGroup(Type):
    """Resources that are always taken from the same flavor, and the flavors to try, in order of preference."""

    covered_resources: Annotated[
        list[str],
        F("resources of this group; a resource is in one group only", list_type="atomic", min_length=1, max_length=64),
    ]
    flavors: Annotated[
        list[FlavorQuotas],
        F("flavors with their quotas; earlier ones are preferred", keys=("name",), min_length=1, max_length=64),
    ]


ResourceGroups = Annotated[
    list[ResourceGroup],
    F(
        "what can be used here: groups of resources, each with its flavors and quotas",
        list_type="atomic",
        max_length=16,
    ),
]


class FairSharing(Type):
    """How strongly this node of the quota tree competes for quota that nobody owns."""

    weight: Opt[
        Annotated[
            Quantity,
            F(
                "share relative to siblings: 2 gets twice as much as 1; 0 borrows only when nobody else wants",
                default="1",
            ),
        ]
    ] = UNSET


class FairSharingStatus(Type):
    """The standing in fair sharing, as last computed."""

    weighted_share: Annotated[
        int,
        F(
            "largest ratio, over all resources, of what is borrowed to what can be lent in the cohort, divided by the weight, "
            "in thousandths; 0 means that nothing is borrowed"
        ),
    ]


class AdmissionFairSharingStatus(Type):
    """What a LocalQueue used of late, for ordering queues that share a ClusterQueue."""

    consumed_resources: Annotated[dict[str, Quantity], F("usage per resource, older usage counting ever less")]
    last_update: Annotated[Time, F("when the sums were last updated")]


class ResourceUsage(Type):
    """How much of one resource is used in a flavor."""

    name: Annotated[str, F("resource")]
    total: Opt[Annotated[Quantity, F("all of it, borrowed parts included")]] = UNSET
    borrowed: Opt[Annotated[Quantity, F("the part beyond the nominal quota, taken from the cohort")]] = UNSET


class FlavorUsage(Type):
    """How much is used in one flavor."""

    name: Annotated[Name, F("ResourceFlavor")]
    resources: Annotated[list[ResourceUsage], F("usage per resource", keys=("name",), max_length=64)]
