"""The client over HTTP: any server that speaks the Kubernetes API, ours or a real one."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from fairway.api import codec, patching
from fairway.api.client import (
    BACKGROUND,
    EVERYWHERE,
    BulkItem,
    BulkResults,
    Deletion,
    Item,
    Known,
    Listing,
    Query,
    Resource,
    Sent,
    WatchEvent,
)
from fairway.api.errors import ApiError
from fairway.api.local import plain, require_name
from fairway.api.logs import Written
from fairway.kinds.types import encode
from fairway.runtime.transport import Reply, Transport, TransportError

BULK_PATH = "/apis/fairway.dev/v1/bulk"
OUTPUTS_PATH = "/apis/fairway.dev/v1/outputs"
_LINE_BYTES_MAX = 16 << 20
_BULK_ITEMS_MAX = 1000
_BULK_BYTES_MAX = 2 << 20
_LATE_S = 30.0
"""So late may a server be that was to end a watch."""
_AT_ONCE = 8
"""Requests under way to a server that takes no bulk calls."""
T = TypeVar("T")


Outputs = list[bytes | ApiError]


class _ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "resume": "continue"}):
    resource_version: str = ""
    resume: str = ""


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_object = msgspec.json.Decoder(_Object)


class _BulkCall(msgspec.Struct):
    verb: str
    resource: str
    object: msgspec.Raw
    options: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class _Given(msgspec.Struct, rename="camel"):
    api_version: str
    resource: str
    path: str
    revision: int


class _BulkResult(msgspec.Struct):
    code: int
    object: msgspec.Raw


class _BulkResults(msgspec.Struct):
    items: list[_BulkResult]


class _Output(msgspec.Struct):
    code: int
    text: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


class _Outputs(msgspec.Struct):
    items: list[_Output]


class RemoteClient:
    """token: asked for before every request, so that a renewed one is used at once. pauses: after these seconds what only reads is tried
    again, one after the other, if nobody answers: a node that was killed is back in a moment, and people need not know."""

    def __init__(
        self,
        transport: Transport,
        token: Callable[[], str],
        manager: str = "fairway",
        pauses: Sequence[float] = (),
        strictness: str = "",
    ) -> None:
        """strictness: what becomes of fields that the server does not know (Ignore, Warn, Strict); empty: as it likes."""
        self._transport = transport
        self._pauses = tuple(pauses)
        self._token = token
        self._manager = manager
        self._strictness = strictness
        self._offers_bulk = True
        self._offers_outputs = True

    async def close(self) -> None:
        await self._transport.close()

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Item:
        return _item(await self._call("GET", resource.path(namespace, require_name(name))))

    async def list(
        self,
        resource: Resource,
        query: Query = EVERYWHERE,
        *,
        limit: int = 0,
        resume: str = "",
        revision: str = "",
    ) -> Listing:
        parameters = {**_selectors(query), "limit": limit, "continue": resume, "resourceVersion": revision}
        body = await self._call("GET", resource.path(query.namespace), parameters)
        found = _decoded(body, _List)
        return Listing(
            [_item(bytes(item)) for item in found.items or ()], found.metadata.resource_version, found.metadata.resume
        )

    async def watch(
        self, resource: Resource, query: Query = EVERYWHERE, *, revision: str = "", seconds: int = 0
    ) -> AsyncIterator[WatchEvent]:
        parameters = {
            **_selectors(query),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": revision,
            "timeoutSeconds": seconds,
        }
        # A server where nothing happens says nothing until its time is over, bookmarks or not.
        patience = seconds + _LATE_S if seconds else None
        reply = await self._send("GET", resource.path(query.namespace), parameters, stream=True, patience=patience)
        if reply.status >= 400:
            raise _refusal(reply, await _read(reply))
        try:
            async for line in _lines(reply):
                event = msgspec.json.decode(line, type=_Line)
                yield WatchEvent(event.type, _item(bytes(event.object)))  # type: ignore[arg-type]
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ApiError(502, "BadGateway", f"the watch sent something that is no event: {error}") from None
        except TransportError as error:
            raise unreachable(error) from None
        finally:
            reply.close()

    async def create(self, resource: Resource, body: Sent, namespace: str = "", *, dry_run: bool = False) -> Item:
        value = plain(body)
        if not namespace and resource.namespaced:
            namespace = codec.identity(value)[1] or "default"
        return _item(await self._call("POST", resource.path(namespace), self._writing(dry_run), _bytes(value)))

    async def post(self, resource: Resource, name: str, subresource: str, body: Sent, namespace: str = "") -> None:
        path = resource.path(namespace, require_name(name), subresource)
        await self._call("POST", path, self._writing(False), _bytes(plain(body)))

    async def update(self, resource: Resource, body: Sent, *, subresource: str = "", dry_run: bool = False) -> Item:
        value = plain(body)
        name, namespace = codec.identity(value)
        path = resource.path(namespace, require_name(name), subresource)
        return _item(await self._call("PUT", path, self._writing(dry_run), _bytes(value)))

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
        parameters = self._writing(dry_run)
        if media == patching.APPLY_PATCH:
            parameters["force"] = "true" if force else "false"
        path = resource.path(namespace, require_name(name), subresource)
        return _item(await self._call("PATCH", path, parameters, encode(change), media))

    async def delete(self, resource: Resource, name: str, namespace: str = "", how: Deletion = BACKGROUND) -> None:
        await self._call("DELETE", resource.path(namespace, require_name(name)), {}, encode(_delete_options(how)))

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults:
        """In few calls where the server offers it, otherwise one by one, a few at a time."""
        if not self._offers_bulk:
            return await self._singly(items)
        results: BulkResults = []
        for batch, given in _batches(items):
            try:
                answer = await self._call(
                    "POST", BULK_PATH, self._writing(False), encode({"items": batch, "given": given})
                )
            except ApiError as error:
                # Kubernetes says 403 of paths that it does not have to those who may not ask for any path; ours says so of single items.
                if error.code not in (403, 404, 405) or results:
                    raise
                self._offers_bulk = False
                return await self._singly(items)
            results += [
                _item(bytes(result.object)) if result.code < 400 else error_from(result.code, bytes(result.object))
                for result in _decoded(answer, _BulkResults).items
            ]
        return results

    async def _singly(self, items: Sequence[BulkItem]) -> BulkResults:
        """One after the other where later ones must not happen once something has changed."""
        slots = asyncio.Semaphore(1 if any(item.given for item in items) else _AT_ONCE)

        async def one(item: BulkItem) -> Item | ApiError:
            async with slots:
                return await self._one(item)

        return await asyncio.gather(*(one(item) for item in items))

    async def _one(self, item: BulkItem) -> Item | ApiError:
        try:
            for known in item.given:
                await self._look_whether_new(known)
            if item.verb == "create":
                return await self.create(item.resource, item.body)
            if item.verb == "delete":
                named = plain(item.body)
                await self.delete(item.resource, *codec.identity(named), item.how)
                return Item(_bytes(named))
            return await self.update(
                item.resource, item.body, subresource="status" if item.verb == "updateStatus" else ""
            )
        except ApiError as error:
            return error

    async def _look_whether_new(self, known: Known) -> None:
        """A server that does not take many writes does not compare either: the best there is, with a moment in between."""
        namespace, _, name = known.path.partition("/")
        try:
            revision = int((await self.get(known.resource, name, namespace)).meta.resource_version)
        except ApiError as error:
            if error.code != 404:
                raise
            revision = 0
        if revision != known.revision:
            why = "it has changed since this was decided; decide again"
            raise ApiError(409, "Conflict", f'{known.resource.plural} "{name}": {why}', details={})

    async def outputs(self, items: Sequence[Written], *, tail_lines: int, limit_bytes: int) -> Outputs | None:
        """The ends of what many containers wrote; None where the server does not offer that."""
        if not self._offers_outputs:
            return None
        asked = {
            "items": [item._asdict() for item in items],
            "tailLines": tail_lines,
            "limitBytes": limit_bytes,
        }
        try:
            answer = await self._call("POST", OUTPUTS_PATH, {}, encode(asked))
        except ApiError as error:
            if error.code not in (403, 404, 405):
                raise
            self._offers_outputs = False
            return None
        return [
            b64decode(each.text) if each.code < 400 else error_from(each.code, bytes(each.object))
            for each in _decoded(answer, _Outputs).items
        ]

    async def document(self, path: str) -> dict[str, Any]:
        """Any other document of the server's: discovery, version."""
        result: dict[str, Any] = codec.parse(await self._call("GET", path))
        return result

    async def stream(self, path: str, parameters: Mapping[str, Any] | None = None) -> AsyncIterator[bytes]:
        """The body of an answer as it comes: logs."""
        async for chunk in await self.open(path, parameters):
            yield chunk

    async def open(self, path: str, parameters: Mapping[str, Any] | None = None) -> AsyncIterator[bytes]:
        """As stream, and refused at once."""
        reply = await self._send("GET", path, parameters, stream=True)
        if reply.status >= 400:
            raise _refusal(reply, await _read(reply))
        return _chunks(reply)

    # --- HTTP -----------------------------------------------------------------------------------------------------

    def _writing(self, dry_run: bool) -> dict[str, Any]:
        return {
            "fieldManager": self._manager,
            "dryRun": "All" if dry_run else "",
            "fieldValidation": self._strictness,
        }

    async def _call(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        media: str = "application/json",
    ) -> bytes:
        async def call() -> bytes:
            reply = await self._send_once(method, path, parameters, body, media)
            data = await _read(reply)
            if reply.status >= 400:
                raise _refusal(reply, data)
            return data

        return await self._patiently(method, call)

    async def _send(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        stream: bool = False,
        patience: float | None = None,
    ) -> Reply:
        return await self._patiently(
            method, lambda: self._send_once(method, path, parameters, stream=stream, patience=patience)
        )

    async def _patiently(self, method: str, call: Callable[[], Awaitable[T]]) -> T:
        for pause in self._pauses if method == "GET" else ():
            try:
                return await call()
            except ApiError as error:
                if error.code:  # somebody answered
                    raise
            await asyncio.sleep(pause)
        return await call()

    async def _send_once(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        media: str = "application/json",
        *,
        stream: bool = False,
        patience: float | None = None,
    ) -> Reply:
        query = urlencode({key: value for key, value in (parameters or {}).items() if value})
        headers = {"Accept": "application/json", "User-Agent": self._manager}
        token = self._token()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = media
        try:
            return await self._transport.send(
                method, f"{path}?{query}" if query else path, headers, body, stream=stream, patience=patience
            )
        except TransportError as error:
            raise unreachable(error) from None


