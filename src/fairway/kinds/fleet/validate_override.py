"""What an override may select and change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.kinds.errors import FieldError, forbidden, invalid, required
from fairway.kinds.fleet.common import text
from fairway.kinds.fleet.override import (
    ClusterResourceOverride,
    JSONPatchOverride,
    OverridePolicy,
    OverrideRule,
    PlacementRef,
    ResourceOverride,
    ResourceSelector,
)
from fairway.kinds.fleet.policy import ClusterSelectorTerm, ResourceSelectorTerm
from fairway.kinds.fleet.validate_selectors import label_selector_errors
from fairway.kinds.types import UNSET, Opt

Override = ClusterResourceOverride | ResourceOverride
Selector = ResourceSelectorTerm | ResourceSelector


def validate_override(new: Override, old: Override | None) -> list[FieldError]:
    errors = override_errors(new)
    if isinstance(new, ClusterResourceOverride) and _scope(new.spec.placement) == "Namespaced":
        detail = "clusterResourceOverride placement reference cannot be Namespaced scope"
        errors.append(invalid("spec.placement.scope", "Namespaced", detail))
    if old is not None and _reference(old.spec.placement) != _reference(new.spec.placement):
        errors.append(forbidden("spec.placement", "The placement field is immutable"))
    return errors


def override_errors(override: Override) -> list[FieldError]:
    path, selectors = selectors_of(override)
    errors = override_selector_errors(selectors, path)
    return errors or override_policy_errors(override.spec.policy, "spec.policy")


def selectors_of(override: Override) -> tuple[str, Sequence[Selector]]:
    """Where the selectors of an override are, and what they say."""
    if isinstance(override, ClusterResourceOverride):
        return "spec.clusterResourceSelectors", override.spec.cluster_resource_selectors
    return "spec.resourceSelectors", override.spec.resource_selectors


def _scope(placement: Opt[PlacementRef]) -> str:
    return "" if placement is UNSET else text(placement.scope)


def _reference(placement: Opt[PlacementRef]) -> tuple[str, str] | None:
    return None if placement is UNSET else (placement.name, text(placement.scope))


def target(selector: Selector) -> tuple[str, ...]:
    """The object that a selector means, for comparison with others."""
    scope = text(selector.selection_scope) if isinstance(selector, ResourceSelectorTerm) else ""
    return selector.group, selector.version, selector.kind, text(selector.name), scope


def override_selector_errors(selectors: Iterable[Selector], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, ...]] = set()
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}]"
        if isinstance(selector, ResourceSelectorTerm):
            if selector.label_selector is not UNSET:
                detail = "label selector is not supported for resource selection: name the object"
                errors.append(forbidden(f"{at}.labelSelector", detail))
                continue
            if not selector.name:
                errors.append(required(f"{at}.name", "resource name is required for resource selection"))
                continue
        if target(selector) in seen:
            detail = f"resource selector of {selector.kind} {selector.name} already exists, and must be unique"
            errors.append(invalid(at, selector.name, detail))
        seen.add(target(selector))
    return errors


def override_policy_errors(policy: OverridePolicy, path: str) -> list[FieldError]:
    errors = []
    for index, rule in enumerate(policy.override_rules):
        errors += _rule_errors(rule, f"{path}.overrideRules[{index}]")
    return errors


def _rule_errors(rule: OverrideRule, path: str) -> list[FieldError]:
    errors = []
    if rule.cluster_selector is not UNSET:
        for index, term in enumerate(rule.cluster_selector.cluster_selector_terms):
            errors += _term_errors(term, f"{path}.clusterSelector.clusterSelectorTerms[{index}]")
    at = f"{path}.jsonPatchOverrides"
    if rule.override_type == "Delete":
        if rule.json_patch_overrides:
            detail = "JSONPatchOverrides cannot be set when the override type is Delete"
            errors.append(forbidden(at, f"invalid JSONPatchOverrides: {detail}"))
    elif rule.override_type == "JSONPatch":
        errors += json_patch_errors(rule.json_patch_overrides or [], at)
    elif rule.json_patch_overrides:
        errors += json_patch_errors(rule.json_patch_overrides, at)
    return errors


def _term_errors(term: ClusterSelectorTerm, path: str) -> list[FieldError]:
    if term.property_selector is not UNSET or term.property_sorter is not UNSET:
        return [forbidden(path, "invalid clusterSelector: only labelSelector is supported")]
    if term.label_selector is UNSET:
        return [required(f"{path}.labelSelector", "invalid clusterSelector: labelSelector is required")]
    return label_selector_errors(term.label_selector, f"{path}.labelSelector")


def json_patch_errors(patches: list[JSONPatchOverride], path: str) -> list[FieldError]:
    if not patches:
        return [required(path, "invalid JSONPatchOverrides: JSONPatchOverrides cannot be empty")]
    errors = []
    for index, patch in enumerate(patches):
        at = f"{path}[{index}]"
        problem = patch_path_problem(patch.path)
        if problem:
            detail = f"invalid JSONPatchOverride {patch.op} {patch.path}: {problem}"
            errors.append(invalid(f"{at}.path", patch.path, detail))
        if patch.op == "remove" and patch.value is not UNSET:
            detail = f"invalid JSONPatchOverride {patch.op} {patch.path}: remove operation cannot have value"
            errors.append(forbidden(f"{at}.value", detail))
    return errors


def patch_path_problem(path: str) -> str:
    """Why a path may not be overridden; empty if it may."""
    if not path:
        return "path cannot be empty"
    if not path.startswith("/"):
        return "path must start with /"
    first, *rest = path[1:].split("/")
    if first in ("kind", "apiVersion"):
        return "cannot override typeMeta fields"
    if first == "status":
        return "cannot override status fields"
    if first == "metadata":
        if not rest:
            return "cannot override field metadata"
        if rest[0] not in ("annotations", "labels"):
            return "cannot override metadata fields except annotations and labels"
    if not all(part.strip() for part in (first, *rest)):
        return "path cannot contain empty string"
    return ""
