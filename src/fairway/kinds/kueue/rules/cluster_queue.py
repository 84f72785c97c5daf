"""Rules about ClusterQueues."""

from __future__ import annotations

from msgspec import UNSET

from fairway.kinds.errors import NO_VALUE, FieldError, forbidden, invalid, not_supported
from fairway.kinds.kueue.gates import Gates
from fairway.kinds.kueue.rules import labels, quota
from fairway.kinds.kueue.rules.reading import items, part, same
from fairway.kinds.kueue.v1beta2.cluster_queue import (
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ClusterQueueSpec,
    FlavorFungibility,
    Migration,
    Preemption,
)
from fairway.kinds.kueue.v1beta2.shared import ResourceGroup
from fairway.kinds.types import to_json

FLAVORS_MAX = 256
RESOURCES_MAX = 256
COMBINATIONS_MAX = 512
CONCURRENT_FLAVORS_MAX = 16
_GROUPS = "spec.resourceGroups"
_POLICY = "spec.concurrentAdmissionPolicy"
_PREEMPTION = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"


def schema(new: ClusterQueue, _old: ClusterQueue | None) -> list[FieldError]:
    spec = part(new.spec, ClusterQueueSpec)
    groups = items(spec.resource_groups)
    errors: list[FieldError] = []
    if spec.cohort_name is UNSET and _has_borrowing_limit(groups):
        errors.append(invalid("spec", NO_VALUE, "borrowingLimit must be nil when cohort is empty"))
    fungibility = part(spec.flavor_fungibility, FlavorFungibility)
    if _preference_is_idle(fungibility):
        detail = "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
        errors.append(invalid("spec.flavorFungibility", NO_VALUE, detail))
    if _borrows_without_reclaiming(part(spec.preemption, Preemption)):
        errors.append(invalid("spec.preemption", NO_VALUE, _PREEMPTION))
    return errors + quota.flavor_sizes(groups, _GROUPS)


def admission(new: ClusterQueue, old: ClusterQueue | None, gates: Gates) -> list[FieldError]:
    spec = part(new.spec, ClusterQueueSpec)
    errors = _spec(spec, gates)
    if old is None:
        return errors + _on_flavors(spec, {})
    before = part(old.spec, ClusterQueueSpec)
    errors += _on_flavors(spec, {} if gates.reject_updates_to_cq_with_invalid_on_flavors else _settled(spec, before))
    if not same(spec.concurrent_admission_policy, before.concurrent_admission_policy):
        policy = spec.concurrent_admission_policy
        value = None if policy is UNSET else to_json(policy)
        errors.append(invalid(_POLICY, value, "field is immutable"))
    return errors


def _spec(spec: ClusterQueueSpec, gates: Gates) -> list[FieldError]:
    groups = items(spec.resource_groups)
    owner = quota.Owner(above="cohort", has_above=bool(spec.cohort_name), lends_at_most_nominal=True)
    errors = quota.resource_groups(groups, owner, _GROUPS)
    if spec.namespace_selector is not UNSET:
        errors += labels.label_selector(spec.namespace_selector, "spec.namespaceSelector")
    preemption = part(spec.preemption, Preemption)
    if _borrows_without_reclaiming(preemption):
        errors.append(invalid("spec.preemption", to_json(preemption), _PREEMPTION))
    fungibility = part(spec.flavor_fungibility, FlavorFungibility)
    if _preference_is_idle(fungibility):
        choice = fungibility.preference
        detail = f'preference "{choice}" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor'
        errors.append(invalid("spec.flavorFungibility.preference", choice, detail))
    errors += quota.fair_sharing(spec.fair_sharing, "spec.fairSharing")
    errors += _sizes(groups)
    if gates.concurrent_admission:
        errors += _concurrent_admission(spec)
    return errors


def _has_borrowing_limit(groups: list[ResourceGroup]) -> bool:
    return any(
        resource.borrowing_limit is not UNSET
        for group in groups
        for flavor in items(group.flavors)
        for resource in items(flavor.resources)
    )


def _preference_is_idle(fungibility: FlavorFungibility) -> bool:
    """A preference decides between two ways that were both tried: it means nothing where the search stops earlier."""
    return fungibility.preference is not UNSET and not (
        fungibility.when_can_borrow == "TryNextFlavor" and fungibility.when_can_preempt == "TryNextFlavor"
    )


