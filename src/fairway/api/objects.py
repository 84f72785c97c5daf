"""The meaning of create, update and delete for any kind, as writes that are prepared, then staged, then durable.

Preparing and staging happen without a pause, so what a write was checked against is what it replaces. Several prepared writes can be
staged as one transaction, or each on its own and awaited together (bulk). What a write is checked against may not be durable yet: whoever
tells a caller of a refusal waits for it first (`Store.settled`), or the object that is said to exist could be gone after a crash.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import UNSET

from fairway.api import codec, managed, metadata
from fairway.api.codec import Body
from fairway.api.errors import ApiError, already_exists, bad_request, conflict, invalid, no_subresource, not_found
from fairway.api.request import Admission, DeleteOptions, Operation, Options, Target, Write
from fairway.kinds.kind import Kind
from fairway.kinds.meta import ManagedFieldsEntry
from fairway.kinds.registry import Registry
from fairway.kinds.types import Time, format_time, parse_time
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids
from fairway.store import ABSENT, Conflict, Delete, Outcome, Put, Record, Store, StoreError, StoreFull

Managed = list[ManagedFieldsEntry]
Hook = Callable[[Admission], None]
_GENERATED_NAME_MAX = 63
_NAME_TRIES = 8
_TURN = 100
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


class Objects:
    """Writes of one space. Reads are in fairway.api.reads."""

    def __init__(self, store: Store, registry: Registry, clock: Clock, ids: Ids, hooks: Sequence[Hook] = ()) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock
        self.ids = ids
        self.hooks = list(hooks)
        self.unowned: set[tuple[str, str]] = set()
        """Bucket and name of objects that the server keeps as they are: whoever applies something to them conflicts with nobody."""
        self._namespaces: dict[str, tuple[int, bool]] = {}
        self._second = (0, Time(""))

    # --- commit ---------------------------------------------------------------------------------------------------

    async def commit(self, write: Write) -> Write:
        return (await self.transact([write]))[0]

    async def transact(self, writes: Sequence[Write]) -> Sequence[Write]:
        """All of them or none, in one transaction."""
        ops = [write.op for write in writes if write.op is not None]
        if not ops:
            await self.store.settled()
        else:
            try:
                staged = self.store.stage(ops)
                records = iter(await staged.durable())
            except Conflict as error:
                await self.store.settled()
                raise refusal(error, writes[0].target) from None
            except StoreError as error:  # rests on nothing that others wrote, and may be the news for a long time
                raise refusal(error, writes[0].target) from None
            for write in writes:
                if write.op is not None:
                    write.record = next(records)
                    write.value = write.record.value
        return writes

    async def bulk(
        self,
        prepare: Sequence[Callable[[], Write]],
        *,
        in_turns: bool = False,
        overtaken: Callable[[], ApiError | None] = lambda: None,
    ) -> list[Write | ApiError]:
        """Each on its own, one result per item, all durable with as few commits as possible.

        in_turns: others get their turn in between, so that a thousand items keep nobody waiting. For writes that are prepared when
        they are asked for; what was prepared before may be out of date by its turn.
        overtaken: asked before the first and after others had their turn: why nothing more may be written, if so.
        """
        refused = overtaken()
        results: list[Write | ApiError] = []
        waits: dict[Outcome, list[int]] = {}
        for index, make in enumerate(prepare):
            if in_turns and index % _TURN == _TURN - 1:
                await asyncio.sleep(0)
                refused = refused or overtaken()
            if refused is not None:
                results.append(refused)
                continue
            try:
                write = make()
                if write.op is not None:
                    write.record, outcome = self.store.stage_one(write.op)
                    write.value = write.record.value
                    waits.setdefault(outcome, []).append(index)
                results.append(write)
            except ApiError as error:
                results.append(error)
            except (Conflict, StoreError) as error:
                results.append(refusal(error, write.target))
        staged = sum(map(len, waits.values()))
        if staged < len(results) and any(not isinstance(each, ApiError) or each.code < 500 for each in results):
            await self.store.settled()
        failed: dict[int, ApiError] = {}
        for outcome, indexes in waits.items():
            try:
                await outcome.wait()
            except StoreError as error:
                failed.update((index, refusal(error, None)) for index in indexes)
        if failed and len(failed) == staged:
            raise next(iter(failed.values()))
        for index, refused in failed.items():
            results[index] = refused
        return results

    def overtaken(self, given: Iterable[tuple[Kind, str, int]]) -> ApiError | None:
        """Whether one of these objects (kind, path, revision) has changed, written or not."""
        for kind, path, revision in given:
            now = self.store.latest(kind.bucket, path)
            if (now.revision if now is not None else 0) != revision:
                return conflict(kind, path.rpartition("/")[2], "it has changed since this was decided; decide again")
        return None

    # --- create ---------------------------------------------------------------------------------------------------

    def create(self, target: Target, body: Body, options: Options) -> Write:
        obj, warnings = codec.read(target.kind, target.version, body, options.strictness)
        return self.create_object(target, obj, options, warnings)

    def create_object(
        self, target: Target, obj: Any, options: Options, warnings: list[str], applied: Managed | None = None
    ) -> Write:
        """Write a typed object of the target's version. applied: its managed fields, if it comes from a server-side apply."""
        kind, meta = target.kind, obj.metadata
        namespace = self._settle_namespace(target, meta)
        name = target.name or meta.name or self._generate_name(kind, namespace, meta)
        if not name:
            raise invalid(kind, "", metadata.validate(kind, meta, None))
        if target.name and meta.name and meta.name != target.name:
            raise bad_request(
                f"the name of the object ({meta.name}) does not match the name on the URL ({target.name})"
            )
        if meta.resource_version:
            raise bad_request("resourceVersion should not be set on objects to be created")
        target = Target(kind, target.version, namespace, name, target.subresource)
        # Names are checked with the rest, unless they could not even be a key.
        if "/" in name or name in (".", ".."):
            meta.name = name
            raise invalid(kind, name, metadata.validate(kind, meta, None))
        if self.store.latest(kind.home.bucket, target.path) is not None:
            raise already_exists(kind, name)
        if namespace:
            self.require_namespace(namespace)
        new = codec.to_storage(kind, target.version, obj)
        meta = new.metadata
        meta.name, meta.namespace = name, namespace or UNSET
        meta.uid, meta.creation_timestamp = self.ids.uid(), self.now()
        meta.generation = 1 if kind.spec_fields else UNSET
        meta.deletion_timestamp = meta.deletion_grace_period_seconds = meta.self_link = meta.resource_version = UNSET
        if kind.has_status and hasattr(new, "status"):
            new.status = codec.no_status(type(new))
        meta.managed_fields = applied or UNSET
        warnings = self._finish("CREATE", target, new, None, options, warnings)
        writers = managed.add_writer("", options.manager, kind.api_version(target.version.name), target.subresource)
        return self._put(target, new, ABSENT, writers, options, warnings, created=True)

    def _settle_namespace(self, target: Target, meta: Any) -> str:
        if not target.kind.namespaced:
            if meta.namespace:
                raise bad_request(f"{target.kind.name} is not namespaced: remove metadata.namespace ({meta.namespace})")
            return ""
        if meta.namespace and target.namespace and meta.namespace != target.namespace:
            raise bad_request(
                f"the namespace of the provided object ({meta.namespace}) does not match the namespace sent on the request "
                f"({target.namespace})"
            )
        namespace: str = target.namespace or meta.namespace or "default"
        return namespace

    def _generate_name(self, kind: Kind, namespace: str, meta: Any) -> str:
        if not meta.generate_name:
            return ""
        base = meta.generate_name[: _GENERATED_NAME_MAX - 5]
        for attempt in range(_NAME_TRIES):
            name = f"{base}{self.ids.suffix(5 + attempt // 3)}"
            if self.store.latest(kind.home.bucket, f"{namespace}/{name}") is None:
                return name
        raise ApiError(
            409,
            "AlreadyExists",
            f"no free name found for prefix {meta.generate_name!r} of {kind.bucket}: try again, or use a longer prefix",
        )

    def require_namespace(self, name: str) -> None:
        """Raises unless new content may be created in that namespace."""
        record = self.store.latest("namespaces", f"/{name}")
        if record is None:
            kind = self.registry.bucket("namespaces")
            assert kind is not None
            raise not_found(kind, name)
        known = self._namespaces.get(name)
        if known is None or known[0] != record.revision:
            known = self._namespaces[name] = (record.revision, bool(codec.glance(record.value).deletion_timestamp))
        if known[1]:
            raise ApiError(
                403,
                "Forbidden",
                f"unable to create new content in namespace {name} because it is being terminated",
                details={
                    "causes": [{"reason": "NamespaceTerminating", "message": f"namespace {name} is being terminated"}]
                },
            )

    # --- update ---------------------------------------------------------------------------------------------------

    def latest(self, target: Target) -> Record:
        record = self.store.latest(target.kind.home.bucket, target.path)
        if record is None:
            raise not_found(target.kind, target.name)
        return record

    def update(self, target: Target, body: Body, options: Options) -> Write:
        if target.subresource and target.subresource not in target.kind.subresources:
            raise no_subresource(target.kind, target.subresource)
        record = self.latest(target)
        obj, warnings = codec.read(target.kind, target.version, body, options.strictness)
        return self.replace(target, record, obj, options, warnings)

    def replace(
        self,
        target: Target,
        record: Record,
        obj: Any,
        options: Options,
        warnings: list[str],
        applied: Managed | None = None,
    ) -> Write:
        """Write a typed object of the target's version over the one that is there."""
        kind = target.kind
        old = codec.stored(kind, record.value)
        self._check_identity(target, record, old, obj.metadata)
        sent_managed = obj.metadata.managed_fields
        new = codec.to_storage(kind, target.version, obj)
        if target.subresource == "status":
            # The rest is shared with the old one: whoever changes a status changes nothing else.
            status = new.status
            new = copy.copy(old)
            new.metadata, new.status = copy.copy(old.metadata), status
        else:
            metadata.carry_over(new.metadata, old.metadata)
            if kind.has_status and hasattr(new, "status"):
                new.status = old.status
        warnings = self._finish("UPDATE", target, new, old, options, warnings)
        writers = record.writers
        if applied is not None:
            new.metadata.managed_fields = managed.settled(old, new, applied)
        elif old.metadata.managed_fields or sent_managed:
            managed.track(target, old, new, sent_managed, options.manager, self.now())
        elif new != old:
            writers = managed.add_writer(
                writers, options.manager, kind.api_version(target.version.name), target.subresource
            )
        if self._changed(kind, new, old) and old.metadata.generation is not UNSET:
            new.metadata.generation = old.metadata.generation + 1
        if new == old:
            return Write(target, None, record.value, warnings)
        over = old.metadata.deletion_timestamp and not old.metadata.deletion_grace_period_seconds
        if over and not new.metadata.finalizers and kind.bucket != "namespaces":
            return self._gone(target, record, options, warnings)
        return self._put(target, new, record.revision, writers, options, warnings)

    def rewrite(self, target: Target, record: Record, new: Any, options: Options) -> Write:
        """Write what the system itself decided about an object, beyond what an update may change: its node, for a pod."""
        writers = managed.add_writer(
            record.writers, options.manager, target.kind.api_version(target.version.name), target.subresource
        )
        return self._put(target, new, record.revision, writers, options, [])

    def place(self, target: Target, body: Body, options: Options) -> Write:
        """Write an object as it is elsewhere: with its uid and its status, over the one of its name that is there, or as a new one.

        No rule is asked but that a namespace is there: the rules of where it comes from were."""
        kind = target.kind
        obj, _ = codec.read(kind, target.version, body, "Ignore")
        new = codec.to_storage(kind, target.version, obj)
        meta = new.metadata
        target = Target(kind, target.version, meta.namespace or "", meta.name)
        record = self.store.latest(kind.home.bucket, target.path)
        writers = managed.add_writer(
            record.writers if record is not None else "", options.manager, kind.api_version(target.version.name), ""
        )
        if record is None:
            if target.namespace:
                self.require_namespace(target.namespace)
            return self._put(target, new, ABSENT, writers, options, [], created=True)
        old = codec.stored(kind, record.value)
        if old.metadata.uid != meta.uid:
            raise already_exists(kind, target.name)
        meta.resource_version = old.metadata.resource_version
        if new == old:
            return Write(target, None, record.value)
        return self._put(target, new, record.revision, writers, options, [])

    def _check_identity(self, target: Target, record: Record, old: Any, meta: Any) -> None:
        kind = target.kind
        if meta.name and meta.name != target.name:
            raise bad_request(
                f"the name of the object ({meta.name}) does not match the name on the URL ({target.name})"
            )
        if meta.namespace and meta.namespace != target.namespace:
            raise bad_request(
                f"the namespace of the object ({meta.namespace}) does not match the namespace on the URL ({target.namespace})"
            )
        if meta.resource_version and meta.resource_version != str(record.revision):
            if not meta.resource_version.isdecimal():
                raise bad_request(f'metadata.resourceVersion: "{meta.resource_version}" is not a resource version')
            raise conflict(kind, target.name)
        if meta.uid and meta.uid != old.metadata.uid:
            raise conflict(
                kind,
                target.name,
                f"Precondition failed: UID in precondition: {meta.uid}, UID in object meta: {old.metadata.uid}",
            )

    def _changed(self, kind: Kind, new: Any, old: Any) -> bool:
        return any(getattr(new, name, None) != getattr(old, name, None) for name in _spec_attributes(kind))

    # --- delete ---------------------------------------------------------------------------------------------------

    def delete(self, target: Target, how: DeleteOptions, options: Options) -> Write:
        record = self.latest(target)
        kind = target.kind
        old = codec.stored(kind, record.value)
        meta = old.metadata
        self._check_preconditions(target, record, meta.uid, how)
        admission = Admission("DELETE", target, None, old, options)
        for hook in self.hooks:
            hook(admission)
        wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(how.propagation)
        finalizers = [name for name in meta.finalizers or () if name not in (FOREGROUND, ORPHAN)]
        kept = [name for name in meta.finalizers or () if name in (FOREGROUND, ORPHAN)]
        if wanted is not None:
            finalizers.append(wanted)
        elif meta.deletion_timestamp:
            finalizers += kept
        terminating = kind.bucket == "namespaces"
        grace, ends = self._grace(kind, old, how)
        if not finalizers and not terminating and not grace:
            return self._gone(target, record, options, admission.warnings)
        new = codec.stored(kind, record.value)
        new.metadata.finalizers = finalizers or UNSET
        new.metadata.deletion_timestamp, new.metadata.deletion_grace_period_seconds = ends, grace
        if not meta.deletion_timestamp and meta.generation is not UNSET:
            new.metadata.generation = meta.generation + 1
        if terminating:
            new.status.phase = "Terminating"
        if new == old:
            return Write(target, None, record.value, admission.warnings)
        return self._put(target, new, record.revision, record.writers, options, admission.warnings)

    def _grace(self, kind: Kind, old: Any, how: DeleteOptions) -> tuple[int, Time]:
        """Seconds left to whoever ends the object, and until when. What was granted once can only be shortened."""
        meta = old.metadata
        if not meta.deletion_timestamp:
            grace = kind.home.grace(old, how.grace_seconds)
            return grace, self._later(grace) if grace else self.now()
        granted = meta.deletion_grace_period_seconds or 0
        if how.grace_seconds is None or how.grace_seconds >= granted:
            return granted, meta.deletion_timestamp
        asked = parse_time(meta.deletion_timestamp) - timedelta(seconds=granted - how.grace_seconds)
        return how.grace_seconds, format_time(asked)

    def _later(self, seconds: int) -> Time:
        return format_time(datetime.fromtimestamp(int(self.clock.now) + seconds, UTC))

    def _check_preconditions(self, target: Target, record: Record, uid: str, how: DeleteOptions) -> None:
        shown = f"{target.kind.name}.{target.kind.group}" if target.kind.group else target.kind.name
        why = ""
        if how.uid and how.uid != uid:
            why = (
                f"the UID in the precondition ({how.uid}) does not match the UID in record ({uid}). "
                "The object might have been deleted and then recreated"
            )
        elif how.resource_version and how.resource_version != str(record.revision):
            why = (
                f"the ResourceVersion in the precondition ({how.resource_version}) does not match the ResourceVersion in "
                f"record ({record.revision}). The object might have been modified"
            )
        if why:
            details = {"name": target.name, "group": target.kind.group, "kind": target.kind.name}
            raise ApiError(
                409, "Conflict", f'Operation cannot be fulfilled on {shown} "{target.name}": {why}', details=details
            )

    def remove(self, target: Target) -> Write:
        """Take an object out without asking its finalizers: for those who have just seen to them."""
        return self._gone(target, self.latest(target), Options(), [])

    def _gone(self, target: Target, record: Record, options: Options, warnings: list[str]) -> Write:
        op = Delete(record.bucket, record.path, record.revision, target.kind.home.volatile)
        return Write(target, None if options.dry_run else op, record.value, warnings, deleted=True)

    # --- shared ---------------------------------------------------------------------------------------------------

    def now(self) -> Time:
        second = int(self.clock.now)
        if second != self._second[0]:
            self._second = (second, format_time(datetime.fromtimestamp(second, UTC)))
        return self._second[1]

    def _finish(
        self, operation: Operation, target: Target, new: Any, old: Any | None, options: Options, warnings: list[str]
    ) -> list[str]:
        """Defaults, admission, derived fields, validation: in this order, on the storage version."""
        kind = target.kind.home
        kind.default(new, old)
        admission = Admission(operation, target, new, old, options, warnings)
        try:
            self._admit(admission, kind)
        except ApiError:
            for take_back in admission.refused:
                take_back()
            raise
        warnings = admission.warnings + kind.warn(new, old)
        if target.version.deprecated:
            warnings = [*warnings, target.version.deprecated]
        return warnings

    def _admit(self, admission: Admission, kind: Kind) -> None:
        target, new, old = admission.target, admission.new, admission.old
        for hook in self.hooks:
            hook(admission)
        if target.subresource == "status":
            errors = kind.validate_status(new, old)
        else:
            kind.prepare(new, old)
            errors = metadata.validate(kind, new.metadata, old.metadata if old is not None else None)
            errors += kind.validate(new, old)
        if errors:
            raise invalid(kind, target.name, errors)

    def _put(
        self,
        target: Target,
        new: Any,
        expect: int,
        writers: str,
        options: Options,
        warnings: list[str],
        *,
        created: bool = False,
    ) -> Write:
        kind = target.kind
        head = codec.header(kind, new)
        value = codec.write(kind, new)
        if options.dry_run:
            shown = b'"resourceVersion":"%d"' % expect if expect else b'"resourceVersion":"0"'
            value = value.replace(b'"resourceVersion":""', shown, 1)
            return Write(target, None, value, warnings, created=created)
        op = Put(
            kind.home.bucket,
            target.path,
            value,
            expect,
            head.labels,
            head.owners,
            head.fields,
            writers,
            kind.home.volatile,
        )
        return Write(target, op, value, warnings, created=created)


def _spec_attributes(kind: Kind) -> Sequence[str]:
    names = codec.attributes(kind.home.storage_version.type)
    return [names[name] for name in kind.home.spec_fields if name in names]


def refusal(error: Conflict | StoreError, target: Target | None) -> ApiError:
    """A store's refusal in the API's words."""
    if isinstance(error, Conflict):
        assert target is not None
        if error.expected == ABSENT:
            return already_exists(target.kind, target.name)
        if error.actual == ABSENT:
            return not_found(target.kind, target.name)
        return conflict(target.kind, target.name)
    if isinstance(error, StoreFull):
        return ApiError(507, "InsufficientStorage", str(error))
    return ApiError(503, "ServiceUnavailable", str(error), retry_after=1)
