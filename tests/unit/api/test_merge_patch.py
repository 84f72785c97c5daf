"""Merge patch: objects merge, null removes, the rest replaces, and nothing given is changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patch import merge
from fairway.api.patch.errors import PatchError

scalars = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from(["", "x", "y"]))
names = st.sampled_from(["a", "b", "c"])
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=10,
)
objects = st.dictionaries(names, documents, max_size=3)
patches = st.dictionaries(
    names,
    st.recursive(
        st.one_of(st.none(), scalars),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(names, inner, max_size=3)),
        max_leaves=8,
    ),
    max_size=3,
)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": [1]}, {"a": 5}, {"a": 5}),
        ({"a": 5}, {"a": [1, None]}, {"a": [1, None]}),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": None}}, {"a": {"b": 2}}),
        ({"a": [{"b": 1}]}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ([1, 2], {"a": 1, "b": None}, {"a": 1}),
        ({"a": 1}, [3], [3]),
        ({"a": 1}, None, None),
        ({"a": 1}, "text", "text"),
        ({"a": None}, {"b": 1}, {"a": None, "b": 1}),
        ({"a": None}, {"a": None}, {}),
        ({}, {"a": {"b": {"c": None, "d": None}}}, {"a": {"b": {}}}),
        ({"a": "x"}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_a_merge_patch_gives_what_the_rfc_says(target: Any, patch: Any, result: Any) -> None:
    assert merge.apply(target, patch) == result


@given(objects, patches)
def test_a_merge_patch_leaves_its_arguments_alone_and_is_idempotent(target: Any, patch: Any) -> None:
    kept = copy.deepcopy((target, patch))
    once = merge.apply(target, patch)
    assert (target, patch) == kept
    assert merge.same(merge.apply(once, patch), once)


@given(objects, patches)
def test_a_merge_patch_sets_what_it_names_and_keeps_what_it_does_not(
    target: dict[str, Any], patch: dict[str, Any]
) -> None:
    result = merge.apply(target, patch)
    for name in names_of(target, patch, result):
        if name not in patch:
            assert result[name] is target[name]
        elif patch[name] is None:
            assert name not in result
        elif not isinstance(patch[name], dict):
            assert result[name] is patch[name]
        else:
            below = target.get(name)
            assert merge.same(result[name], merge.apply(below if isinstance(below, dict) else {}, patch[name]))


def names_of(*values: dict[str, Any]) -> set[str]:
    return {name for value in values for name in value}


@given(documents, documents)
def test_applying_the_difference_of_two_values_gives_the_second(before: Any, after: Any) -> None:
    assert merge.same(merge.apply(before, merge.diff(before, after)), after)


def test_what_a_merge_patch_does_not_touch_is_shared_not_copied() -> None:
    target = {"spec": {"deep": {"x": 1}}, "other": {"y": 2}}
    result = merge.apply(target, {"other": {"y": 3}})
    assert result["spec"] is target["spec"]
    assert merge.apply(target, {"other": {"y": 2}, "gone": None, "spec": {"deep": {}}}) is not None
    assert merge.apply(target, {"gone": None, "spec": {"deep": {}}}) is target


def test_nesting_beyond_reason_is_an_error_not_a_crash() -> None:
    patch: Any = 1
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(PatchError, match="nested too deeply"):
        merge.apply({}, patch)
