"""JSON patch: each operation as RFC 6902 has it, all or nothing, and errors that name the operation."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patch import json
from fairway.api.patch.errors import PatchError, PatchTooLarge
from fairway.api.patch.merge import same


def op(name: str, path: str, *value: Any, **more: Any) -> dict[str, Any]:
    return (
        {"op": name, "path": path} | ({"value": value[0]} if value else {}) | {k.strip("_"): v for k, v in more.items()}
    )


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1}, [op("add", "/b", 2)], {"a": 1, "b": 2}),
        ({"a": 1}, [op("add", "/a", 2)], {"a": 2}),
        ({"a": [1, 3]}, [op("add", "/a/1", 2)], {"a": [1, 2, 3]}),
        ({"a": [1]}, [op("add", "/a/1", 2)], {"a": [1, 2]}),
        ({"a": [1]}, [op("add", "/a/-", [2])], {"a": [1, [2]]}),
        ({"a": 1}, [op("add", "", [1])], [1]),
        ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
        ({"a": [1, 2, 3]}, [op("remove", "/a/1")], {"a": [1, 3]}),
        ({"a": [1, 2]}, [op("replace", "/a/0", 9)], {"a": [9, 2]}),
        ({"a": 1}, [op("replace", "/a", None)], {"a": None}),
        ({"a": 1}, [op("replace", "", {})], {}),
        ({"a": {"x": 1}, "b": {}}, [op("move", "/b/y", from_="/a/x")], {"a": {}, "b": {"y": 1}}),
        ({"a": [1, 2, 3]}, [op("move", "/a/2", from_="/a/0")], {"a": [2, 3, 1]}),
        ({"a": {"x": 1}}, [op("copy", "/b", from_="/a"), op("add", "/b/x", 2)], {"a": {"x": 1}, "b": {"x": 2}}),
        (
            {"a": {"x": 1}},
            [op("add", "/a/y", 1), op("copy", "/b", from_="/a"), op("add", "/a/z", 2)],
            {"a": {"x": 1, "y": 1, "z": 2}, "b": {"x": 1, "y": 1}},
        ),
        ({"a": {"x": 1}}, [op("move", "/a", from_="/a")], {"a": {"x": 1}}),
        ({"a/b": {"m~n": 1}}, [op("replace", "/a~1b/m~0n", 2)], {"a/b": {"m~n": 2}}),
        ({"~1": 1}, [op("replace", "/~01", 2)], {"~1": 2}),
        ({"": {"": 1}}, [op("replace", "//", 2)], {"": {"": 2}}),
        ({"a": 1.0}, [op("test", "/a", 1), op("remove", "/a")], {}),
        ({"a": {"b": [1, {"c": None}]}}, [op("test", "/a", {"b": [1, {"c": None}]})], {"a": {"b": [1, {"c": None}]}}),
        ({"0": 1}, [op("replace", "/0", 2)], {"0": 2}),
    ],
)
def test_operations_do_what_the_rfc_says(target: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert same(json.apply(target, patch), result)
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([op("remove", "/a"), op("remove", "/x")], r"operation 1 \(remove /x\): /x does not exist"),
        ([op("replace", "/x", 1)], r"operation 0 \(replace /x\): /x does not exist"),
        ([op("add", "/x/y", 1)], "/x does not exist"),
        ([op("add", "/a/y", 1)], "/a is neither an object nor a list"),
        ([op("add", "/l/4", 1)], r"/l/4: the list has no such index \(0 to 3\)"),
        ([op("add", "/l/01", 1)], "'01' is no index"),
        ([op("add", "/l/x", 1)], "'x' is no index"),
        ([op("add", "/l/²", 1)], "is no index"),
        ([op("replace", "/l/-", 1)], "'-' is no index"),
        ([op("remove", "/l/3")], "no such index"),
        ([op("remove", "/l/99999999999999999999999")], "no such index"),
        ([op("test", "/a", True)], "the value there is another one"),
        ([op("test", "/a/b", True)], "/a/b does not exist"),
        ([op("test", "/l", [1, 2])], "another one"),
        ([op("remove", "")], "cannot be removed"),
        ([op("move", "/m/x/y", from_="/m")], "into itself"),
        ([op("move", "/b")], "from is missing"),
        ([op("add", "/b")], "value is missing"),
        ([op("add", "b", 1)], "start with /"),
        ([op("add", "/b~2", 1)], "must be followed by 0"),
        ([op("add", "/b~", 1)], "must be followed by 0"),
        ([op("swap", "/b", 1)], "'swap' is unknown: use add"),
        ([{"op": "add", "value": 1}], "operation 0: the path must be a string"),
        (["add"], "must be an object with op and path"),
        ({"op": "add"}, "a JSON patch is a list"),
    ],
)
def test_an_operation_that_does_not_fit_is_named_with_its_reason(patch: Any, message: str) -> None:
    target = {"a": 1, "l": [1, 2, 3], "m": {"x": {}}}
    before = copy.deepcopy(target)
    with pytest.raises(PatchError, match=message):
        json.apply(target, patch)
    assert target == before


def test_a_patch_of_too_many_operations_is_refused_before_any_work() -> None:
    assert json.apply({"a": 1}, [op("test", "/a", 1)] * 10_000) == {"a": 1}
    with pytest.raises(PatchTooLarge, match="10001 operations"):
        json.apply({"a": 1}, [op("test", "/a", 1)] * 10_001)


def test_copies_that_double_a_document_again_and_again_are_stopped() -> None:
    patch = [op("copy", f"/a/{index}", from_="/a") for index in range(60)]
    with pytest.raises(PatchTooLarge, match="copies more than"):
        json.apply({"a": {"x": 1}}, patch)


names = st.sampled_from(["a", "b", "0", "1", "-", "~", "/"])
documents = st.recursive(
    st.integers(0, 3),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=10,
)
pointers = st.lists(names, max_size=3).map(
    lambda tokens: "".join("/" + t.replace("~", "~0").replace("/", "~1") for t in tokens)
)
operations = st.one_of(
    st.builds(
        lambda kind, path, value: op(kind, path, value),
        st.sampled_from(["add", "replace", "test"]),
        pointers,
        documents,
    ),
    st.builds(lambda path: op("remove", path), pointers),
    st.builds(
        lambda kind, path, source: op(kind, path, from_=source), st.sampled_from(["move", "copy"]), pointers, pointers
    ),
)


class Refused(Exception):
    pass


def naive(document: Any, operation: dict[str, Any]) -> Any:
    """One operation on a deep copy, as the RFC words it."""
    document = copy.deepcopy(document)
    tokens = [t.replace("~1", "/").replace("~0", "~") for t in operation["path"].split("/")[1:]]

    def walk(path: list[str]) -> Any:
        here = document
        for token in path:
            if isinstance(here, dict) and token in here:
                here = here[token]
            elif isinstance(here, list) and token in [str(i) for i in range(len(here))]:
                here = here[int(token)]
            else:
                raise Refused
        return here

    def cut(path: list[str]) -> Any:
        if not path:
            raise Refused
        value = walk(path)
        parent = walk(path[:-1])
        del parent[path[-1] if isinstance(parent, dict) else int(path[-1])]
        return value

    def put(path: list[str], value: Any) -> Any:
        if not path:
            return value
        parent = walk(path[:-1])
        if isinstance(parent, dict):
            parent[path[-1]] = value
        elif isinstance(parent, list) and path[-1] in ["-", *map(str, range(len(parent) + 1))]:
            parent.insert(len(parent) if path[-1] == "-" else int(path[-1]), value)
        else:
            raise Refused
        return document

    match operation["op"]:
        case "add":
            return put(tokens, operation["value"])
        case "remove":
            cut(tokens)
            return document
        case "replace":
            walk(tokens)
            if not tokens:
                return operation["value"]
            parent = walk(tokens[:-1])
            parent[tokens[-1] if isinstance(parent, dict) else int(tokens[-1])] = operation["value"]
            return document
        case "test":
            if walk(tokens) != operation["value"]:
                raise Refused
            return document
    source = [t.replace("~1", "/").replace("~0", "~") for t in operation["from"].split("/")[1:]]
    value = copy.deepcopy(walk(source))
    if operation["op"] == "move":
        if source == tokens:
            return document
        if tokens[: len(source)] == source:
            raise Refused
        cut(source)
    return put(tokens, value)


@given(documents, st.lists(operations, max_size=5))
def test_any_patch_does_what_a_naive_model_on_deep_copies_does(target: Any, patch: list[dict[str, Any]]) -> None:
    before = copy.deepcopy((target, patch))
    expected: Any = target
    try:
        for operation in patch:
            expected = naive(expected, operation)
    except Refused:
        with pytest.raises(PatchError, match="operation"):
            json.apply(target, patch)
    else:
        assert json.apply(target, patch) == expected
    assert (target, patch) == before
