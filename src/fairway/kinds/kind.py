"""What the API knows about a kind: names, versions, columns, and the few functions that make it more than JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, cast

import msgspec

from fairway.kinds import names, schema
from fairway.kinds.errors import FieldError
from fairway.kinds.meta import Object
from fairway.kinds.schema import Node
from fairway.kinds.types import decode_scalar

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. `value` reads it from an object's JSON; wide ones show with -o wide."""

    name: str
    value: Callable[[Mapping[str, Any], Moment], Any]
    type: str = "string"
    wide: bool = False
    format: str = ""
    description: str = ""
    path: str = ""
    """Where the value is, as JSONPath, if it is that simple: how the column is shown in a CustomResourceDefinition."""


class Moment(Protocol):
    """The present, for columns that show an age."""

    @property
    def now(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps what the scale subresource shows, as JSONPath."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A served version. `to_storage` and `from_storage` convert an object's Struct to and from the kind's storage version."""

    name: str
    type: type[Object]
    columns: tuple[Column, ...] = ()
    to_storage: Callable[[Any], Any] | None = None
    from_storage: Callable[[Any], Any] | None = None
    deprecated: str = ""
    """Warning sent with every answer in this version, if any."""
    root: Node | None = None
    """Schema of a kind whose Struct says less than its schema (a user's CRD)."""
    served: bool = True
    """False for a version that objects are stored in but nobody may ask for."""
    scale: Scale | None = None

    @property
    def node(self) -> Node:
        return self.root if self.root is not None else schema.of(self.type)


def _nothing(_new: Any, _old: Any | None) -> None:
    return None


def _no_errors(_new: Any, _old: Any | None) -> list[FieldError]:
    return []


def _at_once(_old: Any, _asked: int | None) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object. Functions get Structs of the storage version and may change `new` in place where they say so."""

    group: str
    name: str
    plural: str
    versions: tuple[Version, ...]
    """Served versions, the one that discovery prefers first."""
    storage: str = ""
    """Version that objects are stored in; the first one if empty."""
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    """Subresources served beside the object itself: "status", "scale" …"""
    verbs: tuple[str, ...] = ALL_VERBS
    native: bool = False
    """Kubernetes' own kind: strategic merge patch and protobuf are spoken, and a type error is a bad request."""
    builtin_crd: bool = False
    """Listed as a CustomResourceDefinition: Kueue's, KubeFleet's and our own kinds."""
    volatile: bool = False
    """Never worth an fsync: Events and Leases."""
    selectable: tuple[str, ...] = ()
    """Field labels that a field selector may name, beside metadata.name and metadata.namespace."""
    selectable_as: tuple[tuple[str, Callable[[Any], str]], ...] = ()
    """How to read those field labels that are not simply the value at their path."""
    spec_fields: tuple[str, ...] = ("spec",)
    """Top-level fields whose change bumps metadata.generation; empty for kinds without a generation."""
    default: Callable[[Any, Any | None], None] = _nothing
    """default(new, old): fill in what the writer left out. old is None on create."""
    prepare: Callable[[Any, Any | None], None] = _nothing
    """prepare(new, old): like default, but after identity (name, uid) is known; derived fields go here."""
    validate: Callable[[Any, Any | None], list[FieldError]] = _no_errors
    """validate(new, old): errors; old is None on create."""
    name_rule: Callable[[str], list[str]] = names.dns_subdomain
    """What is wrong with a name, if anything (fairway.kinds.names)."""
    validate_status: Callable[[Any, Any | None], list[FieldError]] = _no_errors
    warn: Callable[[Any, Any | None], list[str]] = field(default=lambda _new, _old: [])
    grace: Callable[[Any, int | None], int] = _at_once
    """grace(old, asked): seconds that whoever looks after the object gets to end it in good order; 0 deletes it at once."""

    view_of: Kind | None = None
    """The kind whose objects this one shows in another group: its versions convert to and from that kind's storage version."""

    # Asked for several times in every request, so known beforehand:
    bucket: str = field(init=False, repr=False, compare=False)
    """Its full name, plural.group, as kubectl has it. The store keeps its objects under that name."""
    home: Kind = field(init=False, repr=False, compare=False)
    """The kind that its objects are stored as: itself, unless it is a view."""
    storage_version: Version = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known: dict[str, Any] = {
            "bucket": f"{self.plural}.{self.group}" if self.group else self.plural,
            "home": self.view_of or self,
            "storage_version": self.version(self.storage) if self.storage else self.versions[0],
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def version(self, name: str) -> Version:
        for version in self.versions:
            if version.name == name:
                return version
        raise KeyError(name)

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


@lru_cache(maxsize=1024)
def _decoder(type: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(type, dec_hook=decode_scalar).decode


def decode(body: bytes, type: type[Any]) -> Any:
    """Bytes to a Struct; msgspec's errors pass through (see fairway.kinds.check for the careful way)."""
    decoder: Callable[[bytes], Any] = _decoder(cast(Hashable, type))
    return decoder(body)


def convert(value: Any, type: type[Any]) -> Any:
    """Plain JSON values to a Struct."""
    return msgspec.convert(value, type=type, dec_hook=decode_scalar)


def names_of(kinds: Sequence[Kind]) -> list[str]:
    return [kind.name for kind in kinds]
