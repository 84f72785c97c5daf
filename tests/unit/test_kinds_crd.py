from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from fairway.kinds import defaults
from fairway.kinds.check import check
from fairway.kinds.crd import complete, crd_of, kind_of, status_of, version_order
from fairway.kinds.crd_check import crd_errors
from fairway.kinds.fleet import KINDS
from fairway.kinds.kind import Kind, Version, convert
from fairway.kinds.registry import Registry
from fairway.kinds.types import Time, encode, to_json

NOW = Time("2026-01-01T00:00:00Z")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A thing that sails",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["sails"],
            "x-kubernetes-validations": [
                {"rule": "self.sails <= 5 || self.rig == 'full'", "message": "a fast ship has a full rig"},
                {"rule": "self.rig == oldSelf.rig", "message": "the rig is fixed", "fieldPath": ".rig"},
            ],
            "properties": {
                "sails": {"type": "integer", "minimum": 1, "maximum": 40, "format": "int32"},
                "rig": {"type": "string", "enum": ["sloop", "full"], "default": "sloop"},
                "port": {"x-kubernetes-int-or-string": True},
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "note": {"type": "string", "nullable": True},
                "launched": {"type": "string", "format": "date-time"},
                "crew": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                            "watch": {"type": "string", "default": "dog"},
                        },
                    },
                },
                "cargo": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "choice": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            },
        },
        "status": {"type": "object", "properties": {"afloat": {"type": "boolean"}, "knots": {"type": "integer"}}},
    },
}


def crd(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.sea.example.com"},
        "spec": {
            "group": "sea.example.com",
            "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship", "shortNames": ["sh"], "categories": ["all"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": copy.deepcopy(SCHEMA)},
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.sails", "statusReplicasPath": ".status.knots"},
                    },
                    "additionalPrinterColumns": [
                        {"name": "Sails", "type": "integer", "jsonPath": ".spec.sails"},
                        {"name": "Mate", "type": "string", "jsonPath": ".spec.crew[0].name", "priority": 1},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                    "selectableFields": [{"jsonPath": ".spec.rig"}],
                }
            ],
        },
    }
    document["spec"] |= changes
    complete(document)
    return document


def with_schema(**properties: Any) -> dict[str, Any]:
    document = crd()
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    document["spec"]["versions"][0] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
    }
    return document


SHIP = kind_of(crd())


def read(kind: Kind, spec: dict[str, Any], version: Version | None = None) -> Any:
    """An object the way the API reads it: checked, typed, converted to the storage version, with defaults."""
    version = version or kind.storage_version
    document = {
        "apiVersion": kind.api_version(version.name),
        "kind": kind.name,
        "metadata": {"name": "a"},
        "spec": spec,
    }
    clean, findings = check(document, version.node)
    assert findings.errors == []
    obj = convert(clean, version.type)
    if version.to_storage is not None:
        obj = version.to_storage(obj)
    kind.default(obj, None)
    return obj


def problems(spec: dict[str, Any]) -> list[str]:
    _clean, findings = check({"metadata": {"name": "a"}, "spec": spec}, SHIP.storage_version.node)
    return [str(error) for error in findings.errors]


def rejected(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(e) for e in SHIP.validate(read(SHIP, spec), read(SHIP, old) if old is not None else None)]


def test_a_crd_becomes_a_kind_with_its_names_scope_and_subresources() -> None:
    assert crd_errors(crd()) == []
    assert (SHIP.bucket, SHIP.name, SHIP.singular) == ("ships.sea.example.com", "Ship", "ship")
    assert (SHIP.short_names, SHIP.categories, SHIP.namespaced) == (("sh",), ("all",), True)
    assert SHIP.subresources == ("status", "scale")
    assert SHIP.versions[0].scale is not None
    assert SHIP.versions[0].scale.spec_replicas == ".spec.sails"
    assert SHIP.selectable == ("spec.rig",)
    assert SHIP.spec_fields == ("spec",)


