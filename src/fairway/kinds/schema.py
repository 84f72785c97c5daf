"""The schema of a type as a tree of nodes, read from its Structs (or, for a user's CRD, from its OpenAPI schema).

Everything that must know the shape of an object without knowing its kind works on nodes: the check of unknown fields and types,
strategic merge patch, server-side apply, protobuf and OpenAPI.
"""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairway.kinds.types import Base64, MicroTime, Quantity, Time

NodeType = Literal[
    "object",
    "map",
    "list",
    "string",
    "integer",
    "number",
    "boolean",
    "int-or-string",
    "quantity",
    "time",
    "microtime",
    "bytes",
    "any",
]

StructType: TypeAlias = type[msgspec.Struct]
_SCALARS: dict[Any, NodeType] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    Quantity: "quantity",
    Time: "time",
    MicroTime: "microtime",
    Base64: "bytes",
    Any: "any",
    object: "any",
}


class Node:
    """One place in a schema. `fields` of an object are filled in on first use, so that types may refer to themselves."""

    __slots__ = (
        "_fields",
        "atomic",
        "default",
        "doc",
        "embedded",
        "enum",
        "item",
        "keys",
        "list_type",
        "maximum",
        "merge",
        "minimum",
        "nullable",
        "pattern",
        "preserve_unknown",
        "proto",
        "required",
        "retain_keys",
        "rules",
        "size_max",
        "size_min",
        "struct",
        "type",
        "values",
        "zero",
    )

    def __init__(self, type: NodeType) -> None:
        self.type = type
        self.struct: StructType | None = None
        self._fields: dict[str, Node] | None = None
        self.item: Node | None = None
        self.doc = ""
        self.default: Any = UNSET
        self.enum: tuple[Any, ...] = ()
        self.pattern: str | None = None
        self.minimum: float | None = None
        self.maximum: float | None = None
        self.size_min: int | None = None
        self.size_max: int | None = None
        self.required: frozenset[str] = frozenset()
        self.proto = 0
        self.zero = False
        self.keys: tuple[str, ...] = ()
        self.list_type = ""
        self.merge: str | None = None
        self.atomic = False
        self.retain_keys = False
        self.nullable = False
        self.preserve_unknown = False
        self.embedded = False
        self.rules: tuple[dict[str, Any], ...] = ()
        """CEL rules (x-kubernetes-validations)."""
        self.values: dict[str, Any] = {}
        """OpenAPI keywords about values that have no field here (oneOf, format …); see fairway.kinds.values."""

    @property
    def fields(self) -> dict[str, Node]:
        if self._fields is None:
            self._fields = _struct_fields(self.struct) if self.struct is not None else {}
        return self._fields

    @fields.setter
    def fields(self, fields: dict[str, Node]) -> None:
        self._fields = fields

    def child(self, name: str) -> Node | None:
        """The node below a JSON object's member, whether the object is a map or has named fields."""
        return self.item if self.type == "map" else self.fields.get(name)

    def __repr__(self) -> str:
        return f"Node({self.type}{':' + self.struct.__name__ if self.struct else ''})"


@cache
def of(struct: type[msgspec.Struct]) -> Node:
    """The root node of a Struct type."""
    node = Node("object")
    node.struct = struct
    node.doc = (struct.__doc__ or "").strip()
    node.required = frozenset(field.encode_name for field in _declared(struct) if field.required)
    return node


@cache
def _declared(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Asked once: working out annotations is much of a node's start."""
    return msgspec.structs.fields(struct)


@cache
def _struct_fields(struct: type[msgspec.Struct]) -> dict[str, Node]:
    """Shared by all places that hold this type."""
    return {field.encode_name: _read(field.type) for field in _declared(struct)}


def _read(annotation: Any) -> Node:
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        inner, *metas = get_args(annotation)
        node = _read(inner)
        for meta in metas:
            if isinstance(meta, Meta):
                node = _annotate(node, meta)
        return node
    if origin is typing.Union or origin is types.UnionType:
        return _read_union([arg for arg in get_args(annotation) if arg is not UnsetType])
    if origin is Literal:
        node = Node("string")
        node.enum = get_args(annotation)
        return node
    if origin is list:
        node = Node("list")
        node.item = _read(get_args(annotation)[0])
        return node
    if origin is dict:
        node = Node("map")
        node.item = _read(get_args(annotation)[1])
        return node
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return _copy(of(annotation))
    return Node(_SCALARS[annotation])


def _read_union(members: list[Any]) -> Node:
    optional = [member for member in members if member is not type(None)]
    if set(optional) == {int, str}:
        node = Node("int-or-string")
    elif len(optional) == 1:
        node = _read(optional[0])
    else:
        raise TypeError(f"a field cannot be any of {optional}: only int | str may be mixed")
    node.nullable = len(optional) != len(members)
    return node


def _copy(node: Node) -> Node:
    twin = Node(node.type)
    for slot in Node.__slots__:
        if slot != "_fields":
            setattr(twin, slot, getattr(node, slot))
    return twin


def _annotate(node: Node, meta: Meta) -> Node:
    if meta.description:
        node.doc = meta.description
    node.minimum = meta.ge if meta.ge is not None else node.minimum
    node.maximum = meta.le if meta.le is not None else node.maximum
    node.pattern = meta.pattern or node.pattern
    node.size_min = meta.min_length if meta.min_length is not None else node.size_min
    node.size_max = meta.max_length if meta.max_length is not None else node.size_max
    for name, value in (meta.extra or {}).items():
        setattr(node, name, value)
    return node
