"""Server-side apply: appliers own what they apply, conflicts name their owners, and nobody loses what they did not give up."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.api.shapes import NODE, things

from fairway.api.patch import apply as ssa
from fairway.api.patch import fieldset, structure
from fairway.api.patch.apply import Conflict, Writer
from fairway.api.patch.entries import requested
from fairway.api.patch.errors import PatchError

V1 = "test/v1"


def thing(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "Thing", "metadata": {"name": "x", **(metadata or {})}} | (
        {"spec": spec} if spec else {}
    )


def apply(
    live: Any, config: Any, manager: str, *, force: bool = False, time: str = "t1", **more: Any
) -> dict[str, Any]:
    kept = copy.deepcopy((live, config))
    result, entries = ssa.apply(live, config, manager, V1, force, time, NODE, **more)
    assert (live, config) == kept
    assert result["metadata"]["managedFields"] is entries
    return result


def update(
    old: Any, new: dict[str, Any], manager: str, *, time: str = "t2", subresource: str | None = None
) -> dict[str, Any]:
    """A write by other means, with its bookkeeping, as the API does it."""
    kept = copy.deepcopy((old, new))
    entries = ssa.update(old, new, requested(old, new, subresource), manager, V1, time, NODE, subresource)
    assert (old, new) == kept
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def owned(obj: dict[str, Any], manager: str, operation: str = "Apply") -> set[str]:
    return {
        fieldset.show(path)
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] == manager and entry["operation"] == operation
        for path in fieldset.members(entry["fieldsV1"])
    }


def managers(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["manager"], entry["operation"]) for entry in obj["metadata"]["managedFields"]]


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def test_the_first_apply_creates_the_object_and_owns_what_it_names() -> None:
    config = thing({"labels": {"a": "1"}}, replicas=1, containers=[{"name": "c", "image": "i"}])
    live = apply(None, config, "me")
    assert bare(live) == config
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": V1,
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {
                    "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}},
                    "f:replicas": {},
                },
            },
        }
    ]


def test_applying_the_same_again_gives_the_very_same_object() -> None:
    config = thing(replicas=1, options={"a": "1"})
    live = apply(None, config, "me")
    assert apply(live, copy.deepcopy(config), "me", time="t9") is live


def test_a_field_that_is_no_longer_applied_is_removed() -> None:
    live = apply(None, thing(replicas=1, options={"a": "1", "b": "2"}, containers=[{"name": "c"}, {"name": "d"}]), "me")
    live = apply(live, thing(options={"b": "2"}, containers=[{"name": "d"}]), "me", time="t2")
    assert bare(live) == thing(options={"b": "2"}, containers=[{"name": "d"}])
    assert owned(live, "me") == {".spec.options.b", '.spec.containers[name="d"]', '.spec.containers[name="d"].name'}
    assert live["metadata"]["managedFields"][0]["time"] == "t2"


def test_a_field_that_another_applier_also_owns_is_kept() -> None:
    live = apply(None, thing(replicas=1, options={"a": "1"}), "me")
    live = apply(live, thing(replicas=1, options={"b": "2"}), "you")
    live = apply(live, thing(paused=True), "me")
    assert bare(live) == thing(replicas=1, options={"b": "2"}, paused=True)
    assert owned(live, "you") == {".spec.replicas", ".spec.options.b"}


def test_a_change_of_anothers_field_is_a_conflict_in_the_words_of_kubernetes() -> None:
    live = update(None, thing(replicas=1), "kubectl-client-side-apply")
    with pytest.raises(Conflict) as caught:
        apply(live, thing(replicas=2), "me")
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using test/v1: .spec.replicas'
    )
    (cause,) = caught.value.causes
    assert (cause.message, cause.field) == ('conflict with "kubectl-client-side-apply" using test/v1', ".spec.replicas")
    assert (cause.manager, cause.api_version) == ("kubectl-client-side-apply", V1)


def test_several_conflicts_are_listed_by_owner() -> None:
    live = apply(None, thing(containers=[{"name": "c", "image": "1"}], replicas=1), "applier")
    live = update(live, {**live, "status": {"phase": "a"}}, "reporter", subresource="status")
    with pytest.raises(Conflict) as caught:
        apply(live, {**thing(containers=[{"name": "c", "image": "2"}], replicas=2), "status": {"phase": "b"}}, "me")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "applier":\n'
        '- .spec.containers[name="c"].image\n'
        "- .spec.replicas\n"
        'conflicts with "reporter" with subresource "status" using test/v1:\n'
        "- .status.phase"
    )


def test_the_same_value_is_shared_without_conflict() -> None:
    live = update(None, thing(replicas=1), "them")
    live = apply(live, thing(replicas=1), "me")
    assert owned(live, "me") == {".spec.replicas"}
    assert ".spec.replicas" in owned(live, "them", "Update")


def test_force_takes_the_field_from_its_owner() -> None:
    live = update(None, thing(replicas=1, paused=True), "them")
    live = apply(live, thing(replicas=2), "me", force=True)
    assert live["spec"] == {"replicas": 2, "paused": True}
    assert owned(live, "me") == {".spec.replicas"}
    assert owned(live, "them", "Update") == {".spec", ".spec.paused"}


def test_an_owner_of_nothing_is_no_longer_listed() -> None:
    live = apply(None, thing(replicas=1), "a")
    live = apply(live, thing(replicas=2), "b", force=True)
    assert managers(live) == [("b", "Apply")]
    live = apply(live, thing(), "b")
    assert "managedFields" not in live["metadata"] or managers(live) == []
    assert "spec" not in live


def test_an_update_takes_what_it_changes_from_appliers_and_they_then_conflict() -> None:
    live = apply(None, thing(replicas=1, paused=True), "me")
    live = update(live, {**live, "spec": {"replicas": 5, "paused": True}}, "scaler")
    assert owned(live, "me") == {".spec.paused"}
    assert owned(live, "scaler", "Update") == {".spec.replicas"}
    with pytest.raises(Conflict, match='conflict with "scaler" using test/v1: .spec.replicas'):
        apply(live, thing(replicas=1, paused=True), "me")


def test_an_update_that_removes_a_field_takes_it_from_everybody() -> None:
    live = apply(None, thing(options={"a": "1"}, containers=[{"name": "c", "image": "i"}], paused=True), "me")
    live = update(live, {**live, "spec": {"paused": True}}, "them")
    assert owned(live, "me") == {".spec.paused"}
    assert managers(live) == [("me", "Apply")]


def test_an_update_that_changes_nothing_leaves_the_entries_as_they_are() -> None:
    live = apply(None, thing(replicas=1), "me")
    entries = live["metadata"]["managedFields"]
    assert ssa.update(live, copy.deepcopy(live), entries, "them", V1, "t5", NODE) is entries


def test_an_update_of_an_object_without_entries_starts_none() -> None:
    assert ssa.update(thing(replicas=1), thing(replicas=2), [], "them", V1, "t", NODE) == []


def test_each_subresource_and_version_of_an_updater_has_an_entry_of_its_own() -> None:
    live = update(None, thing(replicas=1), "ctl", time="t1")
    live = update(live, {**live, "status": {"phase": "a"}}, "ctl", time="t2", subresource="status")
    live = update(live, {**live, "status": {"phase": "b", "ready": 1}}, "ctl", time="t3", subresource="status")
    assert [(e["manager"], e.get("subresource"), e["time"]) for e in live["metadata"]["managedFields"]] == [
        ("ctl", None, "t1"),
        ("ctl", "status", "t3"),
    ]
    assert live["metadata"]["managedFields"][1]["fieldsV1"] == {"f:status": {".": {}, "f:phase": {}, "f:ready": {}}}


def test_entries_are_listed_appliers_first_and_then_by_time() -> None:
    live = update(None, thing(replicas=1), "u1", time="t1")
    live = apply(live, thing(paused=True), "z", time="t3")
    live = apply(live, thing(options={"a": "1"}), "a", time="t4")
    live = update(live, {**live, "spec": {**live["spec"], "steps": ["x"]}}, "a", time="t2")
    assert managers(live) == [("z", "Apply"), ("a", "Apply"), ("u1", "Update"), ("a", "Update")]


def test_too_many_updaters_are_folded_into_one_of_their_version() -> None:
    live = update(None, thing(options={"k": "v"}), "u00", time="t00")
    for number in range(1, 15):
        options = {**live["spec"]["options"], f"k{number}": "v"}
        live = update(live, {**live, "spec": {"options": options}}, f"u{number:02}", time=f"t{number:02}")
    names = [manager for manager, _ in managers(live)]
    assert len(names) == 10
    assert names[0] == "ancient-changes"
    assert names[1:] == [f"u{number:02}" for number in range(6, 15)]
    assert {".spec.options.k5", ".spec.options.k"} <= owned(live, "ancient-changes", "Update")


def test_an_applied_item_can_be_given_up_although_others_changed_it() -> None:
    live = apply(None, thing(containers=[{"name": "c", "image": "1"}, {"name": "d"}]), "me")
    spec = {"containers": [{"name": "c", "image": "2"}, {"name": "d"}]}
    live = update(live, {**live, "spec": spec}, "them")
    live = apply(live, thing(containers=[{"name": "d"}]), "me")
    assert live["spec"] == {"containers": [{"name": "d"}]}
    assert managers(live) == [("me", "Apply")]


def test_ports_without_a_protocol_are_those_with_the_default_one() -> None:
    live = apply(
        None, thing(containers=[{"name": "c", "ports": [{"containerPort": 1, "protocol": "TCP", "name": "p"}]}]), "a"
    )
    live = apply(
        live,
        thing(containers=[{"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}]),
        "b",
    )
    assert live["spec"]["containers"][0]["ports"] == [
        {"containerPort": 1, "protocol": "TCP", "name": "p"},
        {"containerPort": 1, "protocol": "UDP"},
    ]


def test_fields_that_an_endpoint_does_not_write_are_left_out() -> None:
    live = apply(
        {**thing(replicas=1), "status": {"phase": "a"}},
        {**thing(replicas=1), "status": {"phase": "b"}},
        "me",
        ignored=("status",),
    )
    assert live["status"] == {"phase": "a"}
    assert owned(live, "me") == {".spec.replicas"}


def test_an_object_of_unknown_writers_was_written_before_the_first_apply() -> None:
    with pytest.raises(Conflict, match='conflict with "before-first-apply" using test/v1: .spec.replicas'):
        apply(thing(replicas=1), thing(replicas=2), "me")
    live = apply(thing(replicas=1, paused=True), thing(replicas=2), "me", force=True)
    assert managers(live) == [("me", "Apply"), ("before-first-apply", "Update")]


def test_known_writers_get_their_share_when_the_first_apply_comes() -> None:
    obj = {**thing({"labels": {"a": "b"}}, replicas=1), "status": {"phase": "a"}}
    writers = [
        Writer("first", "Update", V1, "t1"),
        Writer("second", "Update", V1, "t2"),
        Writer("ctl", "Update", V1, "t3", "status"),
    ]
    assert ssa.synthesize(obj, writers, NODE) == [
        {
            "manager": "second",
            "operation": "Update",
            "apiVersion": V1,
            "time": "t2",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:replicas": {}}},
        },
        {
            "manager": "ctl",
            "operation": "Update",
            "apiVersion": V1,
            "time": "t3",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {".": {}, "f:phase": {}}},
            "subresource": "status",
        },
    ]
    only_main = ssa.synthesize(obj, writers[:1], NODE)
    assert [entry["manager"] for entry in only_main] == ["first"]
    assert "f:status" in only_main[0]["fieldsV1"]
    only_status = ssa.synthesize(obj, writers[2:], NODE, V1, "t0")
    assert [entry["manager"] for entry in only_status] == ["before-first-apply", "ctl"]


def test_kubectl_may_take_over_what_it_applied_from_the_client_side() -> None:
    annotation = {"annotations": {ssa.LAST_APPLIED: json.dumps(thing(replicas=1, paused=True))}}
    live = update(None, thing(annotation, replicas=1, paused=True), "kubectl-client-side-apply")
    with pytest.raises(Conflict):
        apply(live, thing(replicas=2, paused=True), "someone")
    taken = apply(live, thing(replicas=2, paused=True), "kubectl")
    assert taken["spec"] == {"replicas": 2, "paused": True}
    assert json.loads(taken["metadata"]["annotations"][ssa.LAST_APPLIED]) == thing(replicas=2, paused=True)
    assert apply(taken, thing(replicas=2, paused=True), "kubectl", time="t9") is taken


def test_kubectl_may_not_take_what_others_changed_since() -> None:
    annotation = {"annotations": {ssa.LAST_APPLIED: json.dumps(thing(replicas=1))}}
    live = update(None, thing(annotation, replicas=1), "kubectl-client-side-apply")
    live = update(live, {**live, "spec": {"replicas": 3}}, "scaler")
    with pytest.raises(Conflict, match='"scaler" using test/v1: .spec.replicas'):
        apply(live, thing(replicas=2), "kubectl")


@pytest.mark.parametrize(
    "annotation", ["{", "[]", '{"apiVersion":"other/v1"}', '{"apiVersion":"test/v1","spec":{"containers":[{}]}}']
)
def test_a_broken_annotation_allows_nothing(annotation: str) -> None:
    live = update(None, thing({"annotations": {ssa.LAST_APPLIED: annotation}}, replicas=1), "them")
    with pytest.raises(Conflict):
        apply(live, thing(replicas=2), "kubectl")


def test_managed_fields_cannot_be_applied() -> None:
    with pytest.raises(PatchError, match="must be nil"):
        apply(None, thing({"managedFields": [{}]}, replicas=1), "me")
    with pytest.raises(PatchError, match="is an object"):
        ssa.apply(None, [], "me", V1, False, "t", NODE)  # type: ignore[arg-type]


def test_clients_may_rewrite_and_reset_the_entries() -> None:
    live = apply(None, thing(replicas=1), "me")
    entries = live["metadata"]["managedFields"]

    def sent(value: Any) -> Any:
        return requested(live, {**live, "metadata": {"name": "x", "managedFields": value}})

    assert requested(live, thing()) is entries
    assert sent([]) == []
    assert sent([{}]) == []
    assert sent(copy.deepcopy(entries)) is entries
    mine = [{**entries[0], "manager": "you", "fieldsV1": {'k:{ "a":1}': {".": {}}}}]
    assert sent(mine) == [{**entries[0], "manager": "you", "fieldsV1": {'k:{"a":1}': {}}}]
    assert requested(live, {"metadata": {"managedFields": mine}}, "status") is entries
    for broken in (
        "x",
        [1],
        [{"manager": "a"}],
        [{**entries[0], "fieldsV1": {"x": {}}}],
        [{**entries[0], "fieldsType": "V2"}],
        [{**entries[0], "time": 1}],
    ):
        assert sent(broken) is entries


def test_entries_that_a_client_wrote_and_nobody_can_read_do_not_count() -> None:
    live = apply(None, thing(replicas=1), "me")
    broken = [{**live["metadata"]["managedFields"][0], "fieldsV1": {"f:spec": 1}}]
    entries = ssa.update(live, thing(replicas=2), broken, "them", V1, "t2", NODE)
    assert [(entry["manager"], entry["fieldsV1"]) for entry in entries] == [("them", {"f:spec": {"f:replicas": {}}})]


configs = things(status=False)


def attempt(live: Any, config: Any, manager: str, time: str) -> dict[str, Any]:
    return apply(live, config, manager, force=True, time=time)


@given(configs, configs)
def test_applying_twice_is_applying_once(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = apply(None, first, "me")
    once = apply(live, second, "me", time="t2")
    assert apply(once, second, "me", time="t3") is once


@given(configs, configs, configs)
def test_an_applier_owns_exactly_the_fields_of_its_configuration(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    live = attempt(attempt(attempt(None, a, "me", "t1"), b, "you", "t2"), c, "me", "t3")
    mine = structure.fields(c, NODE, every=False)
    entry = [each for each in live["metadata"]["managedFields"] if each["manager"] == "me"]
    assert [each["fieldsV1"] for each in entry] == ([mine] if mine else [])
    assert structure.diff(live, c, NODE)[0] == {}


@given(configs, configs)
def test_a_sole_applier_gets_exactly_its_configuration(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = bare(apply(apply(None, first, "me"), second, "me"))
    assert structure.diff(live, second, NODE) == ({}, {})


@given(configs, configs)
def test_appliers_of_disjoint_fields_never_conflict_and_never_touch_each_other(
    a: dict[str, Any], b: dict[str, Any]
) -> None:
    mine = {
        name: value
        for name, value in a.get("spec", {}).items()
        if name in ("replicas", "containers", "options", "frozen")
    }
    yours = {name: value for name, value in b.get("spec", {}).items() if name in ("paused", "groups", "steps", "open")}
    live = apply(None, {**thing(), "spec": mine}, "me")
    both = apply(live, {**thing(), "spec": yours}, "you")
    assert {name: value for name, value in both["spec"].items() if name in mine} == mine
    assert {name: value for name, value in both["spec"].items() if name in yours} == yours
    rest = apply(both, thing(), "me")
    assert {name: value for name, value in rest["spec"].items() if name in yours} == yours
    assert owned(rest, "you") == owned(both, "you")


@given(configs, configs, configs)
def test_giving_up_fields_removes_only_what_nobody_else_owns(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    for config in (a, b, c):
        config.get("spec", {}).pop("open", None)  # open JSON may change its shape, and then its fields with it
    live = attempt(attempt(None, a, "me", "t1"), b, "you", "t2")
    yours = [each["fieldsV1"] for each in live["metadata"]["managedFields"] if each["manager"] == "you"]
    after = attempt(live, c, "me", "t3")
    written, _ = structure.diff(live, after, NODE)
    still = fieldset.difference(yours[0], written) if yours else {}
    present = structure.fields(after, NODE, every=True)
    missing = {path for path in fieldset.members(still) if not fieldset.contains(present, path)}
    assert missing == set()


@given(things(status=True), things(status=True), things(status=True))
def test_every_field_has_an_owner_and_updates_leave_no_entry_behind_for_what_is_gone(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    live = update(None, a, "first")
    for number, (each, manager) in enumerate([(b, "second"), (c, "first")]):
        live = update(live, each, manager, time=f"t{number}")
    union: fieldset.FieldSet = {}
    for entry in live["metadata"]["managedFields"]:
        union = fieldset.union(union, entry["fieldsV1"])
    everything = structure.fields(live, NODE, every=True)
    if live["metadata"]["managedFields"]:
        assert set(fieldset.members(union)) <= set(fieldset.members(everything))
        unowned = set(fieldset.members(everything)) - set(fieldset.members(union))
        assert all(
            any(child[: len(path)] == path for child in fieldset.members(union)) or _empty(live, path)
            for path in unowned
        )


def _empty(obj: Any, path: tuple[str, ...]) -> bool:
    for element in path:
        obj = obj[element[2:]] if isinstance(obj, dict) else next(i for i in obj if f'"{i["name"]}"' in element)
    return not obj


def test_what_kubectl_applied_from_the_client_side_is_its_configuration_and_not_what_the_server_filled_in() -> None:
    config = thing({"annotations": {}}, replicas=1)
    annotations = {"annotations": {ssa.LAST_APPLIED: json.dumps(config)}}
    live = thing({"labels": {"made": "by-the-server"}, **annotations}, replicas=1, paused=False)
    kubectl = Writer("kubectl-client-side-apply", "Update", V1, "t1")
    own = {
        "f:metadata": {"f:annotations": {".": {}, f"f:{ssa.LAST_APPLIED}": {}}},
        "f:spec": {"f:replicas": {}},
    }
    alone = ssa.synthesize(live, [kubectl], NODE)
    assert [(entry["manager"], entry["fieldsV1"]) for entry in alone] == [(kubectl.manager, own)]
    beside = ssa.synthesize(live, [kubectl, Writer("other", "Update", V1, "t2")], NODE)
    assert [entry["manager"] for entry in beside] == [kubectl.manager, "other"]
    assert beside[0]["fieldsV1"] == own
    assert beside[1]["fieldsV1"]["f:spec"] == {".": {}, "f:paused": {}}
