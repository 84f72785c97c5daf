"""Whatever JSON a client sends as a patch, it applies or is refused in words: never another error, never a changed argument."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.api.shapes import NODE, things

from fairway.api.patch import apply as ssa
from fairway.api.patch import json, merge, strategic
from fairway.api.patch.errors import PatchError

names = st.sampled_from(
    [
        *(
            "metadata",
            "spec",
            "status",
            "name",
            "labels",
            "finalizers",
            "ownerReferences",
            "managedFields",
            "annotations",
        ),
        *(
            "replicas",
            "containers",
            "ports",
            "containerPort",
            "groups",
            "steps",
            "selector",
            "options",
            "frozen",
            "open",
        ),
        *("$patch", "$retainKeys", "$setElementOrder/containers", "$setElementOrder/groups"),
        *("$deleteFromPrimitiveList/groups", "$deleteFromPrimitiveList/containers", "op", "path", "value", "from"),
    ]
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(
        ["", "a", "b", "delete", "replace", "merge", "add", "remove", "/spec", "/spec/groups/-", "FieldsV1"]
    ),
)
nonsense = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=20,
)
specs = st.builds(lambda spec, metadata: {"spec": spec, "metadata": metadata}, nonsense, nonsense)
patches = st.one_of(nonsense, specs)


managers = st.sampled_from(["me", "kubectl"])
annotated = {"annotations": {ssa.LAST_APPLIED: "{}"}, "finalizers": ["f"]}
live_things = st.builds(
    lambda thing, spec: {**thing, "metadata": {"name": "x", **annotated}, "spec": spec}, things(status=True), nonsense
)


@given(things(status=True), patches)
def test_nonsense_is_applied_or_refused(live: dict[str, Any], patch: Any) -> None:
    kept = copy.deepcopy((live, patch))
    merge.apply(live, patch)
    with suppress(PatchError):
        json.apply(live, patch)
    with suppress(PatchError):
        strategic.apply(live, patch, NODE)
    assert (live, patch) == kept


@given(st.one_of(st.none(), things(status=True), live_things), patches, patches, st.booleans(), managers)
def test_nonsense_in_specs_and_configurations_is_owned_merged_or_refused(
    live: Any, first: Any, second: Any, force: bool, manager: str
) -> None:
    kept = copy.deepcopy((live, first, second))
    obj = live
    for time, config in enumerate((first, second, first)):
        with suppress(PatchError, ssa.Conflict):
            obj, entries = ssa.apply(obj, config, manager, "test/v1", force, f"t{time}", NODE)
            if isinstance(second, dict):
                ssa.update(obj, second, entries, "you", "test/v1", "t9", NODE)
    assert (live, first, second) == kept
