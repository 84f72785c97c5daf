"""The types of jobset.x-k8s.io/v1alpha2: sets of Jobs that run together."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from fairway.kinds.k8s.batch.types import JobTemplateSpec
from fairway.kinds.k8s.core.claims import PersistentVolumeClaim
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, Opt, Time, Type

RULE_NAME_MAX = 128
INT32_MAX = 2**31 - 1


class Condition(Type):
    """One aspect of a set's state, as last observed."""

    type: Annotated[str, F("aspect that is described", max_length=316)]
    status: Annotated[Literal["True", "False", "Unknown"], F("whether it holds")]
    observed_generation: Opt[Annotated[int, F("generation of the set that this is about", ge=0)]] = UNSET
    last_transition_time: Annotated[Time, F("when the status last changed")]
    reason: Annotated[str, F("why, as one word", min_length=1, max_length=1024)]
    message: Annotated[str, F("why, as a sentence for people", max_length=32768)]


class DependsOn(Type):
    """What must be so before the Jobs of an entry are created."""

    name: Annotated[str, F("an entry that comes before this one")]
    status: Annotated[Literal["Ready", "Complete"], F("what all Jobs of that entry must be")]


class ReplicatedJob(Type):
    """Jobs of one template."""

    name: Annotated[str, F("name of the entry, part of its Jobs' names")]
    group_name: Opt[Annotated[str, F("entries of one group are numbered together", default="default")]] = UNSET
    template: Annotated[JobTemplateSpec, F("the Job to create")]
    replicas: Opt[Annotated[int, F("how many Jobs to create", ge=0, le=INT32_MAX, default=1)]] = UNSET
    depends_on: Opt[Annotated[list[DependsOn], F("entries that this one waits for", keys=("name",), max_length=5)]] = (
        UNSET
    )


class Network(Type):
    """How the pods of a set find each other."""

    enable_dns_hostnames: Opt[Annotated[bool, F("give each pod a host name in the set's subdomain")]] = field(
        default=UNSET, name="enableDNSHostnames"
    )
    subdomain: Opt[Annotated[str, F("the subdomain; the set's own name by default")]] = UNSET
    publish_not_ready_addresses: Opt[Annotated[bool, F("publish addresses of pods before they are ready")]] = UNSET


class SuccessPolicy(Type):
    """When the set has succeeded."""

    operator: Annotated[Literal["All", "Any"], F("whether all targeted Jobs must succeed, or any one of them")]
    target_replicated_jobs: Opt[
        Annotated[list[str], F("entries whose Jobs count; all if there are none", list_type="atomic")]
    ] = UNSET


class FailurePolicyRule(Type):
    """What to do about a failed Job that fits."""

    name: Annotated[str, F("name of the rule; failurePolicyRuleN by default")] = ""
    action: Annotated[
        Literal[
            "FailJobSet",
            "RestartJobSet",
            "RestartJobSetAndIgnoreMaxRestarts",
            "RestartJob",
            "RestartJobAndIgnoreMaxRestarts",
        ],
        F("what to do"),
    ]
    on_job_failure_reasons: Opt[Annotated[list[str], F("reasons of the failure that fit; any if there are none")]] = (
        UNSET
    )
    on_job_failure_message_patterns: Opt[
        Annotated[list[str], F("regular expressions of which one must fit the message; any does if there are none")]
    ] = UNSET
    target_replicated_jobs: Opt[
        Annotated[list[str], F("entries whose Jobs fit; all if there are none", list_type="atomic")]
    ] = UNSET


class FailurePolicy(Type):
    """What happens when a Job of the set fails."""

    max_restarts: Opt[Annotated[Int32, F("how often the set may be started again")]] = UNSET
    restart_strategy: Opt[
        Annotated[
            Literal["Recreate", "BlockingRecreate", "InPlaceRestart"],
            F("whether new Jobs wait until all old ones are gone", default="Recreate"),
        ]
    ] = UNSET
    rules: Opt[
        Annotated[list[FailurePolicyRule], F("the first rule that fits decides; otherwise the set restarts")]
    ] = UNSET


class StartupPolicy(Type):
    """In which order entries start."""

    startup_policy_order: Annotated[
        Literal["AnyOrder", "InOrder"], F("InOrder: an entry starts when the one before it is ready")
    ]