def test_defaults_of_the_schema_are_filled_in_at_every_depth() -> None:
    ship = read(SHIP, {"sails": 3, "crew": [{"name": "ann"}, {"name": "bo", "watch": "first"}]})
    assert to_json(ship)["spec"] == {
        "sails": 3,
        "rig": "sloop",
        "crew": [{"name": "ann", "watch": "dog"}, {"name": "bo", "watch": "first"}],
    }


def test_a_default_is_never_shared_between_objects() -> None:
    kind = kind_of(with_schema(tags={"type": "array", "items": {"type": "string"}, "default": ["a"]}))
    first, second = read(kind, {}), read(kind, {})
    first.spec["tags"].append("b")
    assert second.spec == {"tags": ["a"]}
    assert read(kind, {}).spec == {"tags": ["a"]}


def test_unknown_fields_are_pruned_where_the_schema_does_not_keep_them() -> None:
    clean, findings = check(
        {"spec": {"sails": 1, "hull": "oak", "extra": {"hull": "oak"}, "note": None, "rig": None}},
        SHIP.storage_version.node,
    )
    assert clean == {"spec": {"sails": 1, "extra": {"hull": "oak"}, "note": None}}
    assert findings.unknown == ["spec.hull"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({}, "spec.sails"),
        ({"sails": 0}, "spec.sails"),
        ({"sails": 41}, "spec.sails"),
        ({"sails": "3"}, "spec.sails"),
        ({"sails": 1, "rig": "raft"}, "spec.rig"),
        ({"sails": 1, "port": 1.5}, "spec.port"),
        ({"sails": 1, "launched": "yesterday"}, "spec.launched"),
        ({"sails": 1, "crew": [{"name": "Ann"}]}, "spec.crew[0].name"),
        ({"sails": 1, "crew": [{"name": "abcdef"}]}, "spec.crew[0].name"),
        ({"sails": 1, "crew": [{}]}, "spec.crew[0].name"),
        ({"sails": 1, "crew": [{"name": "a"}, {"name": "a"}]}, "spec.crew[1]"),
        ({"sails": 1, "cargo": {"a": 1, "b": 2, "c": 3}}, "spec.cargo"),
        ({"sails": 1, "cargo": {"a": "x"}}, "spec.cargo.a"),
        ({"sails": 1, "embedded": {"kind": "Pod"}}, "spec.embedded.apiVersion"),
        ({"sails": 1, "choice": {"a": "x", "b": "y"}}, "spec.choice"),
        ({"sails": 1, "choice": {}}, "spec.choice"),
    ],
)
def test_a_value_that_breaks_the_schema_is_named(spec: dict[str, Any], field: str) -> None:
    found = problems(spec)
    assert [error.split(": ")[0] for error in found] == [field]


def test_rules_see_defaults_and_speak_with_their_own_message() -> None:
    assert rejected({"sails": 5}) == []
    assert rejected({"sails": 9}) == ['spec: Invalid value: "object": a fast ship has a full rig']
    assert rejected({"sails": 9, "rig": "full"}) == []


def test_a_rule_about_the_old_value_is_asked_only_on_update() -> None:
    assert rejected({"sails": 1, "rig": "full"}) == []
    assert rejected({"sails": 1, "rig": "full"}, {"sails": 1}) == [
        'spec.rig: Invalid value: "object": the rig is fixed'
    ]
    assert rejected({"sails": 2}, {"sails": 1}) == []


