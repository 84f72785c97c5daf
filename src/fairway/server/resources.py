"""The verbs on resources: from a request about objects to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import yaml

from fairway.api import codec, patching, scale, subresources
from fairway.api.errors import ApiError, bad_request, method_not_allowed, unsupported_media_type
from fairway.api.reads import Page
from fairway.api.request import Options, Target, Write
from fairway.api.space import Space
from fairway.kinds import schema
from fairway.kinds.k8s.meta import DeleteOptions
from fairway.kinds.types import encode
from fairway.server import tables
from fairway.server.bodies import media_type, read_body, read_yaml
from fairway.server.http import Request, headers_for
from fairway.server.negotiate import JSON, YAML, Accepted
from fairway.server.options import (
    check_list_options,
    checked_delete_options,
    delete_options,
    include_object,
    resource_version,
    selection,
    whole_number,
    write_options,
)
from fairway.server.repeated import repeated
from fairway.server.watching import Frames, watch
from fairway.store import Record

_LIST_CHUNK = 2000
_SHOWN_WHEN_DELETED = frozenset(
    (
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    )
)
"""Kinds whose deletion is answered with the object itself, as Kubernetes does; typed clients count on it."""


class Resources:
    """Answers for one space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.frames = Frames()

    async def handle(self, request: Request, target: Target, accepted: Accepted) -> None:
        method = request.method
        if target.subresource == scale.SUBRESOURCE:
            await self.scale(request, target, accepted)
        elif method == "GET" or method == "HEAD":
            if target.name:
                if request.flag("watch"):
                    raise bad_request("watch a single object with fieldSelector=metadata.name=NAME on its list")
                await self.get(request, target, accepted)
            elif method == "GET" and request.flag("watch"):
                await watch(self.space, self.frames, request, target, selection(request, target.kind), accepted)
            else:
                await self.list_all(request, target, accepted)
        elif method == "POST":
            await self.create(request, target, accepted)
        elif method == "PUT":
            await self.update(request, target, accepted)
        elif method == "PATCH":
            await self.patch(request, target, accepted)
        elif method == "DELETE" and not target.subresource:
            await (self.delete if target.name else self.delete_collection)(request, target, accepted)
        else:
            raise method_not_allowed()

    # --- read -----------------------------------------------------------------------------------------------------

    async def get(self, request: Request, target: Target, accepted: Accepted) -> None:
        asked = resource_version(request) if request.scope["query_string"] else None
        if asked is not None and asked > self.space.store.revision:
            self.space.reads.list(target, at_least=asked)
        record = self.space.reads.get(target)
        await self._answer(request, target, record, accepted)

    async def list_all(self, request: Request, target: Target, accepted: Accepted) -> None:
        check_list_options(request)
        exact = request.query.get("resourceVersionMatch") == "Exact"
        asked = resource_version(request) or 0
        if exact and asked != self.space.store.revision and not request.query.get("continue"):
            raise ApiError(410, "Expired", f"The resourceVersion for the provided list is too old: {asked}")
        page = self.space.reads.list(
            target,
            selection(request, target.kind),
            limit=whole_number(request, "limit"),
            resume=request.query.get("continue", ""),
            at_least=asked,
        )
        if accepted.shape == "Table":
            body = tables.table(
                target,
                page.records,
                self.space.clock,
                version=accepted.version,
                include=include_object(request),
                revision=page.revision,
                resume=page.resume,
                remaining=page.remaining,
            )
            await request.respond(200, body)
            return
        if accepted.shape != "object":
            await request.respond(200, self._partial_list(target, page))
            return
        body = _list_body(target, page, [self.space.reads.serve(target, record) for record in page.records])
        await request.respond(200, *_represent(body, accepted))

    def _partial_list(self, target: Target, page: Page) -> bytes:
        items = [encode(tables.partial(codec.parse(self.space.reads.serve(target, record)))) for record in page.records]
        return _list_envelope("PartialObjectMetadataList", "meta.k8s.io/v1", page, items)

    # --- write ----------------------------------------------------------------------------------------------------

    async def create(self, request: Request, target: Target, accepted: Accepted) -> None:
        if target.name:
            await self._post(request, target, accepted)
            return
        options = write_options(request)
        body = await self._body(request, target, options)
        write = self.space.objects.create(target, body, options)
        await self._commit(request, write, accepted, status=201)

    async def _post(self, request: Request, target: Target, accepted: Accepted) -> None:
        """Something sent to a subresource that is no part of the object: a pod's binding, its eviction."""
        node = subresources.body_schema(target)
        body = read_body(request.header(b"content-type"), await request.body(), node, native=True)
        write = subresources.post(self.space.objects, target, body, write_options(request))
        await self.space.objects.commit(write)
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        await request.respond(201, *_represent(encode(status), accepted, write.warnings))

    async def update(self, request: Request, target: Target, accepted: Accepted) -> None:
        if not target.name:
            raise method_not_allowed()
        options = write_options(request)
        body = await self._body(request, target, options)
        write = self.space.objects.update(target, body, options)
        await self._commit(request, write, accepted)

    async def patch(self, request: Request, target: Target, accepted: Accepted) -> None:
        if not target.name:
            raise method_not_allowed()
        data = await request.body()
        media = media_type(request.header(b"content-type"))
        if media not in patching.accepted(target):
            raise unsupported_media_type(patching.accepted(target))
        apply = media == patching.APPLY_PATCH
        change = read_yaml(data) if apply else _read_patch(data)
        write = patching.patch(self.space.objects, target, media, change, write_options(request, apply=apply))
        await self._commit(request, write, accepted, status=201 if write.created else 200)

    async def scale(self, request: Request, target: Target, accepted: Accepted) -> None:
        if request.method in ("GET", "HEAD"):
            value = self.space.reads.get(target).value
            await request.respond(200, *_represent(encode(scale.show(target, value)), accepted))
            return
        if request.method == "PUT":
            node = scale.body_schema()
            body = read_body(request.header(b"content-type"), await request.body(), node, native=True)
            write = scale.update(self.space.objects, target, body, write_options(request))
        elif request.method == "PATCH":
            change = _read_patch(await request.body())
            media = media_type(request.header(b"content-type"))
            write = scale.patch(self.space.objects, target, media, change, write_options(request))
        else:
            raise method_not_allowed()
        await self.space.objects.commit(write)
        await request.respond(200, *_represent(encode(scale.show(target, write.value)), accepted, write.warnings))

    async def delete(self, request: Request, target: Target, accepted: Accepted) -> None:
        how, dry_run = delete_options(request, await self._delete_body(request))
        write = self.space.objects.delete(target, how, write_options(request, dry_run=dry_run))
        await self.space.objects.commit(write)
        if not write.deleted or target.kind.bucket in _SHOWN_WHEN_DELETED:
            await self._answer_value(request, target, write.value, accepted, write.warnings)
            return
        meta = codec.glance(write.value)
        details: dict[str, Any] = {
            "name": target.name,
            "group": target.kind.group,
            "kind": target.kind.plural,
            "uid": meta.uid,
        }
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
        await request.respond(200, *_represent(encode(status), accepted, write.warnings))

    async def delete_collection(self, request: Request, target: Target, accepted: Accepted) -> None:
        body = await self._delete_body(request)
        how, dry_run = delete_options(request, body)
        options = write_options(request, dry_run=dry_run)
        page = self.space.reads.list(target, selection(request, target.kind), limit=whole_number(request, "limit"))
        deleted: list[bytes] = []
        for start in range(0, len(page.records), _LIST_CHUNK):
            deleted += await self._delete_all(target, page.records[start : start + _LIST_CHUNK], how, options)
        await request.respond(200, *_represent(_list_body(target, page, deleted), accepted))

    async def _delete_all(self, target: Target, records: Sequence[Record], how: Any, options: Options) -> list[bytes]:
        def one(record: Record) -> Write:
            inner = Target(target.kind, target.version, record.namespace, record.name)
            return self.space.objects.delete(inner, how, options)

        results = await self.space.objects.bulk([partial(one, record) for record in records], in_turns=True)
        for result in results:
            if isinstance(result, ApiError) and result.code != 404:
                raise result
        return [codec.served(target.kind, target.version, write.value) for write in results if isinstance(write, Write)]

    async def _body(self, request: Request, target: Target, options: Options) -> codec.Body:
        data = await request.body()
        content_type = request.header(b"content-type")
        body = read_body(content_type, data, target.version.node, native=target.kind.native)
        if options.strictness == "Strict" and isinstance(body, bytes):
            refuse_repeated(target, body)
        return body

    async def _delete_body(self, request: Request) -> dict[str, Any]:
        data = await request.body()
        if not data.strip():
            return {}
        body = read_body(request.header(b"content-type"), data, schema.of(DeleteOptions), native=True)
        return checked_delete_options(codec.parse(body) if isinstance(body, bytes) else body)

    # --- answer ---------------------------------------------------------------------------------------------------

    async def _commit(self, request: Request, write: Write, accepted: Accepted, status: int = 200) -> None:
        await self.space.objects.commit(write)
        await self._answer_value(request, write.target, write.value, accepted, write.warnings, status)

    async def _answer(self, request: Request, target: Target, record: Record, accepted: Accepted) -> None:
        if accepted.shape == "object":
            await self._answer_value(request, target, record.value, accepted)
        else:
            await request.respond(200, self._shaped(request, target, record, accepted))

    async def _answer_value(
        self,
        request: Request,
        target: Target,
        value: bytes,
        accepted: Accepted,
        warnings: Sequence[str] = (),
        status: int = 200,
    ) -> None:
        served = codec.served(target.kind, target.version, value)
        if accepted.shape != "object":
            meta = codec.glance(value)
            record = Record(target.kind.bucket, f"{meta.namespace}/{meta.name}", 0, value)
            await request.respond(status, self._shaped(request, target, record, accepted), headers_for(JSON, warnings))
            return
        await request.respond(status, *_represent(served, accepted, warnings))

    def _shaped(self, request: Request, target: Target, record: Record, accepted: Accepted) -> bytes:
        if accepted.shape == "Table":
            include = include_object(request)
            return tables.table(
                target, [record], self.space.clock, version=accepted.version, include=include, revision=record.revision
            )
        return encode(tables.partial(codec.parse(self.space.reads.serve(target, record))))


def refuse_repeated(target: Target, body: bytes) -> None:
    """Raises for names that are given twice: which of the two was meant?"""
    found = repeated(body)
    if found:
        kind = target.kind.name
        listed = ", ".join(f'duplicate field "{path}"' for path in found)
        raise bad_request(
            f'{kind} in version "{target.version.name}" cannot be handled as a {kind}: strict decoding error: {listed}'
        )


def _read_patch(data: bytes) -> Any:
    try:
        return codec.parse(data)
    except ApiError as error:
        raise bad_request(f"error decoding patch: {error.message}") from None


def _list_body(target: Target, page: Page, items: Sequence[bytes]) -> bytes:
    return _list_envelope(f"{target.kind.name}List", target.kind.api_version(target.version.name), page, items)


def _list_envelope(kind: str, api_version: str, page: Page, items: Sequence[bytes]) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.resume:
        metadata["continue"] = page.resume
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    head = encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _represent(
    body: bytes, accepted: Accepted, warnings: Sequence[str] = ()
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    if accepted.media == YAML:
        text = yaml.dump(codec.parse(body), Dumper=yaml.CSafeDumper, sort_keys=False)
        return text.encode(), headers_for(YAML, warnings)
    return body, headers_for(JSON, warnings)
