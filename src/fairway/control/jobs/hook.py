"""A Job that is created suspended says so from the start: what the controller would find first is decided before the Job is stored.

There is nothing else to do about such a Job until somebody lets it go, and each that waits would cost one more write.
"""

from __future__ import annotations

from fairway.api.request import Admission
from fairway.control.jobs.decide import decide
from fairway.kinds.k8s.batch.types import Job
from fairway.runtime.clock import Clock


class FirstStatus:
    """An admission hook of a space, after those that may suspend a Job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, admission: Admission) -> None:
        job = admission.new
        if admission.operation != "CREATE" or not isinstance(job, Job) or job.spec.suspend is not True:
            return
        status = decide(job, (), self._clock.now).status
        if status is not None:
            job.status = status