def _borrows_without_reclaiming(preemption: Preemption) -> bool:
    borrow = preemption.borrow_within_cohort
    return preemption.reclaim_within_cohort == "Never" and borrow is not UNSET and borrow.policy != "Never"


def _sizes(groups: list[ResourceGroup]) -> list[FieldError]:
    """Lists that are each short enough can still be too long together."""
    errors: list[FieldError] = []
    flavors = sum(len(items(group.flavors)) for group in groups)
    if flavors > FLAVORS_MAX:
        detail = f"total number of flavors across all resourceGroups must be ≤ {FLAVORS_MAX}, got {flavors}"
        errors.append(invalid(_GROUPS, flavors, detail))
    resources = sum(len(items(group.covered_resources)) for group in groups)
    if resources > RESOURCES_MAX:
        detail = (
            f"total number of covered resources across all resourceGroups must be ≤ {RESOURCES_MAX}, got {resources}"
        )
        errors.append(invalid(_GROUPS, resources, detail))
    for index, group in enumerate(groups):
        both = sum(len(items(flavor.resources)) for flavor in items(group.flavors))
        if both > COMBINATIONS_MAX:
            detail = (
                f"number of flavor-resource combinations in a resourceGroup must be ≤ {COMBINATIONS_MAX}, got {both}"
            )
            errors.append(invalid(f"{_GROUPS}[{index}]", both, detail))
    return errors


def _flavors(spec: ClusterQueueSpec) -> list[str]:
    names = (flavor.name for group in items(spec.resource_groups) for flavor in items(group.flavors))
    return list(dict.fromkeys(names))


def _checks(spec: ClusterQueueSpec) -> list[AdmissionCheckStrategyRule]:
    strategy = spec.admission_checks_strategy
    return [] if strategy is UNSET else items(strategy.admission_checks)


def _settled(spec: ClusterQueueSpec, before: ClusterQueueSpec) -> dict[str, set[str]]:
    """Checks that were stored as they are before the rule came: an update of something else must not stumble over them."""
    if set(_flavors(spec)) != set(_flavors(before)):
        return {}
    return {check.name: set(items(check.on_flavors)) for check in _checks(before)}


def _on_flavors(spec: ClusterQueueSpec, settled: dict[str, set[str]]) -> list[FieldError]:
    flavors = _flavors(spec)
    errors: list[FieldError] = []
    for index, check in enumerate(_checks(spec)):
        chosen = items(check.on_flavors)
        if settled.get(check.name) == set(chosen):
            continue
        path = f"spec.admissionChecksStrategy.admissionChecks[{index}].onFlavors"
        errors += [
            not_supported(f"{path}[{at}]", flavor, flavors) for at, flavor in enumerate(chosen) if flavor not in flavors
        ]
    return errors


def _concurrent_admission(spec: ClusterQueueSpec) -> list[FieldError]:
    policy = spec.concurrent_admission_policy
    if policy is UNSET:
        return []
    groups = items(spec.resource_groups)
    errors: list[FieldError] = []
    if len(groups) != 1:
        detail = "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined"
        errors.append(invalid(_GROUPS, len(groups), detail))
    elif (count := len(items(groups[0].flavors))) > CONCURRENT_FLAVORS_MAX:
        detail = (
            f"cannot have more than {CONCURRENT_FLAVORS_MAX} resource flavors in the ResourceGroup"
            " when ConcurrentAdmissionPolicy is defined"
        )
        errors.append(invalid(f"{_GROUPS}[0].flavors", count, detail))
    errors += _migration(policy.migration, _flavors(spec))
    if spec.queueing_strategy == "StrictFIFO":
        detail = "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined"
        errors.append(invalid("spec.queueingStrategy", spec.queueing_strategy, detail))
    return errors


def _migration(migration: Migration, flavors: list[str]) -> list[FieldError]:
    if migration.constraints is UNSET:
        return []
    path = f"{_POLICY}.migration.constraints"
    if migration.mode and migration.mode != "TryPreferredFlavors":
        detail = f'may only be set when migration.mode is "TryPreferredFlavors" (got "{migration.mode}")'
        return [forbidden(path, detail)]
    last = migration.constraints.last_acceptable_flavor_name
    if last is UNSET or last in flavors:
        return []
    detail = f"must be one of the flavors defined in the ClusterQueue: [{' '.join(flavors)}]"
    return [invalid(f"{path}.lastAcceptableFlavorName", last, detail)]
