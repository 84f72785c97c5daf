"""Field sets are sets of paths: their operations agree with plain sets, and their stored form reads back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patch import fieldset
from fairway.api.patch.errors import PatchError
from fairway.api.patch.fieldset import FieldSet

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"', "i:0"])
paths = st.lists(elements, min_size=1, max_size=4).map(tuple)
path_sets = st.sets(paths, max_size=6)


def tree(members: set[tuple[str, ...]]) -> FieldSet:
    """The stored form of a set of paths, made one path at a time."""
    result: FieldSet = {}
    for path in sorted(members):
        result = fieldset.union(result, one(path))
    return result


def one(path: tuple[str, ...]) -> FieldSet:
    result: FieldSet = {}
    for element in reversed(path):
        result = {element: result}
    return result


def flat(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(fieldset.members(fields))


@given(path_sets, path_sets)
def test_operations_agree_with_those_of_plain_sets(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> None:
    a, b = tree(left), tree(right)
    kept = copy.deepcopy((a, b))
    assert flat(a) == left
    assert flat(fieldset.union(a, b)) == left | right
    assert flat(fieldset.intersection(a, b)) == left & right
    assert flat(fieldset.difference(a, b)) == left - right
    assert flat(fieldset.without(a, b)) == {
        path for path in left if not any(path[: len(gone)] == gone for gone in right)
    }
    assert all(fieldset.contains(a, path) == (path in left) for path in left | right)
    assert (a, b) == kept


@given(path_sets, path_sets)
def test_equal_sets_have_equal_trees_however_they_were_made(
    left: set[tuple[str, ...]], right: set[tuple[str, ...]]
) -> None:
    a, b = tree(left), tree(right)
    assert fieldset.difference(fieldset.union(a, b), fieldset.difference(b, a)) == a
    assert fieldset.union(fieldset.difference(a, b), fieldset.intersection(a, b)) == a
    assert fieldset.union(a, b) == fieldset.union(b, a)


@given(path_sets)
def test_an_operation_that_changes_nothing_returns_the_set_itself(members: set[tuple[str, ...]]) -> None:
    fields = tree(members)
    assert fieldset.union(fields, copy.deepcopy(fields)) is fields
    assert fieldset.difference(fields, {}) is fields
    assert fieldset.difference(fields, {"f:other": {}}) is fields
    assert fieldset.without(fields, {"f:other": {}}) is fields


@given(path_sets)
def test_the_stored_form_reads_back(members: set[tuple[str, ...]]) -> None:
    fields = fieldset.render(tree(members))
    assert fieldset.parse(fields) == fields
    assert list(fields) == sorted(fields)


def test_elements_are_brought_to_one_spelling() -> None:
    given = {
        'k:{ "protocol":"TCP", "port":80 }': {".": {}},
        'v:"a\\u003cb"': {},
        "x:future": {"f:a": {}},
        "f:m": {"f:n": {".": {}}},
    }
    assert fieldset.parse(given) == {'k:{"port":80,"protocol":"TCP"}': {}, 'v:"a<b"': {}, "f:m": {"f:n": {}}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "fieldsV1 must be an object"),
        ({"f:a": 1}, "fieldsV1.f:a must be an object"),
        ({"a": {}}, "must start with f:, k:, v: or i:"),
        ({"k:{": {}}, "is not JSON after k:"),
        ({"k:1": {}}, "cannot be followed by that"),
        ({"i:x": {}}, "is not JSON after i:"),
    ],
)
def test_what_is_no_field_set_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        fieldset.parse(fields)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:parallelism"), ".spec.parallelism"),
        (("f:spec", "f:containers", 'k:{"name":"c"}', "f:image"), '.spec.containers[name="c"].image'),
        (("f:ports", 'k:{"containerPort":80,"protocol":"TCP"}'), '.ports[containerPort=80,protocol="TCP"]'),
        (("f:metadata", "f:finalizers", 'v:"a/b"'), '.metadata.finalizers[="a/b"]'),
        (("f:list", "i:3", "f:x"), ".list[3].x"),
    ],
)
def test_paths_read_as_kubectl_prints_them(path: tuple[str, ...], text: str) -> None:
    assert fieldset.show(path) == text
