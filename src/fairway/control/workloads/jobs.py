"""Which jobs there are, which Workloads are about them, and which of them somebody should look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from fairway.api.client import Item, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import JobAdapter, Json
from fairway.control.adapters.names import GROUP_NAME
from fairway.control.admission.sketch import Owner, glimpse
from fairway.control.agenda import FOUND_BESIDE_NEWS, Agenda
from fairway.control.apply import Write
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror, Table
from fairway.control.resources import FLAVORS, NAMESPACES, POD_PRIORITY_CLASSES, PODS, PRIORITY_CLASSES, WORKLOADS
from fairway.control.workloads.making import Priorities
from fairway.control.workloads.managed import Managed
from fairway.control.workloads.reconcile import JobRules, Look
from fairway.control.workloads.running import RunningPods
from fairway.core.model import Time

LOOKS_MAX = 2000
"""Jobs looked at in one pass, so that others get their turn."""
FOUND_MAX = 50
"""Of those that were only found at a start, so that what happens now is not kept waiting."""


_GROUPED = GROUP_NAME.encode()
_IN_A_GROUP: Json = {"metadata": {"name": "", "labels": {GROUP_NAME: "group"}}}


class JobKey(NamedTuple):
    adapter: int
    namespace: str
    name: str
    """Of the job, or of the group its objects are in."""


class _Head(msgspec.Struct, gc=False):
    metadata: Json


class _OwnersMeta(msgspec.Struct, rename="camel", gc=False):
    owner_references: list[Owner] = []


class _Owners(msgspec.Struct, gc=False):
    metadata: _OwnersMeta


_head = msgspec.json.Decoder(_Head).decode
_owners = msgspec.json.Decoder(_Owners).decode
_OWNED = b'"ownerReferences":['


class Jobs:
    def __init__(
        self,
        config: Configuration,
        adapters: Sequence[JobAdapter],
        mirror: Mirror,
        on_orphan: Callable[[str], None],
    ) -> None:
        self._on_orphan = on_orphan
        self._adapters = list(adapters)
        self._mirror = mirror
        self._tables = [mirror[adapter.resource] for adapter in self._adapters]
        self._workloads = mirror[WORKLOADS]
        self._managed = Managed(config, adapters, self._namespace_labels)
        priorities = Priorities(mirror[PRIORITY_CLASSES], mirror[POD_PRIORITY_CLASSES])
        self._running = RunningPods(mirror[PODS], self._on_pods_ended)
        self._rules = JobRules(config, mirror[FLAVORS], priorities, self._running)
        self.agenda: Agenda[JobKey] = Agenda()
        self._unseen: list[tuple[int, list[str]]] = []
        """What was found at the start and nobody has looked at yet: objects by the index of their adapter, last first."""
        self._groups: dict[JobKey, dict[str, None]] = {}
        """The objects of jobs that are more than one. Whoever is a job by itself has its name, and nothing is kept of it here."""
        self._by_owner: dict[str, tuple[str, ...]] = {}
        self._taken: dict[str, JobKey] = {}
        """Workloads of others that have the name a job's own should have."""
        self._last: set[tuple[Resource, str]] = set()
        """Objects that we are about to change for the last time until something else happens."""
        self._kinds: Mapping[tuple[str, str], int] = {
            (adapter.resource.api_version, adapter.kind): index for index, adapter in enumerate(self._adapters)
        }
        self._grouping = [bool(adapter.group(_IN_A_GROUP)) for adapter in self._adapters]
        """Which kinds of jobs may be several objects."""
        for index, adapter in enumerate(self._adapters):
            self._listen(index, mirror[adapter.resource])
        self._workloads.on_change(self._on_workload)
        for resource in (PRIORITY_CLASSES, POD_PRIORITY_CLASSES):
            mirror[resource].on_change(self._on_priority)

    @property
    def busy(self) -> bool:
        return bool(self.agenda) or bool(self._unseen)

    @property
    def only_found(self) -> bool:
        """Whether nobody waits for what is left to look at."""
        return bool(self._unseen) and not self.agenda

    def begin(self) -> None:
        """All that is there is known. From now on what is told happens; what was found is looked at little by little."""
        self.agenda.starting = False
        tables = ((index, list(self._table(index))) for index in range(len(self._adapters)))
        self._unseen = [(index, keys[::-1]) for index, keys in tables if keys]

    def _take(self) -> list[JobKey]:
        taken = self.agenda.take(LOOKS_MAX, FOUND_MAX)
        if self._unseen:
            index, keys = self._unseen[-1]
            count = min(len(keys), FOUND_BESIDE_NEWS if taken else FOUND_MAX)
            found = (self._alone(index, keys.pop()) for _ in range(count))
            taken += [job for job in found if job is not None]
            if not keys:
                self._unseen.pop()
        return taken

    def _alone(self, index: int, key: str) -> JobKey | None:
        """An object that is a job by itself, unless it is plain that queueing has nothing to do with it."""
        item = self._table(index).item(key)
        if item is None or not self._managed.maybe(item.value) or _GROUPED in item.value:
            return None
        return JobKey(index, *key.split("/", 1))

    def reconcile(self, now: Time) -> list[Write]:
        writes: list[Write] = []
        for key in self._take():
            look = self._look(key)
            if look is None:
                continue
            for write in self._rules.look(look, now):
                own = write.resource, _key(write)
                write.failed = write.failed or partial(self._failed, key, own)  # which does not hold the write itself
                if write.last:
                    self._last.add(own)
                    write.done = partial(self._last.discard, own)  # told by now, or it changed nothing
                writes.append(write)
        return writes

    def _is_last(self, resource: Resource, key: str) -> bool:
        """Whether a change is our own, and nothing follows from it. Asked once for each change, as each revision is told once."""
        if (resource, key) not in self._last:
            return False
        self._last.discard((resource, key))
        return True

    def has_job(self, workload: Json, now: Time) -> bool:
        """Whether an owner of the Workload is there, and not on its way out; or pods that it left behind still run."""
        for owner in workload["metadata"].get("ownerReferences") or ():
            index = self._kinds.get((owner["apiVersion"], owner["kind"]))
            if index is None:
                continue
            key = f"{workload['metadata'].get('namespace', '')}/{owner['name']}"
            item = self._table(index).item(key)
            if item is not None and item.meta.uid == owner["uid"] and not item.meta.deletion_timestamp:
                return True
        return self._running.any_of(workload, now)

    def job_of(self, workload: Json) -> tuple[JobAdapter, Json] | None:
        for owner in workload["metadata"].get("ownerReferences") or ():
            index = self._kinds.get((owner["apiVersion"], owner["kind"]))
            found = (
                self._table(index).get(f"{workload['metadata'].get('namespace', '')}/{owner['name']}")
                if index is not None
                else None
            )
            if index is not None and found is not None and found["metadata"]["uid"] == owner["uid"]:
                return self._adapters[index], found
        return None

    # --- what changed -----------------------------------------------------------------------------------------------

    def _listen(self, index: int, table: Table) -> None:
        table.on_change(partial(self._on_job, index))

    def _on_job(self, index: int, key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        assert item is not None
        if self.agenda.starting and before is None and not (self._grouping[index] and _GROUPED in item.value):
            return  # it will be looked at when its turn comes
        if not self._managed.maybe(item.value) and not (before is not None and self._managed.maybe(before.value)):
            return
        namespace, _, name = key.partition("/")
        adapter, obj = self._adapters[index], {"metadata": _head(item.value).metadata}
        group = adapter.group(obj)
        job = JobKey(index, namespace, group or name)
        managed = after is not None and self._managed.is_managed(adapter, obj)
        if group:
            self._join(job, key, there=managed)
        if after is not None and not managed:
            return
        if after is None and job not in self._groups:
            self._rules.forget(namespace, name)
        if after is None or obj["metadata"].get("deletionTimestamp"):
            self._touch_workloads(obj["metadata"]["uid"])
        if not self._is_last(adapter.resource, key):
            self.agenda.add(job)

    def _join(self, job: JobKey, key: str, *, there: bool) -> None:
        """An object is one of a group's, or is not any more."""
        members = self._groups.setdefault(job, {})
        if there:
            members[key] = None
        else:
            members.pop(key, None)
            if not members:
                del self._groups[job]

    def _on_workload(self, key: str, before: Item | None, after: Item | None) -> None:
        seen = self._workloads.read(after, glimpse) if after is not None else None
        owners = seen.metadata.owner_references if seen is not None else []
        urgent = seen is not None and seen.is_live
        if self.agenda.starting and before is None and not urgent:
            for owner in owners:  # its job was found too, and waits for its turn
                self._own(owner.uid, key, there=True)
            return
        if after is None and key in self._taken:
            self.agenda.add(self._taken.pop(key))
        namespace = key.partition("/")[0]
        last = self._is_last(WORKLOADS, key)
        owners_before = self._owners(before)
        if owners_before != owners:
            for owner in owners_before:
                self._own(owner.uid, key, there=False)
            for owner in owners:
                self._own(owner.uid, key, there=True)
        if not last:
            for owner in dict.fromkeys((*owners_before, *owners)):
                self._mark(owner, namespace, urgent=urgent)
            self._mark_namesakes(key)

    def _owners(self, workload: Item | None) -> Sequence[Owner]:
        if workload is None or workload.value.find(_OWNED) < 0:
            return []
        return _owners(workload.value).metadata.owner_references

    def _own(self, owner: str, key: str, *, there: bool) -> None:
        known = self._by_owner.get(owner, ())
        if there and key not in known:
            self._by_owner[owner] = (*known, key)
        elif not there and key in known:
            left = tuple(each for each in known if each != key)
            if left:
                self._by_owner[owner] = left
            else:
                del self._by_owner[owner]

    def _mark_namesakes(self, key: str) -> None:
        """Jobs and groups that have the name of a Workload: it may be the one that was made for them."""
        namespace, _, name = key.partition("/")
        for index, table in enumerate(self._tables):
            if key in table or (self._groups and (index, namespace, name) in self._groups):
                self.agenda.add(JobKey(index, namespace, name))

    def _on_pods_ended(self, workload: str) -> None:
        self.look_at(workload)
        self._on_orphan(workload)

    def look_at(self, workload: str) -> None:
        """Whatever job a Workload is about."""
        for owner in self._owners(self._workloads.item(workload)):
            self._mark(owner, workload.partition("/")[0], urgent=True)

    def _mark(self, owner: Owner, namespace: str, *, urgent: bool) -> None:
        index = self._kinds.get((owner.api_version, owner.kind))
        if index is None:
            return
        item = self._table(index).item(f"{namespace}/{owner.name}")
        grouped = item is not None and _GROUPED in item.value
        name = (self._adapters[index].group(item.json()) if item is not None and grouped else "") or owner.name
        self.agenda.add(JobKey(index, namespace, name), urgent=urgent)

    def _on_priority(self, _key: str, _before: Item | None, _after: Item | None) -> None:
        """Priorities change rarely; every job that has one is looked at."""
        self.look_at_everything()

    def _failed(self, key: JobKey, own: tuple[Resource, str], error: ApiError) -> None:
        """Whatever changed meanwhile is looked at again. A name that somebody else has is waited for."""
        self._last.discard(own)
        if error.reason == "AlreadyExists":
            self._taken[own[1]] = key
        elif error.code == 409:
            self.agenda.add(key)

    def _touch_workloads(self, uid: str) -> None:
        for key in self._by_owner.get(uid, ()):
            self._on_orphan(key)

    def look_at_everything(self) -> None:
        self._last.clear()
        self.agenda.update(self._groups)
        for index in range(len(self._adapters)):
            self.agenda.update(job for key in self._table(index) if (job := self._alone(index, key)) is not None)

    # --- what is there ----------------------------------------------------------------------------------------------

    def _table(self, index: int) -> Table:
        return self._tables[index]

    def _namespace_labels(self, name: str) -> Mapping[str, str] | None:
        namespace = self._mirror[NAMESPACES].view(f"/{name}")
        return None if namespace is None else (namespace["metadata"].get("labels") or {})

    def _look(self, key: JobKey) -> Look | None:
        adapter, table = self._adapters[key.adapter], self._table(key.adapter)
        members: Iterable[str] = self._groups.get(key, ())
        if not members:
            alone = table.view(f"{key.namespace}/{key.name}")
            objects = [alone] if alone is not None and self._stands_alone(adapter, alone) else []
        else:
            objects = [obj for obj in (table.view(name) for name in members) if obj is not None]
        if not objects:
            return None
        objects.sort(key=lambda obj: (obj["metadata"].get("creationTimestamp", ""), obj["metadata"]["name"]))
        return Look(adapter, objects, list(self._workloads_of(key, objects)))

    def _stands_alone(self, adapter: JobAdapter, obj: Json) -> bool:
        return not adapter.group(obj) and self._managed.is_managed(adapter, obj)

    def _workloads_of(self, key: JobKey, objects: Sequence[Json]) -> Iterable[Json]:
        keys = dict.fromkeys(name for obj in objects for name in self._by_owner.get(obj["metadata"]["uid"], ()))
        adapter = self._adapters[key.adapter]
        for named in (adapter.prebuilt_workload(objects), adapter.group(objects[0])):
            if named:
                keys[f"{key.namespace}/{named}"] = None
        found = [workload for workload in (self._workloads.view(name) for name in keys) if workload is not None]
        found.sort(key=lambda each: (each["metadata"].get("creationTimestamp", ""), each["metadata"]["name"]))
        return found


def _key(write: Write) -> str:
    metadata = write.body["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
