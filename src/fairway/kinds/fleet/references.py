"""Rules that need other objects: the scope of a selected kind, overrides of the same object, the placement behind an eviction.

`Kind.validate` sees one object alone; an API that knows more calls these too, with what it knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from fairway.kinds.errors import FieldError, forbidden, invalid
from fairway.kinds.fleet.common import text
from fairway.kinds.fleet.disruption import ClusterResourcePlacementDisruptionBudget
from fairway.kinds.fleet.placement import ClusterResourcePlacement
from fairway.kinds.fleet.validate_override import Override, selectors_of, target
from fairway.kinds.fleet.validate_placement import Placement, picks_inside_namespace, policy_type
from fairway.kinds.types import UNSET

OVERRIDES_MAX = 100

Scope = Literal["Cluster", "Namespaced"]


class Scopes(Protocol):
    """Which kinds the API serves."""

    def scope(self, group: str, version: str, kind: str) -> Scope | None:
        """Scope of the kind, or None if there is no such kind in this version."""


def scope_errors(placement: Placement, scopes: Scopes | None) -> list[FieldError]:
    """A ClusterResourcePlacement selects cluster-scoped kinds, a ResourcePlacement those of its namespace."""
    selectors = placement.spec.resource_selectors
    cluster_wide = isinstance(placement, ClusterResourcePlacement)
    inside = cluster_wide and picks_inside_namespace(selectors)
    errors = []
    for index, selector in enumerate(selectors):
        path = f"spec.resourceSelectors[{index}]"
        shown = f"{selector.group}/{selector.version}, Kind={selector.kind}"
        if scopes is None:
            errors.append(invalid(path, shown, "cannot perform resource scope check for now, please retry"))
            continue
        scope = scopes.scope(selector.group, selector.version, selector.kind)
        if scope is None:
            detail = "failed to get GVR of the selector: no such kind is served in this version"
            errors.append(invalid(path, shown, detail))
            continue
        wrong = scope != "Cluster" and not inside if cluster_wide else scope == "Cluster"
        if wrong:
            instead = "not a cluster scoped resource" if cluster_wide else "a cluster scoped resource"
            detail = f"the resource is not found in schema (please retry) or it is {instead}"
            errors.append(invalid(path, shown, detail))
    return errors


def override_limit_errors(override: Override, others: Iterable[Override]) -> list[FieldError]:
    """One object is changed by at most one override of a kind, so that their order never matters."""
    name = text(override.metadata.name)
    taken: dict[tuple[str, ...], str] = {}
    for other in others:
        if text(other.metadata.name) != name:
            taken.update((target(selector), text(other.metadata.name)) for selector in selectors_of(other)[1])
    path, selectors = selectors_of(override)
    return [
        invalid(
            f"{path}[{index}]",
            selector.name,
            f"invalid resource selector of {selector.kind} {selector.name}: the resource has been selected by both"
            f" {name} and {taken[target(selector)]}, which is not supported",
        )
        for index, selector in enumerate(selectors)
        if target(selector) in taken
    ]


def override_count_errors(override: Override, count: int) -> list[FieldError]:
    """On create: `count` overrides of the kind are there already (in its namespace, if it has one)."""
    if count < OVERRIDES_MAX:
        return []
    return [forbidden("", f"there are {count} overrides of this kind already: at most {OVERRIDES_MAX} can be created")]


def eviction_errors(placement: ClusterResourcePlacement | None) -> list[FieldError]:
    """An eviction of a placement that is not there is accepted, and reported as invalid in its status."""
    if placement is None:
        return []
    name = text(placement.metadata.name)
    if placement.metadata.deletion_timestamp is not UNSET:
        return [forbidden("spec.placementName", f"cluster resource placement {name} is being deleted")]
    if policy_type(placement.spec.policy) == "PickFixed":
        return [forbidden("spec.placementName", "cluster resource placement policy type PickFixed is not supported")]
    return []


def budget_errors(
    budget: ClusterResourcePlacementDisruptionBudget, placement: ClusterResourcePlacement | None
) -> list[FieldError]:
    """How many clusters PickAll means is not known beforehand, so only a fixed minimum makes sense."""
    if placement is None or policy_type(placement.spec.policy) != "PickAll":
        return []
    errors = []
    spec = budget.spec
    prefix = "cluster resource placement policy type PickAll is not supported with"
    if spec.max_unavailable is not UNSET:
        detail = f"{prefix} any specified max unavailable {spec.max_unavailable}"
        errors.append(forbidden("spec.maxUnavailable", detail))
    if isinstance(spec.min_available, str):
        detail = f"{prefix} min available as a percentage {spec.min_available}"
        errors.append(forbidden("spec.minAvailable", detail))
    return errors
