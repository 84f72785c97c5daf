"""Token: who may speak to a space, and until when. The secret itself is never stored, only its hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from fairway.kinds import columns
from fairway.kinds.errors import FieldError, forbidden, invalid, required
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Time, Type, parse_time

GROUP = "fairway.dev"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
NO_SECRET = (
    "this Token has no secret, so nobody can use it: a secret is made and shown only when a Token is created with POST "
    "(kubectl create, or fairway token create)"
)
_TEXT_MAX = 256
_GROUPS_MAX = 64


class ServiceAccountReference(Type):
    """The service account that a token speaks for; without it the token is worth nothing."""

    namespace: Annotated[str, F("namespace of the service account", min_length=1)]
    name: Annotated[str, F("name of the service account", min_length=1)]
    uid: Annotated[
        str, F("uid of the service account; one that is made anew under the same name is another", min_length=1)
    ]


class TokenSpec(Type):
    """Whom the token speaks for, and until when."""

    user: Annotated[str, F("name of the user that a request with this token comes from", max_length=_TEXT_MAX)] = ""
    groups: Opt[
        Annotated[list[str], F("groups of that user; every user is in system:authenticated too", list_type="set")]
    ] = UNSET
    description: Opt[Annotated[str, F("what the token is for, in your words", max_length=4096)]] = UNSET
    expiration_timestamp: Opt[
        Annotated[Time, F("when the token ceases to be valid; without it, when it is deleted")]
    ] = UNSET
    service_account: Opt[
        Annotated[ServiceAccountReference, F("set on the tokens of service accounts: they end with the account")]
    ] = UNSET


class TokenStatus(Type):
    """What the server knows about the secret."""

    hash: Opt[Annotated[str, F("SHA-256 of the secret, in hexadecimal")]] = UNSET
    prefix: Opt[Annotated[str, F("first characters of the secret, to tell tokens apart")]] = UNSET
    last_used: Opt[Annotated[Time, F("when a request last came with it, to within some minutes")]] = UNSET
    token: Opt[
        Annotated[str, F("the secret: only in the answer to the request that creates the token, and never stored")]
    ] = UNSET


class Token(Object):
    """A bearer token of one user. Delete it to revoke it; that takes effect at once."""

    spec: Annotated[TokenSpec, F("whom the token speaks for, and until when")] = field(default_factory=TokenSpec)
    status: Opt[Annotated[TokenStatus, F("what the server knows about the secret")]] = UNSET


def validate(new: Token, old: Token | None) -> list[FieldError]:
    spec = new.spec
    errors: list[FieldError] = []
    if not spec.user:
        errors.append(required("spec.user", "the user that requests with this token come from"))
    errors += _group_errors(spec.groups or [])
    if spec.user.startswith(SERVICE_ACCOUNT_PREFIX) and spec.service_account is UNSET:
        errors.append(
            invalid(
                "spec.user", spec.user, "tokens of service accounts are made by kubectl create token NAME -n NAMESPACE"
            )
        )
    if spec.service_account is not UNSET:
        wanted = service_account_user(spec.service_account.namespace, spec.service_account.name)
        if spec.user != wanted:
            errors.append(invalid("spec.user", spec.user, f"must be {wanted}, for its service account"))
    if old is not None:
        for name in ("user", "groups", "service_account"):
            if getattr(spec, name) != getattr(old.spec, name):
                shown = "serviceAccount" if name == "service_account" else name
                errors.append(
                    forbidden(f"spec.{shown}", "a token speaks for one user for good: revoke it and create another")
                )
    return errors


def _group_errors(groups: list[str]) -> list[FieldError]:
    errors = [
        invalid(f"spec.groups[{index}]", group, f"must have 1 to {_TEXT_MAX} characters")
        for index, group in enumerate(groups)
        if not 0 < len(group) <= _TEXT_MAX
    ]
    if len(groups) > _GROUPS_MAX:
        errors.append(invalid("spec.groups", len(groups), f"must have at most {_GROUPS_MAX} items"))
    return errors


def validate_status(new: Token, old: Token | None) -> list[FieldError]:
    """The hash is the token: whoever could write it could make up a secret."""
    was = old.status if old is not None and old.status is not UNSET else TokenStatus()
    now = new.status if new.status is not UNSET else TokenStatus()
    errors = [
        forbidden(f"status.{name}", "is set when the token is created and never changes")
        for name in ("hash", "prefix")
        if getattr(now, name) != getattr(was, name)
    ]
    if now.token is not UNSET:
        errors.append(forbidden("status.token", "the secret is never stored"))
    return errors


def service_account_user(namespace: str, name: str) -> str:
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def _warn(_new: Token, old: Token | None) -> list[str]:
    # Whoever issues a token puts the secret in after this, and takes the warning back (fairway.server.tokens).
    return [NO_SECRET] if old is None else []


def _groups(obj: Mapping[str, Any], _moment: Moment) -> str:
    return ",".join(columns.at(obj, "spec.groups") or ())


def _expires(obj: Mapping[str, Any], moment: Moment) -> str:
    until = columns.at(obj, "spec.expirationTimestamp")
    if not isinstance(until, str):
        return "never"
    left = parse_time(until).timestamp() - moment.now
    return columns.duration(left) if left > 0 else "expired"


_COLUMNS = (
    columns.NAME,
    columns.field("User", "spec.user"),
    Column("Groups", _groups, path=".spec.groups"),
    columns.field("Prefix", "status.prefix"),
    Column("Expires", _expires, path=".spec.expirationTimestamp"),
    columns.AGE,
)

TOKEN = Kind(
    group=GROUP,
    name="Token",
    plural="tokens",
    singular="token",
    versions=(Version("v1", Token, _COLUMNS),),
    namespaced=False,
    subresources=("status",),
    builtin_crd=True,
    selectable=("spec.user",),
    validate=validate,
    validate_status=validate_status,
    warn=_warn,
)

KINDS = (TOKEN,)
