"""Partial admission: the largest pod counts between minimum and full that can be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fairway.core.model import PodSet

Found = TypeVar("Found")


def can_reduce(pod_sets: Sequence[PodSet]) -> bool:
    return any(_slack(pod_set) > 0 for pod_set in pod_sets)


def search(pod_sets: Sequence[PodSet], probe: Callable[[list[int]], Found | None]) -> Found | None:
    """Binary search over how much of the slack of all pod sets is given up; the probe says what it found."""
    slack = [_slack(pod_set) for pod_set in pod_sets]
    total = sum(slack)
    if total == 0:
        return None
    found: dict[int, Found] = {}
    low, high = 0, total + 1
    while low < high:
        step = (low + high) // 2
        counts = [ps.full_count - own * step // total for ps, own in zip(pod_sets, slack, strict=True)]
        result = probe(counts)
        if result is None:
            low = step + 1
        else:
            found[step] = result
            high = step
    return found.get(low)


def _slack(pod_set: PodSet) -> int:
    return pod_set.full_count - (pod_set.full_count if pod_set.min_count is None else pod_set.min_count)
