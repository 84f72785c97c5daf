"""authorization.k8s.io/v1: questions about what someone may do."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.meta import FieldSelectorRequirement, LabelSelectorRequirement
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type


class LabelSelectorAttributes(Type):
    raw_selector: Opt[Annotated[str, F(proto=1)]] = UNSET
    requirements: Opt[Annotated[list[LabelSelectorRequirement], F(proto=2, list_type="atomic")]] = UNSET


class FieldSelectorAttributes(Type):
    raw_selector: Opt[Annotated[str, F(proto=1)]] = UNSET
    requirements: Opt[Annotated[list[FieldSelectorRequirement], F(proto=2, list_type="atomic")]] = UNSET


class ResourceAttributes(Type):
    namespace: Opt[Annotated[str, F(proto=1)]] = UNSET
    verb: Opt[Annotated[str, F(proto=2)]] = UNSET
    group: Opt[Annotated[str, F(proto=3)]] = UNSET
    version: Opt[Annotated[str, F(proto=4)]] = UNSET
    resource: Opt[Annotated[str, F(proto=5)]] = UNSET
    subresource: Opt[Annotated[str, F(proto=6)]] = UNSET
    name: Opt[Annotated[str, F(proto=7)]] = UNSET
    field_selector: Opt[Annotated[FieldSelectorAttributes, F(proto=8)]] = UNSET
    label_selector: Opt[Annotated[LabelSelectorAttributes, F(proto=9)]] = UNSET


class NonResourceAttributes(Type):
    path: Opt[Annotated[str, F(proto=1)]] = UNSET
    verb: Opt[Annotated[str, F(proto=2)]] = UNSET


class SubjectAccessReviewSpec(Type):
    resource_attributes: Opt[Annotated[ResourceAttributes, F(proto=1)]] = UNSET
    non_resource_attributes: Opt[Annotated[NonResourceAttributes, F(proto=2)]] = UNSET
    user: Opt[Annotated[str, F(proto=3)]] = UNSET
    groups: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET
    extra: Opt[Annotated[dict[str, list[str]], F(proto=5)]] = UNSET
    uid: Opt[Annotated[str, F(proto=6)]] = UNSET


class SelfSubjectAccessReviewSpec(Type):
    resource_attributes: Opt[Annotated[ResourceAttributes, F(proto=1)]] = UNSET
    non_resource_attributes: Opt[Annotated[NonResourceAttributes, F(proto=2)]] = UNSET


class SubjectAccessReviewStatus(Type):
    allowed: Annotated[bool, F(proto=1)] = False
    denied: Opt[Annotated[bool, F(proto=4)]] = UNSET
    reason: Opt[Annotated[str, F(proto=2)]] = UNSET
    evaluation_error: Opt[Annotated[str, F(proto=3)]] = UNSET


class SubjectAccessReview(Object):
    """Asks whether a user may do something."""

    spec: Annotated[SubjectAccessReviewSpec, F(proto=2)] = field(default_factory=SubjectAccessReviewSpec)
    status: Annotated[SubjectAccessReviewStatus, F(proto=3)] = field(default_factory=SubjectAccessReviewStatus)


class SelfSubjectAccessReview(Object):
    """Asks whether the caller may do something."""

    spec: Annotated[SelfSubjectAccessReviewSpec, F(proto=2)] = field(default_factory=SelfSubjectAccessReviewSpec)
    status: Annotated[SubjectAccessReviewStatus, F(proto=3)] = field(default_factory=SubjectAccessReviewStatus)


class LocalSubjectAccessReview(Object):
    """Asks whether a user may do something in one namespace."""

    spec: Annotated[SubjectAccessReviewSpec, F(proto=2)] = field(default_factory=SubjectAccessReviewSpec)
    status: Annotated[SubjectAccessReviewStatus, F(proto=3)] = field(default_factory=SubjectAccessReviewStatus)


class SelfSubjectRulesReviewSpec(Type):
    namespace: Opt[Annotated[str, F(proto=1)]] = UNSET


class ResourceRule(Type):
    verbs: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    api_groups: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET
    resources: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    resource_names: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET


class NonResourceRule(Type):
    verbs: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    non_resource_urls: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = field(
        default=UNSET, name="nonResourceURLs"
    )


class SubjectRulesReviewStatus(Type):
    resource_rules: Annotated[list[ResourceRule], F(proto=1, list_type="atomic")] = field(default_factory=list)
    non_resource_rules: Annotated[list[NonResourceRule], F(proto=2, list_type="atomic")] = field(default_factory=list)
    incomplete: Annotated[bool, F(proto=3)] = False
    evaluation_error: Opt[Annotated[str, F(proto=4)]] = UNSET


class SelfSubjectRulesReview(Object):
    """Asks for everything the caller may do in one namespace."""

    spec: Annotated[SelfSubjectRulesReviewSpec, F(proto=2)] = field(default_factory=SelfSubjectRulesReviewSpec)
    status: Annotated[SubjectRulesReviewStatus, F(proto=3)] = field(default_factory=SubjectRulesReviewStatus)
