"""What a placement may say: its policy, its selectors and its strategy, and what may change later."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.errors import FieldError, forbidden, invalid, required
from fairway.kinds.fleet.common import NAME_MAX, percent_or_count, text
from fairway.kinds.fleet.placement import (
    ClusterResourcePlacement,
    PlacementSpec,
    ResourcePlacement,
    RollingUpdateConfig,
    RolloutStrategy,
)
from fairway.kinds.fleet.policy import (
    ClusterAffinity,
    ClusterSelector,
    PlacementPolicy,
    PreferredClusterSelector,
    ResourceSelectorTerm,
    Toleration,
)
from fairway.kinds.fleet.validate_selectors import (
    label_selector_errors,
    property_selector_errors,
    property_sorter_errors,
)
from fairway.kinds.types import UNSET, IntOrString, Opt

Placement = ClusterResourcePlacement | ResourcePlacement
_STRATEGIES = ("RollingUpdate", "External")


def validate_placement(new: Placement, old: Placement | None) -> list[FieldError]:
    """Everything that the placement itself can tell; which kinds its selectors mean is checked in `references`."""
    if old is not None and new.metadata.deletion_timestamp is not UNSET and placement_errors(old):
        return []  # one that was always wrong must be able to lose its finalizers
    errors = placement_errors(new)
    if old is not None:
        errors += _transition_errors(new.spec, old.spec, isinstance(new, ClusterResourcePlacement))
    return errors


def placement_errors(placement: Placement) -> list[FieldError]:
    name = text(placement.metadata.name)
    errors = []
    if len(name) > NAME_MAX:
        errors.append(invalid("metadata.name", name, f"the name field cannot have length exceeding {NAME_MAX}"))
    spec = placement.spec
    errors += selector_errors(spec.resource_selectors, "spec.resourceSelectors")
    if isinstance(placement, ClusterResourcePlacement):
        errors += _reporting_errors(spec)
    errors += policy_errors(spec.policy, "spec.policy")
    errors += strategy_errors(spec.strategy, "spec.strategy")
    return errors


def is_namespace(selector: ResourceSelectorTerm) -> bool:
    return (selector.group, selector.version, selector.kind) == ("", "v1", "Namespace")


def picks_inside_namespace(selectors: list[ResourceSelectorTerm]) -> bool:
    """Whether the selectors name a namespace and the objects in it, which a cluster-wide placement otherwise cannot."""
    return any(_picks_inside(selector) for selector in selectors)


def _picks_inside(selector: ResourceSelectorTerm) -> bool:
    return is_namespace(selector) and selector.selection_scope == "NamespaceWithResourceSelectors"


def selector_errors(selectors: list[ResourceSelectorTerm], path: str) -> list[FieldError]:
    errors = []
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}]"
        if selector.label_selector is not UNSET and selector.name:
            errors.append(forbidden(at, "the labelSelector and name fields are mutually exclusive in selector"))
        errors += label_selector_errors(selector.label_selector, f"{at}.labelSelector")
    inside = [selector for selector in selectors if _picks_inside(selector)]
    if not inside:
        return errors
    mode = "NamespaceWithResourceSelectors mode"
    if len(inside) > 1:
        errors.append(forbidden(path, f"only one namespace selector with {mode} is allowed"))
    elif sum(map(is_namespace, selectors)) > 1:
        detail = "only one namespace selector is allowed (cannot mix with other namespace selectors)"
        errors.append(forbidden(path, f"when using {mode}, {detail}"))
    if not all(selector.name and selector.label_selector is UNSET for selector in inside):
        errors.append(forbidden(path, f"namespace selector with {mode} must select by name (not by label)"))
    return errors


def _reporting_errors(spec: PlacementSpec) -> list[FieldError]:
    namespaces = sum(selector.kind == "Namespace" for selector in spec.resource_selectors)
    if spec.status_reporting_scope != "NamespaceAccessible" or namespaces == 1:
        return []
    detail = "when statusReportingScope is NamespaceAccessible, exactly one resourceSelector with kind 'Namespace' is required"
    return [invalid("spec.statusReportingScope", spec.status_reporting_scope, detail)]


def policy_errors(policy: Opt[PlacementPolicy], path: str) -> list[FieldError]:
    if policy is UNSET:
        return []
    kind = policy.placement_type if policy.placement_type is not UNSET else "PickAll"
    if kind == "PickFixed":
        return _pick_fixed_errors(policy, path)
    errors = []
    if policy.cluster_names:
        detail = f"cluster names needs to be empty for policy type {kind}, only valid for PickFixed policy type"
        errors.append(forbidden(f"{path}.clusterNames", detail))
    if kind == "PickAll":
        errors += _no_number_errors(policy, path, kind)
    else:
        errors += _number_errors(policy, path)
    if policy.affinity is not UNSET and policy.affinity.cluster_affinity is not UNSET:
        errors += _affinity_errors(policy.affinity.cluster_affinity, f"{path}.affinity.clusterAffinity", kind)
    errors += toleration_errors(policy.tolerations, f"{path}.tolerations")
    return errors


def _no_number_errors(policy: PlacementPolicy, path: str, kind: str) -> list[FieldError]:
    errors = []
    if policy.number_of_clusters is not UNSET:
        detail = f"number of clusters must be nil for policy type {kind}, only valid for PickN placement policy type"
        errors.append(forbidden(f"{path}.numberOfClusters", detail))
    if policy.topology_spread_constraints:
        detail = (
            f"topology spread constraints needs to be empty for policy type {kind}, only valid for PickN policy type"
        )
        errors.append(forbidden(f"{path}.topologySpreadConstraints", detail))
    return errors


def _number_errors(policy: PlacementPolicy, path: str) -> list[FieldError]:
    number = policy.number_of_clusters
    if number is UNSET:
        return [required(f"{path}.numberOfClusters", "number of cluster cannot be nil for policy type PickN")]
    if number < 0:
        detail = f"number of clusters cannot be {number} for policy type PickN"
        return [invalid(f"{path}.numberOfClusters", number, detail)]
    return []


def _pick_fixed_errors(policy: PlacementPolicy, path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, name in enumerate(policy.cluster_names or ()):
        at = f"{path}.clusterNames[{index}]"
        problems = names.dns_subdomain(name)
        if problems:
            detail = f"PickFixed cluster name {name} is not a valid member name: {'; '.join(problems)}"
            errors.append(invalid(at, name, detail))
        if len(name) > NAME_MAX:
            errors.append(invalid(at, name, f"PickFixed cluster name {name} cannot have length exceeding {NAME_MAX}"))
        if name in seen:
            errors.append(invalid(at, name, "cluster names must be unique for policy type PickFixed"))
        seen.add(name)
    errors += _no_number_errors(policy, path, "PickFixed")
    if policy.affinity is not UNSET:
        detail = "affinity must be nil for policy type PickFixed, only valid for PickAll/PickN placement policy types"
        errors.append(forbidden(f"{path}.affinity", detail))
    if policy.tolerations:
        detail = "tolerations needs to be empty for policy type PickFixed, only valid for PickAll/PickN"
        errors.append(forbidden(f"{path}.tolerations", detail))
    return errors


def _affinity_errors(affinity: ClusterAffinity, path: str, kind: str) -> list[FieldError]:
    errors = []
    if affinity.required is not UNSET:
        errors += _required_errors(affinity.required, f"{path}.requiredDuringSchedulingIgnoredDuringExecution")
    if affinity.preferred:
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
        if kind == "PickAll":
            detail = "PreferredDuringSchedulingIgnoredDuringExecution will be ignored for placement policy type PickAll"
            errors.append(forbidden(at, detail))
        else:
            errors += _preferred_errors(affinity.preferred, at)
    return errors


def _required_errors(selector: ClusterSelector, path: str) -> list[FieldError]:
    errors = []
    for index, term in enumerate(selector.cluster_selector_terms):
        at = f"{path}.clusterSelectorTerms[{index}]"
        errors += label_selector_errors(term.label_selector, f"{at}.labelSelector")
        if term.property_sorter is not UNSET:
            detail = "PropertySorter is not allowed for RequiredDuringSchedulingIgnoredDuringExecution affinity"
            errors.append(forbidden(f"{at}.propertySorter", detail))
        if term.property_selector is not UNSET:
            errors += property_selector_errors(term.property_selector, f"{at}.propertySelector")
    return errors


def _preferred_errors(preferred: list[PreferredClusterSelector], path: str) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(preferred):
        at = f"{path}[{index}].preference"
        term = entry.preference
        errors += label_selector_errors(term.label_selector, f"{at}.labelSelector")
        if term.property_selector is not UNSET:
            detail = "PropertySelector is not allowed for PreferredDuringSchedulingIgnoredDuringExecution affinity"
            errors.append(forbidden(f"{at}.propertySelector", detail))
        if term.property_sorter is not UNSET:
            errors += property_sorter_errors(term.property_sorter, f"{at}.propertySorter")
    return errors


def _toleration_key(toleration: Toleration) -> tuple[str, str, str, str]:
    return text(toleration.key), text(toleration.operator), text(toleration.value), text(toleration.effect)


def toleration_errors(tolerations: Opt[list[Toleration]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str, str, str]] = set()
    for index, toleration in enumerate(tolerations or ()):
        at = f"{path}[{index}]"
        identity = _toleration_key(toleration)
        key, operator, value, _effect = identity
        if key:
            errors += [invalid(f"{at}.key", key, problem) for problem in names.qualified_name(key)]
        if operator == "Exists":
            if value:
                detail = "toleration value needs to be empty, when operator is Exists"
                errors.append(forbidden(f"{at}.value", detail))
        else:
            if not key:
                errors.append(required(f"{at}.key", "toleration key cannot be empty, when operator is Equal"))
            errors += [invalid(f"{at}.value", value, problem) for problem in names.label_value(value)]
        if identity in seen:
            errors.append(invalid(at, key, "toleration already exists, tolerations must be unique"))
        seen.add(identity)
    return errors


def strategy_errors(strategy: Opt[RolloutStrategy], path: str) -> list[FieldError]:
    if strategy is UNSET:
        return []
    errors = []
    if strategy.type is not UNSET and strategy.type not in _STRATEGIES:
        errors.append(invalid(f"{path}.type", strategy.type, f"unsupported rollout strategy type `{strategy.type}`"))
    if strategy.rolling_update is not UNSET:
        if strategy.type == "External":
            detail = "rollingUpdate is not valid for the External rollout strategy type"
            errors.append(forbidden(f"{path}.rollingUpdate", detail))
        errors += _rolling_update_errors(strategy.rolling_update, f"{path}.rollingUpdate")
    apply = strategy.apply_strategy
    if apply is not UNSET and apply.type != "ServerSideApply" and apply.server_side_apply_config is not UNSET:
        detail = "serverSideApplyConfig is only valid for ServerSideApply strategy type"
        errors.append(forbidden(f"{path}.applyStrategy.serverSideApplyConfig", detail))
    report = strategy.report_back_strategy
    if report is not UNSET and report.type == "Mirror" and not report.destination:
        detail = "when reportBackStrategy.type is 'Mirror', a destination must be specified"
        errors.append(required(f"{path}.reportBackStrategy.destination", detail))
    return errors


def _rolling_update_errors(config: RollingUpdateConfig, path: str) -> list[FieldError]:
    errors = _amount_errors(config.max_unavailable, path, "maxUnavailable")
    errors += _amount_errors(config.max_surge, path, "maxSurge")
    period = config.unavailable_period_seconds
    if period is not UNSET and period < 0:
        detail = f"unavailablePeriodSeconds must be greater than or equal to 0, got {period}"
        errors.append(invalid(f"{path}.unavailablePeriodSeconds", period, detail))
    return errors


def _amount_errors(value: Opt[IntOrString], path: str, name: str) -> list[FieldError]:
    if value is UNSET:
        return []
    amount = percent_or_count(value)
    if amount is None:
        detail = f"{name} `{value}` is invalid: write a number, or a percentage from 0% to 100%"
        return [invalid(f"{path}.{name}", value, detail)]
    if amount[0] < 0:
        detail = f"{name} must be greater than or equal to 0, got `{value}`"
        return [invalid(f"{path}.{name}", value, detail)]
    return []


def policy_type_changed(old: Opt[PlacementPolicy], new: Opt[PlacementPolicy]) -> bool:
    """No policy, or one without a type, picks all clusters."""
    return policy_type(old) != policy_type(new)


def policy_type(policy: Opt[PlacementPolicy]) -> str:
    return "PickAll" if policy is UNSET or policy.placement_type is UNSET else policy.placement_type


def tolerations_lost(old: Opt[list[Toleration]], new: Opt[list[Toleration]]) -> bool:
    kept = {_toleration_key(toleration) for toleration in new or ()}
    return any(_toleration_key(toleration) not in kept for toleration in old or ())


def _transition_errors(new: PlacementSpec, old: PlacementSpec, cluster_wide: bool) -> list[FieldError]:
    errors = []
    if policy_type_changed(old.policy, new.policy):
        detail = f"placement type is immutable: it was {policy_type(old.policy)}"
        errors.append(invalid("spec.policy.placementType", policy_type(new.policy), detail))
    elif tolerations_lost(_tolerations(old), _tolerations(new)):
        detail = "tolerations have been updated/deleted, only additions to tolerations are allowed"
        errors.append(forbidden("spec.policy.tolerations", detail))
    if cluster_wide and text(new.status_reporting_scope) != text(old.status_reporting_scope):
        detail = "statusReportingScope is immutable"
        errors.append(invalid("spec.statusReportingScope", text(new.status_reporting_scope), detail))
    if _strategy_type(old) == "External" and _strategy_type(new) != "External":
        detail = "cannot change rollout strategy type from 'External' to other types"
        errors.append(invalid("spec.strategy.type", _strategy_type(new), detail))
    return errors


def _tolerations(spec: PlacementSpec) -> Opt[list[Toleration]]:
    return spec.policy.tolerations if spec.policy is not UNSET else UNSET


def _strategy_type(spec: PlacementSpec) -> str:
    return text(spec.strategy.type) if spec.strategy is not UNSET else ""
