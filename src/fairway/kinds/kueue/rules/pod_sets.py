"""Rules about the pod sets of a Workload."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from fairway.kinds.errors import NO_VALUE, FieldError, forbidden, invalid, required
from fairway.kinds.k8s.core.container import ResourceRequirements
from fairway.kinds.kueue.constants import ELASTIC_JOB
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import labels, quota
from fairway.kinds.kueue.rules.reading import items, number, pairs, part, same
from fairway.kinds.kueue.v1beta2.workload import PodSet, TopologyRequest, Workload, WorkloadSpec
from fairway.kinds.types import Opt, Quantity, to_json

RESERVED_RESOURCE = "pods"
"""Counted for every pod by itself, so no container may ask for it."""


def of(workload: Workload) -> list[PodSet]:
    return items(part(workload.spec, WorkloadSpec).pod_sets)


def is_elastic(workload: Workload, gates: Gates) -> bool:
    """Whether the job may grow and shrink while it runs."""
    return gates.elastic_jobs_via_workload_slices and pairs(workload.metadata.annotations).get(ELASTIC_JOB) == "true"


def schema(sets: list[PodSet], path: str) -> list[FieldError]:
    return [
        invalid(f"{path}[{index}]", NO_VALUE, "minCount should be positive and less or equal to count")
        for index, each in enumerate(sets)
        if each.min_count is not UNSET and each.min_count > number(each.count)
    ]


def admission(workload: Workload, gates: Gates, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, pod_set in enumerate(of(workload)):
        errors += _pod_set(pod_set, gates, f"{path}[{index}]")
    flexible = sum(pod_set.min_count is not UNSET for pod_set in of(workload))
    if flexible > 1:
        errors.append(invalid(path, flexible, "at most one podSet can use minCount"))
    if flexible and is_elastic(workload, gates):
        errors.append(invalid(path, flexible, "partial admission and elastic job cannot be used together"))
    return errors


def _pod_set(pod_set: PodSet, gates: Gates, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    meta, spec, here = pod_set.template.metadata, pod_set.template.spec, f"{path}.template"
    if gates.workload_validation_for_pod_set_metadata:
        errors += labels.labels(pairs(meta.labels), f"{here}.metadata.labels")
        errors += labels.annotation_keys(pairs(meta.annotations), f"{here}.metadata.annotations")
    for index, container in enumerate(items(spec.init_containers)):
        errors += _resources(container.resources, gates, f"{here}.spec.initContainers[{index}].resources")
    for index, container in enumerate(items(spec.containers)):
        errors += _resources(container.resources, gates, f"{here}.spec.containers[{index}].resources")
    errors += _resources(spec.resources, gates, f"{here}.spec.resources")
    if gates.tas_validate_workload_slice_size and pod_set.topology_request is not UNSET:
        errors += list(_slices(pod_set.topology_request, f"{path}.topologyRequest"))
    return errors


def _resources(resources: Opt[ResourceRequirements], gates: Gates, path: str) -> list[FieldError]:
    if resources is UNSET:
        return []
    return _amounts(pairs(resources.requests), gates, f"{path}.requests") + _amounts(
        pairs(resources.limits), gates, f"{path}.limits"
    )


def _amounts(amounts: dict[str, Quantity], gates: Gates, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in amounts.items():
        if name == RESERVED_RESOURCE:
            errors.append(invalid(f"{path}[{name}]", name, "the key is reserved for internal kueue use"))
        if gates.workload_validate_resources_are_non_negative:
            errors += quota.not_negative(amount, f"{path}[{name}]")
    return errors


def _slices(request: TopologyRequest, path: str) -> Iterator[FieldError]:
    topology, size, here = (
        request.pod_set_slice_required_topology,
        request.pod_set_slice_size,
        f"{path}.podSetSliceSize",
    )
    if topology is UNSET:
        if size is not UNSET:
            yield forbidden(here, "may not be set when podSetSliceRequiredTopology is not specified")
    elif size is UNSET:
        yield required(here, "must be set when podSetSliceRequiredTopology is specified")
    elif size <= 0:
        yield invalid(here, size, "must be greater than 0")
    for index, layer in enumerate(items(request.podset_slice_required_topology_constraints)):
        if number(layer.size) <= 0:
            where = f"{path}.podsetSliceRequiredTopologyConstraints[{index}].size"
            yield invalid(where, number(layer.size), "must be greater than 0")


def unchanged(new: Workload, old: Workload, gates: Gates, path: str) -> list[FieldError]:
    """Quota was reserved for these pod sets. Only a smaller count is let through, and only where jobs may be elastic."""
    after, before = of(new), of(old)
    if len(after) != len(before):
        return [invalid(path, to_json(after), "field is immutable")]
    errors: list[FieldError] = []
    for index, (pod_set, earlier) in enumerate(zip(after, before, strict=True)):
        shrunk = gates.elastic_jobs_via_workload_slices and number(pod_set.count) < number(earlier.count)
        compared = msgspec.structs.replace(pod_set, count=earlier.count) if shrunk else pod_set
        if not same(compared, earlier):
            errors.append(invalid(f"{path}.{index}", to_json(pod_set), "field is immutable"))
    return errors
