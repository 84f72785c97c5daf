"""rbac.authorization.k8s.io/v1: roles and bindings."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.meta import LabelSelector
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
