"""What is known of Jobs and their pods: from watches, and from the answers to our own writes, whichever came first.

The pods of a Job are kept while they matter: those that are over and released leave only their name and what they mean for the backoff. So
looking at a Job costs what its open pods cost, not what it has run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

import msgspec

from fairway.api.client import Item
from fairway.control.jobs.backoff import NOTHING, Past
from fairway.control.jobs.decide import ours
from fairway.control.jobs.view import PodFacts, PodView, read, view
from fairway.kinds.k8s.batch.types import Job
from fairway.runtime.recent import Recent

Key = tuple[str, str]
_GONE = 100_000


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    manual_selector: bool = False
    suspend: bool = False
    ttl_seconds_after_finished: int | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Uncounted(msgspec.Struct, gc=False):
    succeeded: list[str] | None = None
    failed: list[str] | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    conditions: list[_Condition] = []
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    uncounted_terminated_pods: _Uncounted | None = None

    @property
    def idle(self) -> bool:
        """Whether it speaks of no pod that runs, ends, or is to be counted."""
        left = self.uncounted_terminated_pods
        counted = left is None or not (left.succeeded or left.failed)
        return counted and not (self.active or self.ready or self.terminating)

    def says(self, *types: str) -> bool:
        for each in self.conditions:  # noqa: SIM110 (a generator here costs three times as much)
            if each.type in types and each.status == "True":
                return True
        return False


class Head(msgspec.Struct, gc=False):
    """The part of a Job that tells whether the rest matters."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def over(self) -> bool:
        return self.status.says("Complete", "Failed")

    @property
    def at_rest(self) -> bool:
        """Whether a Job is suspended or over, says so, and has nothing that runs: as long as nothing else happens, there is nothing to do."""
        if not self.status.idle or self.spec.manual_selector or self.metadata.deletion_timestamp is not None:
            return False
        if self.over:
            return self.spec.ttl_seconds_after_finished is None
        return self.spec.suspend and self.status.says("Suspended")


_head = msgspec.json.Decoder(Head).decode


def head_of(item: Item) -> Head:
    return _head(item.value)


_MADE_WHEN_ASKED_FOR: dict[str, type[dict[str, Any]] | type[set[str]]] = {
    "pods": dict,
    "items": dict,
    "names": set,
    "settled": set,
    "released": set,
    "deleted": set,
}


@dataclass(slots=True)
class Tracked:
    """A Job (or only the pods of one that is not known, or no longer). Most Jobs wait, so what is known of pods has no place before it is
    asked for."""

    uid: str
    key: Key = ("", "")
    item: Item | None = None
    version: str = ""
    pods: dict[str, PodView] = field(init=False)
    items: dict[str, Item] = field(init=False)
    names: set[str] = field(init=False)
    """Of all its pods that were seen, and of strangers that have a name which a pod of it would have."""
    settled: set[str] = field(init=False)
    past: Past = NOTHING
    over: bool = False
    at_rest: bool = False
    """Whether there is nothing to do as long as it has no pods."""
    released: set[str] = field(init=False)
    """Pods that we have released, though the last we saw of them is older."""
    deleted: set[str] = field(init=False)
    """Pods that we have deleted, likewise."""
    lazy_at: float = 0.0
    """When a status that may wait is written; zero: none waits."""
    failures: int = 0
    """Attempts to carry out a plan in a row that came to nothing."""
    _job: Job | None = None

    def __getattr__(self, name: str) -> Any:
        make = _MADE_WHEN_ASKED_FOR.get(name)
        if make is None:
            raise AttributeError(name)
        made = make()
        setattr(self, name, made)
        return made

    @property
    def job(self) -> Job | None:
        if self._job is not None or self.item is None:
            return self._job
        job: Job = self.item.to(Job)
        if not self.over:
            self._job = job
        return job

    def see(self, item: Item, version: str, *, over: bool) -> None:
        """Decoded when somebody wants to know more."""
        self.item, self.version, self.over = item, version, over
        self._job = None
        if over:
            # Kept for its time to live only.
            self.names.clear()
            self.settled.clear()

    def views(self) -> list[PodView]:
        """Its open pods, as they are after what we did to them."""
        if not self.released and not self.deleted:
            return list(self.pods.values())
        return [self._after(pod) for pod in self.pods.values()]

    def _after(self, pod: PodView) -> PodView:
        tracked = pod.tracked and pod.uid not in self.released
        deleting = pod.deleting or pod.uid in self.deleted
        if (tracked, deleting) == (pod.tracked, pod.deleting):
            return pod
        return changed(pod, tracked=tracked, deleting=deleting)

    def forget_pod(self, uid: str) -> None:
        self.items.pop(uid, None)
        self.released.discard(uid)
        self.deleted.discard(uid)
        self.settled.discard(uid)
        self.pods.pop(uid, None)

    def settle(self, pod: PodView, *, dropped: bool = False) -> None:
        """It is over and counted: only when and how it ended still matters. Not if it was dropped: we ended it, and did not count it."""
        self.forget_pod(pod.uid)
        if self.over:
            return
        self.settled.add(pod.uid)
        if dropped:
            return
        at = (pod.finished_at,)
        self.past = self.past.plus(at, ()) if pod.phase == "Succeeded" else self.past.plus((), at)


