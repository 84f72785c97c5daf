"""The schema inside a CustomResourceDefinition, as protobuf writes it.

In JSON a schema is kept open, as its author wrote it; these types only tell the protobuf reader which number is which keyword.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fairway.kinds.types import UNSET, Annotated, F, Int64, Json, Opt, Type


class ExternalDocumentation(Type):
    description: Opt[Annotated[str, F(proto=1)]] = UNSET
    url: Opt[Annotated[str, F(proto=2)]] = UNSET


class ValidationRule(Type):
    rule: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    message: Opt[Annotated[str, F(proto=2)]] = UNSET
    message_expression: Opt[Annotated[str, F(proto=3)]] = UNSET
    reason: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    field_path: Opt[Annotated[str, F(proto=5)]] = UNSET
    optional_old_self: Opt[Annotated[bool, F(proto=6, zero=True)]] = UNSET


class SchemaOrArray(Type):
    PROTO_ONE_OF: ClassVar[tuple[str, ...]] = ("schema", "schemas")

    schema: Opt[Annotated[JSONSchemaProps, F(proto=1)]] = UNSET
    schemas: Opt[Annotated[list[JSONSchemaProps], F(proto=2)]] = UNSET


class SchemaOrBool(Type):
    PROTO_ONE_OF: ClassVar[tuple[str, ...]] = ("schema", "allows")

    allows: Opt[Annotated[bool, F(proto=1, zero=True)]] = UNSET
    schema: Opt[Annotated[JSONSchemaProps, F(proto=2)]] = UNSET


class SchemaOrStrings(Type):
    PROTO_ONE_OF: ClassVar[tuple[str, ...]] = ("schema", "property")

    schema: Opt[Annotated[JSONSchemaProps, F(proto=1)]] = UNSET
    property: Opt[Annotated[list[str], F(proto=2)]] = UNSET


class JSONSchemaProps(Type):
    id: Opt[Annotated[str, F(proto=1)]] = UNSET
    schema: Opt[Annotated[str, F(proto=2)]] = field(default=UNSET, name="$schema")
    ref: Opt[Annotated[str, F(proto=3, zero=True)]] = field(default=UNSET, name="$ref")
    description: Opt[Annotated[str, F(proto=4)]] = UNSET
    type: Opt[Annotated[str, F(proto=5)]] = UNSET
    format: Opt[Annotated[str, F(proto=6)]] = UNSET
    title: Opt[Annotated[str, F(proto=7)]] = UNSET
    default: Opt[Annotated[Json, F(proto=8)]] = UNSET
    maximum: Opt[Annotated[float, F(proto=9, zero=True)]] = UNSET
    exclusive_maximum: Opt[Annotated[bool, F(proto=10)]] = UNSET
    minimum: Opt[Annotated[float, F(proto=11, zero=True)]] = UNSET
    exclusive_minimum: Opt[Annotated[bool, F(proto=12)]] = UNSET
    max_length: Opt[Annotated[Int64, F(proto=13, zero=True)]] = UNSET
    min_length: Opt[Annotated[Int64, F(proto=14, zero=True)]] = UNSET
    pattern: Opt[Annotated[str, F(proto=15)]] = UNSET
    max_items: Opt[Annotated[Int64, F(proto=16, zero=True)]] = UNSET
    min_items: Opt[Annotated[Int64, F(proto=17, zero=True)]] = UNSET
    unique_items: Opt[Annotated[bool, F(proto=18)]] = UNSET
    multiple_of: Opt[Annotated[float, F(proto=19, zero=True)]] = UNSET
    enum: Opt[Annotated[list[Json], F(proto=20)]] = UNSET
    max_properties: Opt[Annotated[Int64, F(proto=21, zero=True)]] = UNSET
    min_properties: Opt[Annotated[Int64, F(proto=22, zero=True)]] = UNSET
    required: Opt[Annotated[list[str], F(proto=23)]] = UNSET
    items: Opt[Annotated[SchemaOrArray, F(proto=24)]] = UNSET
    all_of: Opt[Annotated[list[JSONSchemaProps], F(proto=25)]] = UNSET
    one_of: Opt[Annotated[list[JSONSchemaProps], F(proto=26)]] = UNSET
    any_of: Opt[Annotated[list[JSONSchemaProps], F(proto=27)]] = UNSET
    not_: Opt[Annotated[JSONSchemaProps, F(proto=28)]] = field(default=UNSET, name="not")
    properties: Opt[Annotated[dict[str, JSONSchemaProps], F(proto=29)]] = UNSET
    additional_properties: Opt[Annotated[SchemaOrBool, F(proto=30)]] = UNSET
    pattern_properties: Opt[Annotated[dict[str, JSONSchemaProps], F(proto=31)]] = UNSET
    dependencies: Opt[Annotated[dict[str, SchemaOrStrings], F(proto=32)]] = UNSET
    additional_items: Opt[Annotated[SchemaOrBool, F(proto=33)]] = UNSET
    definitions: Opt[Annotated[dict[str, JSONSchemaProps], F(proto=34)]] = UNSET
    external_docs: Opt[Annotated[ExternalDocumentation, F(proto=35)]] = UNSET
    example: Opt[Annotated[Json, F(proto=36)]] = UNSET
    nullable: Opt[Annotated[bool, F(proto=37)]] = UNSET
    preserve_unknown_fields: Opt[Annotated[bool, F(proto=38, zero=True)]] = field(
        default=UNSET, name="x-kubernetes-preserve-unknown-fields"
    )
    embedded_resource: Opt[Annotated[bool, F(proto=39)]] = field(default=UNSET, name="x-kubernetes-embedded-resource")
    int_or_string: Opt[Annotated[bool, F(proto=40)]] = field(default=UNSET, name="x-kubernetes-int-or-string")
    list_map_keys: Opt[Annotated[list[str], F(proto=41)]] = field(default=UNSET, name="x-kubernetes-list-map-keys")
    list_type: Opt[Annotated[str, F(proto=42, zero=True)]] = field(default=UNSET, name="x-kubernetes-list-type")
    map_type: Opt[Annotated[str, F(proto=43, zero=True)]] = field(default=UNSET, name="x-kubernetes-map-type")
    validations: Opt[Annotated[list[ValidationRule], F(proto=44)]] = field(
        default=UNSET, name="x-kubernetes-validations"
    )
