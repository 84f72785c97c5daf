"""Which objects a placement selects, and which clusters it picks."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from fairway.kinds.fleet.common import LabelSelector
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type

SelectionScope = Literal["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"]
PlacementType = Literal["PickAll", "PickN", "PickFixed"]


class ResourceSelectorTerm(Type):
    """Objects of one kind, by name or by labels."""

    group: Annotated[str, F("API group of the objects; empty for the core group")]
    version: Annotated[str, F("API version of the objects")]
    kind: Annotated[str, F("kind of the objects")]
    name: Opt[Annotated[str, F("name of the one object; not together with labelSelector")]] = UNSET
    label_selector: Opt[Annotated[LabelSelector, F("objects with these labels; not with name", atomic=True)]] = UNSET
    selection_scope: Opt[
        Annotated[
            SelectionScope,
            F(
                "for a Namespace: with all that is in it, alone, or with what the other selectors pick in it",
                default="NamespaceWithResources",
            ),
        ]
    ] = UNSET


class PropertySelectorRequirement(Type):
    """One condition on a property of a cluster."""

    name: Annotated[str, F("property that is looked at")]
    operator: Annotated[str, F("Gt, Ge, Eq, Ne, Lt or Le")]
    values: Annotated[list[str], F("the one quantity to compare with", max_length=1)]


class PropertySelector(Type):
    """Clusters whose properties meet all conditions."""

    match_expressions: Annotated[list[PropertySelectorRequirement], F("conditions, all of which must hold")]


class PropertySorter(Type):
    """Prefers clusters by the value of a property."""

    name: Annotated[str, F("property to sort by")]
    sort_order: Annotated[
        Literal["Ascending", "Descending"], F("Ascending prefers low values, Descending prefers high ones")
    ]


class ClusterSelectorTerm(Type):
    """Clusters with given labels and properties."""

    label_selector: Opt[Annotated[LabelSelector, F("labels of the cluster", atomic=True)]] = UNSET
    property_selector: Opt[Annotated[PropertySelector, F("conditions on properties; where clusters are required")]] = (
        UNSET
    )
    property_sorter: Opt[Annotated[PropertySorter, F("order by a property; where clusters are preferred")]] = UNSET


class ClusterSelector(Type):
    """Clusters that meet at least one of the terms."""

    cluster_selector_terms: Annotated[list[ClusterSelectorTerm], F("terms, one of which is enough", max_length=10)]


class PreferredClusterSelector(Type):
    """Adds to the score of clusters that fit."""

    weight: Annotated[int, F("points for the best fit; negative ones repel", ge=-100, le=100)]
    preference: Annotated[ClusterSelectorTerm, F("clusters that get the points")]


class ClusterAffinity(Type):
    """Where objects must and where they should go."""

    required: Opt[Annotated[ClusterSelector, F("only clusters that fit are picked")]] = field(
        default=UNSET, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: Opt[Annotated[list[PreferredClusterSelector], F("clusters that fit better come first")]] = field(
        default=UNSET, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Type):
    """Rules about clusters."""

    cluster_affinity: Opt[Annotated[ClusterAffinity, F("clusters by labels and properties")]] = UNSET


class TopologySpreadConstraint(Type):
    """Spreads over groups of clusters that share a label value."""

    max_skew: Opt[Annotated[int, F("how uneven the spread may be", ge=1, default=1)]] = UNSET
    topology_key: Annotated[str, F("cluster label whose values make the groups")]
    when_unsatisfiable: Opt[
        Annotated[
            Literal["DoNotSchedule", "ScheduleAnyway"],
            F("leave the cluster out, or only rank it lower", default="DoNotSchedule"),
        ]
    ] = UNSET


class Toleration(Type):
    """Lets a placement pick clusters in spite of a taint."""

    key: Opt[Annotated[str, F("taint key; empty with Exists tolerates every key")]] = UNSET
    operator: Opt[Annotated[Literal["Equal", "Exists"], F("compare the value, or only the key", default="Equal")]] = (
        UNSET
    )
    value: Opt[Annotated[str, F("taint value, for Equal")]] = UNSET
    effect: Opt[Annotated[Literal["NoSchedule"], F("taint effect; empty tolerates every effect")]] = UNSET


class PlacementPolicy(Type):
    """How clusters are picked."""

    placement_type: Opt[
        Annotated[
            PlacementType,
            F("every cluster that fits, a number of them, or those named; cannot change", default="PickAll"),
        ]
    ] = UNSET
    cluster_names: Opt[Annotated[list[str], F("the clusters, for PickFixed", max_length=100)]] = UNSET
    number_of_clusters: Opt[Annotated[int, F("how many clusters, for PickN", ge=0)]] = UNSET
    affinity: Opt[Annotated[Affinity, F("which clusters fit, and which fit better")]] = UNSET
    topology_spread_constraints: Opt[
        Annotated[list[TopologySpreadConstraint], F("how the picked clusters are spread, for PickN")]
    ] = UNSET
    tolerations: Opt[
        Annotated[list[Toleration], F("taints that do not matter; more may be added later", max_length=100)]
    ] = UNSET
