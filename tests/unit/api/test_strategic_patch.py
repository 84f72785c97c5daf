"""Strategic merge patch: lists merge by the key of the schema, directives are followed, and a computed patch leads to its goal."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from tests.unit.api.shapes import NODE, things

from fairway.api.patch import strategic
from fairway.api.patch.errors import PatchError
from fairway.kinds.schema import Node

A, B, C = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}, {"name": "c", "image": "1"}


def on_spec(before: Any, patch: Any) -> Any:
    target = {"spec": before}
    kept = copy.deepcopy((target, patch))
    result = strategic.apply(target, {"spec": patch}, NODE)
    assert (target, patch) == kept
    return result["spec"]


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        pytest.param({"replicas": 1}, {"replicas": 2}, {"replicas": 2}, id="scalars replace"),
        pytest.param({"replicas": 1}, {"replicas": None}, {}, id="null removes"),
        pytest.param(
            {"options": {"a": "1"}}, {"options": {"b": "2", "a": None}}, {"options": {"b": "2"}}, id="maps merge"
        ),
        pytest.param({}, {"options": {"b": "2", "a": None}}, {"options": {"b": "2"}}, id="nulls in new objects vanish"),
        pytest.param({"steps": ["x", "y"]}, {"steps": ["z"]}, {"steps": ["z"]}, id="lists without a key replace"),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"name": "b", "image": "2"}]},
            {"containers": [A, B | {"image": "2"}]},
            id="items merge by key",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [B]},
            id="items are deleted by key",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"$patch": "replace"}, C]},
            {"containers": [C]},
            id="a list is replaced on demand",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [C | {"$patch": "merge"}]},
            {"containers": [C, A, B]},
            id="new items come first without an order",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": [B, A]},
            id="an order alone reorders",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"$setElementOrder/containers": [{"name": "a"}, {"name": "c"}], "containers": [C]},
            {"containers": [A, C, B]},
            id="items the order does not name keep their place",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "c"}], "containers": [C]},
            {"containers": [A, B, C]},
            id="items before a named one stay before it",
        ),
        pytest.param({"containers": [A]}, {"containers": []}, {"containers": [A]}, id="an empty list merges nothing"),
        pytest.param({}, {"containers": []}, {"containers": []}, id="an empty list is written where there was none"),
        pytest.param({}, {"$setElementOrder/containers": [{"name": "b"}]}, {}, id="an order of nothing writes nothing"),
        pytest.param(
            {"groups": ["a", "b"]}, {"groups": ["c", "a"]}, {"groups": ["c", "a", "b"]}, id="plain values merge"
        ),
        pytest.param(
            {"groups": ["a", "b"]},
            {"$deleteFromPrimitiveList/groups": ["a", "x"]},
            {"groups": ["b"]},
            id="plain values are deleted",
        ),
        pytest.param(
            {"groups": ["a", "b"]},
            {"groups": ["c"], "$deleteFromPrimitiveList/groups": ["a"], "$setElementOrder/groups": ["c", "b"]},
            {"groups": ["c", "b"]},
            id="plain values are added, deleted and ordered at once",
        ),
        pytest.param(
            {"options": {"a": "1", "b": "2"}},
            {"options": {"$retainKeys": ["b", "c"], "c": "3"}},
            {"options": {"b": "2", "c": "3"}},
            id="retained keys drop the others",
        ),
        pytest.param(
            {"options": {"a": "1"}},
            {"options": {"$patch": "replace", "b": "2"}},
            {"options": {"b": "2"}},
            id="an object is replaced on demand",
        ),
        pytest.param(
            {"options": {"a": "1"}},
            {"options": {"$patch": "delete"}},
            {"options": {}},
            id="an object is emptied on demand",
        ),
        pytest.param(
            {"open": {"$ref": "x"}},
            {"open": {"$schema": "y", "z": [1]}},
            {"open": {"$ref": "x", "$schema": "y", "z": [1]}},
            id="names that only look like directives are fields",
        ),
        pytest.param(
            {"unknown": [1, {"x": 2}]},
            {"unknown": [3], "more": {"x": None, "y": 1}},
            {"unknown": [3], "more": {"y": 1}},
            id="unknown fields pass through",
        ),
        pytest.param(
            {"containers": [{"name": "a", "ports": [{"containerPort": 1}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 2}, {"containerPort": 1, "name": "x"}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 2}, {"containerPort": 1, "name": "x"}]}]},
            id="lists in items merge too",
        ),
    ],
)
def test_patches_and_directives_are_followed(before: Any, patch: Any, after: Any) -> None:
    assert on_spec(before, patch) == after


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"containers": [{"image": "x"}]}, r"\.spec\.containers: an item lacks 'name'"),
        ({"containers": ["x"]}, r"items must be objects with 'name'"),
        ({"containers": [{"name": {}}]}, "must be a plain value"),
        ({"containers": [{"name": "a", "$patch": "drop"}]}, r"\$patch is 'drop': use replace, delete or merge"),
        ({"$patch": "drop"}, r"\.spec: \$patch is 'drop'"),
        ({"options": {"$retainKeys": ["a"], "b": "1"}}, r"\.spec\.options: the patch sets 'b'"),
        ({"options": {"$retainKeys": "a"}}, "must be a list of field names"),
        ({"$setElementOrder/containers": "a"}, r"\.spec\.containers: \$setElementOrder/containers must be a list"),
        ({"$setElementOrder/containers": [{"name": "b"}], "containers": [C]}, "not in the order"),
        ({"$setElementOrder/groups": ["b"], "groups": ["c"]}, "not in the order"),
        ({"groups": [{}]}, "a list of plain values"),
    ],
)
def test_a_malformed_patch_is_refused_with_the_place_and_the_reason(patch: Any, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        on_spec({"containers": [A, B], "groups": ["a", "b"]}, patch)


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(PatchError, match="is an object"):
        strategic.apply({}, [], NODE)


@given(things().map(lambda thing: distinct_ports(thing)))
def test_a_patch_that_repeats_what_is_there_gives_the_very_same_object_back(thing: dict[str, Any]) -> None:
    assert strategic.apply(thing, {"metadata": {"name": thing["metadata"]["name"]}}, NODE) is thing
    repeated = strategic.apply(thing, copy.deepcopy(thing), NODE)
    assert repeated == thing


def difference(before: dict[str, Any], after: dict[str, Any], node: Node | None) -> dict[str, Any]:
    """The patch that kubectl would compute: changed fields, deleted items, and the order of every keyed list."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, new in after.items():
        old = before.get(name)
        child = node.child(name) if node is not None else None
        if isinstance(new, dict) and isinstance(old, dict):
            patch[name] = difference(old, new, child)
        elif (
            isinstance(new, list)
            and isinstance(old, list)
            and child is not None
            and child.merge is not None
            and old
            and new
        ):
            if child.merge == "":
                patch["$setElementOrder/" + name] = new
                patch["$deleteFromPrimitiveList/" + name] = [value for value in old if value not in new]
                patch[name] = [value for value in new if value not in old]
            else:
                was = {item[child.merge]: item for item in old}
                names = [item[child.merge] for item in new]
                patch["$setElementOrder/" + name] = [{child.merge: each} for each in names]
                changed = [
                    {child.merge: item[child.merge], **difference(was.get(item[child.merge], {}), item, child.item)}
                    for item in new
                ]
                patch[name] = [
                    *changed,
                    *({child.merge: each, "$patch": "delete"} for each in was if each not in names),
                ]
        elif isinstance(new, list) and isinstance(old, list) and child is not None and child.merge and not new:
            patch[name] = [{"$patch": "replace"}]
        elif isinstance(new, list) and isinstance(old, list) and child is not None and child.merge == "" and not new:
            patch["$deleteFromPrimitiveList/" + name] = old
        elif new != old or isinstance(new, bool) != isinstance(old, bool):
            patch[name] = new
    return patch


def distinct_ports(thing: dict[str, Any]) -> dict[str, Any]:
    """One port per number, since the merge key of ports does not know protocols."""
    for container in thing.get("spec", {}).get("containers", ()):
        if "ports" in container:
            container["ports"] = list({port["containerPort"]: port for port in container["ports"]}.values())
    return thing


@given(things(status=True).map(distinct_ports), things(status=True).map(distinct_ports))
def test_the_difference_of_two_objects_leads_from_one_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    kept = copy.deepcopy(before)
    assert strategic.apply(before, difference(before, after, NODE), NODE) == after
    assert before == kept
