"""May this caller do that? Answered from memory, as fresh as what readers of the store see."""

from __future__ import annotations

import msgspec

from fairway.api.errors import ApiError
from fairway.api.request import Caller, Target
from fairway.server.rbac.index import BUCKETS, Index, RoleKey
from fairway.server.rbac.rules import Rule, allows_path, allows_resource
from fairway.server.tail import Tail
from fairway.store import Store

MASTERS = "system:masters"
_ANSWERS_MAX = 50_000


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """What is asked for: a verb on a resource, or (with a path and no resource) on a URL that is none."""

    caller: Caller
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(msgspec.Struct, frozen=True, gc=False):
    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


class _Answer(msgspec.Struct):
    """The decision for every object of a kind in a namespace, and for those that rules name."""

    all: Decision | None
    named: dict[str, Decision]


_ALMIGHTY = Decision(True, f'"{MASTERS}" may do everything')
_NO = Decision(False)


def attributes(caller: Caller, verb: str, target: Target) -> Attributes:
    """What a request about objects of the API asks for. A namespace counts as being inside itself, as in Kubernetes."""
    kind = target.kind
    namespace = target.name if kind.bucket == "namespaces" else target.namespace
    return Attributes(caller, verb, kind.group, kind.plural, target.subresource, namespace, target.name)


class Authorizer:
    """Roles and bindings of one space."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tail = Tail(store, BUCKETS)
        self._index = Index()
        self._answers: dict[tuple[Caller, str, str, str, str, str], _Answer] = {}
        self._rebuild()

    def allowed(self, asked: Attributes) -> Decision:
        if self._store.revision != self._tail.revision:
            self._catch_up()
        caller = asked.caller
        if MASTERS in caller.groups:
            return _ALMIGHTY
        if not asked.resource:
            return self._path_decision(asked)
        key = (caller, asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answer(asked)
            if len(self._answers) >= _ANSWERS_MAX:
                self._answers.clear()
            self._answers[key] = answer
        return answer.all or answer.named.get(asked.name, _NO)

    def require(self, asked: Attributes) -> None:
        """Raises the answer that the caller gets, unless it is allowed."""
        if not self.allowed(asked).allowed:
            raise denial(asked)

    def rules(self, caller: Caller, namespace: str = "") -> list[Rule]:
        """Everything that a caller may do in a namespace (empty: at the cluster scope)."""
        self._catch_up()
        rules = self._index.rules(caller, namespace)
        if MASTERS in caller.groups:
            rules += [Rule(("*",), ("*",), ("*",)), Rule(("*",), non_resource_urls=("*",))]
        return rules

    def role_rules(self, role: RoleKey) -> tuple[Rule, ...] | None:
        self._catch_up()
        return self._index.role_rules(role)

    def aggregated(self) -> dict[str, tuple[Rule, ...]]:
        """Names of aggregating cluster roles whose stored rules are out of date, and the rules that they have. Decisions
        never look at the stored ones; they are only shown."""
        self._catch_up()
        return self._index.aggregated()

    def _answer(self, asked: Attributes) -> _Answer:
        answer = _Answer(None, {})
        for grant in self._index.grants(asked.caller, asked.namespace):
            decision: Decision | None = None
            for rule in self._index.role_rules(grant.role) or ():
                if not allows_resource(rule, asked.verb, asked.group, asked.resource, asked.subresource):
                    continue
                decision = decision or Decision(True, f"RBAC: allowed by {grant.source}")
                if not rule.resource_names:
                    answer.all = decision
                    return answer
                for name in rule.resource_names:
                    answer.named.setdefault(name, decision)
        return answer

    def _path_decision(self, asked: Attributes) -> Decision:
        for grant in self._index.grants(asked.caller, ""):
            for rule in self._index.role_rules(grant.role) or ():
                if allows_path(rule, asked.verb, asked.path):
                    return Decision(True, f"RBAC: allowed by {grant.source}")
        return _NO

    def _catch_up(self) -> None:
        events = self._tail.poll()
        if events is None:
            self._rebuild()
        elif events:
            for event in events:
                if event.deleted:
                    self._index.drop(event.record)
                else:
                    self._index.put(event.record)
            self._answers.clear()

    def _rebuild(self) -> None:
        self._index = Index()
        self._answers.clear()
        for bucket in BUCKETS:
            for record in self._store.records(bucket):
                self._index.put(record)


def denial(asked: Attributes) -> ApiError:
    """The refusal, in the words of the real server."""
    who = f'User "{asked.caller.user}" cannot {asked.verb}'
    if not asked.resource:
        return ApiError(403, "Forbidden", f'forbidden: {who} path "{asked.path}"')
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    shown = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    named = f' "{asked.name}"' if asked.name else ""
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    details = {"name": asked.name} if asked.name else {}
    if asked.group:
        details["group"] = asked.group
    details["kind"] = asked.resource
    return ApiError(
        403,
        "Forbidden",
        f'{shown}{named} is forbidden: {who} resource "{resource}" in API group "{asked.group}" {where}',
        details=details,
    )
