"""One node of the quota tree: a queue (leaf) or a cohort.

Every node has, per cell: its own quota; `subtree`, the quota it can offer with all below it; and `usage`. The part of
`subtree` above its lending limit is its own alone (`reserve`): the parent sees neither that quota nor the usage in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairway.core.model import Amounts, Cell, Quota

_NO_QUOTA = Quota(0)
Contribution = tuple[Amounts, Amounts]


class Node:
    __slots__ = (
        "children",
        "height",
        "is_queue",
        "lendable",
        "lendable_as_of",
        "lent",
        "name",
        "over",
        "own",
        "parent",
        "queues",
        "quota_epoch",
        "reserve",
        "root",
        "subtree",
        "usage",
        "version",
        "weight",
    )

    def __init__(self, name: str, is_queue: bool) -> None:
        self.name = name
        self.is_queue = is_queue
        self.parent: Node | None = None
        self.root: Node = self
        self.children: list[Node] = []
        self.queues: list[Node] = []
        self.own: Mapping[Cell, Quota] = {}
        self.weight = 1.0
        self.height = 0
        self.reserve: Amounts = {}
        self.subtree: Amounts = {}
        self.usage: Amounts = {}
        self.lendable: Amounts = {}
        self.lendable_as_of = -1
        self.quota_epoch = 0
        self.lent: Amounts = {}
        self.over: dict[Cell, dict[Node, None]] = {}
        self.version = 0

    def __repr__(self) -> str:
        return f"Node({'queue' if self.is_queue else 'cohort'} {self.name})"

    def path(self) -> Iterator[Node]:
        """The ancestors, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def quota(self, cell: Cell) -> Quota:
        return self.own.get(cell, _NO_QUOTA)

    def nominal(self, cell: Cell) -> int:
        quota = self.own.get(cell)
        return quota.nominal if quota is not None else 0

    def local_available(self, cell: Cell) -> int:
        reserve = self.reserve.get(cell, 0)
        return max(0, reserve - self.usage.get(cell, 0)) if reserve else 0

    def available(self, cell: Cell) -> int:
        """What could still be used here, borrowing included; negative where the tree is overused."""
        used = self.usage.get(cell, 0)
        subtree = self.subtree.get(cell, 0)
        parent = self.parent
        if parent is None:
            return subtree - used
        if parent.parent is None:
            above = parent.subtree.get(cell, 0) - parent.usage.get(cell, 0)
        else:
            above = parent.available(cell)
        quota = self.own.get(cell)
        reserve = self.reserve.get(cell, 0) if self.reserve else 0
        if quota is not None and quota.borrowing_limit is not None:
            most = subtree + quota.borrowing_limit - (used if used > reserve else reserve)
            if most < above:
                above = most
        return above + reserve - used if reserve > used else above

    def queue_available(self, cell: Cell) -> int:
        return max(0, self.available(cell))

    def potential(self, cell: Cell) -> int:
        """What could be used here if nothing at all were in use."""
        subtree = self.subtree.get(cell, 0)
        if self.parent is None:
            return subtree
        most = self.reserve.get(cell, 0) + self.parent.potential(cell)
        quota = self.own.get(cell)
        if quota is not None and quota.borrowing_limit is not None:
            most = min(most, subtree + quota.borrowing_limit)
        return most

    def add(self, cell: Cell, amount: int) -> None:
        node: Node = self
        while True:
            usage = node.usage
            before = usage.get(cell, 0)
            usage[cell] = after = before + amount
            parent = node.parent
            if parent is None:
                return
            quota = node.subtree.get(cell, 0)
            if before <= quota < after:
                parent.over.setdefault(cell, {})[node] = None
            if node.reserve:
                amount -= max(0, node.reserve.get(cell, 0) - before)
            if amount <= 0:
                return
            node = parent

    def remove(self, cell: Cell, amount: int) -> None:
        node: Node = self
        while True:
            usage = node.usage
            before = usage.get(cell, 0)
            usage[cell] = after = before - amount
            parent = node.parent
            if parent is None:
                return
            quota = node.subtree.get(cell, 0)
            if after <= quota < before:
                parent.over[cell].pop(node, None)
            stored = before - node.reserve.get(cell, 0) if node.reserve else before
            if stored <= 0:
                return
            if stored < amount:
                amount = stored
            node = parent

    def add_all(self, amounts: Mapping[Cell, int]) -> None:
        for cell, amount in amounts.items():
            self.add(cell, amount)

    def remove_all(self, amounts: Mapping[Cell, int]) -> None:
        for cell, amount in amounts.items():
            self.remove(cell, amount)

    def borrows_with(self, cell: Cell, amount: int) -> bool:
        base = self.nominal(cell) if self.is_queue else self.subtree.get(cell, 0)
        return base < self.usage.get(cell, 0) + amount

    def within_quota(self, cells: Iterable[Cell]) -> bool:
        subtree, usage = self.subtree, self.usage
        for cell in cells:  # noqa: SIM110 - asked millions of times; a generator costs twice as much
            if usage.get(cell, 0) > subtree.get(cell, 0):
                return False
        return True

    def fits(self, amounts: Mapping[Cell, int]) -> bool:
        for cell, amount in amounts.items():  # noqa: SIM110 - as above
            if amount > 0 and amount > self.available(cell):
                return False
        return True

    def fit_in_quota(self, amounts: Mapping[Cell, int]) -> tuple[bool, Amounts]:
        """Whether the amounts fit under this subtree's own quota, and what is left of them for the parent to give."""
        fits = True
        rest: Amounts = {}
        for cell, amount in amounts.items():
            if self.subtree.get(cell, 0) < self.usage.get(cell, 0) + amount:
                fits = False
            rest[cell] = amount - self.local_available(cell)
        return fits, rest

    def lowest_fit(self, cell: Cell, amount: int) -> tuple[int, bool]:
        """Height of the lowest subtree that has room for the amount, and whether it is less than the whole tree."""
        if self.parent is None or not self.borrows_with(cell, amount):
            return 0, self.parent is not None
        rest = amount - self.local_available(cell)
        for node in self.path():
            if not node.borrows_with(cell, rest):
                return node.height, node.parent is not None
            rest -= node.local_available(cell)
        return self.root.height, False

    def over_on(self, cells: Iterable[Cell]) -> list[Node]:
        """Children that use more of one of the cells than their own quota."""
        found: dict[Node, None] = {}
        for cell in cells:
            found.update(self.over.get(cell, {}))
        return list(found)

    def contribution(self) -> Contribution:
        """What the parent sees of this node: quota that it offers, usage that goes beyond its reserve."""
        offers, spills = dict(self.subtree), dict(self.usage)
        for cell, reserve in self.reserve.items():
            offers[cell] = offers.get(cell, 0) - reserve
            spills[cell] = max(0, spills.get(cell, 0) - reserve)
        return offers, spills

    def refresh(self) -> None:
        """What follows from the own quota and from what the children are known to offer."""
        subtree = dict(self.lent)
        for cell, quota in self.own.items():
            subtree[cell] = subtree.get(cell, 0) + quota.nominal
        self.subtree = subtree
        self.reserve = {
            cell: max(0, subtree.get(cell, 0) - quota.lending_limit)
            for cell, quota in self.own.items()
            if quota.lending_limit is not None
        }
        self.height = 0 if self.is_queue else self._height()

    def child_changed(self, child: Node, before: Contribution, after: Contribution, gone: bool = False) -> None:
        """Take over what changed of one child; the others are not looked at."""
        for known, old, new in ((self.lent, before[0], after[0]), (self.usage, before[1], after[1])):
            for cell in old.keys() | new.keys():
                known[cell] = known.get(cell, 0) + new.get(cell, 0) - old.get(cell, 0)
        for cell in before[1].keys() | after[1].keys() | child.usage.keys():
            if not gone and child.usage.get(cell, 0) > child.subtree.get(cell, 0):
                self.over.setdefault(cell, {})[child] = None
            elif cell in self.over:
                self.over[cell].pop(child, None)

    def _height(self) -> int:
        height = 1 if self.queues or self.children else 0
        return max([height, *(child.height + 1 for child in self.children)])
