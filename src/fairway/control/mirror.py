"""What is known of the objects: a table per resource, fed by watches and by the answers to one's own writes.

Objects are kept as the bytes they came in and decoded when somebody looks. Whichever way a version of an object comes first, it counts
once: an older one never replaces a newer one, and an object that is gone does not come back by an answer that was on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from fairway.api.client import EVERYWHERE, Client, Item, Known, Query, Resource
from fairway.api.reflector import Reflector
from fairway.control.adapters import Json
from fairway.runtime.recent import Recent

T = TypeVar("T")
OnChange = Callable[[str, Item | None, Item | None], None]
"""Told the key, what was known and what is now; None is nothing."""
_TOMBSTONES = 10_000
_VIEWS = 500


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = "0"


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Object).decode


def key_of(item: Item) -> str:
    return _identified(item).path


def _identified(item: Item) -> Item:
    """With its key, its revision and its uid, which most items bring along."""
    if item.revision:
        return item
    meta = _decode(item.value).metadata
    return Item(item.value, f"{meta.namespace}/{meta.name}", meta.uid, int(meta.resource_version))


class Table:
    """The objects of one resource by `namespace/name`."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._items: dict[str, Item] = {}
        self._gone: Recent[str, int] = Recent(_TOMBSTONES)
        self._views: Recent[str, tuple[Item, Json]] = Recent(_VIEWS)
        self._read: tuple[Item | None, object, Any] = (None, None, None)
        self._listeners: list[OnChange] = []

    def on_change(self, listener: OnChange) -> None:
        self._listeners.append(listener)

    def get(self, key: str) -> Json | None:
        known = self._items.get(key)
        return known.json() if known is not None else None

    def view(self, key: str) -> Json | None:
        """As get, decoded once for all who ask, while it is among those asked for lately: to be read only, with all that is in it."""
        known = self._items.get(key)
        if known is None:
            return None
        seen = self._views.get(key)
        if seen is None or seen[0] is not known:
            seen = (known, known.json())
            self._views.put(key, seen)
        return seen[1]

    def read(self, item: Item, decode: Callable[[bytes], T]) -> T:
        """What a decoder makes of an item: once for all who are told of the same change one after the other."""
        last, how, seen = self._read
        if last is not item or how is not decode:
            seen = decode(item.value)
            self._read = (item, decode, seen)
        result: T = seen
        return result

    def views(self) -> Iterable[tuple[Item, Json]]:
        """What is shared at the moment, and what it was decoded from."""
        return list(self._views.values())

    def item(self, key: str) -> Item | None:
        return self._items.get(key)

    def known(self, key: str) -> Known:
        """Which version of an object is known here, for whoever decides by it."""
        found = self._items.get(key)
        return Known(self.resource, key, found.revision if found is not None else 0)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._items))

    def put(self, item: Item) -> None:
        item = _identified(item)
        key, revision = item.path, item.revision
        known = self._items.get(key)
        if (known is not None and known.revision >= revision) or (self._gone.get(key) or 0) >= revision:
            return
        if known is not None and known.uid != item.uid:
            self._drop(key, known)
            known = None
        self._items[key] = item
        for listener in self._listeners:
            listener(key, known, item)

    def take(self, item: Item) -> str:
        """As put, from a list of a server that may have begun anew: another object of the name counts, whatever its revision. Its key."""
        item = _identified(item)
        known = self._items.get(item.path)
        if known is not None and known.uid != item.uid:
            self._drop(item.path, known)
        self.put(item)
        return item.path

    def renew(self) -> None:
        """What was deleted may come back: the next list is another server's."""
        self._gone.clear()

    def remove(self, item: Item) -> None:
        item = _identified(item)
        key = item.path
        self._gone.put(key, max(item.revision, self._gone.get(key) or 0))
        known = self._items.get(key)
        if known is not None and known.uid == item.uid:
            self._drop(key, known)

    def forget(self, key: str) -> None:
        """Somebody said that it is not there."""
        known = self._items.get(key)
        if known is not None:
            self._drop(key, known)

    def _drop(self, key: str, known: Item) -> None:
        self._items.pop(key, None)
        self._views.forget(key)
        for listener in self._listeners:
            listener(key, known, None)

    # --- as the handler of a reflector ------------------------------------------------------------------------------

    added = put

    def modified(self, _before: Item, item: Item) -> None:
        self.put(item)

    def deleted(self, item: Item) -> None:
        self.remove(item)


class Tables(Protocol):
    """What is known of some resources."""

    def __getitem__(self, resource: Resource) -> Table: ...

    def __contains__(self, resource: object) -> bool: ...


class Joined:
    """The tables of several mirrors as one."""

    def __init__(self, *mirrors: Tables) -> None:
        self._mirrors = mirrors

    def __getitem__(self, resource: Resource) -> Table:
        for mirror in self._mirrors:
            if resource in mirror:
                return mirror[resource]
        raise KeyError(resource)

    def __contains__(self, resource: object) -> bool:
        return any(resource in mirror for mirror in self._mirrors)


class Mirror:
    """Tables, and the watches that keep them true."""

    def __init__(
        self,
        client: Client,
        resources: Iterable[Resource],
        uniform: Callable[[], float],
        queries: Mapping[Resource, Query] | None = None,
    ) -> None:
        """queries: for resources of which only some objects matter."""
        self._client = client
        self._uniform = uniform
        self._queries = queries or {}
        self._tables = {resource: Table(resource) for resource in resources}
        self._tasks: list[asyncio.Task[None]] = []

    def __getitem__(self, resource: Resource) -> Table:
        return self._tables[resource]

    def __contains__(self, resource: object) -> bool:
        return resource in self._tables

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    async def start(self, order: Sequence[Resource] = ()) -> None:
        """Returns once everything is known. Resources in the order are known one after the other, the rest after them."""
        loop = asyncio.get_running_loop()
        later = [resource for resource in self._tables if resource not in order]
        for resource in (*order, *later):
            reflector = Reflector(
                self._client,
                resource,
                self._tables[resource],
                self._queries.get(resource, EVERYWHERE),
                sleep=asyncio.sleep,
                uniform=self._uniform,
            )
            self._tasks.append(loop.create_task(reflector.run(), name=f"mirror-{resource.plural}"))
            await reflector.synced.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
