"""Asking as somebody else (kubectl --as, --as-group): for those who hold the verb `impersonate` on all that they want to be."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.api.errors import bad_request
from fairway.api.request import Caller
from fairway.kinds.own.token import SERVICE_ACCOUNT_PREFIX
from fairway.server.authn import ANONYMOUS, AUTHENTICATED
from fairway.server.rbac import Attributes, Authorizer
from fairway.server.tokens import service_account_groups

USER, GROUP = b"impersonate-user", b"impersonate-group"


def impersonated(caller: Caller, headers: Sequence[tuple[bytes, bytes]], authorizer: Authorizer) -> Caller:
    """The caller that the headers ask to be. Raises the denial of the first thing that it may not be."""
    user = next((value.decode("utf-8", "replace") for name, value in headers if name == USER), "")
    groups = tuple(value.decode("utf-8", "replace") for name, value in headers if name == GROUP)
    if not user:
        raise bad_request("Impersonate-Group needs Impersonate-User: say who you want to be")
    authorizer.require(_may_be(caller, user))
    for group in groups:
        authorizer.require(Attributes(caller, "impersonate", "", "groups", name=group))
    return Caller(user, _groups(user, groups))


def _may_be(caller: Caller, user: str) -> Attributes:
    account = _account(user)
    if account is None:
        return Attributes(caller, "impersonate", "", "users", name=user)
    namespace, name = account
    return Attributes(caller, "impersonate", "", "serviceaccounts", namespace=namespace, name=name)


def _account(user: str) -> tuple[str, str] | None:
    namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if colon and name and user.startswith(SERVICE_ACCOUNT_PREFIX) else None


def _groups(user: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    account = _account(user)
    if account is not None and not groups:
        return service_account_groups(account[0])
    if user == ANONYMOUS.user:
        return groups or ANONYMOUS.groups
    return tuple(dict.fromkeys((*groups, AUTHENTICATED)))
