"""Which workloads to look at when something changes that is not one of them: a cluster, a job, a check."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from fairway.api.client import Item
from fairway.control.adapters import names
from fairway.control.conditions import is_true
from fairway.fleet.dispatch.facts import Scene


class Place(NamedTuple):
    """By what a workload is found again."""

    check: str
    clusters: frozenset[str]
    jobs: tuple[str, ...]
    """Their uids."""
    waits: bool
    """For a cluster."""


class Places:
    """Follows what each look at a workload shows."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._at: dict[str, set[str]] = {}
        self._by_job: dict[str, set[str]] = {}
        self._waiting: set[str] = set()

    def all(self) -> list[str]:
        return sorted(self._places)

    def at(self, cluster: str) -> list[str]:
        return sorted(self._at.get(cluster, ()))

    def at_or_waiting(self, cluster: str) -> list[str]:
        return sorted(self._at.get(cluster, set()) | self._waiting)

    def of_job(self, uid: str) -> list[str]:
        return sorted(self._by_job.get(uid, ()))

    def with_checks(self, checks: Collection[str]) -> list[str]:
        return sorted(key for key, place in self._places.items() if place.check in checks)

    def see(self, key: str, scene: Scene | None) -> None:
        """None: it is gone, or no business of ours any more."""
        now, before = _place(scene), self._places.get(key)
        if now == before:
            return
        if before is not None:
            self._forget(key, before)
        if now is None:
            return
        self._places[key] = now
        for cluster in now.clusters:
            self._at.setdefault(cluster, set()).add(key)
        for uid in now.jobs:
            self._by_job.setdefault(uid, set()).add(key)
        if now.waits:
            self._waiting.add(key)

    def _forget(self, key: str, place: Place) -> None:
        del self._places[key]
        self._waiting.discard(key)
        for index, names_of_it in ((self._at, place.clusters), (self._by_job, place.jobs)):
            for name in names_of_it:
                found = index[name]
                found.discard(key)
                if not found:
                    del index[name]


def _place(scene: Scene | None) -> Place | None:
    if scene is None:
        return None
    status = scene.workload.get("status") or {}
    bound = status.get("clusterName")
    over = is_true(scene.workload, "Finished")  # nothing becomes of it any more but that its copies go
    clusters = frozenset(
        (*scene.remotes, *(status.get("nominatedClusterNames") or ()), *((bound,) if bound and not over else ()))
    )
    jobs = tuple(owner["uid"] for owner in scene.workload["metadata"].get("ownerReferences") or ())
    return Place(scene.check, clusters, tuple(dict.fromkeys(jobs)), not bound and not over)


class _Ties(msgspec.Struct, gc=False):
    workload: str = msgspec.field(default="", name=names.PREBUILT_WORKLOAD)


class _Meta(msgspec.Struct, gc=False):
    labels: _Ties | None = None
    annotations: _Ties | None = None


class _Job(msgspec.Struct, gc=False):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Job).decode


def workload_of(job: Item) -> str:
    """The name of the workload that a job was made for, read without the rest."""
    meta = _decode(job.value).metadata
    tied = (each.workload for each in (meta.annotations, meta.labels) if each is not None)
    return next((name for name in tied if name), "")
