"""What others may ask about queues: who waits in them, in order, and how much they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fairway.control.adapters import Json
from fairway.control.admission.measures import Measure, Measures
from fairway.control.admission.observer import Observer
from fairway.control.mirror import Table
from fairway.core.model import Workload


class QueueViews:
    def __init__(self, observer: Observer, workloads: Table, measures: Measures) -> None:
        self._state = observer.state
        self._workloads = workloads
        self._measures = measures

    def pending(self, resource: str, namespace: str, name: str, offset: int, limit: int) -> list[Json] | None:
        tenant = f"{namespace}/{name}" if resource == "localqueues" else None
        if tenant is not None:
            known = self._state.lines.tenants.get(tenant)
            if known is None:
                return None
            name = known.queue
        line = self._state.lines.by_queue.get(name)
        if line is None:
            return None if tenant is None else []
        return list(self._items(line.ordered(), tenant, offset, limit))

    def _items(self, ordered: Sequence[Workload], tenant: str | None, offset: int, limit: int) -> Iterator[Json]:
        in_tenant: Counter[str] = Counter()
        taken = 0
        for position, workload in enumerate(ordered):
            own = in_tenant[workload.tenant_queue]
            in_tenant[workload.tenant_queue] += 1
            if tenant is not None and workload.tenant_queue != tenant:
                continue
            taken += 1
            if taken <= offset:
                continue
            if taken > offset + limit:
                return
            obj = self._workloads.get(workload.key)
            if obj is not None:
                yield _item(obj, workload, position, own)

    def measures(self) -> Iterable[Measure]:
        return iter(self._measures)


def _item(obj: Json, workload: Workload, position: int, own: int) -> Json:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "creationTimestamp", "ownerReferences")
    return {
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "priority": workload.priority,
        "localQueueName": (obj.get("spec") or {}).get("queueName", ""),
        "positionInClusterQueue": position,
        "positionInLocalQueue": own,
    }
