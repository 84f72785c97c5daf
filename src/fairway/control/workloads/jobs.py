"""Which jobs there are, which Workloads are about them, and which of them somebody should look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from fairway.api.client import Item
from fairway.api.errors import ApiError
from fairway.control.adapters import JobAdapter, Json
from fairway.control.adapters.names import GROUP_NAME
from fairway.control.agenda import Agenda
from fairway.control.apply import Write
from fairway.control.configuration import Configuration
from fairway.control.mirror import Mirror, Table, is_live
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


class JobKey(NamedTuple):
    adapter: int
    namespace: str
    name: str
    """Of the job, or of the group its objects are in."""


class _Owner(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    owner_references: list[_Owner] = []


class _Owned(msgspec.Struct, gc=False):
    metadata: _Meta


class _Head(msgspec.Struct, gc=False):
    metadata: Json


_owned = msgspec.json.Decoder(_Owned).decode
_head = msgspec.json.Decoder(_Head).decode


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
        self._workloads = mirror[WORKLOADS]
        self._managed = Managed(config, adapters, self._namespace_labels)
        priorities = Priorities(mirror[PRIORITY_CLASSES], mirror[POD_PRIORITY_CLASSES])
        self._running = RunningPods(mirror[PODS], self._on_pods_ended)
        self._rules = JobRules(config, mirror[FLAVORS], priorities, self._running)
        self.agenda: Agenda[JobKey] = Agenda()
        self._members: dict[JobKey, dict[str, None]] = {}
        self._by_owner: dict[str, dict[str, None]] = {}
        self._taken: dict[str, JobKey] = {}
        """Workloads of others that have the name a job's own should have."""
        self._kinds: Mapping[tuple[str, str], int] = {
            (adapter.resource.api_version, adapter.kind): index for index, adapter in enumerate(self._adapters)
        }
        for index, adapter in enumerate(self._adapters):
            self._listen(index, mirror[adapter.resource])
        self._workloads.on_change(self._on_workload)
        for resource in (PRIORITY_CLASSES, POD_PRIORITY_CLASSES):
            mirror[resource].on_change(self._on_priority)

    @property
    def busy(self) -> bool:
        return bool(self.agenda)

    def reconcile(self, now: Time) -> list[Write]:
        writes: list[Write] = []
        for key in self.agenda.take(LOOKS_MAX, FOUND_MAX):
            look = self._look(key)
            if look is None:
                continue
            for write in self._rules.look(look, now):
                write.failed = write.failed or (lambda error, key=key, write=write: self._failed(key, write, error))  # type: ignore[misc]
                writes.append(write)
        return writes

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
        table.on_change(lambda key, before, after: self._on_job(index, key, before, after))

    def _on_job(self, index: int, key: str, before: Item | None, after: Item | None) -> None:
        item = after or before
        assert item is not None
        if not self._managed.maybe(item.value) and not (before is not None and self._managed.maybe(before.value)):
            return
        adapter, obj = self._adapters[index], {"metadata": _head(item.value).metadata}
        namespace, _, name = key.partition("/")
        job = JobKey(index, namespace, adapter.group(obj) or name)
        members = self._members.setdefault(job, {})
        if after is None:
            members.pop(key, None)
            if not members:
                del self._members[job]
                self._rules.forget(namespace, name)
            self._touch_workloads(obj["metadata"]["uid"])
        elif self._managed.is_managed(adapter, obj):
            members[key] = None
            if obj["metadata"].get("deletionTimestamp"):
                self._touch_workloads(obj["metadata"]["uid"])
        else:
            members.pop(key, None)
            if not members:
                del self._members[job]
            return
        self.agenda.add(job)

    def _on_workload(self, key: str, before: Item | None, after: Item | None) -> None:
        if after is None and key in self._taken:
            self.agenda.add(self._taken.pop(key))
        for item, there in ((before, False), (after, True)):
            if item is None:
                continue
            meta = _owned(item.value).metadata
            for owner in meta.owner_references:
                known = self._by_owner.setdefault(owner.uid, {})
                if there:
                    known[key] = None
                else:
                    known.pop(key, None)
                    if not known:
                        del self._by_owner[owner.uid]
                self._mark(owner, meta.namespace, urgent=after is not None and is_live(after))
        namespace, _, name = key.partition("/")
        for index in range(len(self._adapters)):
            if (index, namespace, name) in self._members:
                self.agenda.add(JobKey(index, namespace, name))

    def _on_pods_ended(self, workload: str) -> None:
        self.look_at(workload)
        self._on_orphan(workload)

    def look_at(self, workload: str) -> None:
        """Whatever job a Workload is about."""
        item = self._workloads.item(workload)
        if item is not None:
            for owner in _owned(item.value).metadata.owner_references:
                self._mark(owner, workload.partition("/")[0], urgent=True)

    def _mark(self, owner: _Owner, namespace: str, *, urgent: bool) -> None:
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

    def _failed(self, key: JobKey, write: Write, error: ApiError) -> None:
        """Whatever changed meanwhile is looked at again. A name that somebody else has is waited for."""
        if error.reason == "AlreadyExists":
            metadata = write.body["metadata"]
            self._taken[f"{metadata.get('namespace', '')}/{metadata['name']}"] = key
        elif error.code == 409:
            self.agenda.add(key)

    def _touch_workloads(self, uid: str) -> None:
        for key in self._by_owner.get(uid, ()):
            self._on_orphan(key)

    def look_at_everything(self) -> None:
        self.agenda.update(self._members)

    # --- what is there ----------------------------------------------------------------------------------------------

    def _table(self, index: int) -> Table:
        return self._mirror[self._adapters[index].resource]

    def _namespace_labels(self, name: str) -> Mapping[str, str] | None:
        namespace = self._mirror[NAMESPACES].view(f"/{name}")
        return None if namespace is None else (namespace["metadata"].get("labels") or {})

    def _look(self, key: JobKey) -> Look | None:
        table = self._table(key.adapter)
        objects = [obj for obj in (table.view(name) for name in self._members.get(key, ())) if obj is not None]
        if not objects:
            return None
        objects.sort(key=lambda obj: (obj["metadata"].get("creationTimestamp", ""), obj["metadata"]["name"]))
        return Look(self._adapters[key.adapter], objects, list(self._workloads_of(key, objects)))

    def _workloads_of(self, key: JobKey, objects: Sequence[Json]) -> Iterable[Json]:
        keys = dict.fromkeys(name for obj in objects for name in self._by_owner.get(obj["metadata"]["uid"], ()))
        adapter = self._adapters[key.adapter]
        for named in (adapter.prebuilt_workload(objects), adapter.group(objects[0])):
            if named:
                keys[f"{key.namespace}/{named}"] = None
        found = [workload for workload in (self._workloads.view(name) for name in keys) if workload is not None]
        found.sort(key=lambda each: (each["metadata"].get("creationTimestamp", ""), each["metadata"]["name"]))
        return found
