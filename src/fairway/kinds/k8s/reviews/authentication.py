"""authentication.k8s.io/v1: questions about who someone is, and tokens."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int64, Opt, Time, Type


class UserInfo(Type):
    username: Opt[Annotated[str, F(proto=1)]] = UNSET
    uid: Opt[Annotated[str, F(proto=2)]] = UNSET
    groups: Opt[Annotated[list[str], F(proto=3, list_type="atomic")]] = UNSET
    extra: Opt[Annotated[dict[str, list[str]], F(proto=4)]] = UNSET


class TokenReviewSpec(Type):
    token: Opt[Annotated[str, F(proto=1)]] = UNSET
    audiences: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET


class TokenReviewStatus(Type):
    authenticated: Opt[Annotated[bool, F(proto=1)]] = UNSET
    user: Annotated[UserInfo, F(proto=2)] = field(default_factory=UserInfo)
    audiences: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET
    error: Opt[Annotated[str, F(proto=3)]] = UNSET


class TokenReview(Object):
    """Asks whose token this is."""

    spec: Annotated[TokenReviewSpec, F(proto=2)] = field(default_factory=TokenReviewSpec)
    status: Annotated[TokenReviewStatus, F(proto=3)] = field(default_factory=TokenReviewStatus)


class BoundObjectReference(Type):
    kind: Opt[Annotated[str, F(proto=1)]] = UNSET
    api_version: Opt[Annotated[str, F(proto=2)]] = UNSET
    name: Opt[Annotated[str, F(proto=3)]] = UNSET
    uid: Opt[Annotated[str, F(proto=4)]] = UNSET


class TokenRequestSpec(Type):
    audiences: Annotated[list[str], F(proto=1, list_type="atomic")] = field(default_factory=list)
    expiration_seconds: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET
    bound_object_ref: Opt[Annotated[BoundObjectReference, F(proto=3)]] = UNSET
    attestations: Opt[Annotated[dict[str, list[str]], F(proto=5)]] = UNSET


class TokenRequestStatus(Type):
    token: Annotated[str, F(proto=1)] = ""
    expiration_timestamp: Opt[Annotated[Time, F(proto=2)]] = UNSET


class TokenRequest(Object):
    """Asks for a token of a service account."""

    spec: Annotated[TokenRequestSpec, F(proto=2)] = field(default_factory=TokenRequestSpec)
    status: Annotated[TokenRequestStatus, F(proto=3)] = field(default_factory=TokenRequestStatus)


class SelfSubjectReviewStatus(Type):
    user_info: Annotated[UserInfo, F(proto=1)] = field(default_factory=UserInfo)


class SelfSubjectReview(Object):
    """Asks who the caller is."""

    status: Annotated[SelfSubjectReviewStatus, F(proto=2)] = field(default_factory=SelfSubjectReviewStatus)
