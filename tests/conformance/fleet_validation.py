"""KubeFleet's admission: suite P7, and the defaults of P4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.kinds.errors import FieldError
from fairway.kinds.fleet import references, validate_override, validate_placement, validate_selectors
from fairway.kinds.fleet.cluster import Taint
from fairway.kinds.fleet.defaults import default_placement, default_work
from fairway.kinds.fleet.override import (
    ClusterResourceOverride,
    JSONPatchOverride,
    OverridePolicy,
    ResourceOverride,
)
from fairway.kinds.fleet.placement import ClusterResourcePlacement, ResourcePlacement, RolloutStrategy
from fairway.kinds.fleet.policy import (
    PlacementPolicy,
    PropertySelectorRequirement,
    ResourceSelectorTerm,
    Toleration,
)
from fairway.kinds.fleet.validate_cluster import taint_errors
from fairway.kinds.fleet.work import Work
from fairway.kinds.types import UNSET, to_json
from tests.conformance.lax import build, build_list
from tests.conformance.runner import Vector, adapter

# What the REST mapper of the tests knows, besides the vector's own list of resources.
_MAPPED = {
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("apps", "Deployment"),
    ("", "Namespace"),
    ("", "ConfigMap"),
}


class _Informer:
    """Kinds the way the vector's informer answers: a listed value equal to the flag means cluster scoped."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._flag = bool(data.get("isClusterScopedResource"))
        self._listed = {
            (entry["key"].get("group", ""), entry["key"]["version"], entry["key"]["kind"]): bool(entry["value"])
            for entry in data.get("apiResources") or ()
        }

    def scope(self, group: str, version: str, kind: str) -> references.Scope | None:
        if (group, kind) not in _MAPPED:
            return None
        return "Cluster" if self._listed.get((group, version, kind), False) == self._flag else "Namespaced"


def _compare(errors: Sequence[FieldError | str], vector: Vector) -> None:
    shown = "; ".join(str(error) for error in errors)
    assert (not errors) == vector["expect"]["valid"], shown or "accepted"
    for fragment in vector["expect"].get("errorContains") or ():
        assert fragment in shown, f"{fragment!r} is not in {shown!r}"


def _placement(vector: Vector, placement: validate_placement.Placement) -> None:
    informer = vector["input"].get("resourceInformer")
    errors = validate_placement.validate_placement(placement, None)
    errors += references.scope_errors(placement, _Informer(informer) if informer is not None else None)
    _compare(errors, vector)


@adapter("validate.ValidateClusterResourcePlacement")
def cluster_placement(vector: Vector) -> None:
    _placement(vector, build(vector["input"]["crp"], ClusterResourcePlacement))


@adapter("validate.ValidateResourcePlacement")
def resource_placement(vector: Vector) -> None:
    _placement(vector, build(vector["input"]["rp"], ResourcePlacement))


@adapter("validate.validateRolloutStrategy")
def rollout_strategy(vector: Vector) -> None:
    strategy = build(vector["input"].get("strategy"), RolloutStrategy)
    _compare(validate_placement.strategy_errors(strategy, "spec.strategy"), vector)


@adapter("validate.validatePlacementPolicy")
def placement_policy(vector: Vector) -> None:
    policy = build(vector["input"].get("policy"), PlacementPolicy)
    _compare(validate_placement.policy_errors(policy, "spec.policy"), vector)


@adapter("validate.validateTolerations")
def tolerations(vector: Vector) -> None:
    given = build_list(vector["input"].get("tolerations"), Toleration)
    _compare(validate_placement.toleration_errors(given, "tolerations"), vector)


@adapter("validate.validateTaints")
def taints(vector: Vector) -> None:
    _compare(taint_errors(build_list(vector["input"].get("taints"), Taint), "spec.taints"), vector)


@adapter("validate.validateRequirementsConsistency")
def requirements_consistency(vector: Vector) -> None:
    problem = validate_selectors.contradiction(build_list(vector["input"].get("reqs"), PropertySelectorRequirement))
    _compare([problem] if problem else [], vector)


@adapter("validate.validateOperatorAndValues")
def operator_and_values(vector: Vector) -> None:
    given = vector["input"]
    _compare(validate_selectors.operator_errors(given.get("op", ""), given.get("values") or [], "requirement"), vector)


