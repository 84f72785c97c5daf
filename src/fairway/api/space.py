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
from fairway.runtime.recent import Recent
from fairway.store import Store

_RECENT = 2048


class Space:
    def __init__(self, name: str, store: Store, kinds: Iterable[Kind], clock: Clock, ids: Ids) -> None:
        self.name = name
        self.store = store
        self.registry = Registry(kinds)
        self.clock = clock
        self.ids = ids
        self.objects = Objects(store, self.registry, clock, ids)
        self.reads = Reads(store)
        self.items: Recent[int, Item] = Recent(_RECENT)
        """The latest objects as clients in this process see them, by revision."""
