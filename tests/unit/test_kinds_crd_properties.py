"""Random small schemas and values: the check, the decoder and an independent JSON Schema validator agree."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.kinds.check import check
from fairway.kinds.crd import kind_of
from fairway.kinds.defaults import fill_defaults
from fairway.kinds.kind import convert
from fairway.kinds.openapi import openapi_schema
from fairway.kinds.structural import read_root
from fairway.kinds.types import encode, to_json

FIELDS = st.sampled_from(["a", "b", "c-d"])
NUMBERS = st.integers(-5, 5)
TEXTS = st.text("abz0", max_size=4)
CHOICES = st.lists(
    st.one_of(NUMBERS, TEXTS, st.booleans()), min_size=1, max_size=3, unique_by=lambda value: (type(value), value)
)


def _sized(low: str, high: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={low: st.integers(0, 2), high: st.integers(1, 4)})


RESTRICTIONS = st.one_of(
    st.fixed_dictionaries({"minimum": NUMBERS}),
    st.fixed_dictionaries({"maximum": NUMBERS, "exclusiveMaximum": st.booleans()}),
    st.fixed_dictionaries({"maxLength": st.integers(0, 3)}),
    st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b$", "[0-9]"])}),
    st.fixed_dictionaries({"required": st.lists(FIELDS, min_size=1, max_size=2, unique=True)}),
    st.fixed_dictionaries({"enum": CHOICES}),
)


@st.composite
def combined(draw: st.DrawFn, base: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    """A schema that may also restrict its values with oneOf and its like."""
    schema = dict(draw(base))
    keyword = draw(st.sampled_from(["", "", "", "oneOf", "anyOf", "allOf", "not"]))
    if keyword == "not":
        schema["not"] = draw(RESTRICTIONS)
    elif keyword:
        schema[keyword] = draw(st.lists(RESTRICTIONS, min_size=1, max_size=2))
    return schema


SCALARS = st.one_of(
    combined(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["integer", "number"])},
            optional={"minimum": NUMBERS, "maximum": NUMBERS, "multipleOf": st.integers(1, 3)},
        )
    ),
    combined(
        _sized("minLength", "maxLength").map(lambda size: {"type": "string", **size}),
    ),
    st.fixed_dictionaries({"type": st.just("string"), "enum": st.lists(TEXTS, min_size=1, max_size=3, unique=True)}),
    st.just({"type": "boolean"}),
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    properties = draw(st.dictionaries(FIELDS, inner, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        combined(_objects(inner)),
        st.tuples(inner, _sized("minItems", "maxItems")).map(lambda p: {"type": "array", "items": p[0], **p[1]}),
        st.tuples(inner, _sized("minProperties", "maxProperties")).map(
            lambda p: {"type": "object", "additionalProperties": p[0], **p[1]}
        ),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(NUMBERS, st.floats(-5, 5), TEXTS, st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(FIELDS, inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def fitting(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """A value that has the right shape most of the time."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if schema["type"] == "object" and "additionalProperties" in schema:
        return draw(st.dictionaries(FIELDS, fitting(schema["additionalProperties"]), max_size=3))
    if schema["type"] == "object":
        names = [name for name in schema["properties"] if draw(st.integers(0, 3)) > 0]
        return {name: draw(fitting(schema["properties"][name])) for name in names}
    if schema["type"] == "array":
        return draw(st.lists(fitting(schema["items"]), max_size=3))
    return draw({"integer": NUMBERS, "number": st.one_of(NUMBERS, st.just(0.5)), "string": TEXTS, "boolean": st.booleans()}[schema["type"]])  # fmt: skip


CASES = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), fitting(schema)))


def crd(schema: dict[str, Any]) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": schema}}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}],
        },
    }


@settings(max_examples=100, deadline=None)
@given(CASES)
def test_what_the_check_accepts_the_decoder_accepts_unchanged(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    version = kind_of(crd(schema)).storage_version
    clean, findings = check({"metadata": {"name": "a"}, "spec": value}, version.node)
    if findings.errors:
        return
    obj = convert(clean, version.type)
    assert to_json(obj) == clean
    assert convert(to_json(obj), version.type) == obj
    assert encode(obj)
    again, second = check(copy.deepcopy(clean), version.node)
    assert (again, second.errors, second.unknown) == (clean, [], [])


@settings(max_examples=100, deadline=None)
@given(CASES)
def test_the_check_agrees_with_an_independent_validator(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    root, errors = read_root({"type": "object", "properties": {"spec": schema}}, "")
    assert errors == []
    clean, findings = check({"spec": value}, root)
    # after pruning there are no unknown fields, which the other validator would allow
    other = jsonschema_rs.Draft4Validator(schema).is_valid(clean["spec"] if not findings.errors else value)
    assert (findings.errors == []) == other


@settings(max_examples=100, deadline=None)
@given(SCHEMAS)
def test_a_schema_is_the_same_after_it_was_read_and_written(schema: dict[str, Any]) -> None:
    root, _errors = read_root({"type": "object", "properties": {"spec": schema}}, "")
    written = openapi_schema(root.fields["spec"])
    again, errors = read_root({"type": "object", "properties": {"spec": written}}, "")
    assert errors == []
    assert openapi_schema(again.fields["spec"]) == written


@settings(max_examples=60, deadline=None)
@given(CASES, VALUES)
def test_defaults_are_filled_once(case: tuple[dict[str, Any], Any], default: Any) -> None:
    schema, value = case
    root, _errors = read_root({"type": "object", "properties": {"spec": schema}}, "")
    for child in root.fields["spec"].fields.values():
        child.default = default
    first = {"spec": copy.deepcopy(value)}
    fill_defaults(first, root)
    second = copy.deepcopy(first)
    fill_defaults(second, root)
    assert first == second
    if isinstance(value, dict) and schema["type"] == "object" and "properties" in schema:
        assert schema["properties"].keys() <= first["spec"].keys()
