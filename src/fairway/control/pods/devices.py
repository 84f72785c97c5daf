"""Which GPU of the machine belongs to which container: each to one at a time, known again after a restart from the pods' status. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.core.quantity import parse

Json = Mapping[str, Any]
GPU = "nvidia.com/gpu"
VARIABLE = "CUDA_VISIBLE_DEVICES"


def wanted(container: Json) -> int:
    resources = container.get("resources") or {}
    amount = (resources.get("limits") or {}).get(GPU) or (resources.get("requests") or {}).get(GPU) or "0"
    return parse(str(amount)).units


def shown(ids: list[str]) -> list[dict[str, Any]]:
    """As a container's status has it (allocatedResourcesStatus)."""
    return [{"name": GPU, "resources": [{"resourceID": device} for device in ids]}]


class Devices:
    def __init__(self, count: int) -> None:
        self._free = [str(number) for number in range(count)]
        self._held: dict[str, dict[str, list[str]]] = {}

    def learn(self, pod: Json) -> None:
        """What a pod that is not over held before the node was started."""
        status = pod.get("status") or {}
        for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            for resource in one.get("allocatedResourcesStatus") or ():
                ids = [device["resourceID"] for device in resource.get("resources") or ()]
                if resource.get("name") == GPU and all(device in self._free for device in ids):
                    self._free = [device for device in self._free if device not in ids]
                    self._held.setdefault(pod["metadata"]["uid"], {})[one["name"]] = ids

    def take(self, uid: str, container: str, count: int) -> list[str] | None:
        """The devices of a container, the same for each of its runs; None if there are not enough now."""
        mine = self._held.setdefault(uid, {})
        if container not in mine:
            if count > len(self._free):
                return None
            mine[container], self._free = self._free[:count], self._free[count:]
        return mine[container]

    def given(self, uid: str, container: str) -> list[str]:
        return self._held.get(uid, {}).get(container, [])

    def release(self, uid: str) -> None:
        for ids in self._held.pop(uid, {}).values():
            self._free = sorted((*self._free, *ids), key=int)
