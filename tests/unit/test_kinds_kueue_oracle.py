"""Objects, tables and discovery of a real Kueue, beside ours."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from tests.unit.kueue_oracle import FOLDER, GROUP, items, needs_oracle, objects

from fairway.kinds.defaults import fill
from fairway.kinds.kind import Kind, convert
from fairway.kinds.kueue import KINDS
from fairway.kinds.types import to_json

pytestmark = needs_oracle
BY_NAME = {kind.name: kind for kind in KINDS}


def version_of(obj: dict[str, Any]) -> str:
    return str(obj["apiVersion"]).rpartition("/")[2]


def converted(obj: dict[str, Any], to: str) -> Any:
    """The object's JSON in the other version."""
    kind = BY_NAME[obj["kind"]]
    old = kind.version("v1beta1")
    if old.to_storage is None or old.from_storage is None:
        return obj | {"apiVersion": f"{GROUP}/{to}"}
    if to == "v1beta2":
        return to_json(old.to_storage(convert(obj, old.type)))
    return to_json(old.from_storage(convert(obj, kind.storage_version.type)))


def test_every_object_decodes_strictly_and_encodes_to_the_same_json() -> None:
    seen: dict[str, int] = defaultdict(int)
    for path, obj in objects():
        struct = convert(obj, BY_NAME[obj["kind"]].version(version_of(obj)).type)
        assert to_json(struct) == obj, path
        seen[f"{obj['kind']}/{version_of(obj)}"] += 1
    assert set(seen) >= {
        "ClusterQueue/v1beta1",
        "ClusterQueue/v1beta2",
        "LocalQueue/v1beta1",
        "LocalQueue/v1beta2",
        "ResourceFlavor/v1beta2",
        "Workload/v1beta1",
        "Workload/v1beta2",
    }
    assert seen["Workload/v1beta2"] > 50


def test_every_served_object_is_valid_and_already_defaulted() -> None:
    for path, obj in objects():
        kind = BY_NAME[obj["kind"]]
        if version_of(obj) != "v1beta2":
            continue
        struct = convert(obj, kind.storage_version.type)
        assert [str(error) for error in kind.validate(struct, None) + kind.validate_status(struct, None)] == [], path
        fill(struct)
        kind.default(struct, None)
        if kind.name != "Workload":  # only jobs make Workloads there, and they say all that a default would
            assert to_json(struct) == obj, path


@pytest.mark.parametrize("plural", ["clusterqueues", "localqueues", "workloads"])
def test_conversion_says_what_the_real_one_says_in_both_directions(plural: str) -> None:
    compared = 0
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        old = {item["metadata"]["uid"]: item for item in items(f"{folder.name}/{plural}.v1beta1.yaml")}
        new = {item["metadata"]["uid"]: item for item in items(f"{folder.name}/{plural}.v1beta2.yaml")}
        for uid in old.keys() & new.keys():
            if old[uid]["metadata"]["resourceVersion"] != new[uid]["metadata"]["resourceVersion"]:
                continue  # it changed between the two dumps
            assert converted(old[uid], "v1beta2") == new[uid]
            assert converted(new[uid], "v1beta1") == old[uid]
            compared += 1
    assert compared >= 5


def test_an_object_of_the_seed_gets_what_a_real_one_gets_at_creation() -> None:
    """The objects as they were applied, in v1beta1, against the objects as they were stored."""
    compared = 0
    for plural in ("resourceflavors", "clusterqueues", "localqueues"):
        for stored in items(f"A-seed-verbatim/{plural}.v1beta2.yaml"):
            applied = json.loads(stored["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
            assert created(BY_NAME[stored["kind"]], applied) == {
                "spec": stored["spec"],
                "finalizers": stored["metadata"].get("finalizers"),
            }
            compared += 1
    assert compared == 3


def created(kind: Kind, applied: dict[str, Any]) -> dict[str, Any]:
    version = kind.version(version_of(applied))
    new = convert({name: member for name, member in applied.items() if member is not None}, version.type)
    fill(new)
    if version.to_storage is not None:
        new = version.to_storage(new)
        fill(new)
    kind.default(new, None)
    assert kind.validate(new, None) == []
    obj = to_json(new)
    return {"spec": obj["spec"], "finalizers": obj["metadata"].get("finalizers")}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_discovery_lists_the_same_kinds_under_the_same_names(version: str) -> None:
    listed = json.loads((FOLDER / f"discovery-{version}.json").read_text())["resources"]
    theirs = {
        entry["name"]: (entry["kind"], entry["namespaced"], entry["singularName"], tuple(entry.get("shortNames", ())))
        for entry in listed
        if "/" not in entry["name"]
    }
    ours = {kind.plural: (kind.name, kind.namespaced, kind.name.lower(), kind.short_names) for kind in KINDS}
    assert ours == theirs
    statuses = {entry["name"].partition("/")[0] for entry in listed if "/" in entry["name"]}
    assert {kind.plural for kind in KINDS if kind.has_status} == statuses


class Now:
    now = 0.0


def rows(plural: str, wide: bool) -> list[list[str]]:
    """Header and cells of one table in the dumps, cut at the header's columns."""
    command = f"$ kubectl get {plural} -A" if BY_PLURAL[plural].namespaced else f"$ kubectl get {plural}"
    folder = "A-seed-verbatim" if wide else "D-preemption"
    text = (FOLDER / folder / "tables.txt").read_text()
    block = text.split(command + (" -o wide\n" if wide else "\n"))[1].split("\n\n")[0].splitlines()
    starts = [0] + [at for at in range(2, len(block[0])) if block[0][at] != " " and block[0][at - 2 : at] == "  "]
    return [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for line in block]


BY_PLURAL = {kind.plural: kind for kind in KINDS}


@pytest.mark.parametrize(
    ("plural", "wide"),
    [
        ("clusterqueues", True),
        ("clusterqueues", False),
        ("localqueues", True),
        ("localqueues", False),
        ("resourceflavors", True),
        ("workloads", False),
    ],
)
def test_tables_show_the_same_columns_and_cells(plural: str, wide: bool) -> None:
    kind = BY_PLURAL[plural]
    header, *cells = rows(plural, wide)
    if kind.namespaced:
        assert header.pop(0) == "NAMESPACE"
        cells = [line[1:] for line in cells]
    columns = [column for column in kind.storage_version.columns if wide or not column.wide]
    assert [column.name.upper() for column in columns] == header
    folder = "A-seed-verbatim" if wide else "D-preemption"
    by_name = {item["metadata"]["name"]: item for item in items(f"{folder}/{plural}.v1beta2.yaml")}
    for line in cells:
        obj = by_name[line[0]]
        for column, cell in zip(columns, line, strict=True):
            value = column.value(obj, Now())
            if column.name != "Age":
                assert ("" if value is None else str(value)) == cell, (line[0], column.name)
