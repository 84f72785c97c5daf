"""What Kueue's webhooks fill in when an object is created, beside the static defaults of the types.

ClusterQueues and ResourceFlavors get the finalizer that keeps them while something uses them. A Workload gets none here: whoever
makes one from a job adds it, and controllers add it to AdmissionChecks and Topologies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from fairway.kinds.defaults import fill
from fairway.kinds.kueue.constants import RESOURCE_IN_USE
from fairway.kinds.kueue.gates import DEFAULT, Gates
from fairway.kinds.kueue.v1beta2.cluster_queue import ClusterQueue, ClusterQueueSpec
from fairway.kinds.kueue.v1beta2.resource_flavor import ResourceFlavor, ResourceFlavorSpec
from fairway.kinds.kueue.v1beta2.workload import Workload
from fairway.kinds.meta import ObjectMeta


def cluster_queue(new: ClusterQueue, old: ClusterQueue | None) -> None:
    if old is None:
        _keep_while_used(new.metadata)
        if new.spec is UNSET:
            new.spec = ClusterQueueSpec()
            fill(new.spec)


def resource_flavor(new: ResourceFlavor, old: ResourceFlavor | None) -> None:
    if old is None:
        _keep_while_used(new.metadata)
        if new.spec is UNSET:
            new.spec = ResourceFlavorSpec()


def workload(gates: Gates = DEFAULT) -> Callable[[Any, Any | None], None]:
    """Without partial admission, all pods of a set are needed, whatever the minimum says."""

    def default(new: Workload, old: Workload | None) -> None:
        if old is None and not gates.partial_admission and new.spec is not UNSET and new.spec.pod_sets is not UNSET:
            for pod_set in new.spec.pod_sets:
                pod_set.min_count = UNSET

    return default


def _keep_while_used(meta: ObjectMeta) -> None:
    finalizers = [] if meta.finalizers is UNSET else meta.finalizers
    if RESOURCE_IN_USE not in finalizers:
        meta.finalizers = [*finalizers, RESOURCE_IN_USE]