@adapter("isPolicyTypeUpdated")
def policy_type_updated(vector: Vector) -> None:
    old, new = (
        build(vector["input"][name], PlacementPolicy) if vector["input"].get(name) is not None else UNSET
        for name in ("oldPolicy", "currentPolicy")
    )
    assert validate_placement.policy_type_changed(old, new) == vector["expect"]["result"]


@adapter("isTolerationsUpdatedOrDeleted")
def tolerations_updated(vector: Vector) -> None:
    old = build_list(vector["input"].get("oldTolerations"), Toleration)
    new = build_list(vector["input"].get("newTolerations"), Toleration)
    assert validate_placement.tolerations_lost(old, new) == vector["expect"]["result"]


@adapter("hasNamespaceWithResourceSelectorsMode")
def picks_inside_namespace(vector: Vector) -> None:
    selectors = build_list(vector["input"].get("resourceSelectors"), ResourceSelectorTerm)
    found = validate_placement.picks_inside_namespace(selectors)
    assert found == vector["expect"]["hasNamespaceWithResourceSelectors"]


def _override(vector: Vector) -> tuple[validate_override.Override, list[validate_override.Override]]:
    given = vector["input"]
    key = "cro" if "cro" in given else "ro"
    kind: type[ClusterResourceOverride] | type[ResourceOverride]
    kind = ClusterResourceOverride if key == "cro" else ResourceOverride
    others = given.get(f"{key}List") or given.get("existing") or {}
    return build(given[key], kind), [build(item, kind) for item in others.get("items") or ()]


@adapter("validate.validateClusterResourceSelectors")
@adapter("validate.validateResourceSelectors")
def override_selectors(vector: Vector) -> None:
    override, _others = _override(vector)
    path, selectors = validate_override.selectors_of(override)
    _compare(validate_override.override_selector_errors(selectors, path), vector)


@adapter("validate.validateClusterResourceOverrideResourceLimit")
@adapter("validate.validateResourceOverrideResourceLimit")
def override_limit(vector: Vector) -> None:
    _compare(references.override_limit_errors(*_override(vector)), vector)


@adapter("validate.ValidateClusterResourceOverride")
@adapter("validate.ValidateResourceOverride")
def override_whole(vector: Vector) -> None:
    override, others = _override(vector)
    errors = validate_override.validate_override(override, None)
    _compare(errors + references.override_limit_errors(override, others), vector)


@adapter("validate.validateOverridePolicy")
def override_policy(vector: Vector) -> None:
    policy = build(vector["input"].get("policy"), OverridePolicy)
    _compare(validate_override.override_policy_errors(policy, "spec.policy"), vector)


@adapter("validate.validateJSONPatchOverride")
def json_patch_override(vector: Vector) -> None:
    patches = build_list(vector["input"].get("jsonPatchOverrides"), JSONPatchOverride)
    _compare(validate_override.json_patch_errors(patches, "jsonPatchOverrides"), vector)


@adapter("validate.validateJSONPatchOverridePath")
def json_patch_path(vector: Vector) -> None:
    problem = validate_override.patch_path_problem(vector["input"].get("path", ""))
    _compare([problem] if problem else [], vector)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        cleaned = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in cleaned.items() if member not in (None, [], {})}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


@adapter("defaults.placement")
def placement_defaults(vector: Vector) -> None:
    data = vector["input"]["obj"]
    kind: type[ClusterResourcePlacement] | type[ResourcePlacement]
    kind = ClusterResourcePlacement if data["kind"] == "ClusterResourcePlacement" else ResourcePlacement
    placement = build(data, kind)
    default_placement(placement, None)
    # the reporting scope is a default of the schema, which the Go function does not set
    placement.spec.status_reporting_scope = data.get("spec", {}).get("statusReportingScope", UNSET)
    assert _without_empty(to_json(placement)) == _without_empty(vector["expect"]["obj"])


@adapter("defaults.work")
def work_defaults(vector: Vector) -> None:
    work = build(vector["input"]["work"], Work)
    default_work(work, None)
    assert _without_empty(to_json(work)) == _without_empty(vector["expect"]["result"])
