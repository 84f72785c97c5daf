"""ClusterQueue in v1beta1: `cohort` for cohortName, a plain list of checks, and the older words Borrow and Preempt."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET

from fairway.kinds.kueue._pod import LabelSelector
from fairway.kinds.kueue.v1beta1.convert import V1BETA1, V1BETA2, carry, member
from fairway.kinds.kueue.v1beta2 import cluster_queue as v2
from fairway.kinds.kueue.v1beta2.local_queue import LocalQueueFairSharingStatus
from fairway.kinds.kueue.v1beta2.shared import (
    CheckName,
    Conditions,
    FairSharing,
    FairSharingStatus,
    Name,
    ResourceGroups,
    StopPolicy,
)
from fairway.kinds.meta import Object
from fairway.kinds.types import Annotated, F, Int32, Opt, Time, Type


class FlavorFungibility(Type):
    """Whether a flavor that would do at a cost is taken, or a later one is tried first."""

    when_can_borrow: Opt[
        Annotated[
            Literal["MayStopSearch", "TryNextFlavor", "Borrow"],
            F(
                "what to do when the workload fits only by borrowing; Borrow means MayStopSearch",
                default="MayStopSearch",
            ),
        ]
    ] = UNSET
    when_can_preempt: Opt[
        Annotated[
            Literal["MayStopSearch", "TryNextFlavor", "Preempt"],
            F(
                "what to do when the workload fits only by preempting; Preempt means MayStopSearch",
                default="TryNextFlavor",
            ),
        ]
    ] = UNSET
    preference: Opt[
        Annotated[
            v2.Preference, F("which of the two is the lesser evil, when all flavors were tried (both TryNextFlavor)")
        ]
    ] = UNSET


class AdmissionChecksStrategy(Type):
    """Checks that a workload with reserved quota must pass before it is admitted."""

    admission_checks: Opt[
        Annotated[list[v2.AdmissionCheckStrategyRule], F("the checks", keys=("name",), max_length=64)]
    ] = UNSET


class ClusterQueueSpec(Type):
    """What a ClusterQueue offers, to whom, and in which order."""

    resource_groups: Opt[ResourceGroups] = UNSET
    cohort: Opt[Annotated[Name, F("Cohort to lend to and borrow from; absent: neither")]] = UNSET
    queueing_strategy: Opt[
        Annotated[
            v2.QueueingStrategy,
            F(
                "StrictFIFO: a workload that does not fit blocks later ones; else it is passed over",
                default="BestEffortFIFO",
            ),
        ]
    ] = UNSET
    namespace_selector: Opt[
        Annotated[LabelSelector, F("namespaces whose workloads are admitted; absent: none, empty: all", atomic=True)]
    ] = UNSET
    flavor_fungibility: Opt[
        Annotated[FlavorFungibility, F("when to try the next flavor before borrowing or preempting", default={})]
    ] = UNSET
    preemption: Opt[Annotated[v2.Preemption, F("which workloads may be evicted to make room", default={})]] = UNSET
    admission_checks: Opt[
        Annotated[
            list[CheckName],
            F("checks for all flavors; takes the place of admissionChecksStrategy", list_type="atomic", max_length=64),
        ]
    ] = UNSET
    admission_checks_strategy: Opt[
        Annotated[AdmissionChecksStrategy, F("checks to pass between quota reservation and admission")]
    ] = UNSET
    stop_policy: Opt[
        Annotated[StopPolicy, F("Hold: admit nothing new; HoldAndDrain: evict what runs as well", default="None")]
    ] = UNSET
    fair_sharing: Opt[Annotated[FairSharing, F("weight among siblings in the cohort")]] = UNSET
    admission_scope: Opt[Annotated[v2.AdmissionScope, F("order among the LocalQueues that feed this queue")]] = UNSET


class PendingWorkload(Type):
    """A workload that waits."""

    name: Annotated[str, F("name")]
    namespace: Annotated[str, F("namespace")]


class PendingWorkloadsStatus(Type, kw_only=True):
    """The head of the queue. No longer written by anything."""

    cluster_queue_pending_workload: Opt[
        Annotated[list[PendingWorkload], F("first workloads of the queue", list_type="atomic")]
    ] = UNSET
    last_change_time: Annotated[Time, F("when the list last changed")]


class ClusterQueueStatus(Type):
    """What is used and what waits, as last observed."""

    conditions: Opt[Conditions] = UNSET
    flavors_reservation: Opt[
        Annotated[v2.FlavorUsages, F("quota reserved per flavor, by workloads admitted or still being checked")]
    ] = UNSET
    flavors_usage: Opt[Annotated[v2.FlavorUsages, F("quota used per flavor, by admitted workloads")]] = UNSET
    pending_workloads: Opt[Annotated[Int32, F("workloads that wait")]] = UNSET
    reserving_workloads: Opt[Annotated[Int32, F("workloads that hold quota")]] = UNSET
    admitted_workloads: Opt[Annotated[Int32, F("workloads that were admitted and have not finished")]] = UNSET
    pending_workloads_status: Opt[Annotated[PendingWorkloadsStatus, F("no longer used: accepted and forgotten")]] = (
        UNSET
    )
    fair_sharing: Opt[Annotated[LocalQueueFairSharingStatus, F("standing in fair sharing, when that is on")]] = UNSET


class ClusterQueue(Object):
    """A pool of quota for the whole cluster. Users reach it through a LocalQueue in their namespace."""

    spec: Opt[Annotated[ClusterQueueSpec, F("what it offers, to whom, and in which order")]] = UNSET
    status: Opt[Annotated[ClusterQueueStatus, F("what is used and what waits")]] = UNSET


def to_storage(old: ClusterQueue) -> v2.ClusterQueue:
    return carry(
        old,
        v2.ClusterQueue,
        api_version=V1BETA2,
        spec=member(old.spec, _spec_to_v2),
        status=member(old.status, _status_to_v2),
    )


def from_storage(new: v2.ClusterQueue) -> ClusterQueue:
    return carry(
        new,
        ClusterQueue,
        api_version=V1BETA1,
        spec=member(new.spec, _spec_to_v1),
        status=member(new.status, _status_to_v1),
    )


def _spec_to_v2(spec: ClusterQueueSpec) -> v2.ClusterQueueSpec:
    return carry(
        spec,
        v2.ClusterQueueSpec,
        cohort_name=spec.cohort,
        flavor_fungibility=member(spec.flavor_fungibility, _fungibility_to_v2),
        admission_checks_strategy=_checks_to_v2(spec),
    )


def _spec_to_v1(spec: v2.ClusterQueueSpec) -> ClusterQueueSpec:
    return carry(
        spec,
        ClusterQueueSpec,
        cohort=spec.cohort_name,
        flavor_fungibility=member(spec.flavor_fungibility, lambda old: carry(old, FlavorFungibility)),
        admission_checks_strategy=member(
            spec.admission_checks_strategy, lambda old: carry(old, AdmissionChecksStrategy)
        ),
    )


def _checks_to_v2(spec: ClusterQueueSpec) -> v2.AdmissionChecksStrategy | msgspec.UnsetType:
    if spec.admission_checks:
        rules = [v2.AdmissionCheckStrategyRule(name=name) for name in spec.admission_checks]
        return v2.AdmissionChecksStrategy(admission_checks=rules)
    strategy = spec.admission_checks_strategy
    # v1beta2 knows no strategy without checks, and one without checks asks for nothing.
    if strategy is UNSET or not strategy.admission_checks:
        return UNSET
    return v2.AdmissionChecksStrategy(admission_checks=strategy.admission_checks)


def _fungibility_to_v2(old: FlavorFungibility) -> v2.FlavorFungibility:
    new = carry(old, v2.FlavorFungibility)
    if old.when_can_borrow == "Borrow":
        new.when_can_borrow = "MayStopSearch"
    if old.when_can_preempt == "Preempt":
        new.when_can_preempt = "MayStopSearch"
    return new


def _status_to_v2(status: ClusterQueueStatus) -> v2.ClusterQueueStatus:
    return carry(
        status,
        v2.ClusterQueueStatus,
        fair_sharing=member(status.fair_sharing, lambda old: carry(old, FairSharingStatus)),
    )


def _status_to_v1(status: v2.ClusterQueueStatus) -> ClusterQueueStatus:
    return carry(
        status,
        ClusterQueueStatus,
        fair_sharing=member(status.fair_sharing, lambda new: carry(new, LocalQueueFairSharingStatus)),
    )
