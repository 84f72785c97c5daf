"""A space: one API, with its own objects. A node serves one or more of them."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.client import Item
from fairway.api.objects import Objects
from fairway.api.reads import Reads
from fairway.kinds.kind import Kind
from fairway.kinds.registry import Registry
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids
from fairway.store import Store

_RECENT_MAX = 4096


class Recent:
    """Objects by revision, of which the older half is let go at once. (To look for the first of a dict whose first ones go takes ever longer.)"""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: dict[int, Item] = {}
        self._older: dict[int, Item] = {}

    def get(self, revision: int) -> Item | None:
        return self._newer.get(revision) or self._older.get(revision)

    def put(self, revision: int, item: Item) -> None:
        if len(self._newer) >= _RECENT_MAX // 2:
            self._older, self._newer = self._newer, {}
        self._newer[revision] = item


class Space:
    def __init__(self, name: str, store: Store, kinds: Iterable[Kind], clock: Clock, ids: Ids) -> None:
        self.name = name
        self.store = store
        self.registry = Registry(kinds)
        self.clock = clock
        self.ids = ids
        self.objects = Objects(store, self.registry, clock, ids)
        self.reads = Reads(store)
        self.items = Recent()
        """The latest objects as clients in this process see them."""
