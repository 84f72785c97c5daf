"""How far a Workload got: reservation, checks, admission, evictions."""

from __future__ import annotations

from typing import Literal

from fairway.kinds.kueue._pod import Toleration
from fairway.kinds.kueue.constants import CLUSTERS_MAX
from fairway.kinds.kueue.v1beta2.multikueue import ClusterName
from fairway.kinds.kueue.v1beta2.shared import CheckName, Conditions, Count, Name, PodSetName
from fairway.kinds.kueue.v1beta2.topology_assignment import TopologyAssignment
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Quantity, Time, Type


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


class RequeueState(Type):
    """How often and when the workload goes back to its queue after evictions."""

    count: Opt[Annotated[Count, F("times it went back")]] = UNSET
    requeue_at: Opt[Annotated[Time, F("when it goes back next")]] = UNSET


class ReclaimablePod(Type):
    """Pods of one pod set that need no quota any more."""

    name: Annotated[PodSetName, F("pod set")]
    count: Annotated[Count, F("pods that finished; their quota is free")]


class PodSetUpdate(Type):
    """Changes to the pods of one pod set that a check asks for."""

    name: Annotated[PodSetName, F("pod set")]
    labels: Opt[Annotated[dict[str, str], F("labels to add")]] = UNSET
    annotations: Opt[Annotated[dict[str, str], F("annotations to add")]] = UNSET
    node_selector: Opt[Annotated[dict[str, str], F("node selector entries to add")]] = UNSET
    tolerations: Opt[Annotated[list[Toleration], F("tolerations to add", list_type="atomic", max_length=8)]] = UNSET


class AdmissionCheckState(Type):
    """What one check says."""

    name: Annotated[CheckName, F("AdmissionCheck")]
    state: Annotated[
        Literal["Pending", "Ready", "Retry", "Rejected"],
        F("Retry evicts and queues again; Rejected deactivates the workload"),
    ]
    last_transition_time: Annotated[Time, F("when the state last changed")]
    message: Annotated[str, F("why, for people; may be empty", max_length=32768)]
    requeue_after_seconds: Opt[Annotated[Count, F("with Retry: seconds to wait before it queues again")]] = UNSET
    retry_count: Opt[Annotated[Count, F("times that the check said Retry")]] = UNSET
    pod_set_updates: Opt[
        Annotated[list[PodSetUpdate], F("changes to pods that the check asks for", list_type="atomic", max_length=18)]
    ] = UNSET


class PodSetRequest(Type):
    """What one pod set asks for while it waits."""

    name: Annotated[PodSetName, F("pod set")]
    resources: Opt[Annotated[dict[str, Quantity], F("requests of all its pods together")]] = UNSET


class Evictions(Type):
    """How often the workload was evicted for one reason."""

    reason: Annotated[str, F("reason", max_length=316)]
    underlying_cause: Annotated[str, F("what was behind the reason; may be empty", max_length=316)]
    count: Annotated[Count, F("how often")]


class SchedulingStats(Type):
    """Counts over the workload's life."""

    evictions: Opt[
        Annotated[list[Evictions], F("evictions by reason", keys=("reason", "underlyingCause"), max_length=256)]
    ] = UNSET


class UnhealthyNode(Type):
    """A node that the workload was placed on and that failed."""

    name: Annotated[str, F("name of the node", max_length=63)]


class PreemptionGateState(Type):
    """Whether one gate agrees."""

    name: Annotated[str, F("name of the gate", min_length=1, max_length=63)]
    position: Annotated[Literal["Closed", "Open"], F("Open: the workload may preempt others")]
    last_transition_time: Annotated[Time, F("when the position last changed")]


class WorkloadStatus(Type):
    """How far the workload got, as last observed."""

    conditions: Opt[Conditions] = UNSET
    admission: Opt[Annotated[Admission, F("what it was given; present while quota is reserved")]] = UNSET
    requeue_state: Opt[Annotated[RequeueState, F("going back to the queue after evictions")]] = UNSET
    reclaimable_pods: Opt[
        Annotated[list[ReclaimablePod], F("pods that need no quota any more", keys=("name",), max_length=18)]
    ] = UNSET
    admission_checks: Opt[
        Annotated[list[AdmissionCheckState], F("what each check says", keys=("name",), max_length=8)]
    ] = UNSET
    resource_requests: Opt[
        Annotated[list[PodSetRequest], F("what it asks for, while it is not admitted", keys=("name",), max_length=18)]
    ] = UNSET
    accumulated_past_execution_time_seconds: Opt[Annotated[Int32, F("how long it ran in earlier admissions")]] = UNSET
    scheduling_stats: Opt[Annotated[SchedulingStats, F("counts over its life")]] = UNSET
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
        Annotated[list[UnhealthyNode], F("failed nodes that it was placed on", keys=("name",), max_length=8)]
    ] = UNSET
    preemption_gates: Opt[
        Annotated[list[PreemptionGateState], F("whether each gate agrees", keys=("name",), max_length=8)]
    ] = UNSET
