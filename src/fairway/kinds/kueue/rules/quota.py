"""Rules about quotas and fair sharing, which ClusterQueues and Cohorts share."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.kinds import names
from fairway.kinds.errors import NO_VALUE, FieldError, duplicate, invalid
from fairway.kinds.kueue.rules.reading import items, nanos
from fairway.kinds.kueue.v1beta2.shared import FairSharing, FlavorQuotas, ResourceGroup, ResourceQuota
from fairway.kinds.types import UNSET, Opt, Quantity

NEGATIVE = "must be greater than or equal to 0"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose quotas these are: what may be borrowed and lent depends on it."""

    above: str
    """What the node above is called."""
    has_above: bool
    lends_at_most_nominal: bool


def flavor_sizes(groups: list[ResourceGroup], path: str) -> list[FieldError]:
    """Schema: every flavor of a group has as many quotas as the group covers resources."""
    return [
        invalid(f"{path}[{index}]", NO_VALUE, "flavors must have the same number of resources as the coveredResources")
        for index, group in enumerate(groups)
        if any(len(items(flavor.resources)) != len(items(group.covered_resources)) for flavor in items(group.flavors))
    ]


def resource_groups(groups: list[ResourceGroup], owner: Owner, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups):
        here = f"{path}[{index}]"
        for at, name in enumerate(items(group.covered_resources)):
            where = f"{here}.coveredResources[{at}]"
            errors += [invalid(where, name, problem) for problem in names.qualified_name(name)]
            errors += [duplicate(where, name)] if name in resources else []
            resources.add(name)
        for at, flavor in enumerate(items(group.flavors)):
            where = f"{here}.flavors[{at}]"
            errors += _flavor(flavor, items(group.covered_resources), owner, where)
            errors += [duplicate(f"{where}.name", flavor.name)] if flavor.name in flavors else []
            flavors.add(flavor.name)
    return errors


def _flavor(flavor: FlavorQuotas, covered: list[str], owner: Owner, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # Quotas beyond the covered resources are the schema's business (flavor_sizes).
    for index, (quota, name) in enumerate(zip(items(flavor.resources), covered, strict=False)):
        here = f"{path}.resources[{index}]"
        if quota.name != name:
            errors.append(invalid(f"{here}.name", quota.name, "must match the name in coveredResources"))
        errors += not_negative(quota.nominal_quota, f"{here}.nominalQuota")
        errors += _limits(quota, owner, here)
    return errors


def _limits(quota: ResourceQuota, owner: Owner, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    borrowing, lending = quota.borrowing_limit, quota.lending_limit
    if borrowing is not UNSET:
        here = f"{path}.borrowingLimit"
        errors += _needs_above(borrowing, owner, here) + not_negative(borrowing, here)
    if lending is not UNSET:
        here = f"{path}.lendingLimit"
        errors += not_negative(lending, here) + _needs_above(lending, owner, here)
        if owner.lends_at_most_nominal and nanos(lending) > nanos(quota.nominal_quota):
            errors.append(invalid(here, lending, "must be less than or equal to the nominalQuota"))
    return errors


def _needs_above(limit: Quantity, owner: Owner, path: str) -> list[FieldError]:
    return [] if owner.has_above else [invalid(path, limit, f"must be nil when {owner.above} is empty")]


def not_negative(value: Opt[Quantity], path: str) -> list[FieldError]:
    return [invalid(path, value, NEGATIVE)] if nanos(value) < 0 else []


def fair_sharing(sharing: Opt[FairSharing], path: str) -> list[FieldError]:
    if sharing is UNSET or sharing.weight is UNSET:
        return []
    amount = nanos(sharing.weight)
    if amount < 0:
        return [invalid(path, sharing.weight, NEGATIVE)]
    # Shares are divided by the weight, and one so small cannot be told from 0.
    if amount == 1:
        return [invalid(path, sharing.weight, "When not 0, weight must be > 10e-9")]
    return []
