"""Objects of the size and shape that people submit."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from fairway.store import Put

QUEUES = tuple(f"team-{number}-queue" for number in range(20))


def job(number: int) -> bytes:
    """A Job of about 1 kB as it is stored."""
    return (
        b'{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"sample-job-%06d","namespace":"team-%d",'
        b'"uid":"3f2a9c4e-7d1b-4c55-9a0e-%012d","resourceVersion":"","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",'
        b'"labels":{"kueue.x-k8s.io/queue-name":"team-%d-queue","app.kubernetes.io/name":"train","app.kubernetes.io/instance":'
        b'"run-%06d","stage":"production"},"annotations":{"example.com/owner":"someone@example.com"}},"spec":{"parallelism":3,'
        b'"completions":3,"backoffLimit":6,"completionMode":"NonIndexed","suspend":true,"template":{"metadata":{"labels":'
        b'{"batch.kubernetes.io/job-name":"sample-job-%06d"}},"spec":{"containers":[{"name":"main","image":'
        b'"registry.example.com/team/train:2026.1","command":["python","-m","train","--epochs","20","--learning-rate","0.001"],'
        b'"resources":{"requests":{"cpu":"1","memory":"200Mi"},"limits":{"memory":"200Mi"}}}],"restartPolicy":"Never",'
        b'"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","schedulerName":"default-scheduler"}}},'
        b'"status":{"conditions":[{"type":"Suspended","status":"True","reason":"JobSuspended"}]}}'
    ) % (number, number % 20, number, number % 20, number, number)


def put_job(number: int, prefix: str = "sample-job") -> Put:
    """As the API hands it to the store: four labels, the values of two of them common to many."""
    labels = (
        "app.kubernetes.io/instance",
        f"run-{number:06}",
        "app.kubernetes.io/name",
        sys.intern("train"),
        "kueue.x-k8s.io/queue-name",
        QUEUES[number % 20],
        "stage",
        "production",
    )
    name = f"{prefix}-{number:06}"
    return Put(
        "jobs.batch", f"team-{number % 20}/{name}", job(number), labels=labels, fields=(name, f"team-{number % 20}")
    )


def put_jobs(count: int, prefix: str = "sample-job") -> Iterator[Put]:
    return (put_job(number, prefix) for number in range(count))