@pytest.mark.parametrize(
    ("schema", "rule", "good", "bad"),
    [
        ({"type": "string"}, "self.lowerAscii() == self && self.trim().size() > 1", "abc", "Abc"),
        ({"type": "string"}, "self.split('-').size() == 2", "a-b", "a"),
        ({"type": "string"}, "quantity(self).isLessThan(quantity('1Gi'))", "500Mi", "2Gi"),
        ({"type": "string"}, "isURL(self) && url(self).getScheme() == 'https'", "https://a/b", "http://a/b"),
        ({"type": "string", "format": "duration"}, "self > duration('1m')", "1h", "10s"),
        ({"type": "string", "format": "date-time"}, "self.getFullYear() > 2000", "2026-01-01T00:00:00Z", "1999-01-01T00:00:00Z"),
        ({"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 0 : self.endsWith('%')", "5%", 0),
        ({"type": "array", "items": {"type": "integer"}}, "self.isSorted() && self.sum() < 10", [1, 2], [2, 1]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "self.all(k, k.startsWith('x'))", {"x1": ""}, {"y": ""}),
        ({"type": "object", "properties": {"a-b": {"type": "integer"}, "namespace": {"type": "string"}}},
         "has(self.a__dash__b) && self.a__dash__b > 1 && !has(self.__namespace__)", {"a-b": 2}, {"a-b": 2, "namespace": "n"}),
        ({"type": "string"}, "size(self) > 3 || self in ['ok']", "long", "x"),
    ],
)  # fmt: skip
def test_rules_know_types_and_functions_of_kubernetes(schema: dict[str, Any], rule: str, good: Any, bad: Any) -> None:
    document = with_schema(x={**schema, "x-kubernetes-validations": [{"rule": rule}]})
    assert crd_errors(document) == []
    kind = kind_of(document)
    assert kind.validate(read(kind, {"x": good}), None) == []
    (error,) = kind.validate(read(kind, {"x": bad}), None)
    assert error.field == "spec.x"


def test_items_of_a_list_with_keys_are_compared_with_what_they_were() -> None:
    schema = copy.deepcopy(SCHEMA["properties"]["spec"]["properties"]["crew"])
    schema["items"]["x-kubernetes-validations"] = [{"rule": "self.watch == oldSelf.watch"}]
    kind = kind_of(with_schema(crew=schema))
    old = read(kind, {"crew": [{"name": "ann"}, {"name": "bo"}]})
    moved = read(kind, {"crew": [{"name": "cy", "watch": "new"}, {"name": "bo"}, {"name": "ann"}]})
    changed = read(kind, {"crew": [{"name": "bo"}, {"name": "ann", "watch": "x"}]})
    assert kind.validate(moved, old) == []
    assert [error.field for error in kind.validate(changed, old)] == ["spec.crew[1]"]


def test_a_rule_that_fails_to_run_refuses_the_object_and_says_why() -> None:
    kind = kind_of(with_schema(x={"type": "object", "properties": {"y": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.y > 1"}]}))  # fmt: skip
    (error,) = kind.validate(read(kind, {"x": {}}), None)
    assert "no such key: y" in str(error)


def test_a_message_can_be_computed_and_an_error_can_have_another_reason() -> None:
    rule = {
        "rule": "self < 3",
        "messageExpression": "'is ' + string(self) + ', not below 3'",
        "reason": "FieldValueForbidden",
    }
    kind = kind_of(with_schema(x={"type": "integer", "x-kubernetes-validations": [rule]}))
    assert [str(error) for error in kind.validate(read(kind, {"x": 4}), None)] == [
        "spec.x: Forbidden: is 4, not below 3"
    ]


@pytest.mark.parametrize(
    "rule", ["self.?y.orValue(1) == 1", "isIP(self)", "sets.contains([1], [1])", "self.all(i, v, i < v)"]
)
def test_what_cannot_be_evaluated_is_said_in_a_condition_and_not_asked(rule: str) -> None:
    document = with_schema(x={"type": "string", "x-kubernetes-validations": [{"rule": rule}]})
    assert crd_errors(document) == []
    condition = {entry["type"]: entry for entry in status_of(document, NOW)["conditions"]}["RulesEnforced"]
    assert condition["status"] == "False"
    assert "properties[x].x-kubernetes-validations[0]" in condition["message"]
    kind = kind_of(document)
    assert kind.validate(read(kind, {"x": "a"}), None) == []


def test_columns_show_what_their_paths_lead_to() -> None:
    class Later:
        now = 1_767_225_660.0  # one minute after NOW

    document = {
        "metadata": {"name": "a", "creationTimestamp": NOW},
        "spec": {"sails": 3, "crew": [{"name": "ann"}]},
    }
    shown = {column.name: column.value(document, Later()) for column in SHIP.versions[0].columns}
    assert shown == {"Name": "a", "Sails": 3, "Mate": "ann", "Age": "60s"}
    assert [column.wide for column in SHIP.versions[0].columns] == [False, False, True, False]
    plain = kind_of(with_schema(x={"type": "string"}))
    assert [column.name for column in plain.versions[0].columns] == ["Name", "Age"]


def two_versions() -> dict[str, Any]:
    old = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}, "old": {"type": "string", "default": "o"}}}}}  # fmt: skip
    new = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}, "new": {"type": "string", "default": "n"}}}}}  # fmt: skip
    return crd(
        versions=[
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "schema": {"openAPIV3Schema": old},
                "deprecated": True,
            },
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": new}},
            {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": old}},
        ]
    )


