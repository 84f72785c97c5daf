"""What passes the check against escalation gives nobody a right that the giver lacks."""

from __future__ import annotations

from itertools import product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.server.rbac.rules import Rule, allows_path, allows_resource, compact, missing


def words(*choices: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(choices), min_size=1, max_size=2, unique=True).map(tuple)


VERBS = words("get", "list", "*")
NAMES = st.one_of(st.just(()), words("a", "b"))
RESOURCE_RULES = st.builds(Rule, VERBS, words("", "g", "*"), words("r", "s", "r/t", "*/t", "*"), NAMES)
URL_RULES = st.builds(lambda verbs, urls: Rule(verbs, non_resource_urls=urls), VERBS, words("/p", "/p/*", "/p/q", "*"))
RULES = st.lists(st.one_of(RESOURCE_RULES, URL_RULES), max_size=3)


@st.composite
def held_and_wanted(draw: st.DrawFn) -> tuple[list[Rule], list[Rule]]:
    """Rules, and others that differ from them in one respect: chance alone would hardly ever find the edge."""
    held = draw(RULES)
    wanted = draw(st.lists(st.one_of(RESOURCE_RULES, URL_RULES), max_size=1))
    for rule in held:
        other = draw(URL_RULES if rule.non_resource_urls else RESOURCE_RULES)
        field = draw(st.sampled_from(Rule.__struct_fields__))
        wanted.append(msgspec.structs.replace(rule, **{field: getattr(other, field)}))
    return held, wanted


ASKED = list(
    product(("get", "list", "new"), ("", "g", "new"), ("r", "s", "new"), ("", "t", "new"), ("", "a", "b", "new"))
)
PATHS = list(product(("get", "list", "new"), ("/p", "/p/", "/p/q", "/new")))


def rights(rules: list[Rule]) -> set[tuple[str, ...]]:
    """Everything that rules allow, in a world that also has things which no rule names."""
    found: set[tuple[str, ...]] = set()
    for verb, group, resource, subresource, name in ASKED:
        for rule in rules:
            named = not rule.resource_names or name in rule.resource_names
            if named and allows_resource(rule, verb, group, resource, subresource):
                found.add((verb, group, resource, subresource, name))
    found |= {asked for asked in PATHS if any(allows_path(rule, *asked) for rule in rules)}
    return found


@settings(max_examples=100, deadline=None)
@given(held_and_wanted())
def test_rules_that_are_covered_allow_nothing_new(rules: tuple[list[Rule], list[Rule]]) -> None:
    held, wanted = rules
    lacking = missing(held, wanted)
    assert rights(wanted) <= rights(held) | rights(lacking)
    if not lacking:
        assert rights(wanted) <= rights(held)


@settings(max_examples=50, deadline=None)
@given(RULES)
def test_one_may_always_give_what_one_holds(held: list[Rule]) -> None:
    assert missing(held, held) == []
    assert missing(compact(held), held) == []
    assert rights(compact(held)) == rights(held)
