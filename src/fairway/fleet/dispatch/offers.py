"""What the queues of clusters offer, from the objects there: quotas, and what of them is reserved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairway.control.adapters import Json
from fairway.control.conditions import find_condition
from fairway.core.dispatch.ledger import Group, Offer
from fairway.core.model import UNLIMITED, Amounts, cell
from fairway.core.quantity import parse


def amount(resource: str, text: Any) -> int:
    """As the core counts: cpu in thousandths, the rest in whole units."""
    quantity = parse(str(text))
    return -(-quantity.nanos // 1_000_000) if resource == "cpu" else -(-quantity.nanos // 1_000_000_000)


def requests_of(workload: Json) -> dict[str, int]:
    """What a workload that holds quota on the hub asks for in all."""
    total: dict[str, int] = {}
    for assignment in ((workload.get("status") or {}).get("admission") or {}).get("podSetAssignments") or ():
        for name, text in (assignment.get("resourceUsage") or {}).items():
            total[name] = total.get(name, 0) + amount(name, text)
    return total


def cells_of(workload: Json) -> tuple[str, Amounts]:
    """Which queue of a cluster gave a copy what. An empty name where it holds nothing."""
    admission = (workload.get("status") or {}).get("admission") or {}
    cells: Amounts = {}
    for assignment in admission.get("podSetAssignments") or ():
        flavors = assignment.get("flavors") or {}
        for name, text in (assignment.get("resourceUsage") or {}).items():
            if name in flavors:
                key = cell(flavors[name], name)
                cells[key] = cells.get(key, 0) + amount(name, text)
    return str(admission.get("clusterQueue", "")), cells


def offer_of(queue: Json, cohort: Iterable[Json]) -> Offer:
    """cohort: all queues that share the queue's cohort, itself among them."""
    spec = queue.get("spec") or {}
    taken = _taken(queue)
    others = [each for each in cohort if each is not queue]
    groups = []
    for group in spec.get("resourceGroups") or ():
        limits: Amounts = {}
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                key = cell(flavor["name"], resource["name"])
                limits[key] = _limit(resource, key, others)
        flavors = tuple(flavor["name"] for flavor in group.get("flavors") or ())
        groups.append(Group(frozenset(group.get("coveredResources") or ()), flavors, limits, taken))
    return Offer(tuple(groups), *_active(queue))


def _limit(resource: Json, key: str, others: Iterable[Json]) -> int:
    nominal = amount(resource["name"], resource.get("nominalQuota", "0"))
    lent = sum(_nominal(other, key) for other in others)
    if resource.get("borrowingLimit") is not None:
        lent = min(lent, amount(resource["name"], resource["borrowingLimit"]))
    return min(nominal + lent, UNLIMITED)


def _nominal(queue: Json, key: str) -> int:
    for group in (queue.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                if cell(flavor["name"], resource["name"]) == key:
                    return amount(resource["name"], resource.get("nominalQuota", "0"))
    return 0


def _taken(queue: Json) -> Amounts:
    found: Amounts = {}
    for flavor in (queue.get("status") or {}).get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            found[cell(flavor["name"], resource["name"])] = amount(resource["name"], resource.get("total", "0"))
    return found


def _active(queue: Json) -> tuple[bool, str]:
    if ((queue.get("spec") or {}).get("stopPolicy") or "None") != "None":
        return False, f"its ClusterQueue {queue['metadata']['name']} is stopped"
    active = find_condition(queue, "Active")
    if active is not None and active.get("status") == "False":
        return False, f"its ClusterQueue {queue['metadata']['name']} is inactive: {active.get('message', '')}"
    return True, ""


def in_cohort(queue: Json, all_queues: Mapping[str, Json]) -> list[Json]:
    name = (queue.get("spec") or {}).get("cohortName") or (queue.get("spec") or {}).get("cohort") or ""
    if not name:
        return [queue]
    return [
        queue if each["metadata"]["name"] == queue["metadata"]["name"] else each
        for each in all_queues.values()
        if ((each.get("spec") or {}).get("cohortName") or (each.get("spec") or {}).get("cohort")) == name
    ]
