"""Where a pod may, should or must not run: affinity, taints, tolerations, spreading."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Time, Type


class NodeSelectorRequirement(Type):
    key: Annotated[str, F(proto=1)] = ""
    operator: Annotated[str, F(proto=2)] = ""
    values: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET


class NodeSelectorTerm(Type):
    match_expressions: Opt[Annotated[list[NodeSelectorRequirement], F(proto=1, list_type="atomic")]] = UNSET
    match_fields: Opt[Annotated[list[NodeSelectorRequirement], F(proto=2, list_type="atomic")]] = UNSET


class NodeSelector(Type):
    node_selector_terms: Annotated[list[NodeSelectorTerm], F(proto=1, list_type="atomic")] = field(default_factory=list)


class PreferredSchedulingTerm(Type):
    weight: Annotated[Int32, F(proto=1)] = 0
    preference: Annotated[NodeSelectorTerm, F(proto=2, atomic=True)] = field(default_factory=NodeSelectorTerm)


class NodeAffinity(Type):
    required_during_scheduling_ignored_during_execution: Opt[Annotated[NodeSelector, F(proto=1, atomic=True)]] = UNSET
    preferred_during_scheduling_ignored_during_execution: Opt[
        Annotated[list[PreferredSchedulingTerm], F(proto=2, list_type="atomic")]
    ] = UNSET


class PodAffinityTerm(Type):
    label_selector: Opt[Annotated[LabelSelector, F(proto=1, atomic=True)]] = UNSET
    namespaces: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    topology_key: Annotated[str, F(proto=3)] = ""
    namespace_selector: Opt[Annotated[LabelSelector, F(proto=4, atomic=True)]] = UNSET
    match_label_keys: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = UNSET
    mismatch_label_keys: Opt[Annotated[list[str], F(proto=6, list_type="atomic")]] = UNSET


class WeightedPodAffinityTerm(Type):
    weight: Annotated[Int32, F(proto=1)] = 0
    pod_affinity_term: Annotated[PodAffinityTerm, F(proto=2)] = field(default_factory=PodAffinityTerm)


class PodAffinity(Type):
    required_during_scheduling_ignored_during_execution: Opt[
        Annotated[list[PodAffinityTerm], F(proto=1, list_type="atomic")]
    ] = UNSET
    preferred_during_scheduling_ignored_during_execution: Opt[
        Annotated[list[WeightedPodAffinityTerm], F(proto=2, list_type="atomic")]
    ] = UNSET


class PodAntiAffinity(Type):
    required_during_scheduling_ignored_during_execution: Opt[
        Annotated[list[PodAffinityTerm], F(proto=1, list_type="atomic")]
    ] = UNSET
    preferred_during_scheduling_ignored_during_execution: Opt[
        Annotated[list[WeightedPodAffinityTerm], F(proto=2, list_type="atomic")]
    ] = UNSET


class Affinity(Type):
    node_affinity: Opt[Annotated[NodeAffinity, F(proto=1)]] = UNSET
    pod_affinity: Opt[Annotated[PodAffinity, F(proto=2)]] = UNSET
    pod_anti_affinity: Opt[Annotated[PodAntiAffinity, F(proto=3)]] = UNSET


class Taint(Type):
    key: Annotated[str, F(proto=1)] = ""
    value: Opt[Annotated[str, F(proto=2)]] = UNSET
    effect: Annotated[str, F(proto=3)] = ""
    time_added: Opt[Annotated[Time, F(proto=4)]] = UNSET


class Toleration(Type):
    key: Opt[Annotated[str, F(proto=1)]] = UNSET
    operator: Opt[Annotated[str, F(proto=2)]] = UNSET
    value: Opt[Annotated[str, F(proto=3)]] = UNSET
    effect: Opt[Annotated[str, F(proto=4)]] = UNSET
    toleration_seconds: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET


class TopologySpreadConstraint(Type):
    max_skew: Annotated[Int32, F(proto=1)] = 0
    topology_key: Annotated[str, F(proto=2)] = ""
    when_unsatisfiable: Annotated[str, F(proto=3)] = ""
    label_selector: Opt[Annotated[LabelSelector, F(proto=4, atomic=True)]] = UNSET
    min_domains: Opt[Annotated[Int32, F(proto=5, zero=True)]] = UNSET
    node_affinity_policy: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    node_taints_policy: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET
    match_label_keys: Opt[Annotated[list[str], F(proto=8, list_type="atomic")]] = UNSET


class TopologySelectorLabelRequirement(Type):
    key: Annotated[str, F(proto=1)] = ""
    values: Annotated[list[str], F(proto=2, list_type="atomic")] = field(default_factory=list)


class TopologySelectorTerm(Type):
    match_label_expressions: Opt[Annotated[list[TopologySelectorLabelRequirement], F(proto=1, list_type="atomic")]] = (
        UNSET
    )
