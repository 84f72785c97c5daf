"""How core/v1 objects refer to each other and to parts of themselves."""

from __future__ import annotations

from typing import ClassVar

from fairway.kinds.types import UNSET, Annotated, F, Int32, Int64, Opt, Quantity, Type


class ObjectReference(Type):
    kind: Opt[Annotated[str, F(proto=1)]] = UNSET
    namespace: Opt[Annotated[str, F(proto=2)]] = UNSET
    name: Opt[Annotated[str, F(proto=3)]] = UNSET
    uid: Opt[Annotated[str, F(proto=4)]] = UNSET
    api_version: Opt[Annotated[str, F(proto=5)]] = UNSET
    resource_version: Opt[Annotated[str, F(proto=6)]] = UNSET
    field_path: Opt[Annotated[str, F(proto=7)]] = UNSET


class LocalObjectReference(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET


class TypedLocalObjectReference(Type):
    api_group: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    kind: Annotated[str, F(proto=2)] = ""
    name: Annotated[str, F(proto=3)] = ""


class TypedObjectReference(Type):
    api_group: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    kind: Annotated[str, F(proto=2)] = ""
    name: Annotated[str, F(proto=3)] = ""
    namespace: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class SecretReference(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    namespace: Opt[Annotated[str, F(proto=2)]] = UNSET


class ConfigMapKeySelector(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    key: Annotated[str, F(proto=2)] = ""
    optional: Opt[Annotated[bool, F(proto=3, zero=True)]] = UNSET


class SecretKeySelector(LocalObjectReference):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {1: LocalObjectReference}

    key: Annotated[str, F(proto=2)] = ""
    optional: Opt[Annotated[bool, F(proto=3, zero=True)]] = UNSET


class FileKeySelector(Type):
    volume_name: Annotated[str, F(proto=1)] = ""
    path: Annotated[str, F(proto=2)] = ""
    key: Annotated[str, F(proto=3)] = ""
    optional: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET


class ObjectFieldSelector(Type):
    api_version: Opt[Annotated[str, F(proto=1)]] = UNSET
    field_path: Annotated[str, F(proto=2)] = ""


class ResourceFieldSelector(Type):
    container_name: Opt[Annotated[str, F(proto=1)]] = UNSET
    resource: Annotated[str, F(proto=2)] = ""
    divisor: Opt[Annotated[Quantity, F(proto=3)]] = UNSET


class KeyToPath(Type):
    key: Annotated[str, F(proto=1)] = ""
    path: Annotated[str, F(proto=2)] = ""
    mode: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET
    user: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET
