"""Past usage of tenant queues, fading with a half-life: who used less goes first.

A reservation counts at once, as a penalty of what one sampling interval would add, so that a tenant cannot take many
places before its usage is sampled. The penalty is folded into the history when the work is admitted and dropped when
it never is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fairway.core.model import SECOND, Time, UsageDecay

Units = dict[str, float]


@dataclass(slots=True)
class TenantUsage:
    consumed: Units = field(default_factory=dict)
    penalties: dict[str, Units] = field(default_factory=dict)
    sampled: Time = 0


def in_units(amounts: Mapping[str, int]) -> Units:
    """Whole units, so that one weight of 1 means one core and one device alike."""
    return {name: amount / 1000 if name == "cpu" else float(amount) for name, amount in amounts.items()}


class UsageLedger:
    __slots__ = ("_decay", "_weights", "tenants")

    def __init__(self, decay: UsageDecay | None) -> None:
        self._decay = decay
        self._weights: dict[str, float] = {}
        self.tenants: dict[str, TenantUsage] = {}

    @property
    def enabled(self) -> bool:
        return self._decay is not None

    def set_weight(self, tenant: str, weight: float) -> None:
        self._weights[tenant] = weight

    def forget(self, tenant: str) -> None:
        self._weights.pop(tenant, None)
        self.tenants.pop(tenant, None)

    def seed(self, tenant: str, consumed: Units, now: Time) -> None:
        self.tenants[tenant] = TenantUsage(dict(consumed), sampled=now)

    def rank(self, tenant: str) -> float:
        """The lower, the earlier; a weight of nothing is last."""
        weight = self._weights.get(tenant, 1.0)
        if weight <= 0:
            return math.inf
        usage = self.tenants.get(tenant)
        if usage is None or self._decay is None:
            return 0.0
        total = dict(usage.consumed)
        for penalty in usage.penalties.values():
            _add(total, penalty)
        weights = self._decay.resource_weights
        return sum(weights.get(name, 1.0) * total[name] for name in sorted(total)) / weight

    def penalize(self, tenant: str, workload: str, requests: Units, now: Time) -> None:
        if self._decay is None:
            return
        share = _faded(self._decay.sampling, self._decay.half_life)
        usage = self.tenants.setdefault(tenant, TenantUsage(sampled=now))
        usage.penalties[workload] = {name: amount * share for name, amount in requests.items()}

    def drop_penalty(self, tenant: str, workload: str) -> None:
        usage = self.tenants.get(tenant)
        if usage is not None:
            usage.penalties.pop(workload, None)

    def settle(self, tenant: str, workload: str) -> None:
        """Admitted: what was a penalty becomes history."""
        usage = self.tenants.get(tenant)
        if usage is not None:
            _add(usage.consumed, usage.penalties.pop(workload, {}))

    def sample(self, tenant: str, current: Units, now: Time) -> None:
        """Fold what the tenant uses now into its history, weighed by the time since the last sample."""
        if self._decay is None:
            return
        usage = self.tenants.setdefault(tenant, TenantUsage(sampled=now))
        if self._decay.half_life == 0:
            usage.consumed = {}
        else:
            # A clock that was set back makes no history: it counts from there.
            share = _faded(max(0, now - usage.sampled), self._decay.half_life)
            mixed = {name: amount * (1 - share) for name, amount in usage.consumed.items()}
            _add(mixed, {name: amount * share for name, amount in current.items()})
            usage.consumed = mixed
        usage.sampled = now

    def next_sample(self, tenant: str) -> Time | None:
        usage = self.tenants.get(tenant)
        if usage is None or self._decay is None:
            return None
        return usage.sampled + max(self._decay.sampling, SECOND)


def _faded(elapsed: Time, half_life: Time) -> float:
    return 0.0 if half_life == 0 else 1.0 - math.pow(0.5, elapsed / half_life)


def _add(total: Units, more: Units) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0.0) + amount
