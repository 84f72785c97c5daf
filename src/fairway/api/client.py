"""The one way in which everything above reaches objects: the same in process and over HTTP.

Objects travel as the bytes that are stored and served; whoever needs fields decodes them, once, into the type they want.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import force_setattr

from fairway.api import codec
from fairway.api.codec import Glance
from fairway.api.errors import ApiError
from fairway.kinds.kind import decode

T = TypeVar("T")
_IN_NAMES = ":"
"""May stand in a path as it is, beside letters and digits: names of roles have colons."""
Sent = bytes | dict[str, Any] | msgspec.Struct
"""An object as a client may give it: JSON text, a JSON value, or a typed object, which is the API's own once it was given to be created."""
WatchType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
Verb = Literal["create", "update", "updateStatus", "delete"]


class Resource(msgspec.Struct, frozen=True, gc=False):
    """Which kind of objects, in which version."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe=_IN_NAMES)]
        parts += [quote(part, safe=_IN_NAMES) for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


class Item(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One object. Whoever has its identity at hand gives it along, so that nobody needs to read the bytes for it."""

    value: bytes
    path: str = ""
    """namespace/name; /name for what has no namespace."""
    known_uid: str = ""
    """Empty where nobody has read it yet."""
    revision: int = 0
    """Zero where its identity is not given."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    @property
    def uid(self) -> str:
        if not self.known_uid:
            force_setattr(
                self, "known_uid", codec.uid_of(self.value)
            )  # the same for ever, so that nobody else need look
        return self.known_uid

    @property
    def version(self) -> str:
        """The revision as the API writes it."""
        return str(self.revision)

    @property
    def meta(self) -> Glance:
        return codec.glance(self.value)

    def json(self) -> dict[str, Any]:
        result: dict[str, Any] = msgspec.json.decode(self.value)
        return result

    def to(self, kind: type[T]) -> T:
        result: T = decode(self.value, kind)
        return result


class Listing(msgspec.Struct, frozen=True, gc=False):
    items: list[Item]
    revision: str
    resume: str = ""


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """A change. An ERROR carries a Status; after it the watch is over."""

    type: WatchType
    item: Item


class Query(msgspec.Struct, frozen=True, gc=False):
    """Which objects of a resource."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Known(msgspec.Struct, frozen=True, gc=False):
    """A version of an object that a decision rests on. Revision 0: that there is no such object."""

    resource: Resource
    path: str
    """namespace/name; /name for what has no namespace."""
    revision: int


class Deletion(msgspec.Struct, frozen=True, gc=False):
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"
    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    """What a pod gets to end in good order; None: as it says itself. 0 takes it out at once."""


BACKGROUND = Deletion()


class BulkItem(msgspec.Struct, frozen=True, gc=False):
    """One write of many, each with its own result. What is deleted is named by its body: apiVersion, kind, name and namespace."""

    verb: Verb
    resource: Resource
    body: Sent
    given: Sequence[Known] = ()
    """Once one of these is not the newest any more, this write and those that follow in the call are refused as conflicts."""
    how: Deletion = BACKGROUND
    """For what is deleted."""


BulkResults = list[Item | ApiError]
"""An item for each that was done: the object as it is then; of one that is gone, as it was or as it was named."""


class Client(Protocol):
    """Raises ApiError for every refusal, whichever way it came."""

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Item: ...

    async def list(
        self, resource: Resource, query: Query = ..., *, limit: int = 0, resume: str = "", revision: str = ""
    ) -> Listing: ...

    def watch(
        self, resource: Resource, query: Query = ..., *, revision: str = "", seconds: int = 0
    ) -> AsyncIterator[WatchEvent]:
        """Changes after a revision, with bookmarks. Ends when the server or its time ends it."""
        ...

    async def create(self, resource: Resource, body: Sent, namespace: str = "", *, dry_run: bool = False) -> Item: ...

    async def post(self, resource: Resource, name: str, subresource: str, body: Sent, namespace: str = "") -> None:
        """Send something to a subresource that is no part of the object itself: pods/binding, pods/eviction."""
        ...

    async def update(self, resource: Resource, body: Sent, *, subresource: str = "", dry_run: bool = False) -> Item: ...

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
    ) -> Item: ...

    async def delete(self, resource: Resource, name: str, namespace: str = "", how: Deletion = ...) -> None: ...

    async def bulk(self, items: Sequence[BulkItem]) -> BulkResults: ...


EVERYWHERE = Query()
