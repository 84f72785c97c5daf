"""Deletion of a namespace: first everything in it, then itself."""

from __future__ import annotations

import contextlib

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.api.request import DeleteOptions, Options, Target, Write
from fairway.api.space import Space
from fairway.api.worker import Worker
from fairway.store import Event, Record

_OPTIONS = Options(manager="namespace-controller")
_STEP = 500


class NamespaceController:
    def __init__(self, space: Space) -> None:
        self._space = space
        self._leaving: set[str] = set()
        self._worker = Worker("namespace-controller", self._step)
        space.store.listen(self._observe, "namespaces")
        space.store.listen(self._observe_content)

    def load(self) -> None:
        for record in self._space.store.records("namespaces"):
            self._look_at(record)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    def _observe(self, event: Event) -> None:
        if event.deleted:
            self._leaving.discard(event.record.name)
        else:
            self._look_at(event.record)

    def _observe_content(self, event: Event) -> None:
        if event.deleted and self._leaving and event.record.namespace in self._leaving:
            self._worker.wake()

    def _look_at(self, record: Record) -> None:
        if codec.glance(record.value).deletion_timestamp:
            self._leaving.add(record.name)
            self._worker.wake()

    async def _step(self) -> bool:
        more = False
        for name in sorted(self._leaving):
            more |= await self._empty(name)
        return more

    async def _empty(self, name: str) -> bool:
        """Delete what is in a namespace; when nothing is left, the namespace. Whether to come back at once."""
        left = 0
        writes: list[Write] = []
        for kind in list(self._space.registry):
            if not kind.namespaced or kind.view_of is not None:
                continue
            for record in self._space.store.records(kind.bucket, name):
                left += 1
                if len(writes) < _STEP and not codec.glance(record.value).deletion_timestamp:
                    target = Target(kind, kind.storage_version, name, record.name)
                    try:
                        writes.append(self._space.objects.delete(target, DeleteOptions(), _OPTIONS))
                    except ApiError:
                        continue
        if writes:
            await self._space.objects.bulk([lambda write=write: write for write in writes])  # type: ignore[misc]
            return True
        if left:
            return False  # finalizers hold the rest; their going wakes us
        namespaces = self._space.registry.bucket("namespaces")
        assert namespaces is not None
        with contextlib.suppress(ApiError):  # it went by itself
            write = self._space.objects.remove(Target(namespaces, namespaces.storage_version, "", name))
            await self._space.objects.commit(write)
        return False
