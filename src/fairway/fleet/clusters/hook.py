"""Refuses what would break a pool: removing one that is in use, and moving a cluster whose work is still there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fairway.api.errors import conflict
from fairway.api.request import Admission
from fairway.api.space import Space
from fairway.control.adapters import Json
from fairway.fleet.clusters import pools
from fairway.kinds.own.cluster import CLUSTER
from fairway.kinds.own.pool import POOL

_QUEUES = "clusterqueues.kueue.x-k8s.io"
_WORKLOADS = "workloads.kueue.x-k8s.io"
_NAMED_MAX = 5


class _Status(msgspec.Struct, rename="camel", gc=False):
    cluster_name: str = ""


class _Workload(msgspec.Struct, gc=False):
    status: _Status = msgspec.field(default_factory=_Status)


_workload = msgspec.json.Decoder(_Workload).decode


class FleetHook:
    """An admission hook of a hub's space."""

    def __init__(self, space: Space) -> None:
        self._store = space.store

    def __call__(self, admission: Admission) -> None:
        target = admission.target
        if target.subresource or target.kind.group != POOL.group:
            return
        if target.kind.name == POOL.name and admission.operation == "DELETE":
            self._pool_goes(target.name)
        elif target.kind.name == CLUSTER.name and admission.operation != "DELETE":
            self._cluster_comes(admission)

    def _pool_goes(self, name: str) -> None:
        clusters = [each["metadata"]["name"] for each in self._all(CLUSTER.bucket) if pools.pool_of(each) == name]
        queues = [each["metadata"]["name"] for each in self._all(_QUEUES) if pools.marked_pool(each) == name]
        if clusters or queues:
            why = f"pool '{name}' is not empty: clusters={_listed(clusters)} queues={_listed(queues)}; move or delete them first"
            raise conflict(POOL, name, why)

    def _cluster_comes(self, admission: Admission) -> None:
        new, old = admission.new.spec.pool, admission.old.spec.pool if admission.old is not None else None
        name = admission.target.name
        if old is not None and new != old:
            there = self._work_on(name)
            if there:
                why = f"{there} workloads of pool {old} are still on it; a cluster moves only once its work has ended"
                raise conflict(CLUSTER, name, why)
        if new and self._store.latest(POOL.bucket, f"/{new}") is None:
            admission.warnings.append(f"pool {new!r} does not exist: the cluster gets no work until it does")

    def _work_on(self, cluster: str) -> int:
        return sum(_workload(record.value).status.cluster_name == cluster for record in self._store.records(_WORKLOADS))

    def _all(self, bucket: str) -> Iterator[Json]:
        for record in self._store.records(bucket):
            yield msgspec.json.decode(record.value)


def _listed(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:_NAMED_MAX])
    return f"[{shown}{', …' if len(names) > _NAMED_MAX else ''}]"
