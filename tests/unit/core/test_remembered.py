"""The table of what is remembered is about things that exist, and leaves none of the state out."""

from __future__ import annotations

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


def test_every_attribute_of_the_state_is_told_or_in_the_table() -> None:
    for holder in (AdmitState, Line):
        name = holder.__name__
        listed = {memory.attribute for memory in REMEMBERED if memory.holder == name}
        assert set(holder.__slots__) == listed | FROM_OBJECTS[name]
