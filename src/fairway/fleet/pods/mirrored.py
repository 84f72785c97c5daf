"""How a pod of a cluster looks on its hub: the same pod, with the hub's job as its owner and the cluster's name as a label. Pure.

Nothing of it may look like work of the hub's own: what queueing reads on pods is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fairway.control.adapters import Json, names

CLUSTER = "fairway.dev/cluster"
"""Label of pods on a hub: the cluster that really has them."""
_QUEUEING = "kueue.x-k8s.io/"
_OURS = "fairway.dev/"
_KEPT = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Owner:
    """A job of the hub that has pods elsewhere."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    """What its pods would have if they were here: selectors of the job go by them."""


class _Notes(msgspec.Struct, gc=False):
    job: str = msgspec.field(default="", name=names.HUB_JOB)


class _Labels(msgspec.Struct, gc=False):
    cluster: str = msgspec.field(default="", name=CLUSTER)


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    labels: _Labels = msgspec.field(default_factory=_Labels)
    annotations: _Notes = msgspec.field(default_factory=_Notes)
    deletion_timestamp: str = ""


class _Status(msgspec.Struct, gc=False):
    phase: str = "Pending"


class _Pod(msgspec.Struct, gc=False):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Pod).decode


@dataclass(frozen=True, slots=True)
class Facts:
    """The little of a pod that bookkeeping needs, read without the rest."""

    uid: str
    job: str
    """The uid of the hub's job; empty for a pod that is none of ours."""
    cluster: str
    over: bool
    leaving: bool


def facts(value: bytes) -> Facts:
    pod = _decode(value)
    meta = pod.metadata
    return Facts(
        meta.uid, meta.annotations.job, meta.labels.cluster, pod.status.phase in _OVER, bool(meta.deletion_timestamp)
    )


def owner_of(job: Json) -> Owner:
    metadata = job["metadata"]
    template = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") if isinstance(template, dict) else None
    return Owner(
        job["apiVersion"], job["kind"], metadata.get("namespace", ""), metadata["name"], metadata["uid"], labels or {}
    )


def mirrored(pod: Json, owner: Owner, cluster: str) -> Json:
    metadata = pod["metadata"]
    seen = {key: metadata[key] for key in _KEPT if key in metadata}
    labels = {key: value for key, value in names.labels(pod).items() if key not in _LEFT_OUT}
    notes = {key: value for key, value in names.notes(pod).items() if not key.startswith((_QUEUEING, _OURS))}
    seen["labels"] = {**labels, **owner.labels, CLUSTER: cluster}
    seen["annotations"] = {**notes, names.HUB_JOB: owner.uid}
    seen["ownerReferences"] = [
        {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": seen, "spec": pod["spec"], "status": pod.get("status") or {}}


_LEFT_OUT = (names.MANAGED, names.QUEUE_NAME, names.PREBUILT_WORKLOAD, names.MULTIKUEUE_ORIGIN, names.GROUP_NAME)


def cluster_of(pod: Mapping[str, Any]) -> str:
    """Where a pod of the hub really is; empty for one that is nowhere else."""
    return names.labels(pod).get(CLUSTER, "")


def is_over(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in _OVER


def containers(pod: Json) -> list[str]:
    """Those that run or have run, in the order in which they did."""
    status = pod.get("status") or {}
    found = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return [each["name"] for each in found if not {"terminated", "running"}.isdisjoint(each.get("state") or {})]
