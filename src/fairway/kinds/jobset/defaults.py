"""What the API fills in for JobSets, beside what their schema says."""

from __future__ import annotations

from fairway.kinds.jobset.types import (
    JobSet,
    Network,
    StartupPolicy,
    SuccessPolicy,
    VolumeRetentionPolicy,
)
from fairway.kinds.k8s.opt import items
from fairway.kinds.types import UNSET


def default_jobset(new: JobSet, old: JobSet | None) -> None:
    """Only a new one: what its writer has seen stays."""
    if old is not None:
        return
    spec = new.spec
    if spec.success_policy is UNSET:
        spec.success_policy = SuccessPolicy(operator="All")
    if spec.startup_policy is UNSET:
        spec.startup_policy = StartupPolicy(startup_policy_order="AnyOrder")
    for entry in items(spec.replicated_jobs):
        job = entry.template.spec
        if job.completion_mode is UNSET:
            job.completion_mode = "Indexed"
        if not job.template.spec.restart_policy:
            job.template.spec.restart_policy = "OnFailure"
    if spec.network is UNSET:
        spec.network = Network()
    if spec.network.enable_dns_hostnames is UNSET:
        spec.network.enable_dns_hostnames = True
    if spec.network.publish_not_ready_addresses is UNSET:
        spec.network.publish_not_ready_addresses = True
    if spec.failure_policy is not UNSET:
        for index, rule in enumerate(items(spec.failure_policy.rules)):
            rule.name = rule.name or f"failurePolicyRule{index}"
    for claims in items(spec.volume_claim_policies):
        if claims.retention_policy is UNSET:
            claims.retention_policy = VolumeRetentionPolicy(when_deleted="Delete")
