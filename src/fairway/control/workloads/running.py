"""Which Workloads still have pods that take up room, whatever became of their jobs.

A job may be deleted while its pods run on and end in their own time. Until they have, what they use is not free.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairway.api.client import Item
from fairway.control.adapters import Json, names
from fairway.control.mirror import Table
from fairway.control.times import parse_time
from fairway.core.model import SECOND, Time

STUCK = 60 * SECOND
"""So long after its time a pod that was told to end counts as gone: nobody may be there any more to say that it ended."""
_MARK = names.WORKLOAD.encode()
_OVER = ("Succeeded", "Failed")


class _Notes(msgspec.Struct, gc=False):
    workload: str = msgspec.field(default="", name=names.WORKLOAD)


class _Meta(msgspec.Struct, rename="camel", gc=False):
    namespace: str = ""
    annotations: _Notes = msgspec.field(default_factory=_Notes)
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Status(msgspec.Struct, gc=False):
    phase: str = "Pending"


class _Pod(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Pod).decode


class RunningPods:
    """Pods that are bound to a node and have not ended, by the Workload that they were admitted with."""

    def __init__(self, pods: Table, on_ended: Callable[[str], None]) -> None:
        """on_ended: told the key of a Workload when the last of its pods has ended."""
        self._on_ended = on_ended
        self._found: dict[str, dict[str, Time]] = {}
        """Of each Workload, its pods, and when each was to be gone: 0 for one that nobody told to end."""
        pods.on_change(self._on_pod)

    def any_of(self, workload: Json, now: Time) -> bool:
        metadata = workload["metadata"]
        pods = self._found.get(f"{metadata.get('namespace', '')}/{metadata['name']}")
        return pods is not None and any(not end or now < end + STUCK for end in pods.values())

    def _on_pod(self, key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        assert item is not None
        if _MARK not in item.value:
            return
        pod = _decode(item.value)
        workload = f"{pod.metadata.namespace}/{pod.metadata.annotations.workload}"
        if after is not None and pod.spec.node_name and pod.status.phase not in _OVER:
            self._found.setdefault(workload, {})[key] = parse_time(pod.metadata.deletion_timestamp)
            return
        known = self._found.get(workload)
        if known is not None and known.pop(key, None) is not None and not known:
            del self._found[workload]
            self._on_ended(workload)
