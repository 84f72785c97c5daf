"""A user's CustomResourceDefinition as a kind, its status, and how a built-in kind looks as one.

Everything here takes and gives the plain JSON of a CustomResourceDefinition (apiextensions.k8s.io/v1). `complete` fills in what may be left
out, `crd_errors` (in `crd_check`) says what is wrong with one, `kind_of` makes the kind, `status_of` the status that goes with it.
"""

from __future__ import annotations

import keyword
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, Union

import msgspec

from fairway.kinds import columns, defaults, rules
from fairway.kinds.check import check
from fairway.kinds.errors import FieldError
from fairway.kinds.kind import Column, Kind, Scale, Version, convert
from fairway.kinds.meta import Object
from fairway.kinds.openapi import openapi_schema
from fairway.kinds.schema import Node
from fairway.kinds.structural import read_root
from fairway.kinds.types import UNSET, Json, Time, UnsetType, to_json

Document = Mapping[str, Any]

API_VERSION = "apiextensions.k8s.io/v1"
_PRIORITY = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_OPTIONAL: Any = Union[Json, UnsetType]  # noqa: UP007 (Any has no | at run time)
_AGE = columns.json_path("Age", ".metadata.creationTimestamp", "date")


def complete(crd: dict[str, Any]) -> None:
    """Fill in the names and the conversion that follow from the rest."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def version_order(name: str) -> tuple[int, int, int, str]:
    """Sorts versions the way discovery prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name."""
    match = _PRIORITY.fullmatch(name)
    if match is None:
        return (3, 0, 0, name)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0), name)


def kind_of(crd: Document) -> Kind:
    """The kind that a valid CustomResourceDefinition describes."""
    spec = crd["spec"]
    names = spec["names"]
    declared = sorted(spec["versions"], key=lambda version: version_order(version["name"]))
    stored = next(version for version in declared if version["storage"])
    roots = {version["name"]: _root(version) for version in declared}
    has_status = any("status" in _subresources(version) for version in declared)
    home = _struct(names["kind"], roots[stored["name"]], has_status)
    storage_root = roots[stored["name"]]
    versions = tuple(
        _version(spec, version, roots[version["name"]], stored, storage_root, home, has_status) for version in declared
    )
    fields = tuple(info.encode_name for info in msgspec.structs.fields(home))
    aside = {"apiVersion", "kind", "metadata"} | ({"status"} if has_status else set())
    scales = any("scale" in _subresources(version) for version in declared)
    return Kind(
        group=spec["group"],
        name=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        versions=tuple(version for version in versions if version.served or version.name == stored["name"]),
        storage=stored["name"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=(("status",) if has_status else ()) + (("scale",) if scales else ()),
        selectable=tuple(entry["jsonPath"].lstrip(".") for entry in stored.get("selectableFields") or ()),
        spec_fields=tuple(name for name in fields if name not in aside),
        default=lambda new, _old: _fill(new, storage_root),
        validate=lambda new, old: _validate(new, old, storage_root),
        validate_status=lambda new, old: _validate(new, old, storage_root),
    )


def _root(version: Document) -> Node:
    node, _errors = read_root(version["schema"]["openAPIV3Schema"], "")
    return node


def _subresources(version: Document) -> Document:
    found: Document = version.get("subresources") or {}
    return {name: part for name, part in found.items() if part is not None}


def _version(
    spec: Document,
    version: Document,
    root: Node,
    stored: Document,
    storage_root: Node,
    home: type[Object],
    has_status: bool,
) -> Version:
    same = version["schema"] == stored["schema"]
    type = home if same else _struct(spec["names"]["kind"], root, has_status)
    deprecated = ""
    if version.get("deprecated"):
        shown = f"{spec['group']}/{version['name']} {spec['names']['kind']}"
        deprecated = version.get("deprecationWarning") or f"{shown} is deprecated"
    scale = _subresources(version).get("scale")
    return Version(
        version["name"],
        type,
        _columns(version),
        to_storage=None if same else lambda obj: _carry(obj, root, home, storage_root),
        from_storage=None if same else lambda obj: _carry(obj, storage_root, type, root),
        deprecated=deprecated,
        root=root,
        served=version["served"],
        scale=None
        if scale is None
        else Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or ""),
    )


def _columns(version: Document) -> tuple[Column, ...]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        return (columns.NAME, _AGE)
    return (
        columns.NAME,
        *(
            columns.json_path(
                column["name"],
                column["jsonPath"],
                column["type"],
                wide=(column.get("priority") or 0) > 0,
                description=column.get("description") or "",
            )
            for column in declared
        ),
    )


def _struct(name: str, root: Node, has_status: bool) -> type[Object]:
    """A Struct with typed metadata; what the schema says about the rest is checked against its nodes."""
    if root.preserve_unknown:  # a Struct has fixed fields: keep at least those that every object may have
        root.fields = {"spec": _open(), "status": _open()} | root.fields
    fields = [field for field in root.fields if field not in ("apiVersion", "kind", "metadata")]
    if has_status and "status" not in fields:
        fields.append("status")
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": __name__, "__doc__": root.doc}
    for index, field in enumerate(fields):
        usable = field.isidentifier() and not keyword.iskeyword(field) and not field.startswith("_")
        attribute = field if usable and not hasattr(Object, field) else f"field_{index}"
        namespace["__annotations__"][attribute] = _OPTIONAL
        namespace[attribute] = msgspec.field(default=UNSET, name=field)
    return types.new_class(name, (Object,), {}, lambda body: body.update(namespace))


def _open() -> Node:
    node = Node("object")
    node.preserve_unknown = True
    return node


def _carry(obj: Object, have: Node, target: type[Object], want: Node) -> Any:
    """The object in another version: nothing is renamed, what the other version does not know is dropped."""
    document = to_json(obj)
    defaults.fill_defaults(document, have)
    clean, _findings = check(document, want)
    defaults.fill_defaults(clean, want)
    return convert(clean, target)


def _fill(obj: Object, root: Node) -> None:
    for info in msgspec.structs.fields(type(obj)):
        child = root.fields.get(info.encode_name)
        if child is None or child.struct is not None:
            continue
        if getattr(obj, info.name) is UNSET and child.default is not UNSET:
            setattr(obj, info.name, msgspec.to_builtins(child.default))
        defaults.fill_defaults(getattr(obj, info.name), child)


def _validate(new: Object, old: Object | None, root: Node) -> list[FieldError]:
    if not rules.has_rules(root):
        return []
    return rules.check_rules(to_json(new), to_json(old) if old is not None else None, root)


def status_of(crd: Document, now: Time, others: Iterable[Kind] = ()) -> dict[str, Any]:
    """The status of a CustomResourceDefinition; `others` are the kinds that may have taken its names already."""
    spec = crd["spec"]
    before = crd.get("status") or {}
    conflict = _conflict(spec, others)
    stored = list(before.get("storedVersions") or ())
    stored += [version["name"] for version in spec["versions"] if version["storage"] and version["name"] not in stored]
    found = [_names_accepted(conflict), _established(conflict)]
    problems = _rule_problems(spec)
    if problems:
        found.append(("RulesEnforced", "False", "UnsupportedExpression", problems))
    earlier = {condition.get("type"): condition for condition in before.get("conditions") or ()}
    return {
        "conditions": [_condition(*parts, earlier.get(parts[0]), now) for parts in found],
        "acceptedNames": dict(before.get("acceptedNames") or {}) if conflict[0] else dict(spec["names"]),
        "storedVersions": stored,
    }


def _names_accepted(conflict: tuple[str, str]) -> tuple[str, str, str, str]:
    if conflict[0]:
        return "NamesAccepted", "False", conflict[0], conflict[1]
    return "NamesAccepted", "True", "NoConflicts", "no conflicts found"


def _established(conflict: tuple[str, str]) -> tuple[str, str, str, str]:
    if conflict[0]:
        return "Established", "False", "NotAccepted", "not all names are accepted"
    return "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"


def _condition(type: str, status: str, reason: str, message: str, old: Document | None, now: Time) -> dict[str, Any]:
    since = old["lastTransitionTime"] if old is not None and old.get("status") == status else now
    return {"type": type, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def _conflict(spec: Document, others: Iterable[Kind]) -> tuple[str, str]:
    names = spec["names"]
    own = f"{names['plural']}.{spec['group']}"
    for kind in others:
        if kind.group != spec["group"] or kind.bucket == own:
            continue
        resources = {kind.plural, kind.singular, *kind.short_names}
        for reason, wanted in (
            ("PluralConflict", [names["plural"]]),
            ("SingularConflict", [names["singular"]] if names.get("singular") else []),
            ("ShortNamesConflict", names.get("shortNames") or []),
        ):
            for name in wanted:
                if name in resources:
                    return reason, f'"{name}" is already in use by {kind.bucket}'
        if {names["kind"], names.get("listKind")} & {kind.name, kind.name + "List"}:
            return "KindConflict", f'"{names["kind"]}" is already in use by {kind.bucket}'
    return "", ""


def _rule_problems(spec: Document) -> str:
    found = []
    for version in spec["versions"]:
        path = f"spec.versions[{version['name']}].schema.openAPIV3Schema"
        found += [f"{problem.path}: {problem.reason}" for problem in rules.unsupported(_root(version), path)]
    return "not enforced: " + "; ".join(found) if found else ""


def crd_of(kind: Kind, created: Time) -> dict[str, Any]:
    """How a built-in kind is listed as a CustomResourceDefinition."""
    names: dict[str, Any] = {
        "plural": kind.plural,
        "singular": kind.singular or kind.name.lower(),
        "kind": kind.name,
        "listKind": f"{kind.name}List",
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    crd: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.bucket, "creationTimestamp": created},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version_document(kind, version) for version in kind.versions],
            "conversion": {"strategy": "None"},
        },
    }
    crd["status"] = status_of(crd, created)
    return crd


def _version_document(kind: Kind, version: Version) -> dict[str, Any]:
    schema = openapi_schema(version.node)
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    document: dict[str, Any] = {
        "name": version.name,
        "served": version.served,
        "storage": version.name == kind.storage_version.name,
        "schema": {"openAPIV3Schema": schema},
    }
    if version.deprecated:
        document |= {"deprecated": True, "deprecationWarning": version.deprecated}
    if kind.has_status:
        document["subresources"] = {"status": {}}
    shown = [_column_document(column) for column in version.columns if column.path]
    if shown:
        document["additionalPrinterColumns"] = shown
    return document


def _column_document(column: Column) -> dict[str, Any]:
    dated = column.path == ".metadata.creationTimestamp"
    document: dict[str, Any] = {
        "name": column.name,
        "type": "date" if dated else column.type,
        "jsonPath": column.path,
    }
    if column.wide:
        document["priority"] = 1
    if column.description:
        document["description"] = column.description
    return document
