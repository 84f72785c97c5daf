"""Nobody gives what they do not hold, nor makes what they may not: admission of roles, bindings, tokens, and of all that is new.

Without it, whoever may write roles or bindings or tokens could give themselves everything. Ways around, for those who are trusted with them:
the verbs `escalate` (on roles), `bind` (on the role that is bound) and `impersonate` (on the user and groups of a token).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from fairway.api import codec
from fairway.api.errors import ApiError, forbidden
from fairway.api.objects import Hook
from fairway.api.request import Admission, Caller, Target
from fairway.server.rbac.authorizer import MASTERS, Attributes, Authorizer
from fairway.server.rbac.index import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES
from fairway.server.rbac.rules import Rule, TooManyParts, describe, from_json, missing

TOKENS = "tokens.fairway.dev"
_EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), non_resource_urls=("*",)))
_SHOWN_MAX = 20


def guard(authorizer: Authorizer) -> Hook:
    """The admission hook of a space: last among the hooks, so that it sees what will be stored."""

    def hook(admission: Admission) -> None:
        caller = admission.options.caller
        if admission.operation == "DELETE" or MASTERS in caller.groups:
            return
        if admission.operation == "CREATE":
            _require_create(admission.target, caller, authorizer)
        check = _CHECKS.get(admission.target.kind.home.bucket)
        if check is not None and admission.target.subresource != "status":
            check(admission, authorizer)

    return hook


def _require_create(target: Target, caller: Caller, authorizer: Authorizer) -> None:
    """A patch that finds nothing to patch creates, and needs the right to: the right to patch was all that was asked so far."""
    kind = target.kind
    authorizer.require(Attributes(caller, "create", kind.group, kind.plural, "", target.namespace, target.name))


def _check_role(admission: Admission, authorizer: Authorizer) -> None:
    new, old, target, caller = admission.new, admission.old, admission.target, admission.options.caller
    # Labels of a cluster role count too: they decide which others take its rules in.
    relabelled = not target.namespace and old is not None and new.metadata.labels != old.metadata.labels
    if old is not None and not relabelled and _same(new, old, "rules") and _same(new, old, "aggregation_rule"):
        return
    if _may(authorizer, caller, "escalate", target.kind.plural, target.namespace, target.name):
        return
    wanted: Sequence[Rule] = from_json(codec.as_json_list(new.rules or []))
    if getattr(new, "aggregation_rule", UNSET) is not UNSET:
        wanted = _EVERYTHING  # what it will take in is anybody's to say
    _require_held(admission, authorizer, wanted)


def _check_binding(admission: Admission, authorizer: Authorizer) -> None:
    new, old, target, caller = admission.new, admission.old, admission.target, admission.options.caller
    if old is not None and _same(new, old, "subjects") and _same(new, old, "role_ref"):
        return
    reference = new.role_ref
    local = reference.kind == "Role"
    place = target.namespace if local else ""
    resource = "roles" if local else "clusterroles"
    if _may(authorizer, caller, "bind", resource, target.namespace, reference.name):
        return
    rules = authorizer.role_rules((place, reference.name))
    if rules is None:
        raise ApiError(
            404,
            "NotFound",
            f'{resource}.{GROUP} "{reference.name}" not found',
            details={"name": reference.name, "group": GROUP, "kind": resource},
        )
    _require_held(admission, authorizer, rules)


def _check_token(admission: Admission, authorizer: Authorizer) -> None:
    """A token is the power to be somebody: one gives it for oneself, or needs the right to be that user and in those groups."""
    if admission.old is not None:
        return  # whom a token speaks for never changes
    spec, caller = admission.new.spec, admission.options.caller
    lacking = []
    if spec.user != caller.user and not _may_be(authorizer, caller, "users", spec.user):
        lacking.append(f'user "{spec.user}"')
    for group in spec.groups or ():
        if not (spec.user == caller.user and group in caller.groups) and not _may_be(
            authorizer, caller, "groups", group
        ):
            lacking.append(f'group "{group}"')
    if lacking:
        why = (
            f'user "{caller.user}" may not create a token for {", ".join(lacking)}: that needs the verb "impersonate" on it, '
            "or a token for yourself and your own groups"
        )
        raise forbidden(admission.target.kind, admission.target.name, why)


def _require_held(admission: Admission, authorizer: Authorizer, wanted: Sequence[Rule]) -> None:
    target, caller = admission.target, admission.options.caller
    try:
        lacking = missing(authorizer.rules(caller, target.namespace), wanted)
    except TooManyParts as error:
        raise forbidden(target.kind, target.name, str(error)) from None
    if not lacking:
        return
    shown = sorted(describe(rule) for rule in lacking)
    more = [f"and {len(shown) - _SHOWN_MAX} more"] if len(shown) > _SHOWN_MAX else []
    groups = " ".join(f'"{group}"' for group in caller.groups)
    why = (
        f'user "{caller.user}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
        + "\n".join(shown[:_SHOWN_MAX] + more)
    )
    raise forbidden(target.kind, target.name, why)


def _same(new: object, old: object, name: str) -> bool:
    return (getattr(new, name, None) or None) == (getattr(old, name, None) or None)


def _may(authorizer: Authorizer, caller: Caller, verb: str, resource: str, namespace: str, name: str) -> bool:
    return authorizer.allowed(Attributes(caller, verb, GROUP, resource, "", namespace, name)).allowed


def _may_be(authorizer: Authorizer, caller: Caller, resource: str, name: str) -> bool:
    return authorizer.allowed(Attributes(caller, "impersonate", "", resource, "", "", name)).allowed


_CHECKS = {
    ROLES: _check_role,
    CLUSTER_ROLES: _check_role,
    ROLE_BINDINGS: _check_binding,
    CLUSTER_ROLE_BINDINGS: _check_binding,
    TOKENS: _check_token,
}
