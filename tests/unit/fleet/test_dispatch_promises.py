"""What the ledger of a hub still counts while a cluster's queue has not told what it gave, or got back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
from tests.unit.fleet.links import FakeLink

from fairway.api.client import Item
from fairway.control.configuration import Configuration
from fairway.control.resources import CLUSTER_QUEUES
from fairway.fleet.dispatch.nominator import Nominator

CELL = "machine/cpu"


class Hub:
    def __init__(self) -> None:
        self.link = FakeLink("east")
        known: Any = SimpleNamespace(links={"east": self.link})
        self.nominator = Nominator(Configuration(), known)
        self.nominator.listen(self.link)  # type: ignore[arg-type]
        self._copy: Item | None = None

    def copy(self, revision: int, *, holds: bool) -> None:
        assigned = {"name": "main", "count": 1, "flavors": {"cpu": "machine"}, "resourceUsage": {"cpu": "4"}}
        status = {"admission": {"clusterQueue": "q", "podSetAssignments": [assigned]}} if holds else {}
        metadata = {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": str(revision)}
        spec = {"podSets": [{"name": "main", "count": 1}]}
        after = Item(msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status}))
        self.nominator.saw("east", "n/w", self._copy, after)
        self._copy = after

    def queue(self, revision: int) -> None:
        metadata = {"name": "q", "uid": "q", "resourceVersion": str(revision)}
        self.link.table(CLUSTER_QUEUES).put(Item(msgspec.json.encode({"metadata": metadata})))

    @property
    def promised(self) -> dict[str, int]:
        return dict(self.nominator.ledger.promised("east", "q"))


def test_what_a_queue_gave_is_counted_until_the_queue_tells() -> None:
    hub = Hub()
    hub.copy(5, holds=True)
    assert hub.promised == {CELL: 4000}
    hub.queue(6)
    assert hub.promised == {}
    hub.copy(7, holds=False)
    assert hub.promised == {CELL: -4000}
    hub.queue(8)
    assert hub.promised == {}


def test_what_was_given_and_got_back_before_the_queue_told_is_nothing_at_all() -> None:
    """The queue may find that nothing has changed, and never tell."""
    hub = Hub()
    hub.queue(4)
    hub.copy(5, holds=True)
    hub.copy(6, holds=False)
    assert hub.promised == {}
    assert len(hub.nominator.ledger) == 0
    hub.copy(7, holds=True)
    assert hub.promised == {CELL: 4000}
    hub.queue(8)
    assert hub.promised == {}