class State:
    """All Jobs by uid, but for those that were found at rest: whoever keeps their objects is asked for one when a pod of it comes by. What
    changes returns the uid of the Job to look at again, or nothing."""

    def __init__(self, at_rest: Callable[[str, str], Item | None] = lambda _name, _namespace: None) -> None:
        """at_rest: the Job of a name and a namespace, as it was found."""
        self._at_rest = at_rest
        self.jobs: dict[str, Tracked] = {}
        self.orphans: dict[str, dict[str, Item]] = {}
        """Pods that nobody controls, by namespace: Jobs that select by hand may adopt them."""
        self._uids: dict[Key, str] = {}
        self._choosy: dict[str, set[str]] = {}
        self._gone: Recent[str, bool] = Recent(_GONE)

    # --- Jobs -----------------------------------------------------------------------------------------------------

    def see_job(self, item: Item, head: Head | None = None) -> str:
        """head: what was read of it already."""
        head = head or head_of(item)
        meta = head.metadata
        uid, key = meta.uid, (meta.namespace, meta.name)
        if uid in self._gone:
            return ""
        before = self._uids.get(key)
        if before is not None and before != uid:
            self._leave(before)
        self._uids[key] = uid
        tracked = self.jobs.get(uid)
        if tracked is None:
            tracked = self.jobs[uid] = Tracked(uid)
        if tracked.item is not None and not newer(meta.resource_version, tracked.version):
            return ""
        tracked.key = key
        tracked.see(item, meta.resource_version, over=head.over)
        tracked.at_rest = head.at_rest
        job = tracked.job if head.spec.manual_selector else None
        if job is not None and ours(job):
            self._choosy.setdefault(key[0], set()).add(uid)
        return uid

    def forget_job(self, item: Item) -> str:
        uid = item.meta.uid
        self._bury(uid)
        return self._leave(uid)

    def _leave(self, uid: str) -> str:
        """Its pods stay known until they are released."""
        tracked = self.jobs.get(uid)
        if tracked is None:
            return ""
        if self._uids.get(tracked.key) == uid:
            del self._uids[tracked.key]
        self._choosy.get(tracked.key[0], set()).discard(uid)
        tracked.item = tracked._job = None
        if not tracked.pods:
            del self.jobs[uid]
            return ""
        return uid

    # --- pods -----------------------------------------------------------------------------------------------------

    def see_pod(self, item: Item) -> tuple[str, ...]:
        facts = read(item)
        if facts.metadata.uid in self._gone:
            return ()
        if facts.orphan:
            return self._see_orphan(item, facts)
        owner = facts.owner
        if not owner:
            return ()
        tracked = self.jobs.get(owner) or self._roused(facts)
        if tracked is None:
            if not view(facts).tracked:
                return ()
            tracked = self.jobs[owner] = Tracked(owner, (facts.metadata.namespace, ""))
        self.orphans.get(facts.metadata.namespace, {}).pop(facts.metadata.uid, None)
        return (owner,) if self._see(tracked, item, view(facts)) else ()

    def _roused(self, facts: PodFacts) -> Tracked | None:
        """The Job of a pod, if it was at rest until now."""
        item = self._at_rest(facts.owner_name, facts.metadata.namespace)
        if item is None or item.uid != facts.owner:
            return None
        self.see_job(item)
        return self.jobs.get(facts.owner)

    def _see(self, tracked: Tracked, item: Item, pod: PodView) -> bool:
        known = tracked.pods.get(pod.uid)
        if pod.uid in tracked.settled or (known is not None and not newer(pod.version, known.version)):
            return False
        if not tracked.over:
            tracked.names.add(pod.name)
        if pod.terminal and (not pod.tracked or pod.uid in tracked.released):
            tracked.settle(pod, dropped=pod.deleting or pod.uid in tracked.deleted)
            return True
        tracked.pods[pod.uid], tracked.items[pod.uid] = pod, item
        return known is None or not _same(known, pod)

    def forget_pod(self, item: Item) -> tuple[str, ...]:
        facts = read(item)
        meta = facts.metadata
        self._bury(meta.uid)
        self.orphans.get(meta.namespace, {}).pop(meta.uid, None)
        return (facts.owner,) if self.drop_pod(facts.owner, meta.uid) else ()

    def drop_pod(self, owner: str, uid: str) -> bool:
        """A pod is gone, or was never there."""
        tracked = self.jobs.get(owner)
        if tracked is None:
            return False
        open_pod = uid in tracked.pods
        tracked.forget_pod(uid)
        if not open_pod:
            return False
        if tracked.item is None and not tracked.pods:
            del self.jobs[owner]
            return False
        return True

    def adoptable(self, uid: str) -> list[Item]:
        """Pods that nobody controls where a Job that selects by hand might find some."""
        tracked = self.jobs.get(uid)
        if tracked is None or tracked.over or uid not in self._choosy.get(tracked.key[0], ()):
            return []
        return list(self.orphans.get(tracked.key[0], {}).values())

    def _see_orphan(self, item: Item, facts: PodFacts) -> tuple[str, ...]:
        namespace = facts.metadata.namespace
        self.orphans.setdefault(namespace, {})[facts.metadata.uid] = item
        return tuple(self._choosy.get(namespace, ()))

    def _bury(self, uid: str) -> None:
        """A uid never comes back: an answer that was still on its way is no news."""
        self._gone.put(uid, True)


def newer(version: str, than: str) -> bool:
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


def _same(before: PodView, after: PodView) -> bool:
    """Whether nothing changed that a Job would notice."""
    return changed(before, version=after.version) == after
