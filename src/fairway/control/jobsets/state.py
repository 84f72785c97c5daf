"""What is known of JobSets and their Jobs: from watches, and from the answers to our own writes, whichever came first."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.client import Item
from fairway.control.jobs.state import newer
from fairway.control.jobsets.child import Child, child
from fairway.kinds.jobset.types import JobSet
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.k8s.opt import items, text
from fairway.runtime.recent import Recent

_GONE = 50_000


@dataclass(slots=True)
class Tracked:
    uid: str
    item: Item | None = None
    jobset: JobSet | None = None
    version: str = ""
    children: dict[str, Child] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    """Jobs that we have deleted, though the last we saw of them is older."""
    service: bool = False
    """Whether the set's service is known to exist."""
    failures: int = 0


class State:
    """All sets by uid. What changes returns the uid of the set to look at again, or nothing."""

    def __init__(self) -> None:
        self.sets: dict[str, Tracked] = {}
        self._gone: Recent[str, bool] = Recent(_GONE)

    def see_set(self, item: Item) -> str:
        jobset = item.to(JobSet)
        uid, version = text(jobset.metadata.uid), text(jobset.metadata.resource_version)
        if uid in self._gone:
            return ""
        tracked = self.sets.setdefault(uid, Tracked(uid))
        if tracked.item is not None and not newer(version, tracked.version):
            return ""
        tracked.item, tracked.jobset, tracked.version = item, jobset, version
        return uid

    def forget_set(self, item: Item) -> None:
        uid = item.meta.uid
        self._bury(uid)
        self.sets.pop(uid, None)

    def see_job(self, item: Item) -> str:
        job = item.to(Job)
        owner = _owner(job)
        if not owner or owner in self._gone or text(job.metadata.uid) in self._gone:
            return ""
        tracked = self.sets.setdefault(owner, Tracked(owner))
        now = child(job)
        known = tracked.children.get(now.uid)
        if known is not None and not newer(now.version, known.version):
            return ""
        tracked.children[now.uid], tracked.items[now.uid] = now, item
        return owner

    def forget_job(self, item: Item) -> str:
        job = item.to(Job)
        uid, owner = text(job.metadata.uid), _owner(job)
        self._bury(uid)
        return owner if self.drop_job(owner, uid) else ""

    def drop_job(self, owner: str, uid: str) -> bool:
        tracked = self.sets.get(owner)
        if tracked is None or tracked.children.pop(uid, None) is None:
            return False
        tracked.items.pop(uid, None)
        tracked.deleted.discard(uid)
        return True

    def _bury(self, uid: str) -> None:
        self._gone.put(uid, True)


def _owner(job: Job) -> str:
    for reference in items(job.metadata.owner_references):
        if reference.controller is True:
            return reference.uid if reference.kind == "JobSet" else ""
    return ""
