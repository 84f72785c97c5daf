"""ClusterQueue: a pool of quota that workloads are admitted to, and the rules of admission."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.kueue._pod import LabelSelector
from fairway.kinds.kueue.v1beta2.shared import (
    CheckName,
    Conditions,
    FairSharing,
    FairSharingStatus,
    FlavorUsage,
    Name,
    ResourceGroups,
    StopPolicy,
)
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Type

QueueingStrategy = Literal["StrictFIFO", "BestEffortFIFO"]
Preference = Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]
Search = Literal["MayStopSearch", "TryNextFlavor"]


class FlavorFungibility(Type):
    """Whether a flavor that would do at a cost is taken, or a later one is tried first."""

    when_can_borrow: Opt[
        Annotated[Search, F("what to do when the workload fits a flavor only by borrowing", default="MayStopSearch")]
    ] = UNSET
    when_can_preempt: Opt[
        Annotated[
            Search, F("what to do when the workload fits a flavor only by preempting others", default="TryNextFlavor")
        ]
    ] = UNSET
    preference: Opt[
        Annotated[
            Preference, F("which of the two is the lesser evil, when all flavors were tried (both TryNextFlavor)")
        ]
    ] = UNSET


class BorrowWithinCohort(Type):
    """Whether workloads of other queues may be preempted by one that needs to borrow."""

    policy: Opt[
        Annotated[
            Literal["Never", "LowerPriority"], F("LowerPriority: those of a lower priority may be", default="Never")
        ]
    ] = UNSET
    max_priority_threshold: Opt[Annotated[Int32, F("only workloads of at most this priority are preempted")]] = UNSET


class Preemption(Type):
    """Which running workloads may be evicted to make room for one that waits."""

    reclaim_within_cohort: Opt[
        Annotated[
            Literal["Never", "LowerPriority", "Any"],
            F("whether quota that was lent may be taken back from borrowers in the cohort", default="Never"),
        ]
    ] = UNSET
    borrow_within_cohort: Opt[
        Annotated[BorrowWithinCohort, F("whether a workload that needs to borrow may preempt", default={})]
    ] = UNSET
    within_cluster_queue: Opt[
        Annotated[
            Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"],
            F("whether workloads of this queue may be preempted by one of higher priority", default="Never"),
        ]
    ] = UNSET


class AdmissionCheckStrategyRule(Type):
    """A check, and the flavors that it is needed for."""

    name: Annotated[CheckName, F("AdmissionCheck")]
    on_flavors: Opt[
        Annotated[
            list[Name],
            F("flavors whose use needs the check; empty or absent: all of them", list_type="set", max_length=64),
        ]
    ] = UNSET


class AdmissionChecksStrategy(Type):
    """Checks that a workload with reserved quota must pass before it is admitted."""

    admission_checks: Annotated[
        list[AdmissionCheckStrategyRule], F("the checks", keys=("name",), min_length=1, max_length=64)
    ]


class AdmissionScope(Type):
    """How the queues that feed this one are ordered."""

    admission_mode: Annotated[
        Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"],
        F("whether LocalQueues that used less of late go first"),
    ]


class MigrationConstraints(Type):
    """Limits on moving to a better flavor."""

    last_acceptable_flavor_name: Opt[
        Annotated[Name, F("least preferred flavor to move to; absent: any that is better than the one in use")]
    ] = UNSET


class Migration(Type):
    """What happens when a better flavor than the one in use becomes free."""

    mode: Annotated[
        Literal["TryPreferredFlavors", "RetainFirstAdmission"],
        F("move to preferred flavors as they become free, or stay where it was first admitted"),
    ]
    constraints: Opt[Annotated[MigrationConstraints, F("limits, for TryPreferredFlavors")]] = UNSET


class ConcurrentAdmissionPolicy(Type):
    """Lets a workload wait for several flavors at once; cannot be changed later."""

    migration: Annotated[Migration, F("what happens when a better flavor becomes free")]


class ClusterQueueSpec(Type):
    """What a ClusterQueue offers, to whom, and in which order."""

    resource_groups: Opt[ResourceGroups] = UNSET
    cohort_name: Opt[Annotated[Name, F("Cohort to lend to and borrow from; absent: neither")]] = UNSET
    queueing_strategy: Opt[
        Annotated[
            QueueingStrategy,
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
    preemption: Opt[Annotated[Preemption, F("which workloads may be evicted to make room", default={})]] = UNSET
    admission_checks_strategy: Opt[
        Annotated[AdmissionChecksStrategy, F("checks to pass between quota reservation and admission")]
    ] = UNSET
    stop_policy: Opt[
        Annotated[
            StopPolicy,
            F("Hold: admit nothing new; HoldAndDrain: evict what runs as well", default="None"),
        ]
    ] = UNSET
    fair_sharing: Opt[Annotated[FairSharing, F("weight among siblings in the cohort")]] = UNSET
    admission_scope: Opt[Annotated[AdmissionScope, F("order among the LocalQueues that feed this queue")]] = UNSET
    concurrent_admission_policy: Opt[
        Annotated[ConcurrentAdmissionPolicy, F("waiting for several flavors at once; cannot be changed")]
    ] = UNSET


FlavorUsages = Annotated[list[FlavorUsage], F(keys=("name",), max_length=64)]


class ClusterQueueStatus(Type):
    """What is used and what waits, as last observed."""

    conditions: Opt[Conditions] = UNSET
    flavors_reservation: Opt[
        Annotated[FlavorUsages, F("quota reserved per flavor, by workloads admitted or still being checked")]
    ] = UNSET
    flavors_usage: Opt[Annotated[FlavorUsages, F("quota used per flavor, by admitted workloads")]] = UNSET
    pending_workloads: Opt[Annotated[Int32, F("workloads that wait")]] = UNSET
    reserving_workloads: Opt[Annotated[Int32, F("workloads that hold quota")]] = UNSET
    admitted_workloads: Opt[Annotated[Int32, F("workloads that were admitted and have not finished")]] = UNSET
    fair_sharing: Opt[Annotated[FairSharingStatus, F("standing in fair sharing, when that is on")]] = UNSET


class ClusterQueue(Object):
    """A pool of quota for the whole cluster. Users reach it through a LocalQueue in their namespace."""

    spec: Opt[Annotated[ClusterQueueSpec, F("what it offers, to whom, and in which order")]] = UNSET
    status: Opt[Annotated[ClusterQueueStatus, F("what is used and what waits")]] = UNSET
