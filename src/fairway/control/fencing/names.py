"""The words that a hub and a cluster exchange about fencing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.control.adapters.names import MULTIKUEUE_ORIGIN
from fairway.engines.lease import EXPIRED

ORIGIN = MULTIKUEUE_ORIGIN
EPOCH = "fairway.dev/epoch"
"""On a Workload and a job that a hub sent: the number of the decision, which only ever grows."""
EPOCH_FLOOR = "fairway.dev/epoch-floor"
"""On a Lease, by the hub: no smaller epoch is on its way any more."""
STAMP = "fairway.dev/stamp"
"""On a Lease, by the cluster: when it took the write, on its own clock. It counts once the hub sends it back."""
GRACE = "fairway.dev/grace-seconds"
"""On a Lease, by the hub: from the end of the lease to SIGKILL."""
RENEW_AGAIN = "fairway.dev/renew-again"
"""On a Lease, by the cluster: the write did not make the lease valid; with the stamp that it brought, the next one will."""
LEASE = "fairway.dev/lease"
"""On a pod: the origin whose lease it runs under."""
ADMITTED_AS = "fairway.dev/admitted-as"
"""On a pod that runs under a lease: the very Workload that it was admitted with."""
WORKLOAD = "kueue.x-k8s.io/workload"
LEASE_EXPIRED = EXPIRED
LEASE_NAMESPACE = "kueue-system"
LEASE_PREFIX = "fairway-"

Json = Mapping[str, Any]


def lease_name(origin: str) -> str:
    return LEASE_PREFIX + origin


def marks(obj: Json) -> tuple[str, str]:
    """Origin and epoch of what a hub sent; an empty epoch for anything else."""
    metadata = obj.get("metadata") or {}
    epoch = (metadata.get("annotations") or {}).get(EPOCH, "")
    return ((metadata.get("labels") or {}).get(ORIGIN, ""), epoch) if epoch else ("", "")


def number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None
