"""Requests that are answered and never stored: reviews of access and identity, and the bodies of subresources.

`REVIEWS` have a resource of their own that can only be created; `BODIES` are what is sent to subresources and with a deletion.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fairway.kinds.k8s.core.pod import Binding
from fairway.kinds.k8s.meta import DeleteOptions
from fairway.kinds.k8s.reviews import authentication, authorization, subresources
from fairway.kinds.kind import Kind, Version
from fairway.kinds.types import Type

_authorization = partial(
    Kind, group="authorization.k8s.io", native=True, namespaced=False, verbs=("create",), spec_fields=()
)
_authentication = partial(
    Kind, group="authentication.k8s.io", native=True, namespaced=False, verbs=("create",), spec_fields=()
)

SELF_SUBJECT_ACCESS_REVIEW = _authorization(
    name="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    singular="selfsubjectaccessreview",
    versions=(Version("v1", authorization.SelfSubjectAccessReview),),
)
SELF_SUBJECT_RULES_REVIEW = _authorization(
    name="SelfSubjectRulesReview",
    plural="selfsubjectrulesreviews",
    singular="selfsubjectrulesreview",
    versions=(Version("v1", authorization.SelfSubjectRulesReview),),
)
SUBJECT_ACCESS_REVIEW = _authorization(
    name="SubjectAccessReview",
    plural="subjectaccessreviews",
    singular="subjectaccessreview",
    versions=(Version("v1", authorization.SubjectAccessReview),),
)
LOCAL_SUBJECT_ACCESS_REVIEW = _authorization(
    name="LocalSubjectAccessReview",
    plural="localsubjectaccessreviews",
    singular="localsubjectaccessreview",
    versions=(Version("v1", authorization.LocalSubjectAccessReview),),
    namespaced=True,
)
SELF_SUBJECT_REVIEW = _authentication(
    name="SelfSubjectReview",
    plural="selfsubjectreviews",
    singular="selfsubjectreview",
    versions=(Version("v1", authentication.SelfSubjectReview),),
)
TOKEN_REVIEW = _authentication(
    name="TokenReview",
    plural="tokenreviews",
    singular="tokenreview",
    versions=(Version("v1", authentication.TokenReview),),
)

REVIEWS: tuple[Kind, ...] = (
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    TOKEN_REVIEW,
)

BODIES: Mapping[str, type[Type]] = {
    "DeleteOptions": DeleteOptions,
    "Binding": Binding,
    "Eviction": subresources.Eviction,
    "Scale": subresources.Scale,
    "TokenRequest": authentication.TokenRequest,
}
"""By kind. Clients name DeleteOptions under the group of whatever they delete, so the group does not count."""
