"""One adapter per kind of job: what queueing must know of it, and how it is held back, started and stopped.

Pure: no reads, no writes, no clock. `adapter` is the contract, `suspendable` what most kinds share; a new kind is one small file.
Imports fairway.kinds and the Client's names; imported by whatever admits or dispatches jobs.
"""

from fairway.control.adapters.adapter import (
    AdapterError,
    Change,
    Finished,
    Job,
    JobAdapter,
    Json,
    PodSet,
    PodSetInfo,
    StopReason,
)
from fairway.control.adapters.job import JobKind
from fairway.control.adapters.jobset import JobSetKind
from fairway.control.adapters.pod import PodKind
from fairway.control.adapters.templates import original

ADAPTERS: tuple[JobAdapter, ...] = (JobKind(), JobSetKind(), PodKind())

__all__ = [
    "ADAPTERS",
    "AdapterError",
    "Change",
    "Finished",
    "Job",
    "JobAdapter",
    "Json",
    "PodSet",
    "PodSetInfo",
    "StopReason",
    "original",
]
