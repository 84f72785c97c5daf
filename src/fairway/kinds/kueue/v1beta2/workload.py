"""Workload: what waits in a queue, is admitted, and holds quota while it runs."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.kueue._pod import PodTemplateSpec
from fairway.kinds.kueue.v1beta2.shared import Count, Name, PodSetName, Positive
from fairway.kinds.kueue.v1beta2.workload_status import WorkloadStatus
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Type

LevelLabel = Annotated[str, F(max_length=63)]
IndexLabel = Annotated[str, F(max_length=317)]


class SliceConstraint(Type):
    """One layer of slices: so many pods together in one domain of a level."""

    topology: Annotated[LevelLabel, F("node label of the level", min_length=1)]
    size: Annotated[Positive, F("pods per slice")]


class TopologyRequest(Type):
    """How close together the pods of a pod set must be."""

    required: Opt[Annotated[LevelLabel, F("level of which one domain must hold all pods")]] = UNSET
    preferred: Opt[Annotated[LevelLabel, F("level of which one domain should hold all pods, if possible")]] = UNSET
    unconstrained: Opt[Annotated[bool, F("place by topology, but anywhere that capacity is free")]] = UNSET
    pod_index_label: Opt[Annotated[IndexLabel, F("label that numbers the pods")]] = UNSET
    sub_group_index_label: Opt[Annotated[IndexLabel, F("label that numbers groups of pods in the set")]] = UNSET
    sub_group_count: Opt[Annotated[Count, F("number of such groups")]] = UNSET
    pod_set_group_name: Opt[
        Annotated[str, F("pod sets with the same name here get the same flavor and domain", max_length=256)]
    ] = UNSET
    pod_set_slice_required_topology: Opt[
        Annotated[LevelLabel, F("level of which one domain must hold each slice of the pod set")]
    ] = UNSET
    pod_set_slice_size: Opt[Annotated[Positive, F("pods per slice")]] = UNSET
    podset_slice_required_topology_constraints: Opt[
        Annotated[
            list[SliceConstraint],
            F("slices within slices, widest first; instead of the two fields above", list_type="atomic", max_length=3),
        ]
    ] = UNSET


class PodSet(Type, kw_only=True):
    """Pods that are alike."""

    name: Opt[Annotated[PodSetName, F("name within the workload", default="main")]] = UNSET
    template: Annotated[PodTemplateSpec, F("what each pod looks like; its requests are counted against quota")]
    count: Opt[Annotated[Count, F("number of pods", default=1)]] = UNSET
    min_count: Opt[
        Annotated[Positive, F("fewest pods that are of use: fewer than count may be admitted; one pod set only")]
    ] = UNSET
    topology_request: Opt[Annotated[TopologyRequest, F("how close together the pods must be")]] = UNSET


class PriorityClassRef(Type):
    """The class that the priority comes from."""

    group: Annotated[Literal["kueue.x-k8s.io", "scheduling.k8s.io"], F("API group of the class")]
    kind: Annotated[
        Literal["WorkloadPriorityClass", "PriorityClass"],
        F("WorkloadPriorityClass of kueue.x-k8s.io, or PriorityClass of scheduling.k8s.io"),
    ]
    name: Annotated[Name, F("name of the class", min_length=1)]


class PreemptionGate(Type):
    """Something that must agree before the workload may preempt others."""

    name: Annotated[str, F("name of the gate", min_length=1, max_length=63)]


class WorkloadSpec(Type):
    """What is to run, and how it queues."""

    pod_sets: Opt[
        Annotated[
            list[PodSet],
            F("the pods; cannot be changed while quota is reserved", keys=("name",), min_length=1, max_length=18),
        ]
    ] = UNSET
    queue_name: Opt[Annotated[Name, F("LocalQueue to wait in; cannot be changed while quota is reserved")]] = UNSET
    priority_class_ref: Opt[Annotated[PriorityClassRef, F("class that the priority comes from")]] = UNSET
    priority: Opt[
        Annotated[Int32, F("place in the queue: higher goes first. Needed with priorityClassRef; absent: 0")]
    ] = UNSET
    active: Opt[Annotated[bool, F("false: never admitted, and evicted if it runs", default=True)]] = UNSET
    maximum_execution_time_seconds: Opt[
        Annotated[Positive, F("the workload is stopped for good after it ran this long in total")]
    ] = UNSET
    preemption_gates: Opt[
        Annotated[list[PreemptionGate], F("what must agree before it preempts others", keys=("name",), max_length=8)]
    ] = UNSET


class Workload(Object):
    """The unit that is admitted: all of its pods, or a stated minimum of them, or nothing."""

    spec: Opt[Annotated[WorkloadSpec, F("what is to run, and how it queues")]] = UNSET
    status: Opt[Annotated[WorkloadStatus, F("how far it got")]] = UNSET