class Coordinator(Type):
    """The pod that the others turn to."""

    replicated_job: Annotated[str, F("entry that the pod belongs to")]
    job_index: Opt[Annotated[int, F("which of the entry's Jobs")]] = UNSET
    pod_index: Opt[Annotated[int, F("completion index of the pod")]] = UNSET


class VolumeRetentionPolicy(Type):
    """What becomes of claims."""

    when_deleted: Opt[
        Annotated[Literal["Delete", "Retain"], F("whether claims go when the set is deleted", default="Delete")]
    ] = UNSET


class VolumeClaimPolicy(Type):
    """Volume claims that the Jobs of a set share."""

    templates: Opt[Annotated[list[PersistentVolumeClaim], F("the claims", list_type="atomic", max_length=50)]] = UNSET
    retention_policy: Opt[Annotated[VolumeRetentionPolicy, F("what becomes of the claims")]] = UNSET


class JobSetSpec(Type):
    """Which Jobs, and how they depend on each other."""

    replicated_jobs: Opt[Annotated[list[ReplicatedJob], F("the entries of the set", keys=("name",))]] = UNSET
    network: Opt[Annotated[Network, F("how pods find each other")]] = UNSET
    success_policy: Opt[Annotated[SuccessPolicy, F("when the set has succeeded: when all Jobs have, by default")]] = (
        UNSET
    )
    failure_policy: Opt[Annotated[FailurePolicy, F("what a failed Job means: the end of the set, by default")]] = UNSET
    startup_policy: Opt[Annotated[StartupPolicy, F("in which order entries start; dependsOn says more")]] = UNSET
    suspend: Opt[Annotated[bool, F("hold all Jobs of the set back")]] = UNSET
    coordinator: Opt[Annotated[Coordinator, F("the pod that others turn to; its address is on every Job and pod")]] = (
        UNSET
    )
    managed_by: Opt[Annotated[str, F("who runs the set, where that is not this server")]] = UNSET
    ttl_seconds_after_finished: Opt[
        Annotated[int, F("seconds after its end when the set is deleted; never if absent", ge=0, le=INT32_MAX)]
    ] = UNSET
    volume_claim_policies: Opt[
        Annotated[list[VolumeClaimPolicy], F("volume claims that Jobs share", list_type="atomic", max_length=50)]
    ] = UNSET


class ReplicatedJobStatus(Type):
    """How the Jobs of an entry are."""

    name: Annotated[str, F("name of the entry")]
    ready: Annotated[Int32, F("Jobs whose pods are all ready or done")] = 0
    succeeded: Annotated[Int32, F("Jobs that have completed")] = 0
    failed: Annotated[Int32, F("Jobs that have failed")] = 0
    active: Annotated[Int32, F("Jobs with pods that run or wait to")] = 0
    suspended: Annotated[Int32, F("Jobs that are suspended")] = 0
    job_restarts: Opt[Annotated[list[Int32], F("restarts of each Job alone", list_type="atomic", max_length=1024)]] = (
        UNSET
    )
    job_restarts_count_towards_max: Opt[
        Annotated[list[Int32], F("those of them that count", list_type="atomic", max_length=1024)]
    ] = UNSET


class JobSetStatus(Type):
    """How the set is."""

    conditions: Opt[Annotated[list[Condition], F("Suspended, Completed, Failed and others", keys=("type",))]] = UNSET
    restarts: Annotated[Int32, F("how often all Jobs were made anew")] = 0
    restarts_count_towards_max: Opt[Annotated[Int32, F("restarts that count against maxRestarts")]] = UNSET
    terminal_state: Opt[Annotated[str, F("Completed or Failed, once the set is over")]] = UNSET
    replicated_jobs_status: Opt[Annotated[list[ReplicatedJobStatus], F("how each entry is", keys=("name",))]] = UNSET
    previous_in_place_restart_attempt: Opt[
        Annotated[int, F("for agents that restart in place", ge=0, le=INT32_MAX)]
    ] = UNSET
    current_in_place_restart_attempt: Opt[Annotated[int, F("for agents that restart in place", ge=0, le=INT32_MAX)]] = (
        UNSET
    )


class JobSet(Object):
    """Jobs that run together: a driver and its workers, or the stages of a pipeline."""

    spec: Annotated[JobSetSpec, F("which Jobs")] = field(default_factory=JobSetSpec)
    status: Opt[Annotated[JobSetStatus, F("how the set is")]] = UNSET
