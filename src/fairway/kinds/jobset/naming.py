"""Names that follow from a JobSet's: of its Jobs, its subdomain, its coordinator."""

from __future__ import annotations

from fairway.kinds.jobset.types import JobSet
from fairway.kinds.k8s.opt import number, text
from fairway.kinds.types import UNSET


def job_name(jobset: str, entry: str, index: int) -> str:
    return f"{jobset}-{entry}-{index}"


def subdomain(jobset: JobSet, name: str) -> str:
    network = jobset.spec.network
    return (text(network.subdomain) if network is not UNSET else "") or name


def coordinator_address(jobset: JobSet, name: str) -> str:
    """Where the coordinator pod can be reached; empty if there is none."""
    coordinator = jobset.spec.coordinator
    if coordinator is UNSET:
        return ""
    job = job_name(name, coordinator.replicated_job, number(coordinator.job_index))
    return f"{job}-{number(coordinator.pod_index)}.{subdomain(jobset, name)}"
