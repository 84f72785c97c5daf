"""Cohort and LocalQueue in v1beta1: fields of their status that v1beta2 renamed or dropped."""

from __future__ import annotations

from msgspec import UNSET

from fairway.kinds.kueue._pod import Taint
from fairway.kinds.kueue.v1beta1.convert import V1BETA1, V1BETA2, carry, member
from fairway.kinds.kueue.v1beta2 import cohort as cohort_v2
from fairway.kinds.kueue.v1beta2 import local_queue as v2
from fairway.kinds.kueue.v1beta2.shared import Conditions, FairSharingStatus, Name
from fairway.kinds.meta import Object
from fairway.kinds.types import Annotated, F, Int32, Opt, Type


class CohortStatus(Type):
    """Standing of the cohort, as last observed."""

    fair_sharing: Opt[Annotated[v2.LocalQueueFairSharingStatus, F("standing in fair sharing, when that is on")]] = UNSET


class Cohort(Object):
    """Queues and cohorts that share quota. One that is only named by its members exists too, without quota of its own."""

    spec: Opt[Annotated[cohort_v2.CohortSpec, F("place in the tree and quota shared by the members")]] = UNSET
    status: Opt[Annotated[CohortStatus, F("standing in fair sharing")]] = UNSET


def cohort_to_storage(old: Cohort) -> cohort_v2.Cohort:
    def convert(status: CohortStatus) -> cohort_v2.CohortStatus:
        share = member(status.fair_sharing, lambda entry: carry(entry, FairSharingStatus))
        return cohort_v2.CohortStatus(fair_sharing=share)

    return carry(old, cohort_v2.Cohort, api_version=V1BETA2, status=member(old.status, convert))


def cohort_from_storage(new: cohort_v2.Cohort) -> Cohort:
    def convert(status: cohort_v2.CohortStatus) -> CohortStatus:
        share = member(status.fair_sharing, lambda entry: carry(entry, v2.LocalQueueFairSharingStatus))
        return CohortStatus(fair_sharing=share)

    return carry(new, Cohort, api_version=V1BETA1, status=member(new.status, convert))


class TopologyInfo(Type):
    """The Topology of a flavor."""

    name: Annotated[Name, F("Topology")]
    levels: Annotated[
        list[str], F("node labels of its levels, widest first", list_type="atomic", min_length=1, max_length=16)
    ]


class LocalQueueFlavorStatus(Type):
    """What a flavor that this queue can use looks like."""

    name: Annotated[Name, F("ResourceFlavor")]
    resources: Opt[Annotated[list[str], F("resources that it covers", list_type="set", max_length=64)]] = UNSET
    node_labels: Opt[Annotated[dict[str, str], F("labels of its nodes", atomic=True, max_length=8)]] = UNSET
    node_taints: Opt[Annotated[list[Taint], F("taints of its nodes", list_type="atomic", max_length=8)]] = UNSET
    topology: Opt[Annotated[TopologyInfo, F("topology of its nodes")]] = UNSET


class LocalQueueStatus(Type):
    """What came in through this queue, as last observed."""

    conditions: Opt[Conditions] = UNSET
    pending_workloads: Opt[Annotated[Int32, F("workloads that wait")]] = UNSET
    reserving_workloads: Opt[Annotated[Int32, F("workloads that hold quota")]] = UNSET
    admitted_workloads: Opt[Annotated[Int32, F("workloads that were admitted and have not finished")]] = UNSET
    flavors_reservation: Opt[
        Annotated[v2.LocalQueueFlavorUsages, F("quota reserved per flavor, by workloads of this queue")]
    ] = UNSET
    flavor_usage: Opt[
        Annotated[v2.LocalQueueFlavorUsages, F("quota used per flavor, by admitted workloads of this queue")]
    ] = UNSET
    flavors: Opt[
        Annotated[
            list[LocalQueueFlavorStatus], F("no longer used: accepted and forgotten", keys=("name",), max_length=64)
        ]
    ] = UNSET
    fair_sharing: Opt[Annotated[v2.LocalQueueFairSharingStatus, F("standing among the queues beside it")]] = UNSET


class LocalQueue(Object):
    """Where the users of a namespace submit: name it in the label kueue.x-k8s.io/queue-name of a job."""

    spec: Opt[Annotated[v2.LocalQueueSpec, F("where the queue leads to")]] = UNSET
    status: Opt[Annotated[LocalQueueStatus, F("what came in through this queue")]] = UNSET


def local_queue_to_storage(old: LocalQueue) -> v2.LocalQueue:
    def convert(status: LocalQueueStatus) -> v2.LocalQueueStatus:
        return carry(status, v2.LocalQueueStatus, flavors_usage=status.flavor_usage)

    return carry(old, v2.LocalQueue, api_version=V1BETA2, status=member(old.status, convert))


def local_queue_from_storage(new: v2.LocalQueue) -> LocalQueue:
    def convert(status: v2.LocalQueueStatus) -> LocalQueueStatus:
        return carry(status, LocalQueueStatus, flavor_usage=status.flavors_usage)

    return carry(new, LocalQueue, api_version=V1BETA1, status=member(new.status, convert))
