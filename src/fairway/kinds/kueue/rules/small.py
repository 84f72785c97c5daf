"""Rules about Cohorts, LocalQueues, ResourceFlavors, Topologies, AdmissionChecks and the kinds of MultiKueue."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from fairway.kinds.errors import NO_VALUE, FieldError, invalid
from fairway.kinds.kueue.constants import HOSTNAME_LABEL
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import labels, quota
from fairway.kinds.kueue.rules.reading import items, pairs, part
from fairway.kinds.kueue.v1beta2.cohort import Cohort, CohortSpec
from fairway.kinds.kueue.v1beta2.local_queue import LocalQueue, LocalQueueSpec
from fairway.kinds.kueue.v1beta2.multikueue import MultiKueueCluster, MultiKueueConfig
from fairway.kinds.kueue.v1beta2.resource_flavor import ResourceFlavor, ResourceFlavorSpec
from fairway.kinds.kueue.v1beta2.small import AdmissionCheck, Topology, TopologyLevel


def cohort_schema(new: Cohort, _old: Cohort | None) -> list[FieldError]:
    return quota.flavor_sizes(items(part(new.spec, CohortSpec).resource_groups), "spec.resourceGroups")


def cohort_admission(new: Cohort, _old: Cohort | None, _gates: Gates) -> list[FieldError]:
    spec = part(new.spec, CohortSpec)
    owner = quota.Owner(above="parent", has_above=bool(spec.parent_name), lends_at_most_nominal=False)
    return quota.fair_sharing(spec.fair_sharing, "spec.fairSharing") + quota.resource_groups(
        items(spec.resource_groups), owner, "spec.resourceGroups"
    )


def resource_flavor_schema(new: ResourceFlavor, old: ResourceFlavor | None) -> list[FieldError]:
    spec = part(new.spec, ResourceFlavorSpec)
    errors: list[FieldError] = []
    if spec.topology_name is not UNSET and not pairs(spec.node_labels):
        errors.append(invalid("spec", NO_VALUE, "at least one nodeLabel is required when topology is set"))
    before = UNSET if old is None else part(old.spec, ResourceFlavorSpec).topology_name
    if before is not UNSET and spec.topology_name != before:
        errors.append(invalid("spec", NO_VALUE, "topologyName is immutable when topologyName is set"))
    errors += labels.taint_effects(items(spec.node_taints), "spec.nodeTaints")
    return errors + labels.toleration_rules(items(spec.tolerations), "spec.tolerations")


def resource_flavor_admission(new: ResourceFlavor, _old: ResourceFlavor | None, _gates: Gates) -> list[FieldError]:
    spec = part(new.spec, ResourceFlavorSpec)
    return (
        labels.labels(pairs(spec.node_labels), "spec.nodeLabels")
        + labels.taints(items(spec.node_taints), "spec.nodeTaints")
        + labels.tolerations(items(spec.tolerations), "spec.tolerations")
    )


def local_queue_schema(new: LocalQueue, old: LocalQueue | None) -> list[FieldError]:
    if old is None:
        return []
    before, after = part(old.spec, LocalQueueSpec).cluster_queue, part(new.spec, LocalQueueSpec).cluster_queue
    return _unchanged(after, before, "spec.clusterQueue")


def admission_check_schema(new: AdmissionCheck, old: AdmissionCheck | None) -> list[FieldError]:
    if old is None or old.spec is UNSET or new.spec is UNSET:
        return []
    return _unchanged(new.spec.controller_name, old.spec.controller_name, "spec.controllerName")


def _unchanged(after: Any, before: Any, path: str) -> list[FieldError]:
    if after is UNSET or before is UNSET or after == before:
        return []
    return [invalid(path, after, "field is immutable")]


def topology_schema(new: Topology, old: Topology | None) -> list[FieldError]:
    levels = _labels(new)
    before = [] if old is None else _labels(old)
    errors: list[FieldError] = []

    def refuse(detail: str) -> None:
        errors.append(invalid("spec.levels", NO_VALUE, detail))

    if before and levels and before != levels and not (levels[-1] == before[-1] == HOSTNAME_LABEL):
        refuse(
            f"levels are mutable only when {HOSTNAME_LABEL} is the lowest level both before and after the change",
        )
    if len(set(levels)) < len(levels):
        refuse("must be unique")
    if HOSTNAME_LABEL in levels and levels[-1] != HOSTNAME_LABEL:
        refuse(f"the {HOSTNAME_LABEL} label can only be used at the lowest level of topology")
    return errors


def _labels(topology: Topology) -> list[str]:
    levels: list[TopologyLevel] = [] if topology.spec is UNSET else topology.spec.levels
    return [level.node_label for level in levels]


def multikueue_config_schema(new: MultiKueueConfig, _old: MultiKueueConfig | None) -> list[FieldError]:
    clusters = [] if new.spec is UNSET else new.spec.clusters
    return [invalid("spec.clusters", NO_VALUE, "must be unique")] if len(set(clusters)) < len(clusters) else []


def multikueue_cluster_schema(new: MultiKueueCluster, _old: MultiKueueCluster | None) -> list[FieldError]:
    if new.spec is UNSET:
        return []
    source = new.spec.cluster_source
    if (source.kube_config is UNSET) != (source.cluster_profile_ref is UNSET):
        return []
    detail = "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"
    return [invalid("spec.clusterSource", NO_VALUE, detail)]
