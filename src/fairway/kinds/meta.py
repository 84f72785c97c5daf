"""Metadata that every object carries, and the shape of an object itself."""

from __future__ import annotations

import msgspec

from fairway.kinds.types import UNSET, Annotated, F, Json, Opt, Time, Type


class OwnerReference(Type):
    """An object that this one belongs to; when every owner is gone, this one goes too."""

    kind: Annotated[str, F("kind of the owner", proto=1)]
    name: Annotated[str, F("name of the owner", proto=3)]
    uid: Annotated[str, F("uid of the owner", proto=4)]
    api_version: Annotated[str, F("API version of the owner", proto=5)]
    controller: Opt[Annotated[bool, F("whether this owner manages the object; at most one does", proto=6)]] = UNSET
    block_owner_deletion: Opt[
        Annotated[bool, F("whether a foreground deletion of the owner waits for this object", proto=7)]
    ] = UNSET


class ManagedFieldsEntry(Type):
    """Which fields one writer set, for server-side apply."""

    manager: Opt[Annotated[str, F("name of the writer", proto=1)]] = UNSET
    operation: Opt[Annotated[str, F("Apply or Update", proto=2)]] = UNSET
    api_version: Opt[Annotated[str, F("version in which the fields are written", proto=3)]] = UNSET
    time: Opt[Annotated[Time, F("when the set last changed", proto=4)]] = UNSET
    fields_type: Opt[Annotated[str, F("always FieldsV1", proto=6)]] = UNSET
    fields_v1: Opt[Annotated[Json, F("the set of fields", proto=7)]] = UNSET
    subresource: Opt[Annotated[str, F("subresource through which it was written", proto=8)]] = UNSET


class ObjectMeta(Type):
    """Identity, versions, labels and lifecycle of an object."""

    # First on purpose: the store splices the revision in at the first occurrence (fairway.api.codec).
    resource_version: Opt[Annotated[str, F("version of this object, for optimistic concurrency", proto=6)]] = UNSET
    name: Opt[Annotated[str, F("unique among objects of the kind in the namespace", proto=1)]] = UNSET
    generate_name: Opt[Annotated[str, F("prefix for a generated name", proto=2)]] = UNSET
    namespace: Opt[Annotated[str, F("namespace that the object is in", proto=3)]] = UNSET
    self_link: Opt[Annotated[str, F("no longer set", proto=4)]] = UNSET
    uid: Opt[Annotated[str, F("unique over all time", proto=5)]] = UNSET
    generation: Opt[Annotated[int, F("counts changes of the desired state", proto=7)]] = UNSET
    creation_timestamp: Opt[Annotated[Time, F("when it was created", proto=8)]] = UNSET
    deletion_timestamp: Opt[Annotated[Time, F("when its deletion was asked for", proto=9)]] = UNSET
    deletion_grace_period_seconds: Opt[Annotated[int, F("seconds it may take to end", proto=10)]] = UNSET
    labels: Opt[Annotated[dict[str, str], F("key-value pairs to select by", proto=11)]] = UNSET
    annotations: Opt[Annotated[dict[str, str], F("key-value pairs for tools", proto=12)]] = UNSET
    owner_references: Opt[
        Annotated[list[OwnerReference], F("objects it belongs to", proto=13, keys=("uid",), merge="uid")]
    ] = UNSET
    finalizers: Opt[
        Annotated[list[str], F("what must happen before it is gone", proto=14, list_type="set", merge="")]
    ] = UNSET
    managed_fields: Opt[
        Annotated[list[ManagedFieldsEntry], F("which writer set which fields", proto=17, list_type="atomic")]
    ] = UNSET


class Object(Type):
    """Anything the API stores. Kinds add spec, status or fields of their own."""

    api_version: Opt[Annotated[str, F("group and version of this representation")]] = UNSET
    kind: Opt[Annotated[str, F("what kind of object this is")]] = UNSET
    metadata: Annotated[ObjectMeta, F("standard metadata", proto=1)] = msgspec.field(default_factory=ObjectMeta)
