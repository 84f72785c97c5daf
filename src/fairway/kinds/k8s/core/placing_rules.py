"""Checks of where a pod may run: tolerations, node selectors, affinity, spreading."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from fairway.kinds.k8s.core.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinityTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from fairway.kinds.k8s.opt import items, text
from fairway.kinds.k8s.rules import choice, label_selector, named
from fairway.kinds.types import UNSET

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHT = "must be in the range 1-100"


def tolerations(path: str, given: list[Toleration]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, one in enumerate(given):
        at = f"{path}[{index}]"
        operator, value = text(one.operator), text(one.value)
        if one.key:
            errors += named(f"{at}.key", one.key, names.qualified_name)
        elif operator != "Exists":
            meaning = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{at}.operator", operator, meaning))
        if one.toleration_seconds is not UNSET and one.effect != "NoExecute":
            errors.append(
                invalid(f"{at}.effect", text(one.effect), "effect must be 'NoExecute' when `tolerationSeconds` is set")
            )
        if operator in ("", "Equal"):
            wrong = names.label_value(value)
            if wrong:
                errors.append(invalid(f"{at}.operator", value, ";".join(wrong)))
        elif operator == "Exists":
            if value:
                errors.append(invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'"))
        else:
            errors.append(not_supported(f"{at}.operator", operator, ("Equal", "Exists")))
        if one.effect and one.effect not in EFFECTS:
            errors.append(not_supported(f"{at}.effect", one.effect, EFFECTS))
    return errors


def taints(path: str, given: list[Taint]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(given):
        at = f"{path}[{index}]"
        errors += named(f"{at}.key", taint.key, names.qualified_name)
        wrong = names.label_value(text(taint.value))
        if wrong:
            errors.append(invalid(f"{at}.value", taint.value, ";".join(wrong)))
        errors += choice(f"{at}.effect", taint.effect, EFFECTS)
        if (taint.key, taint.effect) in seen:
            errors.append(duplicate(at, taint))
        seen.add((taint.key, taint.effect))
    return errors


def affinity(path: str, given: Affinity) -> list[FieldError]:
    errors: list[FieldError] = []
    if given.node_affinity is not UNSET:
        errors += _node_affinity(f"{path}.nodeAffinity", given.node_affinity)
    for name, one in (("podAffinity", given.pod_affinity), ("podAntiAffinity", given.pod_anti_affinity)):
        if one is UNSET:
            continue
        at = f"{path}.{name}"
        for index, term in enumerate(items(one.required_during_scheduling_ignored_during_execution)):
            errors += _pod_term(f"{at}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term)
        for index, weighted in enumerate(items(one.preferred_during_scheduling_ignored_during_execution)):
            errors += _weighted_term(f"{at}.preferredDuringSchedulingIgnoredDuringExecution[{index}]", weighted)
    return errors


def _node_affinity(path: str, given: NodeAffinity) -> list[FieldError]:
    errors: list[FieldError] = []
    needed = given.required_during_scheduling_ignored_during_execution
    if needed is not UNSET:
        at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        if not needed.node_selector_terms:
            errors.append(required(at, "must have at least one node selector term"))
        for index, term in enumerate(needed.node_selector_terms):
            errors += _node_term(f"{at}[{index}]", term)
    for index, preferred in enumerate(items(given.preferred_during_scheduling_ignored_during_execution)):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        if not 1 <= preferred.weight <= 100:
            errors.append(invalid(f"{at}.weight", preferred.weight, _WEIGHT))
        errors += _node_term(f"{at}.preference", preferred.preference)
    return errors


def _node_term(path: str, term: NodeSelectorTerm) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(items(term.match_expressions)):
        at = f"{path}.matchExpressions[{index}]"
        errors += node_requirement(at, requirement)
        errors += named(f"{at}.key", requirement.key, names.qualified_name)
    for index, requirement in enumerate(items(term.match_fields)):
        at = f"{path}.matchFields[{index}]"
        errors += node_requirement(at, requirement)
        if requirement.key != "metadata.name":
            errors.append(invalid(f"{at}.key", requirement.key, "not a valid field selector key"))
    return errors


def node_requirement(path: str, requirement: NodeSelectorRequirement) -> list[FieldError]:
    values = items(requirement.values)
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                return [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
        case "Exists" | "DoesNotExist":
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                return [forbidden(f"{path}.values", why)]
        case "Gt" | "Lt":
            if len(values) != 1:
                return [required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")]
        case operator:
            return [invalid(f"{path}.operator", operator, "not a valid selector operator")]
    return []


def _pod_term(path: str, term: PodAffinityTerm) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, selector in (("labelSelector", term.label_selector), ("namespaceSelector", term.namespace_selector)):
        if selector is not UNSET:
            errors += label_selector(f"{path}.{name}", selector)
    for index, namespace in enumerate(items(term.namespaces)):
        errors += named(f"{path}.namespaces[{index}]", namespace, names.dns_label)
    if not term.topology_key:
        return [*errors, required(f"{path}.topologyKey", "can not be empty")]
    return errors + named(f"{path}.topologyKey", term.topology_key, names.qualified_name)


def _weighted_term(path: str, weighted: WeightedPodAffinityTerm) -> list[FieldError]:
    errors: list[FieldError] = []
    if not 1 <= weighted.weight <= 100:
        errors.append(invalid(f"{path}.weight", weighted.weight, _WEIGHT))
    return errors + _pod_term(f"{path}.podAffinityTerm", weighted.pod_affinity_term)


def spreading(path: str, given: list[TopologySpreadConstraint]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(given):
        at = f"{path}[{index}]"
        if one.max_skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", one.max_skew, "must be greater than zero"))
        if not one.topology_key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if one.when_unsatisfiable not in UNSATISFIABLE:
            errors.append(not_supported(f"{at}.whenUnsatisfiable", one.when_unsatisfiable, UNSATISFIABLE))
        key = (one.topology_key, one.when_unsatisfiable)
        if key in seen:
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key[0]}, {key[1]}}}"))
        seen.add(key)
        if one.min_domains is not UNSET and one.min_domains <= 0:
            errors.append(invalid(f"{at}.minDomains", one.min_domains, "must be greater than zero"))
        if one.label_selector is not UNSET:
            errors += label_selector(f"{at}.labelSelector", one.label_selector)
    return errors
