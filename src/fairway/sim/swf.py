"""Traces in the Standard Workload Format: one line a job, eighteen numbers, comments with a semicolon."""

from __future__ import annotations

from fairway.core.model import SECOND, Flavor, Settings, TenantQueue
from fairway.sim.lublin import shared_queue
from fairway.sim.scenario import Job, Scenario

_SUBMIT, _RUNTIME, _ALLOCATED, _REQUESTED, _QUEUE = 1, 3, 4, 7, 14
_FIELDS = 18


class TraceError(ValueError):
    """A line is no job; the message says which and what is wrong."""


def swf_scenario(name: str, text: str, processors: int | None = None, settings: Settings | None = None) -> Scenario:
    """Queues of the trace share one machine evenly and may use what others leave; jobs without size or time are left out."""
    machine = processors
    jobs: list[Job] = []
    largest = 1
    for number, line in enumerate(text.splitlines(), 1):
        content, _, comment = line.partition(";")
        if machine is None and comment.strip().startswith("MaxProcs:"):
            machine = _number(comment.partition(":")[2], number)
        if not content.strip():
            continue
        fields = content.split()
        if len(fields) < _FIELDS:
            raise TraceError(f"line {number} has {len(fields)} fields of {_FIELDS}: is this an SWF trace?")
        size = _number(fields[_REQUESTED], number)
        if size <= 0:
            size = _number(fields[_ALLOCATED], number)
        runtime = _number(fields[_RUNTIME], number)
        if size <= 0 or runtime <= 0:
            continue
        queue = f"queue-{max(0, _number(fields[_QUEUE], number))}"
        largest = max(largest, size)
        jobs.append(
            Job(
                key=f"{queue}/job-{fields[0]}",
                tenant_queue=f"{queue}/lq",
                arrival=_number(fields[_SUBMIT], number) * SECOND,
                runtime=runtime * SECOND,
                requests={"cpu": 1000},
                count=size,
            )
        )
    names = sorted({job.tenant_queue.partition("/")[0] for job in jobs})
    total = max(machine or 0, largest)
    queues = [
        shared_queue(name_, "machine", total // len(names) + (index < total % len(names)))
        for index, name_ in enumerate(names)
    ]
    tenants = [TenantQueue(f"{name_}/lq", name_) for name_ in names]
    return Scenario(name, queues, tenants, jobs, [Flavor("node")], [], settings or Settings())


def _number(text: str, line: int) -> int:
    try:
        return int(float(text))
    except ValueError as error:
        raise TraceError(f"line {line}: {text!r} is not a number") from error
