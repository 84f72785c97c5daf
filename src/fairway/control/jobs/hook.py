"""A Job that is created suspended says so from the start: the controller would write nothing else, and each waiting Job would cost one more write."""

from __future__ import annotations

from fairway.api.objects import Objects
from fairway.api.request import Admission
from fairway.control.jobs.decide import ours, suspended_condition
from fairway.kinds.k8s.batch.types import Job


class SuspendedHook:
    """An admission hook of a space, after those that may suspend a Job."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __call__(self, admission: Admission) -> None:
        job = admission.new
        if admission.operation != "CREATE" or not isinstance(job, Job):
            return
        if job.spec.suspend is True and ours(job):
            job.status.conditions = [suspended_condition(self._objects.now())]
