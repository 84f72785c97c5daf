"""Watch streams: each change encoded once for all who watch it, many changes in one send, bookmarks in quiet times.

A client that does not keep up is not waited for: its cursor falls out of the history and the stream ends with 410, after which it lists again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.api.reads import Change, Changes, Selection
from fairway.api.request import Target
from fairway.api.space import Space
from fairway.kinds.types import encode
from fairway.server import tables
from fairway.server.http import Request
from fairway.server.negotiate import Accepted
from fairway.server.options import check_list_options, include_object, resource_version, whole_number

BOOKMARK_SECONDS = 30.0
WATCH_SECONDS = 3600
_CHUNK_BYTES = 256 << 10
_CACHE_MAX = 4096
Frame = Callable[[Change], bytes]


class Frames:
    """Encoded changes, shared between watchers that stand at about the same place."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, int, str, str], bytes] = {}

    def get(self, target: Target, change: Change) -> bytes:
        record = change.record
        key = (target.kind.bucket, record.revision, change.type, target.version.name)
        frame = self._cache.get(key)
        if frame is None:
            if len(self._cache) >= _CACHE_MAX:
                self._cache.clear()
            served = codec.served(target.kind, target.version, record.value)
            frame = self._cache[key] = b'{"type":"%s","object":%s}\n' % (change.type.encode(), served)
        return frame


async def watch(
    space: Space, frames: Frames, request: Request, target: Target, selection: Selection, accepted: Accepted
) -> None:
    check_list_options(request)
    after = resource_version(request)
    seconds = whole_number(request, "timeoutSeconds") or WATCH_SECONDS
    wants_initial = request.flag("sendInitialEvents") or ("sendInitialEvents" not in request.query and not after)
    try:
        changes, initial = _begin(space, target, selection, after, wants_initial)
    except ApiError as error:
        if error.code != 410:
            raise
        # Clients expect this one in the stream, where it comes from too when they fall behind later.
        await request.start_stream()
        await request.stream(_error(error))
        await request.end_stream()
        return
    bookmarks = request.flag("allowWatchBookmarks")
    framer = _framer(space, frames, request, target, accepted)
    await request.start_stream()
    sender = _Sender(request, framer)
    await sender.send(initial)
    if request.flag("sendInitialEvents") and bookmarks:
        await request.stream(_bookmark(target, changes.revision, initial_end=True))
    await _follow(request, sender, changes, target, seconds, bookmarks)


def _begin(
    space: Space, target: Target, selection: Selection, after: int | None, wants_initial: bool
) -> tuple[Changes, list[Change]]:
    if wants_initial:
        # Without a pause in between, so that what is listed and what is watched meet exactly.
        initial = list(space.reads.initial(target, selection))
        return space.reads.watch(target, selection, space.store.revision), initial
    return space.reads.watch(target, selection, after if after else space.store.revision), []


async def _follow(
    request: Request, sender: _Sender, changes: Changes, target: Target, seconds: float, bookmarks: bool
) -> None:
    """Until the client leaves, its time is up, it falls behind, it may no longer see what it watches, or the node stops."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    task = asyncio.current_task()
    assert task is not None
    gone = asyncio.ensure_future(_disconnect(request))
    gone.add_done_callback(lambda _done: task.cancel() if not finished else None)
    finished = False
    # Counted from what was sent last, not from what happened last: changes that this watch does not select must not keep it silent.
    bookmark_at = loop.time() + BOOKMARK_SECONDS
    try:
        while (left := deadline - loop.time()) > 0:
            batch: list[Change] | None = []
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(left, bookmark_at - loop.time()))):
                    batch = await changes.next()
            if batch is None:
                break
            request.verify()
            if batch:
                await sender.send(batch)
            elif loop.time() < bookmark_at:
                continue
            elif bookmarks:
                await request.stream(_bookmark(target, changes.revision))
            bookmark_at = loop.time() + BOOKMARK_SECONDS
    except asyncio.CancelledError:
        if gone.done():
            return  # the client left; there is nobody to tell
        # Otherwise the node stops: the stream ends in good order, as if its time were up, and the client watches elsewhere or again.
    except ApiError as error:
        await request.stream(_error(error))
    finally:
        finished = True
        gone.cancel()
    await request.end_stream()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Sender:
    """Joins frames into few sends."""

    def __init__(self, request: Request, framer: Frame) -> None:
        self._request = request
        self._framer = framer

    async def send(self, changes: Iterable[Change]) -> None:
        chunk: list[bytes] = []
        size = 0
        for change in changes:
            frame = self._framer(change)
            chunk.append(frame)
            size += len(frame)
            if size > _CHUNK_BYTES:
                await self._request.stream(b"".join(chunk))
                chunk, size = [], 0
        if chunk:
            await self._request.stream(b"".join(chunk))


def _framer(space: Space, frames: Frames, request: Request, target: Target, accepted: Accepted) -> Frame:
    if accepted.shape == "Table":
        return _table_framer(space, target, accepted.version, include_object(request))
    if accepted.shape in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return lambda change: _frame(
            change, encode(tables.partial(codec.parse(codec.served(target.kind, target.version, change.record.value))))
        )
    return lambda change: frames.get(target, change)


def _table_framer(space: Space, target: Target, version: str, include: str) -> Frame:
    first = True

    def framer(change: Change) -> bytes:
        nonlocal first
        body = tables.table(
            target,
            [change.record],
            space.clock,
            version=version,
            include=include,
            revision=change.record.revision,
            with_definitions=first,
        )
        first = False
        return _frame(change, body)

    return framer


def _frame(change: Change, body: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (change.type.encode(), body)


def _error(error: ApiError) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % encode(error.status())


def _bookmark(target: Target, revision: int, *, initial_end: bool = False) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj = {
        "kind": target.kind.name,
        "apiVersion": target.kind.api_version(target.version.name),
        "metadata": metadata,
    }
    return b'{"type":"BOOKMARK","object":%s}\n' % encode(obj)