def test_several_versions_share_what_they_have_in_common() -> None:
    document = two_versions()
    assert crd_errors(document) == []
    kind = kind_of(document)
    assert [version.name for version in kind.versions] == ["v1", "v1beta1"]
    beta = kind.version("v1beta1")
    assert beta.deprecated == "sea.example.com/v1beta1 Ship is deprecated"
    stored = read(kind, {"a": "x", "old": "y"}, beta)
    assert to_json(stored)["spec"] == {"a": "x", "new": "n"}
    assert beta.from_storage is not None
    assert to_json(beta.from_storage(stored))["spec"] == {"a": "x", "old": "o"}


def test_a_storage_version_that_is_not_served_is_kept_but_not_routed() -> None:
    document = two_versions()
    document["spec"]["versions"][1]["served"] = False
    kind = kind_of(document)
    registry = Registry([kind])
    assert kind.storage_version.name == "v1"
    assert registry.route("sea.example.com", "v1", "ships") is None
    assert registry.route("sea.example.com", "v1beta1", "ships") is not None


def test_versions_are_preferred_by_maturity_then_age() -> None:
    names = ["v1alpha1", "v10", "foo", "v2", "v1beta2", "v11beta1", "v1", "v1beta1"]
    assert sorted(names, key=version_order) == ["v10", "v2", "v1", "v11beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"]


def test_an_open_schema_keeps_spec_and_status_whole() -> None:
    document = with_schema()
    document["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    assert crd_errors(document) == []
    kind = kind_of(document)
    assert read(kind, {"any": {"thing": [1, None]}}).spec == {"any": {"thing": [1, None]}}


def test_fields_with_odd_names_survive() -> None:
    root = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("class", "a-b", "api_version", "_x")},
    }
    document = with_schema()
    document["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": root}
    kind = kind_of(document)
    body = {"metadata": {"name": "n"}, "class": "c", "a-b": "d", "api_version": "e", "_x": "f"}
    clean, findings = check(body, kind.storage_version.node)
    assert findings.unknown == []
    obj = convert(clean, kind.storage_version.type)
    assert msgspec.json.decode(encode(obj)) == body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "sea"}, "spec.group"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields"),
        ({"conversion": {"strategy": "Magic"}}, "spec.conversion.strategy"),
        (
            {"names": {"plural": "Ships!", "kind": "Ship", "singular": "ship", "listKind": "ShipList"}},
            "spec.names.plural",
        ),
        ({"names": {"plural": "ships", "kind": "Ship", "singular": "ship", "listKind": "Ship"}}, "spec.names.listKind"),
    ],
)
def test_a_crd_that_makes_no_sense_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    assert field in [error.field for error in crd_errors(crd(**change))]


def test_the_name_of_a_crd_is_its_plural_and_group() -> None:
    document = crd()
    document["metadata"]["name"] = "boats.sea.example.com"
    (error,) = crd_errors(document)
    assert error.field == "metadata.name"
    assert "ships.sea.example.com" in error.detail


