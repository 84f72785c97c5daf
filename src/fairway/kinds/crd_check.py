"""What is wrong with a CustomResourceDefinition, named by field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairway.kinds import jsonpath, names, rules
from fairway.kinds.errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from fairway.kinds.schema import Node
from fairway.kinds.structural import read_root

Document = Mapping[str, Any]

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_1035_RULE = "must consist of lower case letters, digits or '-', start with a letter and have at most 63 characters"
_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_SELECTABLE_MAX = 8


def crd_errors(crd: Document, old: Document | None = None) -> list[FieldError]:
    """Errors of a complete CustomResourceDefinition; `old` is what it was before, on an update."""
    spec = crd.get("spec")
    if not isinstance(spec, Mapping):
        return [required("spec", "says which kind is added")]
    errors = _name_errors(crd, spec)
    if spec.get("scope") not in _SCOPES:
        errors.append(not_supported("spec.scope", spec.get("scope"), _SCOPES))
    if spec.get("preserveUnknownFields"):
        detail = "must be false: use x-kubernetes-preserve-unknown-fields in the schema"
        errors.append(invalid("spec.preserveUnknownFields", True, detail))
    versions = [version for version in spec.get("versions") or () if isinstance(version, Mapping)]
    errors += _versions_errors(versions)
    for index, version in enumerate(versions):
        errors += _version_errors(version, f"spec.versions[{index}]")
    errors += _conversion_errors(spec.get("conversion"), versions)
    if old is not None:
        errors += _change_errors(crd, old, versions)
    return errors


def _name_errors(crd: Document, spec: Document) -> list[FieldError]:
    group, given = spec.get("group"), spec.get("names") or {}
    errors = []
    if not group or not isinstance(group, str):
        errors.append(required("spec.group", "the API group of the kind, like example.com"))
    else:
        errors += [invalid("spec.group", group, problem) for problem in names.dns_subdomain(group)]
        if "." not in group:
            errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    for field in ("plural", "singular", "kind", "listKind"):
        errors += _label_errors(given.get(field), f"spec.names.{field}")
    for field in ("shortNames", "categories"):
        for index, name in enumerate(given.get(field) or ()):
            errors += _label_errors(name, f"spec.names.{field}[{index}]")
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        errors.append(invalid("spec.names.listKind", given["listKind"], "kind and listKind may not be the same"))
    name, wanted = (crd.get("metadata") or {}).get("name"), f"{given.get('plural')}.{group}"
    if name != wanted:
        detail = f'must be spec.names.plural+"."+spec.group, that is {wanted}'
        errors.append(invalid("metadata.name", name, detail))
    return errors


def _label_errors(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str) or not value:
        return [required(path)]
    return [] if _DNS_1035.fullmatch(value.lower()) else [invalid(path, value, _DNS_1035_RULE)]


def _versions_errors(versions: list[Document]) -> list[FieldError]:
    if not versions:
        return [required("spec.versions", "a kind has at least one version")]
    errors = []
    seen: set[Any] = set()
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}].name", version.get("name")
        errors += _label_errors(name, path)
        if name in seen:
            errors.append(duplicate(path, name))
        seen.add(name)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        shown = [version.get("name") for version in versions]
        errors.append(invalid("spec.versions", shown, "must have exactly one version marked as storage version"))
    return errors


def _version_errors(version: Document, path: str) -> list[FieldError]:
    raw = (version.get("schema") or {}).get("openAPIV3Schema")
    at = f"{path}.schema.openAPIV3Schema"
    if raw is None:
        return [required(at, "schemas are required")]
    root, errors = read_root(raw, at)
    if not errors:
        errors += rules.rule_errors(root, at)
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += _column_errors(column, f"{path}.additionalPrinterColumns[{index}]")
    errors += _scale_errors((version.get("subresources") or {}).get("scale"), f"{path}.subresources.scale")
    errors += _selectable_errors(version.get("selectableFields") or (), root, f"{path}.selectableFields")
    return errors


def _column_errors(column: Document, path: str) -> list[FieldError]:
    errors = []
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    if column.get("type") not in _COLUMN_TYPES:
        errors.append(not_supported(f"{path}.type", column.get("type"), _COLUMN_TYPES))
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        errors.append(not_supported(f"{path}.format", column["format"], _COLUMN_FORMATS))
    if not column.get("jsonPath"):
        return [*errors, required(f"{path}.jsonPath")]
    return errors + _path_errors(column["jsonPath"], f"{path}.jsonPath")


def _path_errors(path: str, field: str) -> list[FieldError]:
    try:
        jsonpath.parse(path)
    except jsonpath.PathError as error:
        return [invalid(field, path, str(error))]
    return []


def _scale_errors(scale: Document | None, path: str) -> list[FieldError]:
    if scale is None:
        return []
    errors = []
    for name, starts in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".status.", ".spec.")),
    ):
        value = scale.get(name)
        if not value:
            errors += [] if name == "labelSelectorPath" else [required(f"{path}.{name}")]
        elif not value.startswith(starts) or "[" in value:
            detail = f"must be a simple path under {' or '.join(start.rstrip('.') for start in starts)}"
            errors.append(invalid(f"{path}.{name}", value, detail))
        else:
            errors += _path_errors(value, f"{path}.{name}")
    return errors


def _selectable_errors(entries: Any, root: Node, path: str) -> list[FieldError]:
    errors = [too_many(path, len(entries), _SELECTABLE_MAX)] if len(entries) > _SELECTABLE_MAX else []
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        at, value = f"{path}[{index}].jsonPath", entry.get("jsonPath") or ""
        if value in seen:
            errors.append(duplicate(at, value))
        seen.add(value)
        problems = _path_errors(value, at)
        if not problems and not _is_scalar(root, value):
            detail = "must lead to a string, boolean or integer field of the schema, and not through a list"
            problems = [invalid(at, value, detail)]
        errors += problems
    return errors


def _is_scalar(root: Node, path: str) -> bool:
    node: Node | None = root
    steps = jsonpath.parse(path)
    for step in steps:
        if node is None or not isinstance(step, jsonpath.Member) or node.type != "object":
            return False
        node = node.fields.get(step.name)
    first = steps[0]
    return (
        node is not None
        and node.type in ("string", "boolean", "integer")
        and isinstance(first, jsonpath.Member)
        and first.name != "metadata"
    )


def _conversion_errors(conversion: Document | None, versions: list[Document]) -> list[FieldError]:
    strategy = (conversion or {}).get("strategy") or "None"
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))]
    if strategy == "Webhook" and len(versions) > 1:
        detail = "conversion webhooks are not called here: use strategy None, or one version"
        return [forbidden("spec.conversion.strategy", detail)]
    return []


def _change_errors(crd: Document, old: Document, versions: list[Document]) -> list[FieldError]:
    errors = []
    before, now = old.get("spec") or {}, crd["spec"]
    for path, new_value, old_value in (
        ("spec.scope", now.get("scope"), before.get("scope")),
        ("spec.group", now.get("group"), before.get("group")),
        ("spec.names.plural", (now.get("names") or {}).get("plural"), (before.get("names") or {}).get("plural")),
        ("spec.names.kind", (now.get("names") or {}).get("kind"), (before.get("names") or {}).get("kind")),
    ):
        if new_value != old_value:
            errors.append(invalid(path, new_value, "field is immutable"))
    known = {version.get("name") for version in versions}
    for index, name in enumerate((old.get("status") or {}).get("storedVersions") or ()):
        if name not in known:
            detail = "missing from spec.versions; objects may still be stored in it"
            errors.append(invalid(f"status.storedVersions[{index}]", name, detail))
    return errors
