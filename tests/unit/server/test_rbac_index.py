"""The index answers what a plain reading of all roles and bindings would, whatever changed in whatever order."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.server.rbac_objects import BUCKETS, JsonObject, drop, put, run

from fairway.api.request import Caller
from fairway.server.rbac import Attributes, Authorizer
from fairway.store import Store

NAMES = st.sampled_from(["a", "b"])
NAMESPACES = st.sampled_from(["n", "m"])
LABELS = st.dictionaries(st.just("x"), st.sampled_from(["1", "2"]), max_size=1)
VERBS = st.lists(st.sampled_from(["get", "list", "*"]), min_size=1, max_size=2)


def words(*choices: str, least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(choices), min_size=least, max_size=2)


RULES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "verbs": VERBS,
                "apiGroups": words("", "g", "*", least=1),
                "resources": words("r", "s", "*", "r/t", "*/t", least=1),
                "resourceNames": words("a", "b"),
            }
        ),
        st.fixed_dictionaries({"verbs": VERBS, "nonResourceURLs": words("/p", "/p/*", "*", least=1)}),
    ),
    max_size=2,
)
SUBJECTS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"kind": st.just("User"), "name": st.sampled_from(["u", "v", "system:serviceaccount:n:a"])}
        ),
        st.fixed_dictionaries({"kind": st.just("Group"), "name": st.sampled_from(["g", "h"])}),
        st.fixed_dictionaries({"kind": st.just("ServiceAccount"), "name": NAMES}, optional={"namespace": NAMESPACES}),
    ),
    max_size=3,
)


@st.composite
def an_object(draw: st.DrawFn) -> JsonObject:
    kind = draw(st.sampled_from(sorted(BUCKETS)))
    meta: JsonObject = {"name": draw(NAMES), "namespace": "" if kind.startswith("Cluster") else draw(NAMESPACES)}
    made: JsonObject = {"kind": kind, "metadata": meta}
    if kind.endswith("Binding"):
        kinds = ["ClusterRole"] if kind.startswith("Cluster") else ["Role", "ClusterRole"]
        made["roleRef"] = {"kind": draw(st.sampled_from(kinds)), "name": draw(NAMES)}
        made["subjects"] = draw(SUBJECTS)
        return made
    made["rules"] = draw(RULES)
    if kind == "ClusterRole":
        meta["labels"] = draw(LABELS)
        if draw(st.booleans()):
            selectors = st.lists(st.fixed_dictionaries({"matchLabels": LABELS}), max_size=2)
            made["aggregationRule"] = {"clusterRoleSelectors": draw(selectors)}
    return made


CALLERS = (Caller("u", ("g",)), Caller("v", ()), Caller("system:serviceaccount:n:a", ("h",)))
QUESTIONS = [
    *(
        Attributes(*asked)
        for asked in product(CALLERS, ("get", "list"), ("", "g"), ("r",), ("", "t"), ("", "n"), ("", "a"))
    ),
    *(Attributes(caller, "get", path=path) for caller, path in product(CALLERS, ("/p", "/p/q", "/z"))),
]
"""All that can be told apart, asked after every step: sampled questions would seldom meet the rule that matters."""


def naive(objects: list[JsonObject], asked: Attributes) -> bool:
    """By the letter: every binding, every subject, every rule."""
    for obj in objects:
        namespace = obj["metadata"]["namespace"]
        if not obj["kind"].endswith("Binding") or (namespace and (namespace != asked.namespace or asked.path)):
            continue
        if not any(is_subject(subject, namespace, asked.caller) for subject in obj["subjects"]):
            continue
        reference = obj["roleRef"]
        place = namespace if reference["kind"] == "Role" else ""
        for role in objects:
            key = (role["kind"], role["metadata"]["namespace"], role["metadata"]["name"])
            named = key == (reference["kind"], place, reference["name"])
            if named and any(allows(rule, asked) for rule in rules_of(objects, role, [])):
                return True
    return False


def is_subject(subject: JsonObject, namespace: str, caller: Caller) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == caller.user)
    if subject["kind"] == "Group":
        return subject["name"] in caller.groups
    place = subject.get("namespace", namespace)
    return bool(place) and caller.user == f"system:serviceaccount:{place}:{subject['name']}"


def rules_of(objects: list[JsonObject], role: JsonObject, above: list[str]) -> list[JsonObject]:
    if "aggregationRule" not in role:
        return list(role["rules"])
    found: list[JsonObject] = []
    path = [*above, role["metadata"]["name"]]
    for other in objects:
        if other["kind"] != "ClusterRole" or other["metadata"]["name"] in path:
            continue
        labels = other["metadata"]["labels"]
        for selector in role["aggregationRule"]["clusterRoleSelectors"]:
            if all(labels.get(key) == value for key, value in selector["matchLabels"].items()):
                found += rules_of(objects, other, path)
    return found


def allows(rule: dict[str, Any], asked: Attributes) -> bool:
    if not {asked.verb, "*"} & set(rule["verbs"]):
        return False
    if asked.path:
        patterns = rule.get("nonResourceURLs", [])
        return any(p == asked.path or (p.endswith("*") and asked.path.startswith(p.rstrip("*"))) for p in patterns)
    if not {asked.group, "*"} & set(rule.get("apiGroups", [])):
        return False
    wanted = (
        {"*", f"{asked.resource}/{asked.subresource}", f"*/{asked.subresource}"}
        if asked.subresource
        else {"*", asked.resource}
    )
    if not wanted & set(rule.get("resources", [])):
        return False
    return not rule.get("resourceNames") or asked.name in rule["resourceNames"]


STEPS = st.lists(st.tuples(an_object(), st.integers(0, 9)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_the_index_equals_a_plain_reading(steps: list[tuple[JsonObject, int]]) -> None:
    async def body() -> None:
        store = Store()
        authorizer = Authorizer(store)
        present: dict[tuple[str, str, str], JsonObject] = {}
        for obj, choice in steps:
            if choice < 4 and present:
                await drop(store, present.pop(list(present)[choice % len(present)]))
            else:
                await put(store, obj)
                key = (obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"])
                present.pop(key, None)
                present[key] = obj
            objects = list(present.values())
            for asked in QUESTIONS:
                assert authorizer.allowed(asked).allowed is naive(objects, asked), (asked, msgspec.json.encode(objects))
        fresh = Authorizer(store)
        assert [bool(fresh.allowed(asked)) for asked in QUESTIONS] == [
            bool(authorizer.allowed(asked)) for asked in QUESTIONS
        ]

    run(body())
