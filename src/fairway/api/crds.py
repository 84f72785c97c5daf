"""CustomResourceDefinitions at work: a user's adds a kind at once, those of built-in kinds are there to be seen.

Applying the upstream definition of a kind that we have anyway (Kueue's, KubeFleet's) is accepted and changes nothing, so that installation
guides can be followed to the letter. Deleting a definition first deletes all objects of its kind.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from fairway import __version__
from fairway.api import codec
from fairway.api.errors import ApiError, forbidden, invalid
from fairway.api.request import Admission, DeleteOptions, Options, Target, Write
from fairway.api.space import Space
from fairway.api.worker import Worker
from fairway.kinds.crd import complete, crd_of, kind_of, status_of
from fairway.kinds.crd_check import crd_errors
from fairway.kinds.k8s.apiextensions import CUSTOM_RESOURCE_DEFINITION as KIND
from fairway.kinds.kind import Kind, convert
from fairway.store import Event, Record

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
MADE_BY = "fairway.dev/built-in"
_OPTIONS = Options(manager="fairway")
_STEP = 500


class CustomKinds:
    """Registers kinds from definitions, and looks after the definitions themselves."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._builtin = {kind.bucket: kind for kind in space.registry if kind.builtin_crd}
        self._leaving: set[str] = set()
        self._worker = Worker("custom-kinds", self._step)
        space.objects.hooks.append(self._admit)
        space.objects.unowned.update((KIND.bucket, name) for name in self._builtin)
        space.store.listen(self._observe, KIND.bucket)

    def load(self) -> None:
        """Serve the kinds of all definitions that are there."""
        for record in self._space.store.records(KIND.bucket):
            self._register(record)

    async def ensure_builtin(self) -> None:
        """A definition for every built-in kind that users would look for among the definitions."""
        writes = []
        for kind in self._builtin.values():
            write = self._builtin_write(kind)
            if write is not None:
                writes.append(write)
        if writes:
            await self._space.objects.transact(writes)

    def _builtin_write(self, kind: Kind) -> Write | None:
        target = Target(KIND, KIND.versions[0], "", kind.bucket)
        record = self._space.store.latest(KIND.bucket, target.path)
        if record is not None:
            there = codec.stored(KIND, record.value)
            if (there.metadata.annotations or {}).get(MADE_BY) == __version__:
                return None
        made = crd_of(kind, self._space.objects.now())
        made["metadata"] = {"name": kind.bucket, "annotations": {MADE_BY: __version__}}
        obj = convert(made, KIND.versions[0].type)
        if record is None:
            return self._space.objects.create_object(target, obj, _OPTIONS, [])
        obj.metadata = codec.stored(KIND, record.value).metadata
        obj.metadata.annotations = {**(obj.metadata.annotations or {}), MADE_BY: __version__}
        return self._space.objects.replace(target, record, obj, _OPTIONS, [])

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    # --- admission ------------------------------------------------------------------------------------------------

    def _admit(self, admission: Admission) -> None:
        if admission.target.kind is not KIND or admission.target.subresource:
            return
        name = admission.target.name
        if admission.operation == "DELETE":
            if name in self._builtin:
                raise forbidden(
                    KIND, name, "it is built in; what is not there cannot be missed, what is cannot be removed"
                )
            return
        new = admission.new
        if name in self._builtin:
            self._keep(admission)
            return
        document = codec.as_json(new)
        complete(document)
        before = codec.as_json(admission.old) if admission.old is not None else None
        errors = crd_errors(document, before)
        if errors:
            raise invalid(KIND, name, errors)
        document["status"] = status_of(
            {**document, "status": (before or {}).get("status")}, self._space.objects.now(), self._space.registry
        )
        full = convert(document, type(new))
        new.spec, new.status = full.spec, full.status
        if admission.operation == "CREATE":
            new.metadata.finalizers = sorted({*(new.metadata.finalizers or ()), FINALIZER})

    def _keep(self, admission: Admission) -> None:
        """Whatever is applied over a built-in definition, its spec stays; annotations and labels may come and go."""
        new, old = admission.new, admission.old
        if old is None or admission.options is _OPTIONS:
            document = codec.as_json(new)
            document["status"] = status_of(document, self._space.objects.now())
            new.status = convert(document, type(new)).status
        else:
            new.spec = old.spec
            new.metadata.annotations = {**(new.metadata.annotations or {}), MADE_BY: __version__}

    # --- kinds ----------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if event.record.name in self._builtin:
            return
        if event.deleted:
            self._leaving.discard(event.record.name)
            self._space.registry.remove(event.record.name)
        else:
            self._register(event.record)

    def _register(self, record: Record) -> None:
        if record.name in self._builtin:
            return
        document: dict[str, Any] = codec.parse(record.value)
        if _established(document):
            self._space.registry.add(kind_of(document))
        if document["metadata"].get("deletionTimestamp"):
            self._leaving.add(record.name)
            self._worker.wake()

    async def _step(self) -> bool:
        more = False
        for name in sorted(self._leaving):
            more |= await self._clear(name)
        return more

    async def _clear(self, name: str) -> bool:
        """Delete objects of a kind whose definition goes; when none is left, let the definition go."""
        kind = self._space.registry.bucket(name)
        writes: list[Write] = []
        left = False
        for record in self._space.store.records(name) if kind is not None else ():
            left = True
            if kind is not None and not codec.glance(record.value).deletion_timestamp and len(writes) < _STEP:
                target = Target(kind, kind.storage_version, record.namespace, record.name)
                writes.append(self._space.objects.delete(target, DeleteOptions(), _OPTIONS))
        if writes:
            await self._space.objects.bulk([lambda write=write: write for write in writes])  # type: ignore[misc]
            return True
        if not left:
            await self._let_go(name)
        return False

    async def _let_go(self, name: str) -> None:
        target = Target(KIND, KIND.versions[0], "", name)
        try:
            record = self._space.objects.latest(target)
            obj = codec.stored(KIND, record.value)
            kept = [finalizer for finalizer in obj.metadata.finalizers or () if finalizer != FINALIZER]
            obj.metadata.finalizers = kept or UNSET
            await self._space.objects.commit(self._space.objects.replace(target, record, obj, _OPTIONS, []))
        except ApiError:
            return  # gone already, or changed: its next event comes back here


def _established(document: dict[str, Any]) -> bool:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
