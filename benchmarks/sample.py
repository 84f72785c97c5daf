"""Objects of the size and shape that people submit."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from fairway.store import Put

_encode = msgspec.json.Encoder().encode


def labels(number: int) -> dict[str, str]:
    """Four; the values of three are common to many objects. None that a controller acts upon."""
    return {
        "app.kubernetes.io/instance": f"run-{number:06}",
        "app.kubernetes.io/name": "train",
        "example.com/queue": f"team-{number % 20}-queue",
        "stage": "production",
    }


def pod_spec() -> dict[str, object]:
    command = ["python", "-m", "train", "--epochs", "20", "--learning-rate", "0.001"]
    resources = {"requests": {"cpu": "1", "memory": "200Mi"}, "limits": {"memory": "200Mi"}}
    container = {
        "name": "main",
        "image": "registry.example.com/team/train:2026.1",
        "command": command,
        "resources": resources,
    }
    return {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    }


def job_spec() -> dict[str, object]:
    return {
        "parallelism": 3,
        "completions": 3,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": True,
        "template": {
            "metadata": {"labels": {"app.kubernetes.io/name": "train", "stage": "production"}},
            "spec": pod_spec(),
        },
    }


_SPEC = job_spec()
_STATUS = {"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]}


def job(number: int, name: str = "") -> bytes:
    """A Job of about 1 kB as it is stored."""
    metadata = {
        "name": name or f"sample-job-{number:06}",
        "namespace": f"team-{number % 20}",
        "uid": f"3f2a9c4e-7d1b-4c55-9a0e-{number:012}",
        "resourceVersion": "",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels(number),
        "annotations": {"example.com/owner": "someone@example.com", "example.com/ticket": f"ABC-{number}"},
    }
    return _encode({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": _SPEC, "status": _STATUS})


def put_job(number: int, prefix: str = "sample-job") -> Put:
    """As the API hands it to the store: texts fresh from a request, keys of labels shared."""
    flat = tuple(text for key, value in labels(number).items() for text in (sys.intern(key), _fresh(value)))
    name = f"{prefix}-{number:06}"
    return Put("jobs.batch", f"team-{number % 20}/{name}", job(number, name), labels=flat, fields=(_fresh("0"),))


def _fresh(text: str) -> str:
    """A text of its own, as a decoder makes it."""
    return f"{text} "[:-1]


def put_jobs(count: int, prefix: str = "sample-job") -> Iterator[Put]:
    return (put_job(number, prefix) for number in range(count))
