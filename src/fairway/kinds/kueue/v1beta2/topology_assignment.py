"""Where the pods of a pod set go, by topology domain, written compactly.

A *domain* is one value per level (say rack r1, host h7) with a number of pods. Domains come in slices; within a slice, what all
domains share is written once: a level's value (`universal`) or its common prefix and suffix, and the pod count.
"""

from __future__ import annotations

from fairway.kinds.kueue.v1beta2.shared import Positive
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type

Value = Annotated[str, F(max_length=63)]
DOMAINS_MAX = 100_000


class IndividualValues(Type, kw_only=True):
    """Values of one level that differ between domains: prefix + root + suffix."""

    prefix: Opt[Annotated[Value, F("what all values begin with")]] = UNSET
    suffix: Opt[Annotated[Value, F("what all values end with")]] = UNSET
    roots: Annotated[
        list[Value],
        F("the part between, one per domain", list_type="atomic", min_length=1, max_length=DOMAINS_MAX),
    ]


class LevelValues(Type):
    """Values of one level: exactly one of the fields."""

    universal: Opt[Annotated[Value, F("the value that all domains of the slice have")]] = UNSET
    individual: Opt[Annotated[IndividualValues, F("one value per domain")]] = UNSET


class PodCounts(Type):
    """Pods per domain: exactly one of the fields."""

    universal: Opt[Annotated[Positive, F("pods in each domain of the slice")]] = UNSET
    individual: Opt[
        Annotated[
            list[Positive],
            F("pods per domain", list_type="atomic", min_length=1, max_length=DOMAINS_MAX),
        ]
    ] = UNSET


class TopologyAssignmentSlice(Type):
    """Some of the domains."""

    domain_count: Annotated[Positive, F("number of domains in the slice")]
    values_per_level: Annotated[
        list[LevelValues],
        F("values of the domains, one entry per level", list_type="atomic", min_length=1, max_length=16),
    ]
    pod_counts: Annotated[PodCounts, F("pods per domain")]


class TopologyAssignment(Type):
    """Domains that the pods go to."""

    levels: Annotated[
        list[Annotated[str, F(max_length=317)]],
        F("node labels of the levels, widest first", list_type="atomic", min_length=1, max_length=16),
    ]
    slices: Annotated[list[TopologyAssignmentSlice], F("the domains, in slices", list_type="atomic", max_length=1000)]
