"""What server-side apply takes for a field, how it compares and merges values, and what it takes out."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from tests.unit.api.shapes import NODE, things

from fairway.api.patch import fieldset, structure
from fairway.api.patch.errors import PatchError

SPEC = NODE.fields["spec"]


def spec_fields(spec: dict[str, Any], every: bool = False) -> Any:
    return structure.fields({"spec": spec}, NODE, every=every).get("f:spec")


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"replicas": 1}, {"f:replicas": {}}),
        ({"options": {"a": "1"}}, {"f:options": {"f:a": {}}}),
        ({"options": {}}, {"f:options": {}}),
        ({"frozen": {"a": "1"}}, {"f:frozen": {}}),
        ({"selector": {"match": {"a": "1"}}}, {"f:selector": {}}),
        ({"steps": ["a"]}, {"f:steps": {}}),
        ({"steps": []}, {"f:steps": {}}),
        ({"groups": ["a", "b"]}, {"f:groups": {'v:"a"': {}, 'v:"b"': {}}}),
        ({"groups": []}, {"f:groups": {}}),
        (
            {"containers": [{"name": "c", "image": "x"}]},
            {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}},
        ),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}]},
            {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:name": {},
                        "f:ports": {
                            'k:{"containerPort":1,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            'k:{"containerPort":1,"protocol":"UDP"}': {
                                ".": {},
                                "f:containerPort": {},
                                "f:protocol": {},
                            },
                        },
                    }
                }
            },
        ),
        ({"open": {"a": {"b": 1}, "c": [{"d": 1}]}}, {"f:open": {"f:a": {".": {}, "f:b": {}}, "f:c": {}}}),
        ({"replicas": None, "paused": True}, {"f:paused": {}}),
        ({"unknown": {"a": 1}}, {"f:unknown": {".": {}, "f:a": {}}}),
    ],
)
def test_an_applied_configuration_has_the_fields_it_names(spec: dict[str, Any], fields: Any) -> None:
    assert spec_fields(spec) == fields


def test_who_creates_an_object_also_owns_the_objects_and_lists_in_it() -> None:
    assert spec_fields(
        {"options": {"a": "1"}, "groups": [], "containers": [{"name": "c", "limits": {"cpu": "1"}}]}, every=True
    ) == {
        ".": {},
        "f:options": {".": {}, "f:a": {}},
        "f:groups": {},
        "f:containers": {
            ".": {},
            'k:{"name":"c"}': {".": {}, "f:name": {}, "f:limits": {".": {}, "f:cpu": {}}},
        },
    }


def test_identity_and_what_only_the_server_sets_belong_to_nobody() -> None:
    metadata = dict.fromkeys(structure.NOBODYS_METADATA, "x")
    thing = {"apiVersion": "v1", "kind": "Thing", "metadata": metadata}
    assert structure.fields(thing, NODE, every=True) == {}
    labelled = thing | {"metadata": metadata | {"labels": {"a": "b"}, "finalizers": ["f"]}}
    assert structure.fields(labelled, NODE, every=True) == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, 'v:"f"': {}}}
    }
    assert structure.diff({"kind": "Thing"}, thing, NODE) == ({}, {})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"containers": [{"name": "c"}, {"name": "c"}]},
            r'^\.spec\.containers: duplicate entries for key \[name="c"\]',
        ),
        ({"containers": [{"image": "c"}]}, r"^\.spec\.containers: every item of this list must be an object with name"),
        ({"containers": ["c"]}, "must be an object with name"),
        (
            {"containers": [{"name": "c", "ports": [{"protocol": "UDP"}, {"protocol": "UDP"}]}]},
            r"^\.spec\.containers.*\.ports: duplicate",
        ),
        ({"groups": [["c"]]}, r"^\.spec\.groups: every item of this list must be a plain value"),
        ({"groups": ["c", "c"]}, r'duplicate entries for key \[="c"\]'),
    ],
)
def test_an_applied_list_must_have_items_that_can_be_told_apart(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchError, match=message):
        spec_fields(spec)


@pytest.mark.parametrize(
    ("old", "new", "written", "removed"),
    [
        ({"replicas": 1}, {"replicas": 2}, {"f:replicas": {}}, None),
        ({"replicas": 1}, {}, None, {"f:replicas": {}}),
        ({}, {"options": {"a": "1"}}, {"f:options": {".": {}, "f:a": {}}}, None),
        ({"options": {}}, {"options": {"a": "1"}}, {"f:options": {"f:a": {}}}, None),
        ({"options": {"a": "1"}}, {"options": {}}, None, {"f:options": {"f:a": {}}}),
        (
            {"options": {"a": "1", "b": "1"}},
            {"options": {"a": "2"}},
            {"f:options": {"f:a": {}}},
            {"f:options": {"f:b": {}}},
        ),
        ({"frozen": {"a": "1"}}, {"frozen": {"a": "2"}}, {"f:frozen": {}}, None),
        ({"steps": ["a"]}, {"steps": ["a", "b"]}, {"f:steps": {}}, None),
        ({"groups": ["a", "b"]}, {"groups": ["c", "a"]}, {"f:groups": {'v:"c"': {}}}, {"f:groups": {'v:"b"': {}}}),
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "c"}]},
            {"f:containers": {'k:{"name":"a"}': {"f:image": {}}, 'k:{"name":"c"}': {".": {}, "f:name": {}}}},
            {"f:containers": {'k:{"name":"b"}': {}}},
        ),
        ({"open": 1}, {"open": {"a": 1}}, {"f:open": {".": {}, "f:a": {}}}, None),
        ({"open": {"a": 1}}, {"open": 1}, {"f:open": {}}, {"f:open": {"f:a": {}}}),
        ({"open": 1}, {"open": True}, {"f:open": {}}, None),
        ({"open": 1}, {"open": 1.0}, None, None),
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "a", "image": "2"}]},
            {"containers": [{"name": "a", "image": "1"}, {"name": "a", "image": "3"}]},
            {"f:containers": {'k:{"name":"a"}': {}}},
            None,
        ),
    ],
)
def test_a_difference_is_told_field_by_field(old: Any, new: Any, written: Any, removed: Any) -> None:
    # `open: 1` against `open: True` must be compared below the top, where Python's equality would hide it
    result = structure.diff({"spec": {"paused": True} | old}, {"spec": {"paused": True, "unknown": 1} | new}, NODE)
    expected = ({"f:unknown": {}} | (written or {}), removed)
    assert result == ({"f:spec": expected[0]}, {"f:spec": removed} if removed else {})


@given(things(status=True), things(status=True))
def test_differences_are_empty_only_between_equals_and_cover_all_that_is_new(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    written, removed = structure.diff(before, after, NODE)
    had, has = (set(fieldset.members(structure.fields(each, NODE, every=True))) for each in (before, after))
    assert set(fieldset.members(written)) <= has
    assert has - had <= set(fieldset.members(written))
    gone = set(fieldset.members(removed))
    assert gone <= had - has
    assert all(any(path[: len(each)] == each for each in gone) or path not in had for path in had - has)


@given(things(), things())
def test_merging_sets_every_applied_field_and_keeps_every_other(live: dict[str, Any], applied: dict[str, Any]) -> None:
    kept = copy.deepcopy((live, applied))
    merged = structure.merge(live, applied, NODE)
    assert (live, applied) == kept
    assert structure.merge(merged, applied, NODE) is merged
    assert structure.diff(merged, applied, NODE)[0] == {}
    had, has = (set(fieldset.members(structure.fields(each, NODE, every=True))) for each in (live, merged))
    assert {path for path in had if path[1:2] != ("f:open",)} <= has  # open JSON may change its shape


def test_merged_lists_keep_the_applied_order_and_the_place_of_the_rest() -> None:
    def names(live: str, applied: str) -> str:
        merged = structure.merge({"groups": list(live)}, {"groups": list(applied)}, SPEC)
        return "".join(merged["groups"])

    assert names("abc", "b") == "abc"
    assert names("abc", "bd") == "abcd"
    assert names("abc", "da") == "dabc"
    assert names("abc", "ca") == "bca"
    assert names("axb", "ba") == "xba"
    assert names("", "ba") == "ba"
    assert names("ab", "") == "ab"


def test_removing_takes_out_owned_fields_and_what_is_left_empty() -> None:
    spec = {
        "replicas": 1,
        "options": {"a": "1", "b": "2"},
        "groups": ["x", "y"],
        "containers": [{"name": "c", "image": "i", "limits": {"cpu": "1", "memory": "2"}}, {"name": "d"}],
    }
    kept = copy.deepcopy(spec)

    def removed(fields: Any, keep: Any = None) -> Any:
        return structure.remove(spec, fields, SPEC, [keep] if keep else ())

    assert removed({"f:replicas": {}}) == {k: v for k, v in spec.items() if k != "replicas"}
    assert removed({"f:replicas": {}}, {"f:replicas": {}}) is spec
    keep_options = {"f:options": {"f:b": {}}}
    assert removed({"f:options": {"f:a": {}}}, keep_options)["options"] == {"b": "2"}
    assert "options" not in removed({"f:options": {"f:a": {}}})  # nobody else owns anything in it
    assert removed({"f:groups": {'v:"x"': {}}}, {"f:groups": {'v:"y"': {}}})["groups"] == ["y"]
    others = {"f:containers": {'k:{"name":"d"}': {}}}
    assert removed({"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}, others)["containers"] == [
        {"name": "d"}
    ]
    shared = {"f:containers": {'k:{"name":"c"}': {".": {}, "f:limits": {"f:cpu": {}}}}}
    gone = {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:limits": {"f:memory": {}}}}}
    assert removed(gone, shared)["containers"] == [{"name": "c", "limits": {"cpu": "1"}}, {"name": "d"}]
    assert removed({"f:missing": {}, "f:containers": {'k:{"name":"z"}': {}}}, others) == spec
    assert spec == kept


def test_extracting_gives_only_the_fields_of_the_set_with_the_keys_of_their_items() -> None:
    thing = {
        "spec": {
            "replicas": 1,
            "options": {"a": "1"},
            "groups": ["x", "y"],
            "containers": [{"name": "c", "image": "i"}, {"name": "d"}],
        }
    }
    wanted = {
        "f:spec": {
            "f:options": {"f:a": {}},
            "f:groups": {'v:"y"': {}},
            "f:containers": {'k:{"name":"c"}': {"f:image": {}}},
        }
    }
    assert structure.extract(thing, wanted, NODE) == {
        "spec": {"options": {"a": "1"}, "groups": ["y"], "containers": [{"name": "c", "image": "i"}]}
    }
    assert structure.extract(thing, {"f:status": {}}, NODE) is None


@given(things(status=True))
def test_extracting_all_fields_of_an_object_gives_the_object(thing: dict[str, Any]) -> None:
    bare = {name: value for name, value in thing.items() if name in ("spec", "status")}
    fields = structure.fields(bare, NODE, every=True)
    assert (structure.extract(bare, fields, NODE) or {}) == bare