def test_exactly_one_version_is_stored() -> None:
    for flags in ((True, True), (False, False)):
        document = two_versions()
        for version, flag in zip(document["spec"]["versions"], flags, strict=False):
            version["storage"] = flag
        assert [error.field for error in crd_errors(document)] == ["spec.versions"]


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({}, "type"),
        ({"type": "number", "properties": {"a": {"type": "string"}}}, "properties"),
        ({"type": "objekt"}, "type"),
        ({"type": "array"}, "items"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}, "additionalProperties"),
        ({"type": "string", "$ref": "#/x"}, "$ref"),
        ({"type": "string", "pattern": "("}, "pattern"),
        ({"type": "string", "minLength": -1}, "minLength"),
        ({"type": "object", "required": "a"}, "required"),
        ({"type": "object", "properties": {"a": 3}}, "properties[a]"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}, "x-kubernetes-list-map-keys"),
        ({"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"]}, "items.properties[k].default"),
        ({"type": "string", "anyOf": [{"type": "string"}]}, "anyOf[0].type"),
        ({"type": "integer", "default": "x"}, "default"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}, "default.b"),
        ({"type": "string", "x-kubernetes-int-or-string": True}, "type"),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}, "x-kubernetes-validations[0].rule"),
        ({"type": "string", "x-kubernetes-validations": [{"rule": "frobnicate(self)"}]}, "x-kubernetes-validations[0].rule"),
        ({"type": "string", "x-kubernetes-validations": [{}]}, "x-kubernetes-validations[0].rule"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_structural_is_refused_where_it_goes_wrong(schema: dict[str, Any], where: str) -> None:
    found = [error.field for error in crd_errors(with_schema(x=schema))]
    at = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[x]"
    assert found == [f"{at}.{where}"]


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("additionalPrinterColumns", [{"name": "A", "type": "string", "jsonPath": "spec.a"}], "jsonPath"),
        ("additionalPrinterColumns", [{"name": "A", "type": "text", "jsonPath": ".spec.a"}], "type"),
        ("selectableFields", [{"jsonPath": ".spec.crew"}], "jsonPath"),
        ("selectableFields", [{"jsonPath": ".spec.nothing"}], "jsonPath"),
        (
            "subresources",
            {"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a"}},
            "specReplicasPath",
        ),
    ],
)
def test_columns_selectors_and_scale_lead_somewhere(key: str, value: Any, field: str) -> None:
    document = crd()
    document["spec"]["versions"][0][key] = value
    (error,) = crd_errors(document)
    assert error.field.endswith(field)


def test_what_is_fixed_in_a_crd_cannot_change_and_stored_versions_stay() -> None:
    old = crd()
    old["status"] = status_of(old, NOW)
    new = crd(scope="Cluster")
    new["spec"]["versions"][0]["name"] = "v2"
    assert [error.field for error in crd_errors(new, old)] == ["spec.scope", "status.storedVersions[0]"]