async def _chunks(reply: Reply) -> AsyncIterator[bytes]:
    try:
        async for chunk in reply.chunks():
            yield chunk
    except TransportError as error:
        raise unreachable(error) from None
    finally:
        reply.close()


def _selectors(query: Query) -> dict[str, Any]:
    return {"labelSelector": query.labels, "fieldSelector": query.fields}


def _batches(items: Sequence[BulkItem]) -> Iterator[tuple[list[_BulkCall], list[_Given]]]:
    """As many at once as a server takes in one call, and what all of them rest on."""
    rests_on = {id(item.given): item.given for item in items if item.given}
    given = [_given(known) for of in rests_on.values() for known in of]
    batch: list[_BulkCall] = []
    size = 0
    for item in items:
        body = _bytes(plain(item.body))
        if batch and (len(batch) == _BULK_ITEMS_MAX or size + len(body) > _BULK_BYTES_MAX):
            yield batch, given
            batch, size = [], 0
        options = _delete_options(item.how) if item.verb == "delete" else msgspec.UNSET
        batch.append(_BulkCall(item.verb, item.resource.plural, msgspec.Raw(body), options))
        size += len(body)
    if batch:
        yield batch, given


def _item(value: bytes) -> Item:
    """With its identity, read once for everybody who asks later. Revisions that are no numbers are for those to compare."""
    try:
        meta = _object.decode(value).metadata
    except (msgspec.MsgspecError, ValueError):
        return Item(value)  # whoever reads it says what is wrong
    if not meta.resource_version.isdecimal():
        return Item(value)
    return Item(value, f"{meta.namespace}/{meta.name}", meta.uid, int(meta.resource_version))


