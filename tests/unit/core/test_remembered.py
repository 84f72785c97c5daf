"""The table of what is remembered is about things that exist, and leaves none of the state out."""

from __future__ import annotations

from pathlib import Path

from fairway.core.admit.line import Line
from fairway.core.admit.remembered import REMEMBERED
from fairway.core.admit.state import AdmitState

# Told by events, or worked out from what was told.
FROM_OBJECTS = {
    "AdmitState": {
        "_recipes",
        "_to_wake",
        "checks",
        "flavors",
        "inactive",
        "ledger",
        "lines",
        "queues",
        "ready",
        "settings",
        "terminating",
        "topologies",
        "tree",
    },
    "Line": {
        "_active",
        "_buckets",
        "_by_shape",
        "_counter",
        "_parked",
        "_served",
        "pops",
        "queue",
        "shape_parking",
        "stopped",
        "tenant_rank",
    },
}


DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "scheduling.md"


def test_the_document_has_the_table_as_it_is() -> None:
    rows = [f"| `{m.holder}.{m.attribute}` | {m.what} | {m.at_restart.value}; {m.because} |" for m in REMEMBERED]
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition("<!-- remembered -->")[2].partition("<!-- /remembered -->")[0]
    assert [line for line in table.splitlines() if line.startswith("| `")] == rows


def test_every_attribute_of_the_state_is_told_or_in_the_table() -> None:
    for holder in (AdmitState, Line):
        name = holder.__name__
        listed = {memory.attribute for memory in REMEMBERED if memory.holder == name}
        assert set(holder.__slots__) == listed | FROM_OBJECTS[name]
