"""What a cluster has and what of it is free, from its nodes and queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairway.control.adapters import Json
from fairway.control.conditions import find_condition
from fairway.core.quantity import Format, QuantityError, parse, render

Quota = tuple[str, str]
"""A resource and an amount of it."""


class Sums:
    """Amounts per resource, added up exactly; an amount reads in the suffixes of the first that was added."""

    def __init__(self) -> None:
        self._nanos: dict[str, int] = {}
        self._forms: dict[str, Format] = {}

    def add(self, resource: str, amount: str, times: int = 1) -> None:
        try:
            quantity = parse(amount)
        except QuantityError:  # a foreign cluster may write what it likes; what is no amount counts nothing
            return
        self._nanos[resource] = self._nanos.get(resource, 0) + times * quantity.nanos
        if quantity.nanos or resource not in self._forms:
            self._forms.setdefault(resource, quantity.format)

    def nanos(self, resource: str) -> int:
        return self._nanos.get(resource, 0)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nanos)

    def render(self, resource: str) -> str:
        return render(self._nanos.get(resource, 0), self._forms.get(resource, "decimal"))

    def as_json(self) -> dict[str, str]:
        return {resource: self.render(resource) for resource in sorted(self._nanos)}


def quotas(queue: Json) -> Iterator[Quota]:
    """Every nominal quota that a ClusterQueue offers, over its flavors."""
    for group in (queue.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                yield str(resource["name"]), str(resource.get("nominalQuota", "0"))


def reserved(queue: Json) -> Iterator[Quota]:
    """What a ClusterQueue says is reserved of its flavors."""
    for flavor in (queue.get("status") or {}).get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            yield str(resource["name"]), str(resource.get("total", "0"))


def of_cluster(nodes: Iterable[Json], queues: Iterable[Json]) -> tuple[dict[str, str], dict[str, str]]:
    """Capacity and what of it is available. A cluster that shows no nodes has what its queues may give out."""
    nodes, queues = list(nodes), list(queues)
    capacity = Sums()
    for node in nodes:
        if _is_usable(node):
            for name, amount in ((node.get("status") or {}).get("allocatable") or {}).items():
                capacity.add(name, str(amount))
    if not nodes:
        for queue in queues:
            for name, amount in quotas(queue):
                capacity.add(name, amount)
    return capacity.as_json(), _left(capacity.as_json(), queues)


def _left(capacity: Mapping[str, str], queues: Iterable[Json]) -> dict[str, str]:
    left = Sums()
    for name, amount in capacity.items():
        left.add(name, amount)
    for queue in queues:
        for name, amount in reserved(queue):
            if name in capacity:
                left.add(name, amount, -1)
    return {name: left.render(name) if left.nanos(name) > 0 else "0" for name in capacity}


def _is_usable(node: Json) -> bool:
    """Takes work: not cordoned, and not known to be out of order."""
    if (node.get("spec") or {}).get("unschedulable"):
        return False
    ready = find_condition(node, "Ready")
    return ready is None or ready.get("status") == "True"
