"""The types of batch/v1: Job and CronJob."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.pod import PodTemplateSpec
from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.meta import Object, ObjectMeta
from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Time, Type


class PodFailurePolicyOnExitCodesRequirement(Type):
    container_name: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    operator: Annotated[str, F(proto=2)] = ""
    values: Annotated[list[Int32], F(proto=3, list_type="set")] = field(default_factory=list)


class PodFailurePolicyOnPodConditionsPattern(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""


class PodFailurePolicyRule(Type):
    action: Annotated[str, F(proto=1)] = ""
    on_exit_codes: Opt[Annotated[PodFailurePolicyOnExitCodesRequirement, F(proto=2)]] = UNSET
    on_pod_conditions: Opt[Annotated[list[PodFailurePolicyOnPodConditionsPattern], F(proto=3, list_type="atomic")]] = (
        UNSET
    )


class PodFailurePolicy(Type):
    rules: Annotated[list[PodFailurePolicyRule], F(proto=1, list_type="atomic")] = field(default_factory=list)


class SuccessPolicyRule(Type):
    succeeded_indexes: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    succeeded_count: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET


class SuccessPolicy(Type):
    rules: Annotated[list[SuccessPolicyRule], F(proto=1, list_type="atomic")] = field(default_factory=list)


class JobSpec(Type):
    parallelism: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET
    completions: Opt[Annotated[Int32, F(proto=2, zero=True)]] = UNSET
    active_deadline_seconds: Opt[Annotated[Int64, F(proto=3, zero=True)]] = UNSET
    pod_failure_policy: Opt[Annotated[PodFailurePolicy, F(proto=11)]] = UNSET
    success_policy: Opt[Annotated[SuccessPolicy, F(proto=16)]] = UNSET
    backoff_limit: Opt[Annotated[Int32, F(proto=7, zero=True)]] = UNSET
    backoff_limit_per_index: Opt[Annotated[Int32, F(proto=12, zero=True)]] = UNSET
    max_failed_indexes: Opt[Annotated[Int32, F(proto=13, zero=True)]] = UNSET
    selector: Opt[Annotated[LabelSelector, F(proto=4, atomic=True)]] = UNSET
    manual_selector: Opt[Annotated[bool, F(proto=5, zero=True)]] = UNSET
    template: Annotated[PodTemplateSpec, F(proto=6)] = field(default_factory=PodTemplateSpec)
    ttl_seconds_after_finished: Opt[Annotated[Int32, F(proto=8, zero=True)]] = UNSET
    completion_mode: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET
    suspend: Opt[Annotated[bool, F(proto=10, zero=True)]] = UNSET
    pod_replacement_policy: Opt[Annotated[str, F(proto=14, zero=True)]] = UNSET
    managed_by: Opt[Annotated[str, F(proto=15, zero=True)]] = UNSET


class UncountedTerminatedPods(Type):
    succeeded: Opt[Annotated[list[str], F(proto=1, list_type="set")]] = UNSET
    failed: Opt[Annotated[list[str], F(proto=2, list_type="set")]] = UNSET


class JobCondition(Type):
    type: Annotated[str, F(proto=1)] = ""
    status: Annotated[str, F(proto=2)] = ""
    last_probe_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    last_transition_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=5)]] = UNSET
    message: Opt[Annotated[str, F(proto=6)]] = UNSET


class JobStatus(Type):
    conditions: Opt[Annotated[list[JobCondition], F(proto=1, list_type="atomic", merge="type")]] = UNSET
    start_time: Opt[Annotated[Time, F(proto=2)]] = UNSET
    completion_time: Opt[Annotated[Time, F(proto=3)]] = UNSET
    active: Opt[Annotated[Int32, F(proto=4)]] = UNSET
    succeeded: Opt[Annotated[Int32, F(proto=5)]] = UNSET
    failed: Opt[Annotated[Int32, F(proto=6)]] = UNSET
    terminating: Opt[Annotated[Int32, F(proto=11, zero=True)]] = UNSET
    completed_indexes: Opt[Annotated[str, F(proto=7)]] = UNSET
    failed_indexes: Opt[Annotated[str, F(proto=10, zero=True)]] = UNSET
    uncounted_terminated_pods: Opt[Annotated[UncountedTerminatedPods, F(proto=8)]] = UNSET
    ready: Opt[Annotated[Int32, F(proto=9, zero=True)]] = UNSET


class Job(Object):
    """Pods that run to completion: the usual unit of work in a queue."""

    spec: Annotated[JobSpec, F(proto=2)] = field(default_factory=JobSpec)
    status: Annotated[JobStatus, F(proto=3)] = field(default_factory=JobStatus)


class JobTemplateSpec(Type):
    metadata: Annotated[ObjectMeta, F(proto=1)] = field(default_factory=ObjectMeta)
    spec: Annotated[JobSpec, F(proto=2)] = field(default_factory=JobSpec)


class CronJobSpec(Type):
    schedule: Annotated[str, F(proto=1)] = ""
    time_zone: Opt[Annotated[str, F(proto=8, zero=True)]] = UNSET
    starting_deadline_seconds: Opt[Annotated[Int64, F(proto=2, zero=True)]] = UNSET
    concurrency_policy: Opt[Annotated[str, F(proto=3)]] = UNSET
    suspend: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET
    job_template: Annotated[JobTemplateSpec, F(proto=5)] = field(default_factory=JobTemplateSpec)
    successful_jobs_history_limit: Opt[Annotated[Int32, F(proto=6, zero=True)]] = UNSET
    failed_jobs_history_limit: Opt[Annotated[Int32, F(proto=7, zero=True)]] = UNSET


class CronJobStatus(Type):
    active: Opt[Annotated[list[ObjectReference], F(proto=1, list_type="atomic")]] = UNSET
    last_schedule_time: Opt[Annotated[Time, F(proto=4)]] = UNSET
    last_successful_time: Opt[Annotated[Time, F(proto=5)]] = UNSET


class CronJob(Object):
    """Jobs on a schedule. Kept as written."""

    spec: Annotated[CronJobSpec, F(proto=2)] = field(default_factory=CronJobSpec)
    status: Annotated[CronJobStatus, F(proto=3)] = field(default_factory=CronJobStatus)
