"""Apply: the writes of one pass, in one go, each verified against what is there now.

Every body carries the revision it was made from. A write that meets a newer object is refused; whoever wanted it is told and decides
again from what is there then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from fairway.api.client import BulkItem, Client, Deletion, Item, Known, Resource
from fairway.api.errors import ApiError
from fairway.control.adapters import Json
from fairway.control.mirror import Tables

log = logging.getLogger("fairway.control")
Verb = Literal["create", "update", "updateStatus", "delete"]


class Note(msgspec.Struct, gc=False):
    """An event to be recorded about an object, once the write that it tells of is durable."""

    about: Json
    type: str
    reason: str
    message: str
    component: str = "kueue-admission"


class Write(msgspec.Struct):
    verb: Verb
    resource: Resource
    body: Json
    notes: list[Note] = []
    done: Callable[[], None] | None = None
    failed: Callable[[ApiError], None] | None = None
    last: bool = False
    """Whether nothing follows from it: whoever hears of it need not look again until something else happens."""


class Applier:
    def __init__(self, client: Client, mirror: Tables, record: Callable[[Note], None]) -> None:
        self._client = client
        self._mirror = mirror
        self._record = record
        self.commits = 0
        self.trouble: ApiError | None = None
        """What kept a write of the last pass from being stored, where that is nobody's decision."""

    async def apply(self, writes: Sequence[Write], given: Sequence[Known] = ()) -> None:
        """All of them, with as few commits as possible; then tell what came of each. given: what they were decided from, beside themselves."""
        self.trouble = None
        bulk = [write for write in writes if write.verb != "delete"]
        if bulk:
            results = await self._client.bulk([BulkItem(_verb(w), w.resource, w.body, given) for w in bulk])
            self.commits += 1
            for write, result in zip(bulk, results, strict=True):
                if isinstance(result, ApiError):
                    await self._refused(write, result)
                else:
                    self._done(write, result)
        for write in writes:
            if write.verb == "delete":
                error = await self._delete(write)
                if error is not None:
                    await self._refused(write, error)
                else:
                    self._done(write)

    async def _delete(self, write: Write) -> ApiError | None:
        metadata = write.body["metadata"]
        # The same object, in whatever state: what is to go may have been told so in this very pass.
        how = Deletion(uid=metadata.get("uid", ""))
        try:
            await self._client.delete(write.resource, metadata["name"], metadata.get("namespace", ""), how)
        except ApiError as error:
            return error
        return None

    def _done(self, write: Write, result: Item | None = None) -> None:
        if result is not None and write.resource in self._mirror:
            self._mirror[write.resource].put(result)
        if write.done is not None:
            write.done()
        for note in write.notes:
            self._record(note)

    async def _refused(self, write: Write, error: ApiError) -> None:
        """What changed under our hands is read again, so that the next decision starts from the truth."""
        metadata = write.body["metadata"]
        if write.resource in self._mirror:
            table = self._mirror[write.resource]
            try:
                table.put(await self._client.get(write.resource, metadata["name"], metadata.get("namespace", "")))
            except ApiError as missing:
                if missing.code == 404:
                    table.forget(f"{metadata.get('namespace', '')}/{metadata['name']}")
        if error.code >= 500 or error.code == 429:
            self.trouble = error
        if error.code not in (404, 409):
            where = f"{metadata.get('namespace', '')}/{metadata['name']}"
            log.warning("%s of %s %s refused: %s", write.verb, write.resource.plural, where, error.message)
        if write.failed is not None:
            write.failed(error)


def _verb(write: Write) -> Literal["create", "update", "updateStatus"]:
    assert write.verb != "delete"
    return write.verb