def test_a_crd_is_established_with_its_names_and_keeps_its_times() -> None:
    document = crd()
    status = status_of(document, NOW)
    assert [(entry["type"], entry["status"], entry["reason"]) for entry in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert status["acceptedNames"] == document["spec"]["names"]
    assert status["storedVersions"] == ["v1"]
    document["status"] = status
    document["spec"]["versions"][0]["name"] = "v2"
    later = status_of(document, Time("2027-01-01T00:00:00Z"))
    assert later["conditions"] == status["conditions"]
    assert later["storedVersions"] == ["v1", "v2"]


def test_a_crd_whose_names_are_taken_is_not_established() -> None:
    boats = crd(names={"plural": "boats", "kind": "Boat", "shortNames": ["sh"]})
    status = status_of(boats, NOW, [SHIP])
    assert [(entry["status"], entry["reason"]) for entry in status["conditions"]] == [
        ("False", "ShortNamesConflict"),
        ("False", "NotAccepted"),
    ]
    assert status_of(crd(), NOW, [SHIP])["conditions"][0]["status"] == "True"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_built_in_kind_listed_as_a_crd_is_a_valid_crd_of_the_same_shape(kind: Kind) -> None:
    document = crd_of(kind, NOW)
    assert crd_errors(document) == []
    again = kind_of(document)
    assert (again.bucket, again.storage, again.namespaced) == (kind.bucket, kind.storage, kind.namespaced)
    assert [version.name for version in again.versions] == [version.name for version in kind.versions]
    for mine, theirs in zip(kind.versions, again.versions, strict=True):
        assert [column.name for column in mine.columns] == [column.name for column in theirs.columns]
        assert mine.node.fields.keys() == theirs.node.fields.keys()


def test_a_placement_gets_the_same_defaults_through_its_crd() -> None:
    kind = next(kind for kind in KINDS if kind.name == "ResourcePlacement")
    again = kind_of(crd_of(kind, NOW))
    spec = {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "a"}],
        "policy": {"tolerations": [{"key": "a"}]},
        "strategy": {"rollingUpdate": {}, "applyStrategy": {}},
    }
    ours = convert({"spec": copy.deepcopy(spec)}, kind.storage_version.type)
    defaults.fill(ours)
    assert to_json(ours)["spec"] == to_json(read(again, spec))["spec"]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "multipleOf": 3}, [0, 6, -3], [4]),
        ({"type": "number", "multipleOf": 0.1}, [0.3, 2], [0.25]),
        ({"type": "integer", "minimum": 2, "exclusiveMinimum": True}, [3], [2]),
        ({"type": "integer", "maximum": 2, "exclusiveMaximum": True}, [1], [2]),
        ({"type": "integer", "format": "int32"}, [2**31 - 1, -(2**31)], [2**31]),
        ({"type": "string", "format": "ipv4"}, ["10.0.0.1"], ["10.0.0", "::1"]),
        ({"type": "string", "format": "cidr"}, ["10.0.0.0/8"], ["10.0.0.0/80"]),
        ({"type": "string", "format": "byte"}, ["YQ=="], ["%"]),
        ({"type": "string", "format": "date"}, ["2026-02-28"], ["2026-02-30"]),
        ({"type": "string", "format": "duration"}, ["1h30m", "0"], ["soon"]),
        ({"type": "string", "format": "uuid"}, ["123e4567-e89b-12d3-a456-426614174000"], ["123"]),
        ({"type": "string", "format": "hostname"}, ["a.example"], ["-a"]),
        ({"type": "string", "format": "made-up"}, ["anything"], []),
        ({"type": "string", "not": {"enum": ["no"]}}, ["yes"], ["no"]),
        ({"type": "string", "not": {}}, [], ["anything"]),
        ({"type": "string", "anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}, ["ab", "b"], ["bb"]),
        ({"type": "string", "allOf": [{"pattern": "^a"}, {"maxLength": 2}]}, ["ab"], ["b", "abc"]),
        ({"type": "array", "items": {"type": "string"}, "enum": [["a"], []]}, [["a"], []], [["b"]]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, [["a", "b"]], [["a", "a"]]),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%$"}, [3, "3%"], ["x"]),
    ],
)  # fmt: skip
def test_values_are_held_to_formats_multiples_and_combined_schemas(
    schema: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    document = with_schema(x=schema)
    assert crd_errors(document) == []
    node = kind_of(document).storage_version.node
    for value in good:
        assert check({"spec": {"x": value}}, node)[1].errors == []
    for value in bad:
        assert [error.field for error in check({"spec": {"x": value}}, node)[1].errors][0].startswith("spec.x")


def test_a_schema_of_nonsense_is_an_error_and_never_a_crash() -> None:
    nonsense: list[Any] = [
        None,
        3,
        "x",
        [],
        {"a": 1},
        [1],
        True,
        -1,
        {"type": {}},
        {"type": "object", "properties": []},
    ]
    keywords = ["type", "properties", "items", "required", "enum", "oneOf", "not", "format", "pattern", "default",
                "additionalProperties", "x-kubernetes-validations", "x-kubernetes-list-map-keys", "multipleOf"]  # fmt: skip
    for keyword in keywords:
        for value in nonsense:
            document = with_schema(
                x={"type": "object", keyword: value}, y={"type": "string", "allOf": [{keyword: value}]}
            )
            assert all(error.field for error in crd_errors(document))
    for value in nonsense:
        document = with_schema()
        document["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": value}
        assert crd_errors(document) != [] or value == {"type": "object"}
