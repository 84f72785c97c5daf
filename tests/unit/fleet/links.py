"""Links for tests: real tables, fed by hand, and a connection that a test cuts and mends."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairway.api.client import Client, Item, Resource
from fairway.control.mirror import Table
from fairway.core.model import Time

Json = dict[str, Any]
_revisions = itertools.count(1)


@dataclass(frozen=True)
class FakeTrouble:
    reason: str
    message: str


@dataclass
class FakeLink:
    name: str
    client: Client | None = None
    connected: bool = False
    ever_synced: bool = False
    lost_since: Time = 0
    trouble: FakeTrouble | None = None
    attempts: int = 0
    next_attempt: Time | None = None
    tables: dict[Resource, Table] = field(default_factory=dict)

    def table(self, resource: Resource) -> Table:
        return self.tables.setdefault(resource, Table(resource))

    def put(self, resource: Resource, *objects: Json) -> None:
        for obj in objects:
            metadata = {"uid": "u", **obj["metadata"], "resourceVersion": str(next(_revisions))}
            self.table(resource).put(Item(msgspec.json.encode({**obj, "metadata": metadata})))


class FakeLinks:
    def __init__(self) -> None:
        self.links: dict[str, FakeLink] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._new: list[Callable[[FakeLink], None]] = []

    def get(self, name: str) -> FakeLink | None:
        return self.links.get(name)

    def names(self) -> list[str]:
        return sorted(self.links)

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def on_new(self, listener: Callable[[FakeLink], None]) -> None:
        self._new.append(listener)

    def _link(self, name: str) -> FakeLink:
        if name not in self.links:
            self.links[name] = FakeLink(name)
            for listener in self._new:
                listener(self.links[name])
        return self.links[name]

    def tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)

    def connect(self, name: str, client: Client | None = None) -> FakeLink:
        link = self._link(name)
        link.client, link.connected, link.ever_synced, link.trouble, link.attempts = client, True, True, None, 0
        self.tell(name)
        return link

    def lose(self, name: str, since: Time, message: str = "connection refused") -> FakeLink:
        link = self._link(name)
        link.connected, link.lost_since, link.attempts = False, since, link.attempts + 1
        link.trouble = FakeTrouble("ClientConnectionFailed", message)
        self.tell(name)
        return link
