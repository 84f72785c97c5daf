"""Which cluster has which job of the hub, as the hub's workloads say."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairway.api.client import Item
from fairway.control.mirror import Table


class _Owner(msgspec.Struct, gc=False):
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel", gc=False):
    owner_references: list[_Owner] = []


class _Status(msgspec.Struct, rename="camel", gc=False):
    cluster_name: str = ""


class _Workload(msgspec.Struct, gc=False):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Workload).decode


class Bound:
    """By the uid of a job. `changed` is told the uid of one that was given to another cluster, or to none."""

    def __init__(self, workloads: Table, changed: Callable[[str], None]) -> None:
        self._workloads = workloads
        self._changed = changed
        self._clusters: dict[str, str] = {}
        workloads.on_change(lambda _key, before, after: self._on_workload(before, after))

    def load(self) -> None:
        """Take in what was known before anybody listened."""
        for key in self._workloads:
            self._on_workload(None, self._workloads.item(key))

    def of(self, job: str) -> str:
        """Empty while no cluster has it."""
        return self._clusters.get(job, "")

    def _on_workload(self, before: Item | None, after: Item | None) -> None:
        item = after or before
        if item is None:
            return
        workload = _decode(item.value)
        cluster = workload.status.cluster_name if after is not None else ""
        for owner in workload.metadata.owner_references:
            if self._clusters.get(owner.uid, "") == cluster:
                continue
            if cluster:
                self._clusters[owner.uid] = cluster
            else:
                del self._clusters[owner.uid]
            self._changed(owner.uid)
