"""Workload in v1beta1: the priority class by name and source, topology assignments as flat lists of domains."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from fairway.kinds.kueue._pod import PodTemplateSpec
from fairway.kinds.kueue.constants import CLUSTERS_MAX, POD_PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from fairway.kinds.kueue.v1beta1.convert import V1BETA1, V1BETA2, carry, each, member
from fairway.kinds.kueue.v1beta1.topology_assignment import TopologyAssignment, fold, unfold
from fairway.kinds.kueue.v1beta2 import workload as v2
from fairway.kinds.kueue.v1beta2 import workload_status as v2s
from fairway.kinds.kueue.v1beta2.multikueue import ClusterName
from fairway.kinds.kueue.v1beta2.shared import Conditions, Count, Name, PodSetName, Positive
from fairway.kinds.meta import Object
from fairway.kinds.types import Annotated, F, Int32, Opt, Quantity, Type

Source = Literal["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""]
_SOURCES: dict[tuple[str, str], Source] = {
    WORKLOAD_PRIORITY_CLASS: "kueue.x-k8s.io/workloadpriorityclass",
    POD_PRIORITY_CLASS: "scheduling.k8s.io/priorityclass",
}
_CLASSES = {source: kind for kind, source in _SOURCES.items()}


class TopologyRequest(Type):
    """How close together the pods of a pod set must be."""

    required: Opt[Annotated[v2.LevelLabel, F("level of which one domain must hold all pods")]] = UNSET
    preferred: Opt[Annotated[v2.LevelLabel, F("level of which one domain should hold all pods, if possible")]] = UNSET
    unconstrained: Opt[Annotated[bool, F("place by topology, but anywhere that capacity is free")]] = UNSET
    pod_index_label: Opt[Annotated[v2.IndexLabel, F("label that numbers the pods")]] = UNSET
    sub_group_index_label: Opt[Annotated[v2.IndexLabel, F("label that numbers groups of pods in the set")]] = UNSET
    sub_group_count: Opt[Annotated[Count, F("number of such groups")]] = UNSET
    pod_set_group_name: Opt[
        Annotated[str, F("pod sets with the same name here get the same flavor and domain", max_length=256)]
    ] = UNSET
    pod_set_slice_required_topology: Opt[
        Annotated[v2.LevelLabel, F("level of which one domain must hold each slice of the pod set")]
    ] = UNSET
    pod_set_slice_size: Opt[Annotated[Positive, F("pods per slice")]] = UNSET


class PodSet(Type, kw_only=True):
    """Pods that are alike."""

    name: Opt[Annotated[PodSetName, F("name within the workload", default="main")]] = UNSET
    template: Annotated[PodTemplateSpec, F("what each pod looks like; its requests are counted against quota")]
    count: Opt[Annotated[Count, F("number of pods", default=1)]] = UNSET
    min_count: Opt[
        Annotated[Positive, F("fewest pods that are of use: fewer than count may be admitted; one pod set only")]
    ] = UNSET
    topology_request: Opt[Annotated[TopologyRequest, F("how close together the pods must be")]] = UNSET


class WorkloadSpec(Type):
    """What is to run, and how it queues."""

    pod_sets: Opt[
        Annotated[
            list[PodSet],
            F("the pods; cannot be changed while quota is reserved", keys=("name",), min_length=1, max_length=18),
        ]
    ] = UNSET
    queue_name: Opt[Annotated[Name, F("LocalQueue to wait in; cannot be changed while quota is reserved")]] = UNSET
    priority_class_name: Opt[Annotated[Name, F("class that the priority comes from, with its source")]] = UNSET
    priority_class_source: Opt[
        Annotated[Source, F("kind of the class; without it the name means nothing", default="")]
    ] = UNSET
    priority: Opt[
        Annotated[Int32, F("place in the queue: higher goes first. Needed with a priority class; absent: 0")]
    ] = UNSET
    active: Opt[Annotated[bool, F("false: never admitted, and evicted if it runs", default=True)]] = UNSET
    maximum_execution_time_seconds: Opt[
        Annotated[Positive, F("the workload is stopped for good after it ran this long in total")]
    ] = UNSET


class PodSetAssignment(Type):
    """What one pod set was given."""

    name: Opt[Annotated[PodSetName, F("pod set", default="main")]] = UNSET
    flavors: Opt[Annotated[dict[str, Name], F("flavor per resource")]] = UNSET
    resource_usage: Opt[Annotated[dict[str, Quantity], F("quota taken per resource, by all pods together")]] = UNSET
    count: Opt[Annotated[Count, F("pods that were admitted")]] = UNSET
    topology_assignment: Opt[Annotated[TopologyAssignment, F("domains that the pods go to")]] = UNSET
    delayed_topology_request: Opt[
        Annotated[Literal["Pending", "Ready"], F("Pending: domains are chosen after the admission checks")]
    ] = UNSET


class Admission(Type):
    """What the workload was given, and by whom. Set and unset as a whole."""

    cluster_queue: Opt[Annotated[Name, F("ClusterQueue that reserved the quota")]] = UNSET
    pod_set_assignments: Opt[
        Annotated[list[PodSetAssignment], F("what each pod set was given", keys=("name",), max_length=18)]
    ] = UNSET


class WorkloadStatus(Type):
    """How far the workload got, as last observed."""

    conditions: Opt[Conditions] = UNSET
    admission: Opt[Annotated[Admission, F("what it was given; present while quota is reserved")]] = UNSET
    requeue_state: Opt[Annotated[v2s.RequeueState, F("going back to the queue after evictions")]] = UNSET
    reclaimable_pods: Opt[
        Annotated[list[v2s.ReclaimablePod], F("pods that need no quota any more", keys=("name",), max_length=18)]
    ] = UNSET
    admission_checks: Opt[
        Annotated[list[v2s.AdmissionCheckState], F("what each check says", keys=("name",), max_length=8)]
    ] = UNSET
    resource_requests: Opt[
        Annotated[
            list[v2s.PodSetRequest], F("what it asks for, while it is not admitted", keys=("name",), max_length=18)
        ]
    ] = UNSET
    accumulated_past_exexcution_time_seconds: Opt[Annotated[Int32, F("how long it ran in earlier admissions")]] = UNSET
    scheduling_stats: Opt[Annotated[v2s.SchedulingStats, F("counts over its life")]] = UNSET
    nominated_cluster_names: Opt[
        Annotated[
            list[ClusterName],
            F(
                "clusters that compete for it; empty once clusterName is set",
                list_type="atomic",
                max_length=CLUSTERS_MAX,
            ),
        ]
    ] = UNSET
    cluster_name: Opt[
        Annotated[ClusterName, F("cluster that it runs on; once set, it changes only by way of an eviction")]
    ] = UNSET
    unhealthy_nodes: Opt[
        Annotated[list[v2s.UnhealthyNode], F("failed nodes that it was placed on", keys=("name",), max_length=8)]
    ] = UNSET


class Workload(Object):
    """The unit that is admitted: all of its pods, or a stated minimum of them, or nothing."""

    spec: Opt[Annotated[WorkloadSpec, F("what is to run, and how it queues")]] = UNSET
    status: Opt[Annotated[WorkloadStatus, F("how far it got")]] = UNSET


def to_storage(old: Workload) -> v2.Workload:
    return carry(
        old,
        v2.Workload,
        api_version=V1BETA2,
        spec=member(old.spec, _spec_to_v2),
        status=member(old.status, _status_to_v2),
    )


def from_storage(new: v2.Workload) -> Workload:
    return carry(
        new,
        Workload,
        api_version=V1BETA1,
        spec=member(new.spec, _spec_to_v1),
        status=member(new.status, _status_to_v1),
    )


def _spec_to_v2(spec: WorkloadSpec) -> v2.WorkloadSpec:
    def pod_set(old: PodSet) -> v2.PodSet:
        request = member(old.topology_request, lambda entry: carry(entry, v2.TopologyRequest))
        return carry(old, v2.PodSet, topology_request=request)

    return carry(spec, v2.WorkloadSpec, pod_sets=each(spec.pod_sets, pod_set), priority_class_ref=_class_to_v2(spec))


def _class_to_v2(spec: WorkloadSpec) -> v2.PriorityClassRef | UnsetType:
    if not spec.priority_class_name or not spec.priority_class_source:
        return UNSET
    group, kind = _CLASSES[spec.priority_class_source]
    return v2.PriorityClassRef(group=group, kind=kind, name=spec.priority_class_name)  # type: ignore[arg-type]


def _spec_to_v1(spec: v2.WorkloadSpec) -> WorkloadSpec:
    def pod_set(new: v2.PodSet) -> PodSet:
        request = member(new.topology_request, lambda entry: carry(entry, TopologyRequest))
        return carry(new, PodSet, topology_request=request)

    old = carry(spec, WorkloadSpec, pod_sets=each(spec.pod_sets, pod_set))
    ref = spec.priority_class_ref
    if ref is not UNSET and (source := _SOURCES.get((ref.group, ref.kind))) is not None:
        old.priority_class_name, old.priority_class_source = ref.name, source
    return old


def _status_to_v2(status: WorkloadStatus) -> v2s.WorkloadStatus:
    def assignment(old: PodSetAssignment) -> v2s.PodSetAssignment:
        return carry(old, v2s.PodSetAssignment, topology_assignment=member(old.topology_assignment, fold))

    def admission(old: Admission) -> v2s.Admission:
        return carry(old, v2s.Admission, pod_set_assignments=each(old.pod_set_assignments, assignment))

    return carry(
        status,
        v2s.WorkloadStatus,
        admission=member(status.admission, admission),
        accumulated_past_execution_time_seconds=status.accumulated_past_exexcution_time_seconds,
    )


def _status_to_v1(status: v2s.WorkloadStatus) -> WorkloadStatus:
    def assignment(new: v2s.PodSetAssignment) -> PodSetAssignment:
        return carry(new, PodSetAssignment, topology_assignment=member(new.topology_assignment, unfold))

    def admission(new: v2s.Admission) -> Admission:
        return carry(new, Admission, pod_set_assignments=each(new.pod_set_assignments, assignment))

    return carry(
        status,
        WorkloadStatus,
        admission=member(status.admission, admission),
        accumulated_past_exexcution_time_seconds=status.accumulated_past_execution_time_seconds,
    )
