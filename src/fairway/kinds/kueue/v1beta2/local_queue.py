"""LocalQueue: a namespace's door to a ClusterQueue."""

from __future__ import annotations

from fairway.kinds.kueue.v1beta2.shared import (
    AdmissionFairSharingStatus,
    Conditions,
    FairSharing,
    Name,
    StopPolicy,
)
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Quantity, Type


class LocalQueueSpec(Type):
    """Where the queue leads to."""

    cluster_queue: Opt[Annotated[Name, F("ClusterQueue that admits the workloads; cannot be changed")]] = UNSET
    stop_policy: Opt[
        Annotated[
            StopPolicy, F("Hold: admit nothing new from here; HoldAndDrain: evict what runs as well", default="None")
        ]
    ] = UNSET
    fair_sharing: Opt[
        Annotated[FairSharing, F("weight among the LocalQueues of the ClusterQueue, when they are ordered by usage")]
    ] = UNSET


class LocalQueueResourceUsage(Type):
    """How much of one resource this queue uses in a flavor."""

    name: Annotated[str, F("resource")]
    total: Opt[Annotated[Quantity, F("amount")]] = UNSET


class LocalQueueFlavorUsage(Type):
    """How much this queue uses in one flavor."""

    name: Annotated[Name, F("ResourceFlavor")]
    resources: Annotated[list[LocalQueueResourceUsage], F("usage per resource", keys=("name",), max_length=64)]


LocalQueueFlavorUsages = Annotated[list[LocalQueueFlavorUsage], F(keys=("name",), max_length=64)]


class LocalQueueFairSharingStatus(Type):
    """The standing among queues of the same ClusterQueue."""

    weighted_share: Annotated[int, F("not computed for a LocalQueue: 0")]
    admission_fair_sharing_status: Opt[
        Annotated[AdmissionFairSharingStatus, F("recent usage, when queues are ordered by it")]
    ] = UNSET


class LocalQueueStatus(Type):
    """What came in through this queue, as last observed."""

    conditions: Opt[Conditions] = UNSET
    pending_workloads: Opt[Annotated[Int32, F("workloads that wait")]] = UNSET
    reserving_workloads: Opt[Annotated[Int32, F("workloads that hold quota")]] = UNSET
    admitted_workloads: Opt[Annotated[Int32, F("workloads that were admitted and have not finished")]] = UNSET
    flavors_reservation: Opt[
        Annotated[LocalQueueFlavorUsages, F("quota reserved per flavor, by workloads of this queue")]
    ] = UNSET
    flavors_usage: Opt[
        Annotated[LocalQueueFlavorUsages, F("quota used per flavor, by admitted workloads of this queue")]
    ] = UNSET
    fair_sharing: Opt[Annotated[LocalQueueFairSharingStatus, F("standing among the queues beside it")]] = UNSET


class LocalQueue(Object):
    """Where the users of a namespace submit: name it in the label kueue.x-k8s.io/queue-name of a job."""

    spec: Opt[Annotated[LocalQueueSpec, F("where the queue leads to")]] = UNSET
    status: Opt[Annotated[LocalQueueStatus, F("what came in through this queue")]] = UNSET
