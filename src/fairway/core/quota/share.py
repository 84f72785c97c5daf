"""Dominant share: how much a node borrows of what could be lent to it, weighed. The lowest share goes first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from fairway.core.model import Cell
from fairway.core.quota.node import Node

_NOTHING: dict[Cell, int] = {}
INFINITE_SHARE = (1 << 63) - 1


class Share(NamedTuple):
    ratio: float
    weight: float
    resource: str = ""
    borrowed: tuple[Cell, ...] = ()

    @property
    def borrowing(self) -> bool:
        return bool(self.borrowed)

    @property
    def weighted(self) -> float:
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def rank(self) -> tuple[float, float]:
        """Sorts shares; among those that borrow with no weight at all, the one that borrows more is the higher."""
        weighted = self.weighted
        return (weighted, self.ratio if weighted == math.inf else 0.0)

    @property
    def rounded(self) -> int:
        weighted = self.weighted
        return INFINITE_SHARE if weighted == math.inf else math.ceil(weighted)

    def borrows_on(self, requested: Mapping[Cell, int]) -> bool:
        return any(requested.get(cell, 0) > 0 for cell in self.borrowed)


LOWEST = (-1.0, 0.0)


def dominant_share(node: Node, extra: Mapping[Cell, int] = _NOTHING) -> Share:
    parent = node.parent
    if parent is None:
        return Share(0.0, node.weight)
    usage = node.usage
    borrowed: dict[str, int] = {}
    cells: list[Cell] = []
    for cell, quota in node.subtree.items():
        over = usage.get(cell, 0) + extra.get(cell, 0) - quota
        if over > 0:
            resource = cell.partition("/")[2]
            borrowed[resource] = borrowed.get(resource, 0) + over
            cells.append(cell)
    if not cells:
        return Share(0.0, node.weight)
    ratio, dominant = 0.0, ""
    for resource in sorted(borrowed):
        lendable = lendable_to(parent, resource)
        if lendable > 0:
            part = borrowed[resource] * 1000 / lendable
            if part > ratio:
                ratio, dominant = part, resource
    return Share(ratio, node.weight, dominant, tuple(cells))


def lendable_to(node: Node, resource: str) -> int:
    """All that the tree could ever give to this node of a resource, over all flavors."""
    if node.lendable_as_of != node.root.quota_epoch:
        node.lendable_as_of = node.root.quota_epoch
        node.lendable = {}
        for cell in node.root.subtree:
            name = cell.partition("/")[2]
            node.lendable[name] = node.lendable.get(name, 0) + node.potential(cell)
    return node.lendable.get(resource, 0)
