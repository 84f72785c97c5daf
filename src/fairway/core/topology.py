"""Where pods of a pod set stand in a topology: counts per domain. Only the arithmetic; choosing domains is not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True, frozen=True)
class Domain:
    values: tuple[str, ...]
    count: int


class TopologyAssignment(NamedTuple):
    levels: tuple[str, ...]
    domains: tuple[Domain, ...] = ()


def merge(a: TopologyAssignment, b: TopologyAssignment) -> TopologyAssignment:
    """Both together, domains in the order of their values."""
    counts: dict[tuple[str, ...], int] = {}
    for domain in (*a.domains, *b.domains):
        counts[domain.values] = counts.get(domain.values, 0) + domain.count
    return TopologyAssignment(a.levels, tuple(Domain(values, counts[values]) for values in sorted(counts)))


def truncate(assignment: TopologyAssignment, count: int) -> TopologyAssignment:
    """The first `count` pods in the order in which they were placed."""
    kept: list[Domain] = []
    for domain in assignment.domains:
        taken = min(domain.count, count)
        if taken <= 0:
            break
        kept.append(Domain(domain.values, taken))
        count -= taken
    return TopologyAssignment(assignment.levels, tuple(kept))
