"""Selectors: the grammar of Kubernetes, its errors, and predicates that agree with a plain reading."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api import selectors
from fairway.api.reads import Selection
from fairway.api.selectors import Requirement, Selector, SelectorError
from fairway.store.record import Record, pack_head

LABELS = {"app": "web", "tier": "b", "empty": "", "size": "10", "in": "notin"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=b", True),
        ("app=web,tier=c", False),
        ("app!=web", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("missing=x", False),
        ("missing=", False),
        ("empty=", True),
        ("empty", True),
        ("missing", False),
        ("!missing", True),
        ("! app", False),
        ("app in (web,db)", True),
        ("app in(db , web)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("empty in ()", True),
        ("empty in (,x)", True),
        ("app in (,)", False),
        ("size>9", True),
        ("size<10", False),
        ("app>1", False),
        ("missing<1", False),
        ("in in (notin)", True),
        ("in,in=notin", True),
        ("example.com/role=x", False),
    ],
)
def test_a_label_selector_selects_what_it_says(text: str, matches: bool) -> None:
    assert selectors.parse(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b,,c", "found ',', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a==(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a>b", "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("a>99999999999999999999", "the value must be an integer"),
        ("-a=b", "name part must consist of alphanumeric"),
        ("a/b/c", "a qualified name must consist of"),
        ("/a", "prefix part must be non-empty"),
        ("a=-b", 'values[0][a]: Invalid value: "-b": a valid label must be an empty string or consist of'),
        ("a=" + "x" * 64, "must be no more than 63"),
        ("a=" + "x," * 60_000, "longer than 100000"),
    ],
)
def test_a_malformed_label_selector_says_what_was_found_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.parse(text)
    assert message in caught.value.message


def test_the_object_form_selects_like_the_text() -> None:
    selector = selectors.of(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["c", "b"]},
                {"key": "x", "operator": "NotIn", "values": ["y"]},
                {"key": "size", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
            ],
        }
    )
    assert selector == selectors.parse("app=web,tier in (b,c),x notin (y),size,!old")
    assert selector.matches(LABELS)
    assert not selector.matches(LABELS | {"old": ""})


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selectors.of(None).matches({})
    assert not selectors.of(None).empty
    assert selectors.of({}).matches({})
    assert selectors.of({"matchLabels": {}, "matchExpressions": []}).empty
    assert selectors.of(None) != selectors.of({})


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, '"Near" is not a valid label selector operator'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "matchExpressions[0].values: Invalid value: []: for 'in'",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}, "values set must be empty"),
        ({"matchLabels": {"-a": "-b"}}, "[matchLabels.-a.key: Invalid value"),
    ],
)
def test_a_malformed_selector_object_names_the_field(selector: dict[str, object], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.of(selector)
    assert message in caught.value.message


FIELDS = {"metadata.name", "metadata.namespace", "status.phase", "involvedObject.name"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a,status.phase!=Failed", True),
        ("metadata.name!=a", False),
        (",metadata.name=a,", True),
        (r"involvedObject.name=a\,b\=c\\d", True),
        ("metadata.namespace=", True),
        ("metadata.namespace!=", False),
    ],
)
def test_a_field_selector_selects_what_it_says(text: str, matches: bool) -> None:
    fields = {
        "metadata.name": "a",
        "metadata.namespace": "",
        "status.phase": "Running",
        "involvedObject.name": "a,b=c\\d",
    }
    assert selectors.parse_fields(text, FIELDS, "Pod").matches(fields) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.foo=x", 'field label "spec.foo" not supported for Job'),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (r"metadata.name=\x", r"invalid escape sequence: \x"),
        ("metadata.name=a\\", "invalid escape sequence: \\"),
        ("metadata.name=a\\\\\\", "invalid escape sequence: \\"),
        ("metadata.name=a=b", "unescaped character in value: ="),
    ],
)
def test_a_malformed_field_selector_says_why(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.parse_fields(text, FIELDS, "Job")
    assert message in caught.value.message


def test_the_one_value_that_a_selector_asks_for_is_told() -> None:
    selector = selectors.parse_fields("metadata.name=x,status.phase!=y", FIELDS, "Pod")
    assert selector.exact("metadata.name") == "x"
    assert selector.exact("status.phase") is None
    assert selectors.parse("a in (x)").exact("a") == "x"
    assert selectors.parse("a in (x,y)").exact("a") is None


def test_the_same_text_is_parsed_once() -> None:
    assert selectors.parse("a=b,c=d") is selectors.parse("a=b,c=d")


keys = st.sampled_from(["a", "b", "in", "example.com/c"])
values = st.sampled_from(["", "x", "y", "1", "-5", "notin"]).filter(lambda value: value != "-5")
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["=", "==", "!="]), st.tuples(values)),
    st.builds(
        Requirement,
        keys,
        st.sampled_from(["in", "notin"]),
        st.lists(values, min_size=1, max_size=3, unique=True).map(lambda several: tuple(sorted(several))),
    ),
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, keys, st.sampled_from(["gt", "lt"]), st.tuples(st.integers(0, 3).map(str))),
)
label_sets = st.dictionaries(keys, st.sampled_from(["", "x", "y", "0", "1", "2", "07"]), max_size=4)


def plainly(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    there, value = requirement.key in labels, labels.get(requirement.key, "")
    match requirement.operator:
        case "=" | "==" | "in":
            return there and value in requirement.values
        case "!=" | "notin":
            return not there or value not in requirement.values
        case "exists":
            return there
        case "!":
            return not there
    if not there or not value.isdigit():
        return False
    difference = int(value) - int(requirement.values[0])
    return difference > 0 if requirement.operator == "gt" else difference < 0


@given(st.lists(requirements, max_size=4), label_sets)
def test_a_selector_reads_back_from_its_text_and_decides_like_a_plain_reading(
    several: list[Requirement], labels: dict[str, str]
) -> None:
    selector = Selector(sorted(several, key=lambda each: each.key))
    again = selectors.parse(str(selector))
    assert again == selector
    assert again.matches(labels) == selector.matches(labels) == all(plainly(each, labels) for each in several)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(FIELDS)), st.sampled_from(["=", "!="]), st.text(alphabet="ab,=\\!é", max_size=5)
        ),
        max_size=3,
    )
)
def test_a_field_selector_reads_back_from_its_text_whatever_its_values(terms: list[tuple[str, str, str]]) -> None:
    text = ",".join(f"{field}{operator}{selectors.escape(value)}" for field, operator, value in terms)
    selector = selectors.parse_fields(text, FIELDS, "Pod")
    assert sorted((each.key, each.operator, *each.values) for each in selector.requirements) == sorted(terms)
    assert selectors.parse_fields(selectors.render_fields(selector), FIELDS, "Pod") == selector


@pytest.mark.parametrize("text", ["", "a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1)", "!b,a", "b,a"])
@pytest.mark.parametrize("labels", [(), ("a", "1"), ("a", "3"), ("b", "1"), ("a", "2", "b", "a"), ("b", "a")])
def test_a_selection_by_the_bytes_of_a_record_is_the_one_by_its_labels(text: str, labels: tuple[str, ...]) -> None:
    selector = selectors.parse(text)
    record = Record("things", "ns/a", 1, b"", pack_head(labels, ("a",), ("b",), "a"))
    wanted = selector.matches(dict(zip(labels[::2], labels[1::2], strict=True)))
    assert Selection(labels=selector).matches(record) is wanted
