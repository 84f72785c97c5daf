"""Questions about identity and access, answered on the spot and never stored. One function per resource.

Each gets the body of the request (JSON text or value) and what it must ask, and returns the body of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from fairway.api import codec
from fairway.api.codec import Body
from fairway.api.errors import bad_request, invalid
from fairway.api.request import Caller
from fairway.kinds.errors import invalid as invalid_field
from fairway.kinds.k8s import reviews as kinds
from fairway.kinds.k8s.reviews.authentication import SelfSubjectReviewStatus, TokenReviewStatus, UserInfo
from fairway.kinds.k8s.reviews.authorization import (
    NonResourceRule,
    ResourceRule,
    SubjectAccessReviewStatus,
    SubjectRulesReviewStatus,
)
from fairway.kinds.kind import Kind
from fairway.server.authn import Authenticator
from fairway.server.rbac import Attributes, Authorizer
from fairway.server.rbac.rules import compact
from fairway.server.tokens import AUDIENCES

Json = dict[str, Any]


def self_subject_access_review(body: Body, caller: Caller, authorizer: Authorizer) -> Json:
    """May I do this?"""
    kind = kinds.SELF_SUBJECT_ACCESS_REVIEW
    review = _read(kind, body)
    return _decided(kind, review, _attributes(kind, review.spec, caller), authorizer)


def subject_access_review(body: Body, authorizer: Authorizer) -> Json:
    """May somebody do this?"""
    kind = kinds.SUBJECT_ACCESS_REVIEW
    review = _read(kind, body)
    return _decided(kind, review, _attributes(kind, review.spec, _subject(kind, review.spec)), authorizer)


def local_subject_access_review(body: Body, namespace: str, authorizer: Authorizer) -> Json:
    """May somebody do this in the namespace of the URL?"""
    kind = kinds.LOCAL_SUBJECT_ACCESS_REVIEW
    review = _read(kind, body)
    asked = _attributes(kind, review.spec, _subject(kind, review.spec))
    if not asked.resource:
        raise invalid(
            kind, "", [invalid_field("spec.nonResourceAttributes", None, "disallowed on this kind of request")]
        )
    if asked.namespace != namespace:
        why = f"must match metadata.namespace: {namespace}"
        raise invalid(kind, "", [invalid_field("spec.resourceAttributes.namespace", asked.namespace, why)])
    return _decided(kind, review, asked, authorizer)


def self_subject_rules_review(body: Body, caller: Caller, authorizer: Authorizer) -> Json:
    """What may I do in a namespace?"""
    kind = kinds.SELF_SUBJECT_RULES_REVIEW
    review = _read(kind, body)
    namespace = review.spec.namespace
    if not namespace:
        raise bad_request("no namespace on request: say in spec.namespace where the rules should hold")
    status = SubjectRulesReviewStatus()
    for rule in compact(authorizer.rules(caller, namespace)):
        if rule.non_resource_urls:
            status.non_resource_rules.append(
                NonResourceRule(verbs=list(rule.verbs), non_resource_urls=list(rule.non_resource_urls))
            )
        if rule.resources:
            status.resource_rules.append(
                ResourceRule(
                    verbs=list(rule.verbs),
                    api_groups=list(rule.api_groups),
                    resources=list(rule.resources),
                    resource_names=list(rule.resource_names) or UNSET,
                )
            )
    review.status = status
    return _answer(kind, review)


def self_subject_review(body: Body, caller: Caller) -> Json:
    """Who am I?"""
    kind = kinds.SELF_SUBJECT_REVIEW
    review = _read(kind, body)
    review.status = SelfSubjectReviewStatus(user_info=_user(caller))
    return _answer(kind, review)


def token_review(body: Body, authenticator: Authenticator) -> Json:
    """Whose token is this? The answer does not repeat the token."""
    kind = kinds.TOKEN_REVIEW
    review = _read(kind, body)
    secret = review.spec.token
    if not secret:
        raise bad_request("token is required for TokenReview in authentication")
    review.spec.token = UNSET
    wanted = list(review.spec.audiences or ())
    caller = authenticator.authenticate(secret)
    audiences = [name for name in wanted if name in AUDIENCES] if wanted else [AUDIENCES[1]]
    if caller is None:
        review.status = TokenReviewStatus(error="the token is unknown, expired or revoked")
    elif not audiences:
        review.status = TokenReviewStatus(error=f"the token is not meant for {', '.join(wanted)}")
    else:
        review.status = TokenReviewStatus(authenticated=True, user=_user(caller), audiences=audiences)
    return _answer(kind, review)


def _read(kind: Kind, body: Body) -> Any:
    return codec.read(kind, kind.versions[0], body)[0]


def _decided(kind: Kind, review: Any, asked: Attributes, authorizer: Authorizer) -> Json:
    decision = authorizer.allowed(asked)
    review.status = SubjectAccessReviewStatus(allowed=decision.allowed, reason=decision.reason or UNSET)
    return _answer(kind, review)


def _answer(kind: Kind, review: Any) -> Json:
    review.kind, review.api_version = kind.name, kind.api_version(kind.versions[0].name)
    return codec.as_json(review)


def _attributes(kind: Kind, spec: Any, caller: Caller) -> Attributes:
    resource, path = spec.resource_attributes, spec.non_resource_attributes
    if (resource is UNSET) == (path is UNSET):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise invalid(kind, "", [invalid_field("spec.resourceAttributes", None, why)])
    if resource is UNSET:
        return Attributes(caller, path.verb or "", path=path.path or "")
    return Attributes(
        caller,
        resource.verb or "",
        resource.group or "",
        resource.resource or "*",
        resource.subresource or "",
        resource.namespace or "",
        resource.name or "",
    )


def _subject(kind: Kind, spec: Any) -> Caller:
    if not spec.user and not spec.groups:
        raise invalid(kind, "", [invalid_field("spec.user", "", "at least one of user or group must be specified")])
    return Caller(spec.user or "", tuple(spec.groups or ()))


def _user(caller: Caller) -> UserInfo:
    return UserInfo(username=caller.user, groups=list(caller.groups))


Answer = Callable[[Body, Caller, str, Authorizer, Authenticator], Json]
REVIEWS: dict[tuple[str, str], tuple[Kind, Answer]] = {
    (kind.group, kind.plural): (kind, answer)
    for kind, answer in (
        (
            kinds.SELF_SUBJECT_ACCESS_REVIEW,
            lambda body, who, _ns, authz, _authn: self_subject_access_review(body, who, authz),
        ),
        (kinds.SUBJECT_ACCESS_REVIEW, lambda body, _who, _ns, authz, _authn: subject_access_review(body, authz)),
        (
            kinds.LOCAL_SUBJECT_ACCESS_REVIEW,
            lambda body, _who, ns, authz, _authn: local_subject_access_review(body, ns, authz),
        ),
        (
            kinds.SELF_SUBJECT_RULES_REVIEW,
            lambda body, who, _ns, authz, _authn: self_subject_rules_review(body, who, authz),
        ),
        (kinds.SELF_SUBJECT_REVIEW, lambda body, who, _ns, _authz, _authn: self_subject_review(body, who)),
        (kinds.TOKEN_REVIEW, lambda body, _who, _ns, _authz, authn: token_review(body, authn)),
    )
}
"""By group and resource: the kind of the body, and the function that answers."""
