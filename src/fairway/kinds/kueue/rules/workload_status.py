"""Rules about the status of a Workload."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from fairway.core import quantity
from fairway.kinds.errors import NO_VALUE, FieldError, invalid, not_found, not_supported, required
from fairway.kinds.kueue.constants import SLICE_REPLACEMENT_FOR
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import labels, pod_sets
from fairway.kinds.kueue.rules.reading import items, number, pairs, part, same, text
from fairway.kinds.kueue.v1beta2.topology_assignment import TopologyAssignment, TopologyAssignmentSlice
from fairway.kinds.kueue.v1beta2.workload import Workload
from fairway.kinds.kueue.v1beta2.workload_status import (
    Admission,
    AdmissionCheckState,
    PodSetAssignment,
    ReclaimablePod,
    WorkloadStatus,
)
from fairway.kinds.types import Quantity, to_json

_ADMISSION = "status.admission"
_CHECKS = "status.admissionChecks"
_RECLAIMABLE = "status.reclaimablePods"
_ONE_OF_TWO = "exactly one of the fields in [universal individual] must be set"


def of(workload: Workload) -> WorkloadStatus:
    return part(workload.status, WorkloadStatus)


# --- schema -----------------------------------------------------------------------------------------------------------


def schema(new: WorkloadStatus, old: WorkloadStatus | None) -> list[FieldError]:
    errors: list[FieldError] = []
    before = UNSET if old is None else old.cluster_name
    if new.cluster_name is not UNSET:
        if before is not UNSET and before != new.cluster_name:
            errors.append(invalid("status", NO_VALUE, "clusterName is immutable once set"))
        if items(new.nominated_cluster_names):
            errors.append(invalid("status", NO_VALUE, "clusterName and nominatedClusterNames are mutually exclusive"))
    for index, check in enumerate(items(new.admission_checks)):
        for at, update in enumerate(items(check.pod_set_updates)):
            path = f"{_CHECKS}[{index}].podSetUpdates[{at}].tolerations"
            errors += labels.toleration_rules(items(update.tolerations), path)
    for index, assignment in enumerate(items(part(new.admission, Admission).pod_set_assignments)):
        if assignment.topology_assignment is not UNSET:
            path = f"{_ADMISSION}.podSetAssignments[{index}].topologyAssignment"
            errors += _topology(assignment.topology_assignment, path)
    return errors


def _topology(assignment: TopologyAssignment, path: str) -> Iterator[FieldError]:
    levels = len(assignment.levels)
    if any(len(each.values_per_level) != levels for each in assignment.slices):
        detail = "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment"
        yield invalid(path, NO_VALUE, detail)
    for index, each in enumerate(assignment.slices):
        yield from _slice(each, f"{path}.slices[{index}]")


def _slice(part_of: TopologyAssignmentSlice, path: str) -> Iterator[FieldError]:
    counts = part_of.pod_counts
    if (counts.universal is UNSET) == (counts.individual is UNSET):
        yield invalid(f"{path}.podCounts", NO_VALUE, _ONE_OF_TWO)
    if counts.individual is not UNSET and len(counts.individual) != part_of.domain_count:
        yield invalid(path, NO_VALUE, "podCounts.individual must have length equal to domainCount")
    sizes = set[int]()
    for index, level in enumerate(part_of.values_per_level):
        if (level.universal is UNSET) == (level.individual is UNSET):
            yield invalid(f"{path}.valuesPerLevel[{index}]", NO_VALUE, _ONE_OF_TWO)
        if level.individual is not UNSET:
            sizes.add(len(level.individual.roots))
    if sizes - {part_of.domain_count}:
        detail = "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this TopologyAssignmentSlice"
        yield invalid(path, NO_VALUE, detail)


# --- admission --------------------------------------------------------------------------------------------------------


def admission(new: Workload, old: Workload | None, gates: Gates) -> list[FieldError]:
    """What holds for every Workload, reserved or not."""
    status = of(new)
    errors = labels.conditions(items(status.conditions), "status.conditions")
    errors += _reclaimable(new, old, gates)
    known = sorted({text(pod_set.name) for pod_set in pod_sets.of(new)})
    for index, check in enumerate(items(status.admission_checks)):
        errors += _pod_set_updates(check, known, f"{_CHECKS}[{index}].podSetUpdates")
    return errors


def admission_is_there(new: Workload, reserved_before: Workload | None) -> list[FieldError]:
    """A reservation says what was reserved. One that was stored without may go on, so that it can be cleaned up."""
    given = of(new).admission
    if given is UNSET:
        if reserved_before is not None and of(reserved_before).admission is UNSET:
            return []
        return [required(_ADMISSION, "must be set while the QuotaReserved condition is true")]
    known = {text(pod_set.name) for pod_set in pod_sets.of(new)}
    errors: list[FieldError] = []
    for index, assignment in enumerate(items(given.pod_set_assignments)):
        path = f"{_ADMISSION}.podSetAssignments[{index}]"
        if text(assignment.name) not in known:
            errors.append(not_found(f"{path}.name", text(assignment.name)))
        errors += _divisible(assignment, path)
    return errors


def _divisible(assignment: PodSetAssignment, path: str) -> list[FieldError]:
    """Pods of a set are alike, so each takes the same part."""
    count = number(assignment.count)
    if count <= 0:
        return []
    return [
        invalid(f"{path}.resourceUsage[{name}]", amount, f"is not a multiple of {count}")
        for name, amount in pairs(assignment.resource_usage).items()
        if _counted(name, amount) % count
    ]


def _counted(resource: str, amount: Quantity) -> int:
    exact = quantity.parse(amount)
    return exact.millis if resource == "cpu" else exact.units


def _pod_set_updates(check: AdmissionCheckState, known: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, update in enumerate(items(check.pod_set_updates)):
        here = f"{path}[{index}]"
        if text(update.name) not in known:
            errors.append(not_supported(f"{here}.name", text(update.name), known))
        errors += labels.tolerations(items(update.tolerations), f"{here}.tolerations")
        errors += labels.annotation_keys(pairs(update.annotations), f"{here}.annotations")
        errors += labels.labels(pairs(update.node_selector), f"{here}.nodeSelector")
        errors += labels.labels(pairs(update.labels), f"{here}.labels")
    return errors


def _reclaimable(new: Workload, old: Workload | None, gates: Gates) -> list[FieldError]:
    """No more pods can be reclaimed than there are, unless an elastic job shrank after they were counted."""
    sizes = {text(pod_set.name): number(pod_set.count) for pod_set in pod_sets.of(new)}
    stale: list[ReclaimablePod] = []
    if old is not None and pod_sets.is_elastic(new, gates):
        stale = items(of(old).reclaimable_pods)
    errors: list[FieldError] = []
    for pod in items(of(new).reclaimable_pods):
        path = f"{_RECLAIMABLE}[{text(pod.name)}]"
        if text(pod.name) not in sizes:
            errors.append(not_supported(f"{path}.name", text(pod.name), list(sizes)))
        elif number(pod.count) > (size := sizes[pod.name]) and pod not in stale:
            errors.append(invalid(f"{path}.count", pod.count, f"should be less or equal to {size}"))
    return errors


def reclaimable_pods_only_grow(new: Workload, old: Workload, gates: Gates) -> list[FieldError]:
    """A pod that finished stays finished, so while quota is held the counts never fall, except where the set itself shrank."""
    after = {pod.name: number(pod.count) for pod in items(of(new).reclaimable_pods)}
    shrunk = _shrunk(new) if pod_sets.is_elastic(new, gates) else set[str]()
    before = {pod.name: number(pod.count) for pod in items(of(old).reclaimable_pods) if pod.name not in shrunk}
    errors = [
        invalid(f"{_RECLAIMABLE}[{name}].count", count, f"cannot be less than {before[name]}")
        for name, count in after.items()
        if name in before and count < before[name]
    ]
    gone = [name for name in before if name not in after]
    return errors + [required(f"{_RECLAIMABLE}[{name}]", "cannot be removed") for name in gone]


def _shrunk(workload: Workload) -> set[str]:
    """Pod sets of an elastic job that are smaller now than when they were admitted."""
    sizes = {text(pod_set.name): number(pod_set.count) for pod_set in pod_sets.of(workload)}
    given = items(part(of(workload).admission, Admission).pod_set_assignments)
    return {text(each.name) for each in given if each.count is not UNSET and each.count > sizes.get(text(each.name), 0)}


def update(new: Workload, old: Workload, gates: Gates) -> list[FieldError]:
    return _admission_kept(new, old, gates) + _updates_kept(new, old) + _cluster_was_nominated(new, old, gates)


def _admission_kept(new: Workload, old: Workload, gates: Gates) -> list[FieldError]:
    """An admission is set and unset, never changed, but for the domains, which may be chosen later."""
    after, before = of(new).admission, of(old).admission
    if after is UNSET or before is UNSET:
        return []
    compared = _without_topology(after) if gates.topology_aware_scheduling else after
    earlier = _without_topology(before) if gates.topology_aware_scheduling else before
    return [] if same(compared, earlier) else [invalid(_ADMISSION, to_json(after), "field is immutable")]


def _without_topology(given: Admission) -> Admission:
    assignments = [
        msgspec.structs.replace(each, topology_assignment=UNSET, delayed_topology_request=UNSET)
        for each in items(given.pod_set_assignments)
    ]
    return msgspec.structs.replace(given, pod_set_assignments=assignments)


def _updates_kept(new: Workload, old: Workload) -> list[FieldError]:
    """What a check that is Ready asked for may be in use already."""
    after = {check.name: check for check in items(of(new).admission_checks)}
    errors: list[FieldError] = []
    for index, before in enumerate(items(of(old).admission_checks)):
        check = after.get(before.name)
        if check is None or not check.state == before.state == "Ready":
            continue
        if not same(check.pod_set_updates, before.pod_set_updates):
            value = to_json(items(check.pod_set_updates))
            errors.append(invalid(f"{_CHECKS}[{index}].podSetUpdates", value, "field is immutable"))
    return errors


def _cluster_was_nominated(new: Workload, old: Workload, gates: Gates) -> list[FieldError]:
    """A cluster is chosen from those that competed; one that takes over from a slice of an elastic job goes where that ran."""
    annotations = pairs(new.metadata.annotations)
    if gates.elastic_jobs_via_workload_slices and SLICE_REPLACEMENT_FOR in annotations:
        return []
    chosen = of(new).cluster_name
    if chosen is UNSET or of(old).cluster_name is not UNSET or chosen in items(of(old).nominated_cluster_names):
        return []
    detail = "when setting clusterName it must be one of the nominatedClusterNames"
    return [invalid("status.clusterName", chosen, detail)]
