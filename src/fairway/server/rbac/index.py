"""Roles and bindings in memory: from a caller to the rules that apply to it, without reading a binding that is not its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fairway.api import selectors
from fairway.api.request import Caller
from fairway.kinds.own.token import service_account_user
from fairway.server.rbac.rules import Rule, compact
from fairway.store import Record

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
BUCKETS = (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)

RoleKey = tuple[str, str]
"""Namespace and name of a role; no namespace for a cluster role."""
SubjectKey = tuple[str, str]
"""User or Group, and its name. A service account is the user that it is."""


class _Expression(msgspec.Struct, rename="camel"):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class _Selector(msgspec.Struct, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: list[_Expression] = []


class _Aggregation(msgspec.Struct, rename="camel"):
    cluster_role_selectors: list[_Selector] = []


class _Role(msgspec.Struct, rename="camel"):
    rules: tuple[Rule, ...] = ()
    aggregation_rule: _Aggregation | None = None


class _Subject(msgspec.Struct):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _RoleRef(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Binding(msgspec.Struct, rename="camel"):
    role_ref: _RoleRef = msgspec.field(default_factory=_RoleRef)
    subjects: list[_Subject] = []


_role_decoder = msgspec.json.Decoder(_Role)
_binding_decoder = msgspec.json.Decoder(_Binding)


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A role given to a subject by a binding."""

    role: RoleKey
    source: str
    """Which binding of which role to whom, for people."""


class _ClusterRole(msgspec.Struct):
    labels: dict[str, str]
    rules: tuple[Rule, ...]
    selectors: tuple[selectors.Selector, ...] | None


Grants = dict[SubjectKey, dict[str, Grant]]


class Index:
    """Kept by `put` and `drop` of single records; the order in which they come does not matter."""

    def __init__(self) -> None:
        self._roles: dict[RoleKey, tuple[Rule, ...]] = {}
        self._cluster_roles: dict[str, _ClusterRole] = {}
        self._grants: dict[str, Grants] = {"": {}}
        """By the binding's namespace; empty: everywhere."""
        self._subjects: dict[tuple[str, str], list[SubjectKey]] = {}
        self._aggregated: dict[str, tuple[Rule, ...]] = {}

    # --- ask ------------------------------------------------------------------------------------------------------

    def grants(self, caller: Caller, namespace: str) -> Iterator[Grant]:
        """Roles that a caller has in a namespace (empty: at the cluster scope), those given everywhere first."""
        keys: list[SubjectKey] = [("User", caller.user), *(("Group", group) for group in caller.groups)]
        for place in ("", namespace) if namespace else ("",):
            grants = self._grants.get(place)
            if grants:
                for key in keys:
                    yield from grants.get(key, {}).values()

    def rules(self, caller: Caller, namespace: str) -> list[Rule]:
        return [rule for grant in self.grants(caller, namespace) for rule in self.role_rules(grant.role) or ()]

    def role_rules(self, key: RoleKey) -> tuple[Rule, ...] | None:
        """The rules of a role, those that it aggregates if it does; None if there is no such role."""
        namespace, name = key
        if namespace:
            return self._roles.get(key)
        role = self._cluster_roles.get(name)
        if role is None or role.selectors is None:
            return role.rules if role is not None else None
        known = self._aggregated.get(name)
        if known is None:
            known = self._aggregated[name] = tuple(compact(self._collect(name, set())))
        return known

    def aggregated(self) -> dict[str, tuple[Rule, ...]]:
        """Cluster roles whose stored rules are not what they aggregate: what should be written to them, for people to see."""
        stale: dict[str, tuple[Rule, ...]] = {}
        for name, role in self._cluster_roles.items():
            if role.selectors is not None:
                rules = self.role_rules(("", name)) or ()
                if rules != role.rules:
                    stale[name] = rules
        return stale

    def _collect(self, name: str, seen: set[str]) -> Iterable[Rule]:
        """Rules of all roles that are selected, directly or through others. A circle adds nothing."""
        seen.add(name)
        wanted = self._cluster_roles[name].selectors or ()
        for other, role in sorted(self._cluster_roles.items()):
            if other in seen or not any(selector.matches(role.labels) for selector in wanted):
                continue
            if role.selectors is None:
                seen.add(other)
                yield from role.rules
            else:
                yield from self._collect(other, seen)

    # --- keep -----------------------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        if record.bucket == ROLES:
            self._roles[record.namespace, record.name] = _role_decoder.decode(record.value).rules
        elif record.bucket == CLUSTER_ROLES:
            self._put_cluster_role(record)
        else:
            self._drop_binding(record)
            self._put_binding(record)

    def drop(self, record: Record) -> None:
        if record.bucket == ROLES:
            self._roles.pop((record.namespace, record.name), None)
        elif record.bucket == CLUSTER_ROLES:
            self._cluster_roles.pop(record.name, None)
            self._aggregated.clear()
        else:
            self._drop_binding(record)

    def _put_cluster_role(self, record: Record) -> None:
        stored = _role_decoder.decode(record.value)
        wanted: tuple[selectors.Selector, ...] | None = None
        if stored.aggregation_rule is not None:
            wanted = tuple(_selector(selector) for selector in stored.aggregation_rule.cluster_role_selectors)
        labels = dict(zip(record.labels[::2], record.labels[1::2], strict=True))
        self._cluster_roles[record.name] = _ClusterRole(labels, stored.rules, wanted)
        self._aggregated.clear()

    def _put_binding(self, record: Record) -> None:
        stored = _binding_decoder.decode(record.value)
        namespace, reference = record.namespace, stored.role_ref
        if reference.kind == "ClusterRole":
            role = ("", reference.name)
        elif reference.kind == "Role" and namespace:
            role = (namespace, reference.name)
        else:
            return
        what = f'RoleBinding "{record.name}/{namespace}"' if namespace else f'ClusterRoleBinding "{record.name}"'
        grants = self._grants.setdefault(namespace, {})
        keys = self._subjects[record.bucket, record.path] = []
        for subject in stored.subjects:
            key = _subject_key(subject, namespace)
            if key is not None and record.path not in (held := grants.setdefault(key, {})):
                shown = f"{subject.name}/{subject.namespace or namespace}" if subject.kind == _ACCOUNT else subject.name
                source = f'{what} of {reference.kind} "{reference.name}" to {subject.kind} "{shown}"'
                held[record.path] = Grant(role, source)
                keys.append(key)

    def _drop_binding(self, record: Record) -> None:
        grants = self._grants.get(record.namespace, {})
        for key in self._subjects.pop((record.bucket, record.path), ()):
            del grants[key][record.path]
            if not grants[key]:
                del grants[key]
        if record.namespace and not grants:
            self._grants.pop(record.namespace, None)


_ACCOUNT = "ServiceAccount"


def _subject_key(subject: _Subject, namespace: str) -> SubjectKey | None:
    if subject.kind in ("User", "Group"):
        return subject.kind, subject.name
    place = subject.namespace or namespace
    if subject.kind == _ACCOUNT and place:
        return "User", service_account_user(place, subject.name)
    return None


def _selector(selector: _Selector) -> selectors.Selector:
    try:
        return selectors.of(msgspec.to_builtins(selector))
    except selectors.SelectorError:
        return selectors.NOTHING
