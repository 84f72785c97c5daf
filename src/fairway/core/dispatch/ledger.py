"""What clusters have to give, and what of it was promised and is not yet to be seen there.

A cluster tells late what it gave away. Between a nomination and the cluster's answer the ledger counts the promise, so that a hundred
workloads that arrive at once are spread over the clusters instead of all being sent to the one that looked emptiest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from fairway.core.model import Amounts, cell

Requests = Mapping[str, int]
"""Resource to amount, of a whole workload."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a queue of a cluster offers: for each group of resources its flavors in order, with quota and what of it is taken."""

    groups: tuple[Group, ...]
    active: bool = True
    why: str = ""
    """Why it takes nothing, if it does not."""


@dataclass(frozen=True, slots=True)
class Group:
    resources: frozenset[str]
    flavors: tuple[str, ...]
    limits: Amounts
    """Most that may ever be used, by flavor and resource."""
    taken: Amounts


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a cluster is short of for a workload: the flavor that comes closest."""

    resource: str
    flavor: str
    wanted: int
    free: int
    limit: int


@dataclass(frozen=True, slots=True)
class Fit:
    """Where on a cluster a workload would go. room: the share of the scarcest resource that is left after it."""

    cells: Amounts
    room: float


@dataclass(slots=True)
class _Account:
    promised: Amounts = field(default_factory=dict)
    by_workload: dict[str, Amounts] = field(default_factory=dict)

    def add(self, cells: Amounts, sign: int) -> None:
        for name, amount in cells.items():
            total = self.promised.get(name, 0) + sign * amount
            if total:
                self.promised[name] = total
            else:
                self.promised.pop(name, None)


class Ledger:
    """Promises by cluster and workload."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str], _Account] = {}

    def promise(self, cluster: str, queue: str, workload: str, cells: Amounts) -> None:
        self.settle(cluster, queue, workload)
        account = self._accounts.setdefault((cluster, queue), _Account())
        account.by_workload[workload] = cells
        account.add(cells, 1)

    def settle(self, cluster: str, queue: str, workload: str) -> None:
        """The promise was kept, refused or taken back: from now on the cluster's own numbers tell."""
        account = self._accounts.get((cluster, queue))
        cells = account.by_workload.pop(workload, None) if account is not None else None
        if account is None or cells is None:
            return
        account.add(cells, -1)
        if not account.by_workload:
            del self._accounts[cluster, queue]

    def promised(self, cluster: str, queue: str) -> Mapping[str, int]:
        account = self._accounts.get((cluster, queue))
        return account.promised if account is not None else {}

    def promised_to_others(self, cluster: str, queue: str, workload: str) -> Mapping[str, int]:
        account = self._accounts.get((cluster, queue))
        own = account.by_workload.get(workload, {}) if account is not None else {}
        return {name: amount - own.get(name, 0) for name, amount in self.promised(cluster, queue).items()}

    def __len__(self) -> int:
        return sum(len(account.by_workload) for account in self._accounts.values())


def fit(offer: Offer, promised: Mapping[str, int], requests: Requests) -> Fit | Shortage | None:
    """How a workload fits now; what is missing where it does not; None where a resource is not offered at all."""
    cells: Amounts = {}
    room = 1.0
    covered: set[str] = set()
    for group in offer.groups:
        wanted = {name: amount for name, amount in requests.items() if name in group.resources and amount > 0}
        if not wanted:
            continue
        covered |= wanted.keys()
        best = _flavor(group, promised, wanted)
        if isinstance(best, Shortage) or best is None:
            return best
        flavor, left = best
        room = min(room, left)
        cells |= {cell(flavor, name): amount for name, amount in wanted.items()}
    if any(amount > 0 and name not in covered for name, amount in requests.items()):
        return None
    return Fit(cells, room)


def _flavor(group: Group, promised: Mapping[str, int], wanted: Requests) -> tuple[str, float] | Shortage | None:
    """The first flavor with room for all of it."""
    nearest: tuple[int, Shortage] | None = None
    for flavor in group.flavors:
        left, short = 1.0, None
        for name, amount in wanted.items():
            key = cell(flavor, name)
            limit = group.limits.get(key, 0)
            free = limit - group.taken.get(key, 0) - promised.get(key, 0)
            if amount > free:
                short = Shortage(name, flavor, amount, max(free, 0), limit)
                break
            left = min(left, (free - amount) / limit if limit else 0.0)
        if short is None:
            return flavor, left
        gap = short.wanted - short.free
        if nearest is None or gap < nearest[0]:
            nearest = gap, short
    return nearest[1] if nearest is not None else None


def squeeze(offer: Offer, promised: Mapping[str, int], requests: Requests) -> Fit:
    """As fit, where a workload waits if there is no room: then the room that is left is less than nothing."""
    cells: Amounts = {}
    room = 1.0
    for group in offer.groups:
        wanted = {name: amount for name, amount in requests.items() if name in group.resources and amount > 0}
        if not wanted or not group.flavors:
            continue
        rooms = [_room(group, flavor, promised, wanted) for flavor in group.flavors]
        # The first with room for all of it, as the cluster itself will look for one.
        chosen = next((index for index, left in enumerate(rooms) if left >= 0), rooms.index(max(rooms)))
        room = min(room, rooms[chosen])
        cells |= {cell(group.flavors[chosen], name): amount for name, amount in wanted.items()}
    return Fit(cells, room)


def _room(group: Group, flavor: str, promised: Mapping[str, int], wanted: Requests) -> float:
    left = 1.0
    for name, amount in wanted.items():
        key = cell(flavor, name)
        limit = group.limits.get(key, 0)
        if not limit:
            return -inf
        left = min(left, (limit - group.taken.get(key, 0) - promised.get(key, 0) - amount) / limit)
    return left


def ever(offer: Offer, requests: Requests) -> bool:
    """Whether the workload would fit if nothing else ran there."""
    empty = Offer(tuple(Group(g.resources, g.flavors, g.limits, {}) for g in offer.groups))
    return isinstance(fit(empty, {}, requests), Fit)


def missing(offer: Offer, requests: Requests) -> Iterable[str]:
    """Resources that are asked for and not offered."""
    offered = {name for group in offer.groups for name in group.resources}
    return sorted(name for name, amount in requests.items() if amount > 0 and name not in offered)
