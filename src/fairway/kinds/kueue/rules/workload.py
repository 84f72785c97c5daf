"""Rules about Workloads. A write to the status is checked like one to the spec: most rules are about both together.

While quota is reserved, what it was reserved for stays as it is: pod sets (an elastic job may give pods back), queue, priority
class and, once admitted, the time limit. The admission is set and unset as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from fairway.kinds.errors import NO_VALUE, FieldError, invalid
from fairway.kinds.kueue.constants import ADMITTED, POD_PRIORITY_CLASS, QUOTA_RESERVED, WORKLOAD_PRIORITY_CLASS
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import admission_gates, pod_sets, workload_status
from fairway.kinds.kueue.rules.reading import items, number, part
from fairway.kinds.kueue.v1beta2.workload import PriorityClassRef, Workload, WorkloadSpec
from fairway.kinds.kueue.v1beta2.workload_status import WorkloadStatus
from fairway.kinds.types import Opt


def has_condition(workload: Workload, kind: str) -> bool:
    """Whether the condition is there and True."""
    conditions = items(part(workload.status, WorkloadStatus).conditions)
    return any(condition.type == kind and condition.status == "True" for condition in conditions)


# --- schema -----------------------------------------------------------------------------------------------------------


def schema(new: Workload, old: Workload | None) -> list[FieldError]:
    spec = part(new.spec, WorkloadSpec)
    errors = [invalid("", NO_VALUE, detail) for detail in _whole(new, old)]
    if spec.priority_class_ref is not UNSET and spec.priority is UNSET:
        errors.append(invalid("spec", NO_VALUE, "priority should not be nil when priorityClassRef is set"))
    errors += _class_ref(spec.priority_class_ref)
    if old is None or new.spec is not old.spec:  # what the write of a status leaves alone was looked at before
        errors += pod_sets.schema(items(spec.pod_sets), "spec.podSets")
    before = None if old is None else part(old.status, WorkloadStatus)
    return errors + workload_status.schema(part(new.status, WorkloadStatus), before)


def _class_ref(ref: Opt[PriorityClassRef]) -> list[FieldError]:
    if ref is UNSET or (ref.group, ref.kind) in (WORKLOAD_PRIORITY_CLASS, POD_PRIORITY_CLASS):
        return []
    group, kind = POD_PRIORITY_CLASS if ref.group == POD_PRIORITY_CLASS[0] else WORKLOAD_PRIORITY_CLASS
    return [invalid("spec.priorityClassRef", NO_VALUE, f"only the {kind} kind is allowed for the {group} group")]


def _whole(new: Workload, old: Workload | None) -> Iterator[str]:
    """What is wrong with the object as a whole."""
    spec, status = part(new.spec, WorkloadSpec), part(new.status, WorkloadStatus)
    reserved = has_condition(new, QUOTA_RESERVED)
    if reserved and status.admission is not UNSET:
        given = items(status.admission.pod_set_assignments)
        if len(given) != len(items(spec.pod_sets)):
            yield "podSetAssignments must have the same number of podSets as the spec"
    if old is None:
        return
    before = part(old.spec, WorkloadSpec)
    if has_condition(old, QUOTA_RESERVED):
        yield from _class_kept(spec.priority_class_ref, before.priority_class_ref)
        if reserved and spec.queue_name != before.queue_name:
            yield "queueName is immutable while workload quota reserved"
    if has_condition(old, ADMITTED) and has_condition(new, ADMITTED):
        limits = number(spec.maximum_execution_time_seconds), number(before.maximum_execution_time_seconds)
        if limits[0] != limits[1]:
            yield "maximumExecutionTimeSeconds is immutable while workload quota reserved"


def _class_kept(after: Opt[PriorityClassRef], before: Opt[PriorityClassRef]) -> Iterator[str]:
    """The kind of class stays; another WorkloadPriorityClass may be named, as it says nothing about the pods."""
    if after is UNSET or before is UNSET:
        if after is not before:
            yield "priorityClassRef is immutable while workload quota reserved"
        return
    if after.group != before.group:
        yield "priorityClassRef.group is immutable while workload quota reserved"
    if after.kind != before.kind:
        yield "priorityClassRef.kind is immutable while workload quota reserved"
    if (after.group, after.kind) == POD_PRIORITY_CLASS and after.name != before.name:
        yield "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved"


# --- admission --------------------------------------------------------------------------------------------------------


def admission(new: Workload, old: Workload | None, gates: Gates) -> list[FieldError]:
    reserved = has_condition(new, QUOTA_RESERVED)
    was_reserved = old is not None and has_condition(old, QUOTA_RESERVED)
    same = old is not None and new.spec is old.spec
    errors = [] if same else pod_sets.admission(new, gates, "spec.podSets")
    if reserved:
        errors += workload_status.admission_is_there(new, old if was_reserved else None)
    errors += workload_status.admission(new, old, gates)
    errors += admission_gates.well_formed(new, gates)
    if old is None:
        return errors
    if was_reserved and not same:
        errors += pod_sets.unchanged(new, old, gates, "spec.podSets")
    if reserved and was_reserved:
        errors += workload_status.reclaimable_pods_only_grow(new, old, gates)
    errors += workload_status.update(new, old, gates)
    return errors + admission_gates.only_opened(new, old, gates)
