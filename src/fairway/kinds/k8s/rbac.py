"""rbac.authorization.k8s.io/v1: roles and bindings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import field

from fairway.kinds import names
from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.errors import FieldError, invalid, not_supported, required
from fairway.kinds.k8s.columns import CREATED
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.k8s.opt import items, text
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type


class PolicyRule(Type):
    verbs: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    api_groups: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    resources: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    resource_names: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET
    non_resource_urls: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = field(
        default=UNSET, name="nonResourceURLs"
    )


class Subject(Type):
    kind: Annotated[str, F(proto=1)] = ""
    api_group: Opt[Annotated[str, F(proto=2)]] = UNSET
    name: Annotated[str, F(proto=3)] = ""
    namespace: Opt[Annotated[str, F(proto=4)]] = UNSET


class RoleRef(Type):
    api_group: Annotated[str, F(proto=1)] = ""
    kind: Annotated[str, F(proto=2)] = ""
    name: Annotated[str, F(proto=3)] = ""


class Role(Object):
    """What may be done in one namespace."""

    rules: Annotated[list[PolicyRule], F(proto=2, list_type="atomic")] = field(default_factory=list)


class RoleBinding(Object):
    """Gives a role to subjects in one namespace."""

    subjects: Opt[Annotated[list[Subject], F(proto=2, list_type="atomic")]] = UNSET
    role_ref: Annotated[RoleRef, F(proto=3, atomic=True)] = field(default_factory=RoleRef)


class AggregationRule(Type):
    cluster_role_selectors: Opt[Annotated[list[LabelSelector], F(proto=1, list_type="atomic")]] = UNSET


class ClusterRole(Object):
    """What may be done everywhere, or in any namespace that binds it."""

    rules: Annotated[list[PolicyRule], F(proto=2, list_type="atomic")] = field(default_factory=list)
    aggregation_rule: Opt[Annotated[AggregationRule, F(proto=3)]] = UNSET


class ClusterRoleBinding(Object):
    """Gives a cluster role to subjects everywhere."""

    subjects: Opt[Annotated[list[Subject], F(proto=2, list_type="atomic")]] = UNSET
    role_ref: Annotated[RoleRef, F(proto=3, atomic=True)] = field(default_factory=RoleRef)


GROUP = "rbac.authorization.k8s.io"
_ROLE_KINDS = ("Role", "ClusterRole")


def _default_binding(new: RoleBinding | ClusterRoleBinding, _old: RoleBinding | ClusterRoleBinding | None) -> None:
    new.role_ref.api_group = new.role_ref.api_group or GROUP
    for subject in items(new.subjects):
        if subject.api_group is UNSET and subject.kind in ("User", "Group"):
            subject.api_group = GROUP


def _validate_role(new: Role, _old: Role | None) -> list[FieldError]:
    return _check_rules(items(new.rules), namespaced=True)


def _validate_cluster_role(new: ClusterRole, _old: ClusterRole | None) -> list[FieldError]:
    return _check_rules(items(new.rules), namespaced=False)


def _check_rules(rules: list[PolicyRule], *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(rules):
        path = f"rules[{index}]"
        if not rule.verbs:
            errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        urls = items(rule.non_resource_urls)
        if urls:
            if namespaced:
                errors.append(
                    invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
                )
            if items(rule.api_groups) or items(rule.resources) or items(rule.resource_names):
                errors.append(
                    invalid(
                        f"{path}.nonResourceURLs",
                        urls,
                        "rules cannot apply to both regular resources and non-resource URLs",
                    )
                )
            continue
        if not items(rule.api_groups):
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not items(rule.resources):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def _validate_binding(
    new: RoleBinding | ClusterRoleBinding, old: RoleBinding | ClusterRoleBinding | None
) -> list[FieldError]:
    errors: list[FieldError] = []
    namespaced = isinstance(new, RoleBinding)
    kinds = _ROLE_KINDS if namespaced else ("ClusterRole",)
    if new.role_ref.api_group != GROUP:
        errors.append(not_supported("roleRef.apiGroup", new.role_ref.api_group, (GROUP,)))
    if new.role_ref.kind not in kinds:
        errors.append(not_supported("roleRef.kind", new.role_ref.kind, kinds))
    if not new.role_ref.name:
        errors.append(required("roleRef.name"))
    else:
        errors += [invalid("roleRef.name", new.role_ref.name, why) for why in names.path_segment(new.role_ref.name)]
    for index, subject in enumerate(items(new.subjects)):
        errors += _check_subject(subject, f"subjects[{index}]", namespaced=namespaced)
    if old is not None and new.role_ref != old.role_ref:
        errors.append(invalid("roleRef", new.role_ref, "cannot change roleRef"))
    return errors


def _check_subject(subject: Subject, path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not subject.name:
        errors.append(required(f"{path}.name"))
    group = text(subject.api_group)
    if subject.kind == "ServiceAccount":
        errors += [
            invalid(f"{path}.name", subject.name, why) for why in names.dns_subdomain(subject.name) if subject.name
        ]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.namespace:
            errors.append(required(f"{path}.namespace"))
    elif subject.kind in ("User", "Group"):
        if group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", subject.kind, ("ServiceAccount", "User", "Group")))
    return errors


def _role(obj: Mapping[str, Any], _moment: Moment) -> str:
    return f"{at(obj, 'roleRef.kind')}/{at(obj, 'roleRef.name')}"


def _subjects(name: str, kind: str) -> Column:
    def value(obj: Mapping[str, Any], _moment: Moment) -> str:
        found = [one for one in obj.get("subjects") or () if one.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{one.get('namespace', '')}/{one.get('name')}" for one in found)
        return ", ".join(str(one.get("name")) for one in found)

    return Column(name, value, wide=True)


_BINDING_COLUMNS = (
    NAME,
    Column("Role", _role),
    AGE,
    _subjects("Users", "User"),
    _subjects("Groups", "Group"),
    _subjects("ServiceAccounts", "ServiceAccount"),
)

_kind = partial(Kind, group=GROUP, native=True, spec_fields=(), name_rule=names.path_segment)

ROLE = _kind(
    name="Role",
    plural="roles",
    singular="role",
    versions=(Version("v1", Role, (NAME, CREATED)),),
    validate=_validate_role,
)

CLUSTER_ROLE = _kind(
    name="ClusterRole",
    plural="clusterroles",
    singular="clusterrole",
    versions=(Version("v1", ClusterRole, (NAME, CREATED)),),
    namespaced=False,
    validate=_validate_cluster_role,
)

ROLE_BINDING = _kind(
    name="RoleBinding",
    plural="rolebindings",
    singular="rolebinding",
    versions=(Version("v1", RoleBinding, _BINDING_COLUMNS),),
    default=_default_binding,
    validate=_validate_binding,
)

CLUSTER_ROLE_BINDING = _kind(
    name="ClusterRoleBinding",
    plural="clusterrolebindings",
    singular="clusterrolebinding",
    versions=(Version("v1", ClusterRoleBinding, _BINDING_COLUMNS),),
    namespaced=False,
    default=_default_binding,
    validate=_validate_binding,
)

KINDS: tuple[Kind, ...] = (ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING)
