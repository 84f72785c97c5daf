"""Labels and annotations by which jobs speak to queueing, and small reads of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PREFIX = "kueue.x-k8s.io/"
QUEUE_NAME = _PREFIX + "queue-name"
PRIORITY_CLASS = _PREFIX + "priority-class"
MAX_EXEC_TIME = _PREFIX + "max-exec-time-seconds"
PREBUILT_WORKLOAD = _PREFIX + "prebuilt-workload-name"
MULTIKUEUE_ORIGIN = _PREFIX + "multikueue-origin"
MANAGED = _PREFIX + "managed"
MIN_PARALLELISM = _PREFIX + "job-min-parallelism"
COMPLETIONS_EQUAL_PARALLELISM = _PREFIX + "job-completions-equal-parallelism"
STOPPING = _PREFIX + "stopping"
WORKLOAD = _PREFIX + "workload"

ADMISSION_GATE = _PREFIX + "admission"
TOPOLOGY_GATE = _PREFIX + "topology"
GROUP_NAME = _PREFIX + "pod-group-name"
GROUP_TOTAL_COUNT = _PREFIX + "pod-group-total-count"
GROUP_FAST_ADMISSION = _PREFIX + "pod-group-fast-admission"
GROUP_SERVING = _PREFIX + "pod-group-serving"
GROUP_POD_INDEX = _PREFIX + "pod-group-pod-index"
GROUP_POD_INDEX_LABEL = _PREFIX + "pod-group-pod-index-label"
RETRIABLE_IN_GROUP = _PREFIX + "retriable-in-group"
ROLE_HASH = _PREFIX + "role-hash"
SUSPENDING_PARENT = _PREFIX + "pod-suspending-parent"

PODSET_REQUIRED_TOPOLOGY = _PREFIX + "podset-required-topology"
PODSET_PREFERRED_TOPOLOGY = _PREFIX + "podset-preferred-topology"
PODSET_UNCONSTRAINED_TOPOLOGY = _PREFIX + "podset-unconstrained-topology"
PODSET_SLICE_REQUIRED_TOPOLOGY = _PREFIX + "podset-slice-required-topology"
PODSET_SLICE_CONSTRAINTS = _PREFIX + "podset-slice-required-topology-constraints"
PODSET_SLICE_SIZE = _PREFIX + "podset-slice-size"
PODSET_GROUP_NAME = _PREFIX + "podset-group-name"

MULTIKUEUE_CONTROLLER = _PREFIX + "multikueue"

HUB_JOB = "fairway.dev/hub-job"
"""Annotation of pods that a hub's job has on a cluster: the uid of that job. The label of the origin tells whose hub."""

Json = Mapping[str, Any]


def labels(obj: Json) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def notes(obj: Json) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def queue_name(obj: Json) -> str:
    """The label; the annotation is the older way to say it."""
    return labels(obj).get(QUEUE_NAME) or notes(obj).get(QUEUE_NAME) or ""


def max_exec_time(obj: Json) -> int | None:
    text = labels(obj).get(MAX_EXEC_TIME, "")
    seconds = int(text) if text.isascii() and text.isdecimal() else 0
    return seconds if seconds > 0 else None


def prebuilt_workload(obj: Json) -> str:
    return notes(obj).get(PREBUILT_WORKLOAD) or labels(obj).get(PREBUILT_WORKLOAD) or ""
