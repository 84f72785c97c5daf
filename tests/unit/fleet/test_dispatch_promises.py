"""What a hub counts of copies that got quota or gave it back, until the cluster's queue says it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from fairway.api.client import Item
from fairway.control.configuration import Configuration
from fairway.fleet.dispatch.knowledge import Knowledge
from fairway.fleet.dispatch.nominator import Nominator

KEY = "default/w"


def nominator() -> Nominator:
    return Nominator(Configuration(), cast(Knowledge, SimpleNamespace(links={})))


def copy(revision: int, cpu: str = "") -> Item:
    """A copy on a cluster, with so much quota; with none if nothing is said."""
    assigned = [{"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}, "count": 1}]
    status: dict[str, Any] = {"admission": {"clusterQueue": "q", "podSetAssignments": assigned}} if cpu else {}
    obj = {"metadata": {"name": "w", "namespace": "default", "resourceVersion": str(revision)}, "status": status}
    return Item(msgspec.json.encode(obj))


def test_what_was_given_and_came_back_before_the_queue_said_so_is_no_promise() -> None:
    asked = nominator()
    waits, holds = copy(4), copy(5, "2")
    asked.saw("c", KEY, waits, holds)
    assert asked.ledger.promised_to_others("c", "q", "default/other") == {"f/cpu": 2000}
    asked.saw("c", KEY, holds, copy(6))
    assert len(asked.ledger) == 0
    asked.saw("c", KEY, copy(6), copy(7, "2"))
    asked.saw("c", KEY, copy(7, "2"), None)
    assert len(asked.ledger) == 0


@pytest.mark.parametrize(("again", "left"), [("2", {}), ("3", {"f/cpu": 1000})])
def test_what_came_back_and_was_given_again_counts_by_the_difference(again: str, left: dict[str, int]) -> None:
    asked = nominator()
    asked.saw("c", KEY, copy(4), copy(5, "2"))
    asked._on_queue("c", "/q", copy(6))  # noqa: SLF001 - the cluster's queue has told
    assert len(asked.ledger) == 0
    asked.saw("c", KEY, copy(5, "2"), copy(7))
    assert asked.ledger.promised_to_others("c", "q", "default/other") == {"f/cpu": -2000}
    asked.saw("c", KEY, copy(7), copy(8, again))
    assert asked.ledger.promised_to_others("c", "q", "default/other") == left
    asked._on_queue("c", "/q", copy(9))  # noqa: SLF001
    assert len(asked.ledger) == 0
