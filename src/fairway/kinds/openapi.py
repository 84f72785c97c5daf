"""Schemas as OpenAPI writes them: inline for a CustomResourceDefinition, with references for /openapi/v3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from fairway.kinds.kind import Kind, Version
from fairway.kinds.schema import Node, of

Ref = Callable[[Node], dict[str, Any] | None]

_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"},
    "boolean": {"type": "boolean"},
    "int-or-string": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    "quantity": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}


def openapi_schema(node: Node, ref: Ref | None = None, *, depth: int = 0) -> dict[str, Any]:
    """A node as an OpenAPI v3 schema. ref may answer with a reference for an object instead of its fields."""
    schema = _shape(node, ref, depth)
    if node.doc and not ("allOf" in schema and node.struct is not None and node.doc == of(node.struct).doc):
        schema["description"] = node.doc
    if node.default is not UNSET:
        schema["default"] = node.default
    if node.enum:
        schema["enum"] = list(node.enum)
    if node.nullable:
        schema["nullable"] = True
    if node.preserve_unknown:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if node.embedded:
        schema["x-kubernetes-embedded-resource"] = True
    if node.rules:
        schema["x-kubernetes-validations"] = [dict(rule) for rule in node.rules]
    _bounds(schema, node)
    return schema | node.values


def _shape(node: Node, ref: Ref | None, depth: int) -> dict[str, Any]:
    if node.type == "object":
        reference = ref(node) if ref is not None and depth > 0 else None
        if reference is not None:
            # A reference stands alone: what is said beside it would be ignored.
            return {"allOf": [reference]}
        return _object(node, ref, depth)
    if node.type == "map":
        assert node.item is not None
        schema: dict[str, Any] = {
            "type": "object",
            "additionalProperties": openapi_schema(node.item, ref, depth=depth + 1),
        }
        if node.atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema
    if node.type == "list":
        assert node.item is not None
        schema = {"type": "array", "items": openapi_schema(node.item, ref, depth=depth + 1)}
        if node.list_type:
            schema["x-kubernetes-list-type"] = node.list_type
        if node.keys:
            schema["x-kubernetes-list-map-keys"] = list(node.keys)
        return schema
    return dict(_SCALARS[node.type])


def _object(node: Node, ref: Ref | None, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if node.fields:
        schema["properties"] = {
            name: openapi_schema(child, ref, depth=depth + 1) for name, child in node.fields.items()
        }
    required = sorted(name for name in node.required if node.fields[name].default is UNSET)
    if required:
        schema["required"] = required
    if node.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _bounds(schema: dict[str, Any], node: Node) -> None:
    if node.minimum is not None:
        schema["minimum"] = node.minimum
    if node.maximum is not None:
        schema["maximum"] = node.maximum
    if node.pattern is not None:
        schema["pattern"] = node.pattern
    names = {
        "string": ("minLength", "maxLength"),
        "list": ("minItems", "maxItems"),
        "map": ("minProperties", "maxProperties"),
        "object": ("minProperties", "maxProperties"),
    }.get(node.type)
    if names is not None:
        for name, size in zip(names, (node.size_min, node.size_max), strict=True):
            if size is not None:
                schema[name] = size


class Definitions:
    """The schemas of a document, each type once, by a name that says where it comes from."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}

    def add(self, kind: Kind, version: Version) -> str:
        """Add a kind and all that it refers to; the name under which it stands."""
        group = ".".join(reversed(kind.group.split("."))) if kind.group else "io.k8s.api.core"
        name = f"{group}.{version.name}.{kind.name}"
        if name not in self.schemas:
            self.schemas[name] = {}
            schema = openapi_schema(version.node, self._ref)
            schema["x-kubernetes-group-version-kind"] = [
                {"group": kind.group, "version": version.name, "kind": kind.name}
            ]
            self.schemas[name] = schema
        return name

    def _ref(self, node: Node) -> dict[str, Any] | None:
        if node.struct is None:
            return None
        name = f"{node.struct.__module__}.{node.struct.__name__}"
        if name not in self.schemas:
            self.schemas[name] = {}
            self.schemas[name] = openapi_schema(of(node.struct), self._ref)
        return {"$ref": f"#/components/schemas/{name}"}
