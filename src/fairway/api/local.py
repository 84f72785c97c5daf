"""The client in process: straight to the space, with nothing in between but the caller's name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from fairway.api import codec, patching, subresources
from fairway.api.client import (
    BACKGROUND,
    EVERYWHERE,
    BulkItem,
    BulkResults,
    Deletion,
    Item,
    Listing,
    Query,
    Resource,
    Sent,
    WatchEvent,
)
from fairway.api.errors import ApiError, bad_request
from fairway.api.notes import Notes
from fairway.api.reads import Selection
from fairway.api.reports import Reports, only_status
from fairway.api.request import SYSTEM, Caller, DeleteOptions, Options, Target, Write
from fairway.api.selection import select
from fairway.api.space import Space
from fairway.kinds.k8s.core.event import Event
from fairway.kinds.meta import Object
from fairway.kinds.types import encode
from fairway.store import Record


class LocalClient:
    def __init__(
        self, space: Space, manager: str = "fairway", caller: Caller = SYSTEM, *, reports: bool = False
    ) -> None:
        """reports: for one of our own controllers, whose statuses and Events need not be checked like a stranger's."""
        self._space = space
        self._reports = Reports(space.objects) if reports else None
        self._notes = Notes(space.objects) if reports else None
        self._options = Options(manager=manager, strictness="Strict", caller=caller)
        self._dry = Options(dry_run=True, manager=manager, strictness="Strict", caller=caller)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Item:
        target = self._target(resource, namespace, require_name(name))
        return self._item(target, self._space.reads.get(target))

    async def list(
        self,
        resource: Resource,
        query: Query = EVERYWHERE,
        *,
        limit: int = 0,
        resume: str = "",
        revision: str = "",
    ) -> Listing:
        target = self._target(resource, query.namespace)
        page = self._space.reads.list(
            target, self._selection(target, query), limit=limit, resume=resume, at_least=_revision(revision)
        )
        return Listing([self._item(target, record) for record in page.records], str(page.revision), page.resume)

    async def watch(
        self, resource: Resource, query: Query = EVERYWHERE, *, revision: str = "", seconds: int = 0
    ) -> AsyncIterator[WatchEvent]:
        target = self._target(resource, query.namespace)
        selection = self._selection(target, query)
        after = _revision(revision)
        initial = [] if after else list(self._space.reads.initial(target, selection))
        changes = self._space.reads.watch(target, selection, after or self._space.store.revision)
        for change in initial:
            yield WatchEvent(change.type, self._recent(target, change.record))
        # One alarm for all of it: to set one for every wait costs more than most of what is waited for.
        alarm = asyncio.get_running_loop().call_later(seconds, changes.end) if seconds else None
        try:
            while (batch := await changes.next()) is not None:
                for change in batch:
                    yield WatchEvent(change.type, self._recent(target, change.record))
            if changes.ended:
                yield WatchEvent("BOOKMARK", self._bookmark(target, changes.revision))
        except ApiError as error:
            yield WatchEvent("ERROR", Item(encode(error.status())))
        finally:
            if alarm is not None:
                alarm.cancel()

    async def create(self, resource: Resource, body: Sent, namespace: str = "", *, dry_run: bool = False) -> Item:
        target = self._target(resource, namespace)
        options = self._dry if dry_run else self._options
        return await self._commit(lambda: self._create(target, body, options))

    async def post(self, resource: Resource, name: str, subresource: str, body: Sent, namespace: str = "") -> None:
        target = self._target(resource, namespace, require_name(name), subresource)
        await self._write(lambda: subresources.post(self._space.objects, target, plain(body), self._options))

    async def update(self, resource: Resource, body: Sent, *, subresource: str = "", dry_run: bool = False) -> Item:
        options = self._dry if dry_run else self._options
        return await self._commit(lambda: self._update(resource, plain(body), subresource, options))

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Any,
        namespace: str = "",
        *,
        media: str,
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Item:
        target = self._target(resource, namespace, require_name(name), subresource)
        options = _with_force(self._dry if dry_run else self._options, force)
        return await self._commit(lambda: patching.patch(self._space.objects, target, media, change, options))

    async def delete(self, resource: Resource, name: str, namespace: str = "", how: Deletion = BACKGROUND) -> None:
        target = self._target(resource, namespace, require_name(name))
        await self._write(lambda: self._delete(target, how))

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        given = {id(item.given): item.given for item in items if item.given}
        known = [(self._target(each.resource).kind, each.path, each.revision) for of in given.values() for each in of]
        results = await self._space.objects.bulk(
            [self._maker(item) for item in items],
            in_turns=True,
            overtaken=lambda: self._space.objects.overtaken(known),
        )
        return [result if isinstance(result, ApiError) else self._written(result) for result in results]

    async def place(self, resource: Resource, bodies: Sequence[dict[str, Any]]) -> BulkResults:
        """Objects of another cluster, as they are there."""
        target = self._target(resource)
        makers = [partial(self._space.objects.place, target, body, self._options) for body in bodies]
        results = await self._space.objects.bulk(makers, in_turns=True)
        return [result if isinstance(result, ApiError) else self._written(result) for result in results]

    # --- shared ---------------------------------------------------------------------------------------------------

    def _maker(self, item: BulkItem) -> Callable[[], Write]:
        if item.verb == "create":
            return lambda: self._create(self._target(item.resource), item.body, self._options)
        body = plain(item.body)
        if item.verb == "delete":
            name, namespace = codec.identity(body)
            return lambda: self._delete(self._target(item.resource, namespace, require_name(name)), item.how)
        subresource = "status" if item.verb == "updateStatus" else ""
        return lambda: self._update(item.resource, body, subresource, self._options)

    def _create(self, target: Target, body: Sent, options: Options) -> Write:
        """A typed object of the very version needs no reading. It belongs to the API from here on."""
        if self._notes is not None and type(body) is Event and not options.dry_run:
            return self._notes.write(target, body, options)
        if type(body) is target.version.type and isinstance(body, Object):
            return self._space.objects.create_object(target, body, options, [])
        return self._space.objects.create(target, plain(body), options)

    def _delete(self, target: Target, how: Deletion) -> Write:
        options = DeleteOptions(how.propagation, how.grace_seconds, how.uid, how.resource_version)
        return self._space.objects.delete(target, options, self._options)

    def _update(self, resource: Resource, body: codec.Body, subresource: str, options: Options) -> Write:
        name, namespace = codec.identity(body)
        require_name(name)
        target = self._target(resource, namespace, name, subresource)
        if subresource == "status" and isinstance(body, dict):
            if self._reports is not None and not options.dry_run:
                return self._reports.write(target, body, options)
            body = only_status(target, body)
        return self._space.objects.update(target, body, options)

    def _target(self, resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> Target:
        route = self._space.registry.route(resource.group, resource.version, resource.plural)
        if route is None:
            raise ApiError(404, "NotFound", f"{resource.api_version} {resource.plural} is not served here", details={})
        kind, version = route
        return Target(kind, version, namespace if kind.namespaced else "", name, subresource)

    def _selection(self, target: Target, query: Query) -> Selection:
        return select(target.kind, query.labels, query.fields)

    def _item(self, target: Target, record: Record) -> Item:
        return Item(codec.served(target.kind, target.version, record.value), record.path, revision=record.revision)

    def _recent(self, target: Target, record: Record) -> Item:
        """What was just written is asked for by its writer and by every watcher: made once for all."""
        known, revision = self._space.items, record.revision
        item = known.get(revision)
        if item is None or item.value is not record.value:  # another version, or what it was when it left a selection
            item = self._item(target, record)
            if item.value is record.value:
                known.put(revision, item)
        return item

    def _bookmark(self, target: Target, revision: int) -> Item:
        kind, metadata = target.kind, {"resourceVersion": str(revision)}
        return Item(
            encode({"kind": kind.name, "apiVersion": kind.api_version(target.version.name), "metadata": metadata})
        )

    async def _commit(self, make: Callable[[], Write]) -> Item:
        return self._written(await self._write(make))

    async def _write(self, make: Callable[[], Write]) -> Write:
        try:
            write = make()
        except ApiError:
            await self._space.store.settled()
            raise
        return await self._space.objects.commit(write)

    def _written(self, write: Write) -> Item:
        if write.record is not None:
            return self._recent(write.target, write.record)
        return Item(codec.served(write.target.kind, write.target.version, write.value))


def require_name(name: str) -> str:
    """Without its name, a path would mean all objects."""
    if not name:
        raise bad_request("a name is needed: say which object is meant")
    return name


def _revision(text: str) -> int:
    if text and not text.isdecimal():
        raise bad_request(f'resourceVersion: Invalid value: "{text}": take it as a list or an object returned it')
    return int(text or 0)


def plain(body: Sent) -> codec.Body:
    return encode(body) if isinstance(body, msgspec.Struct) else body


def _with_force(options: Options, force: bool) -> Options:
    return Options(options.dry_run, options.manager, options.strictness, force, options.caller) if force else options
