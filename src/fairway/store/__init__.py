"""Durable, watchable bytes: one store, with or without a log beneath it. Knows neither kinds nor the API.

    stage(ops) ──► staged (writers see it) ──► log, one commit per batch ──► published (readers and watchers see it)

Natural group commit: a batch is what was staged while the last commit ran. Acknowledged means durable; what readers and watchers
see is durable. Imports nothing of fairway but the disk of fairway.runtime.
"""

from fairway.store.log import Log, Row, StoreBroken, StoreError, StoreFull
from fairway.store.pending import Outcome, Staged
from fairway.store.record import (
    ABSENT,
    ANY,
    NO_HEAD,
    Append,
    Compacted,
    Conflict,
    Delete,
    Event,
    Future,
    Op,
    Put,
    Record,
    Trim,
    restamp,
)
from fairway.store.store import Store
from fairway.store.watch import Watch

__all__ = [
    "ABSENT",
    "ANY",
    "NO_HEAD",
    "Append",
    "Compacted",
    "Conflict",
    "Delete",
    "Event",
    "Future",
    "Log",
    "Op",
    "Outcome",
    "Put",
    "Record",
    "Row",
    "Staged",
    "Store",
    "StoreBroken",
    "StoreError",
    "StoreFull",
    "Trim",
    "Watch",
    "restamp",
]