def _delete_options(how: Deletion) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how.propagation}
    preconditions = {"uid": how.uid, "resourceVersion": how.resource_version}
    if any(preconditions.values()):
        body["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if how.grace_seconds is not None:
        body["gracePeriodSeconds"] = how.grace_seconds
    return body


def _given(known: Known) -> _Given:
    return _Given(known.resource.api_version, known.resource.plural, known.path, known.revision)


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ApiError(502, "BadGateway", f"the server sent something that is no answer of an API: {error}") from None


def _bytes(value: codec.Body) -> bytes:
    return value if isinstance(value, bytes) else encode(value)


async def _read(reply: Reply) -> bytes:
    try:
        return await reply.read()
    except TransportError as error:
        raise unreachable(error) from None


async def _lines(reply: Reply) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in reply.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LINE_BYTES_MAX:
            raise TransportError(f"an event is larger than {_LINE_BYTES_MAX >> 20} MiB")
        for line in lines:
            if line.strip():
                yield line
    if rest.strip():
        raise TransportError("the stream ended in the middle of an event")


def unreachable(error: TransportError) -> ApiError:
    """The server did not answer; code 0, since no answer has none."""
    return ApiError(0, "Unreachable", str(error))


def _refusal(reply: Reply, data: bytes) -> ApiError:
    error = error_from(reply.status, data)
    after = reply.headers.get("Retry-After", "")
    if after.isdecimal():
        error.retry_after = int(after)
    return error


def error_from(code: int, data: bytes) -> ApiError:
    """A Status, or whatever else a proxy in between may have answered."""
    try:
        status = msgspec.json.decode(data)
        return ApiError(code, status.get("reason", ""), status["message"], details=status.get("details"))
    except (msgspec.MsgspecError, KeyError, AttributeError, TypeError):
        text = data[:200].decode("utf-8", "replace").strip()
        return ApiError(code, "", f"the server answered {code}: {text or 'nothing'}")
