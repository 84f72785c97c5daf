"""Refuses to change, on a hub, pods that are on a cluster: whatever was written here, nothing would come of it there."""

from __future__ import annotations

from typing import Any

from fairway.api.errors import ApiError
from fairway.api.request import SYSTEM, Admission
from fairway.fleet.pods.mirrored import CLUSTER
from fairway.kinds.k8s.core.kinds import POD


class MirrorHook:
    """An admission hook of a hub's space."""

    def __call__(self, admission: Admission) -> None:
        if admission.target.kind is not POD or admission.options.caller == SYSTEM:
            return
        name = admission.target.name or admission.new.metadata.name
        old, there, wanted = admission.old, _cluster(admission.old), _cluster(admission.new)
        if old is not None and there:
            owner = next(iter(old.metadata.owner_references or ()), None)
            do = f"delete {owner.kind} {owner.name}, or " if admission.operation == "DELETE" and owner else ""
            raise _forbidden(
                name,
                f"it is of cluster {there}, and what is here shows it and no more: {do}do it there "
                f"(kubectl --context {there} ...)",
            )
        if wanted:
            raise _forbidden(name, f"the label {CLUSTER} is the hub's own: leave it out")


def _cluster(pod: Any) -> str:
    labels = pod.metadata.labels if pod is not None else None
    return labels.get(CLUSTER, "") if labels else ""


def _forbidden(name: str, why: str) -> ApiError:
    return ApiError(403, "Forbidden", f'pods "{name}" is forbidden: {why}', details={"name": name, "kind": "pods"})
