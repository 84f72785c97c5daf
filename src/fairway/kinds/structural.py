"""A user's OpenAPI schema as a tree of nodes, with an error for every place where it is not structural.

Structural means: every place has a type of its own, said outside of oneOf, anyOf, allOf and not; so it is always known which fields an
object may have, which are lists with keys, and what is to be pruned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from fairway.kinds import schema
from fairway.kinds.check import check
from fairway.kinds.errors import FieldError, forbidden, invalid, not_supported, required
from fairway.kinds.keywords import well_typed
from fairway.kinds.meta import ObjectMeta
from fairway.kinds.re2 import compile_pattern
from fairway.kinds.schema import Node, NodeType
from fairway.kinds.values import JUNCTORS, KEYWORDS, Schema

_TYPES: dict[str, NodeType] = {
    "object": "object",
    "array": "list",
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("granular", "atomic")
_NEVER = ("$ref", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties", "readOnly")
_SHAPE_ONLY = (
    "type",
    "default",
    "additionalProperties",
    "nullable",
    "title",
    "description",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
_SIZES = {
    "string": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
    "map": ("minProperties", "maxProperties"),
}
_DEPTH_MAX = 50


def read_root(raw: Any, path: str) -> tuple[Node, list[FieldError]]:
    """The schema of a whole object: apiVersion, kind and metadata are what they are for every object."""
    errors: list[FieldError] = []
    if not isinstance(raw, Mapping) or raw.get("type") != "object":
        given = raw.get("type") if isinstance(raw, Mapping) else raw
        return Node("object"), [invalid(f"{path}.type", given, "must be object at the root")]
    node = _read(raw, path, errors, 0)
    metadata = node.fields.get("metadata")
    for name in sorted(metadata.fields.keys() - {"name", "generateName"}) if metadata is not None else ():
        at = f"{path}.properties[metadata].properties[{name}]"
        errors.append(forbidden(at, "only name and generateName may be restricted"))
    return as_object(node), errors


def as_object(node: Node) -> Node:
    """The node with the fields that every object has."""
    fields = dict(node.fields)
    fields["apiVersion"] = Node("string")
    fields["kind"] = Node("string")
    fields["metadata"] = schema.of(ObjectMeta)
    node.fields = fields
    node.required -= {"apiVersion", "kind", "metadata"}
    return node


def _read(raw: Any, path: str, errors: list[FieldError], depth: int) -> Node:
    if not isinstance(raw, Mapping):
        errors.append(invalid(path, raw, "must be a schema, that is an object"))
        return Node("any")
    if depth > _DEPTH_MAX:
        errors.append(invalid(path[:80], "...", f"schemas may be nested {_DEPTH_MAX} levels deep"))
        return Node("any")
    raw = well_typed(raw, path, errors)
    node = Node(_node_type(raw, path, errors))
    _read_shape(node, raw, path, errors, depth)
    _read_lists(node, raw, path, errors)
    _read_values(node, raw, path, errors)
    if "default" in raw:
        _read_default(node, raw["default"], path, errors)
    return node


def _node_type(raw: Schema, path: str, errors: list[FieldError]) -> NodeType:
    for keyword in _NEVER:
        if keyword in raw:
            errors.append(forbidden(f"{path}.{keyword}", "must not be used in a structural schema"))
    given = raw.get("type")
    if raw.get("x-kubernetes-int-or-string"):
        if given:
            errors.append(invalid(f"{path}.type", given, "must be empty if x-kubernetes-int-or-string is true"))
        return "int-or-string"
    if not given:
        if not raw.get("x-kubernetes-preserve-unknown-fields"):
            errors.append(required(f"{path}.type", "must not be empty for specified object fields"))
        return "any"
    if given not in _TYPES:
        errors.append(not_supported(f"{path}.type", given, tuple(_TYPES)))
        return "any"
    if given == "object" and raw.get("additionalProperties") not in (None, False):
        return "map"
    return _TYPES[given]


def _read_shape(node: Node, raw: Schema, path: str, errors: list[FieldError], depth: int) -> None:
    node.doc = str(raw.get("description") or "")
    node.nullable = bool(raw.get("nullable"))
    node.preserve_unknown = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
    node.embedded = bool(raw.get("x-kubernetes-embedded-resource"))
    properties = raw.get("properties") or {}
    others = raw.get("additionalProperties")
    if others is False:
        errors.append(forbidden(f"{path}.additionalProperties", "must not be false: unknown fields are dropped anyway"))
    if properties and others not in (None, False):
        errors.append(forbidden(f"{path}.additionalProperties", "cannot be used together with properties"))
    if node.type == "map":
        any_value = others is True or others == {}
        node.item = Node("any") if any_value else _read(others, f"{path}.additionalProperties", errors, depth + 1)
    elif node.type == "list":
        if "items" not in raw:
            errors.append(required(f"{path}.items", "an array says what its items are"))
        node.item = _read(raw.get("items") or {"type": "object"}, f"{path}.items", errors, depth + 1)
    else:
        if properties and node.type != "object":
            errors.append(forbidden(f"{path}.properties", "only an object has properties: set its type to object"))
        node.fields = {
            name: _read(part, f"{path}.properties[{name}]", errors, depth + 1) for name, part in properties.items()
        }
    node.required = frozenset(raw.get("required") or ())
    if node.embedded:
        _read_embedded(node, path, errors)


def _read_embedded(node: Node, path: str, errors: list[FieldError]) -> None:
    if node.type != "object":
        errors.append(invalid(f"{path}.type", node.type, "must be object if x-kubernetes-embedded-resource is true"))
        return
    if not node.fields and not node.preserve_unknown:
        errors.append(required(f"{path}.properties", "an embedded resource has properties or preserves unknown fields"))
    as_object(node)
    node.required |= {"apiVersion", "kind"}


def _read_lists(node: Node, raw: Schema, path: str, errors: list[FieldError]) -> None:
    list_type = raw.get("x-kubernetes-list-type")
    keys = tuple(raw.get("x-kubernetes-list-map-keys") or ())
    if list_type is not None and list_type not in _LIST_TYPES:
        errors.append(not_supported(f"{path}.x-kubernetes-list-type", list_type, _LIST_TYPES))
    elif list_type is not None and node.type != "list":
        errors.append(invalid(f"{path}.type", raw.get("type"), "must be array if x-kubernetes-list-type is specified"))
    elif list_type is not None:
        node.list_type, node.keys = str(list_type), keys
    if (list_type == "map") != bool(keys):
        detail = "x-kubernetes-list-type map and x-kubernetes-list-map-keys go together"
        errors.append(required(f"{path}.x-kubernetes-list-map-keys", detail))
    if node.keys and node.item is not None:
        _check_keys(node, node.item, path, errors)
    map_type = raw.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in _MAP_TYPES:
        errors.append(not_supported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES))
    node.atomic = map_type == "atomic"


def _check_keys(node: Node, item: Node, path: str, errors: list[FieldError]) -> None:
    for name in node.keys:
        child = item.fields.get(name)
        if child is None:
            errors.append(invalid(f"{path}.x-kubernetes-list-map-keys", name, "must be a property of the items"))
        elif name not in item.required and child.default is UNSET:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            errors.append(required(f"{path}.items.properties[{name}].default", detail))


def _read_values(node: Node, raw: Schema, path: str, errors: list[FieldError]) -> None:
    scalar = node.type in ("string", "integer", "number", "boolean", "int-or-string")
    node.enum = tuple(raw.get("enum") or ()) if scalar else ()
    node.minimum, node.maximum = raw.get("minimum"), raw.get("maximum")
    least, most = _SIZES.get(node.type, ("", ""))
    node.size_min, node.size_max = raw.get(least), raw.get(most)
    if raw.get("pattern") is not None:
        node.pattern = str(raw["pattern"])
        _check_pattern(node.pattern, f"{path}.pattern", errors)
    if raw.get("uniqueItems"):
        errors.append(forbidden(f"{path}.uniqueItems", "cannot be true: use x-kubernetes-list-type set instead"))
    elsewhere = ("uniqueItems", "enum") if scalar else ("uniqueItems",)
    node.values = {
        name: raw[name]
        for name in KEYWORDS
        if name not in elsewhere and (raw.get(name) or (name == "not" and name in raw))
    }
    if raw.get("exclusiveMinimum") or raw.get("exclusiveMaximum"):
        node.values |= {name: raw[name] for name in ("minimum", "maximum") if name in raw}
    for keyword in JUNCTORS:
        parts = [raw[keyword]] if keyword == "not" and keyword in raw else raw.get(keyword) or ()
        for index, part in enumerate(parts):
            at = f"{path}.not" if keyword == "not" else f"{path}.{keyword}[{index}]"
            errors += _junctor_errors(part, at, node.type == "int-or-string")
    node.rules = tuple(raw.get("x-kubernetes-validations") or ())


def _check_pattern(pattern: str, path: str, errors: list[FieldError]) -> None:
    try:
        compile_pattern(pattern)
    except re.error as error:
        errors.append(invalid(path, pattern, f"must be a valid regular expression: {error}"))


def _junctor_errors(part: Any, path: str, int_or_string: bool, depth: int = 0) -> list[FieldError]:
    """Inside of oneOf and its like, only values may be restricted."""
    if not isinstance(part, Mapping) or depth > _DEPTH_MAX:
        return [invalid(path[:200], part, f"must be a schema, nested at most {_DEPTH_MAX} levels deep")]
    errors: list[FieldError] = []
    part = well_typed(part, path, errors)
    for keyword in _SHAPE_ONLY:
        if keyword in part and not (int_or_string and keyword == "type"):
            detail = "must not be set here: say it outside of oneOf, anyOf, allOf and not"
            errors.append(forbidden(f"{path}.{keyword}", detail))
    if "pattern" in part:
        _check_pattern(part["pattern"], f"{path}.pattern", errors)
    for name, inner in _schemas_below(part):
        errors += _junctor_errors(inner, f"{path}.{name}", int_or_string, depth + 1)
    return errors


def _schemas_below(part: Schema) -> Iterator[tuple[str, Any]]:
    for name, inner in (part.get("properties") or {}).items():
        yield f"properties[{name}]", inner
    for keyword in ("items", "not"):
        if keyword in part:
            yield keyword, part[keyword]
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(part.get(keyword) or ()):
            yield f"{keyword}[{index}]", inner


def _read_default(node: Node, default: Any, path: str, errors: list[FieldError]) -> None:
    if default is None and not node.nullable:
        return  # null means absent
    if default is not None and not errors:
        _clean, found = check(default, node, path=f"{path}.default")
        errors += found.errors
        errors += [invalid(name, default, "must not have unknown fields") for name in found.unknown]
    node.default = default
