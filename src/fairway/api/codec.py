"""Bytes to typed objects and back: the fast way for what is right, the careful way for what is not.

A stored value is the JSON of the storage version with an empty resourceVersion as the first field of its metadata; the store fills it in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET

from fairway.api.errors import bad_request, invalid
from fairway.kinds import schema
from fairway.kinds.check import DEPTH_MAX, check, deeper_than, json_type
from fairway.kinds.defaults import fill
from fairway.kinds.errors import ErrorType
from fairway.kinds.kind import Kind, Version, convert, decode
from fairway.kinds.meta import Object, ObjectMeta
from fairway.kinds.types import encode, to_json

Strictness = Literal["Ignore", "Warn", "Strict"]
Body = bytes | dict[str, Any]
"""A request's body: JSON text, or a JSON value that was read from YAML or protobuf or made by a patch."""


def read(kind: Kind, version: Version, body: Body, strictness: Strictness = "Warn") -> tuple[Object, list[str]]:
    """A typed object of that version, and warnings. Raises ApiError for what is malformed, mistyped or (Strict) unknown."""
    if version.root is None:
        try:
            if isinstance(body, bytes):
                obj: Object = decode(body, version.type)
            else:
                obj = convert(body, version.type)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            pass
        else:
            _check_type(kind, version, obj.api_version, obj.kind)
            if _open_ended(version.type) and deeper_than(parse(body) if isinstance(body, bytes) else body, DEPTH_MAX):
                raise bad_request(f"the body is nested deeper than {DEPTH_MAX} levels")
            return obj, []
    return _read_carefully(kind, version, body, strictness)


@cache
def _open_ended(struct: type[Object]) -> bool:
    """Whether objects of a type may hold JSON of any shape (beside managed fields), so that only its text bounds how deep it is."""
    seen: set[int] = set()
    nodes = [schema.of(struct)]
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.type == "any" or node.preserve_unknown:
            return True
        nodes += [child for name, child in node.fields.items() if name != "managedFields"]
        if node.item is not None:
            nodes.append(node.item)
    return False


def _read_carefully(kind: Kind, version: Version, body: Body, strictness: Strictness) -> tuple[Object, list[str]]:
    value = parse(body) if isinstance(body, bytes) else body
    if not isinstance(value, dict):
        raise bad_request(f"the body must be an object of kind {kind.name}, not {json_type(value)}")
    _check_type(kind, version, value.get("apiVersion"), value.get("kind"))
    clean, found = check(value, version.node)
    refused = f'{kind.name} in version "{version.name}" cannot be handled as a {kind.name}: '
    if kind.native and any(error.type is ErrorType.TYPE_INVALID for error in found.errors):
        raise bad_request(refused + ", ".join(str(error) for error in found.errors))
    if found.unknown and strictness == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in found.unknown)
        raise bad_request(refused + "strict decoding error: " + listed)
    # A native kind says itself what may repeat: two variables of one name are fine in a container.
    errors = [error for error in found.errors if not (kind.native and error.type is ErrorType.DUPLICATE)]
    if errors:
        name = (clean.get("metadata") or {}).get("name", "") if isinstance(clean, dict) else ""
        raise invalid(kind, name, errors)
    try:
        obj: Object = convert(clean, version.type)
    except (msgspec.MsgspecError, ValueError) as error:
        raise bad_request(refused + str(error)) from None
    warnings = [f'unknown field "{path}"' for path in found.unknown] if strictness == "Warn" else []
    return obj, warnings


def parse(body: bytes) -> Any:
    """JSON text to a value, with an error that says where it breaks."""
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise bad_request("the body is nested too deeply to be an object") from None
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is not valid JSON: {error}") from None
    except UnicodeDecodeError:
        raise bad_request("the body is not valid JSON: a text in it is not UTF-8") from None


def _check_type(kind: Kind, version: Version, api_version: Any, name: Any) -> None:
    wanted = kind.api_version(version.name)
    if name not in (kind.name, UNSET, None, "") or api_version not in (wanted, UNSET, None, ""):
        given = f"{name if name not in (UNSET, None) else kind.name}"
        shown = str(api_version).rpartition("/")[2] if api_version not in (UNSET, None, "") else version.name
        if name in (kind.name, UNSET, None, ""):
            why = f"the API version in the data ({api_version}) does not match the expected API version ({wanted})"
        else:
            why = f"the request is for kind {kind.name} ({wanted}), the body is a {given}"
        raise bad_request(f'{given} in version "{shown}" cannot be handled as a {kind.name}: {why}')


def to_storage(kind: Kind, version: Version, obj: Object) -> Any:
    """The object in its storage version, static defaults of both versions filled in."""
    fill(obj)
    if version.to_storage is not None:
        obj = version.to_storage(obj)
        fill(obj)
    home = kind.home
    obj.api_version, obj.kind = home.api_version(home.storage_version.name), home.name
    return obj


def stored(kind: Kind, value: bytes) -> Any:
    """A stored value as a typed object of the storage version."""
    return decode(value, kind.home.storage_version.type)


def served(kind: Kind, version: Version, value: bytes) -> bytes:
    """A stored value as bytes of a served version; the stored bytes themselves where that is the storage version."""
    if version.from_storage is not None:
        return encode(_serve(kind, version, value))
    # A user may choose another version to store in: what was stored before still carries the old one's name.
    if version.name == kind.storage_version.name and version.root is None:
        return value
    return _relabel(kind, version, value)


def served_object(kind: Kind, version: Version, value: bytes) -> Any:
    """A stored value as a typed object of a served version."""
    return decode(served(kind, version, value), version.type)


def _serve(kind: Kind, version: Version, value: bytes) -> Any:
    assert version.from_storage is not None
    obj = version.from_storage(stored(kind, value))
    obj.api_version, obj.kind = kind.api_version(version.name), kind.name
    return obj


def _relabel(kind: Kind, version: Version, value: bytes) -> bytes:
    """Versions of one shape differ in one word, the first of the object."""
    head = b'{"apiVersion":"%s"' % kind.api_version(version.name).encode()
    if value.startswith(head):
        return value
    return head + value[value.index(b'"', len(b'{"apiVersion":"')) + 1 :]


def as_json(obj: Any) -> dict[str, Any]:
    result: dict[str, Any] = to_json(obj)
    return result


def as_json_list(items: Any) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = to_json(items)
    return result


def write(kind: Kind, obj: Any) -> bytes:
    """An object of the storage version as the bytes to store, waiting for its revision."""
    kind = kind.home
    obj.api_version, obj.kind = kind.api_version(kind.storage_version.name), kind.name
    obj.metadata.resource_version = ""
    return encode(obj)


FieldReader: TypeAlias = Callable[[Any], str]


class Header(msgspec.Struct, gc=False):
    """What the store keeps beside the bytes."""

    labels: tuple[str, ...]
    owners: tuple[str, ...]
    fields: tuple[str, ...]


def header(kind: Kind, obj: Any) -> Header:
    kind = kind.home
    meta: ObjectMeta = obj.metadata
    return Header(
        labels=_labels(meta.labels) if meta.labels else (),
        owners=tuple(owner.uid for owner in meta.owner_references) if meta.owner_references else (),
        fields=_fields(kind, obj) if kind.selectable else (),
    )


def _labels(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Keys are shared between objects, equal values within one: labels are most of an object's overhead."""
    flat: list[str] = []
    seen: dict[str, str] = {}
    for key, value in labels.items():
        flat.append(sys.intern(key))
        flat.append(seen.setdefault(value, value))
    return tuple(flat)


@lru_cache(maxsize=512)
def field_readers(
    paths: tuple[str, ...], special: tuple[tuple[str, FieldReader], ...], struct: type[Any]
) -> tuple[FieldReader, ...]:
    """What reads each of some fields of a Struct as text."""
    own = dict(special)
    return tuple(own.get(path) or _field_reader(struct, path.split(".")) for path in paths)


def _fields(kind: Kind, obj: Any) -> tuple[str, ...]:
    reader = _at_once(kind.selectable, kind.selectable_as, type(obj))  # type: ignore[arg-type]
    if reader is not None:
        get, special = reader
        try:
            found = [value if type(value) is str else _text(value) for value in get(obj)]
        except AttributeError:  # something on the way is not there
            pass
        else:
            for index, read in special:
                found.insert(index, read(obj))
            return tuple(found)
    return tuple([read(obj) for read in field_readers(kind.selectable, kind.selectable_as, type(obj))])  # type: ignore[arg-type]


_Special = list[tuple[int, FieldReader]]


@lru_cache(maxsize=512)
def _at_once(
    paths: tuple[str, ...], special: tuple[tuple[str, FieldReader], ...], struct: type[Any]
) -> tuple[Callable[[Any], Any], _Special] | None:
    """What gets all fields at once, where they are plain members of Structs, and those that are not, by their place."""
    own = dict(special)
    names = [_attribute_path(struct, path.split(".")) for path in paths if path not in own]
    if None in names or len(names) < 2:
        return None
    return attrgetter(*names), [(index, own[path]) for index, path in enumerate(paths) if path in own]  # type: ignore[arg-type]


def _attribute_path(struct: Any, path: list[str]) -> str | None:
    if not (isinstance(struct, type) and issubclass(struct, msgspec.Struct)):
        return None
    field = next((each for each in msgspec.structs.fields(struct) if each.encode_name == path[0]), None)
    if field is None or len(path) == 1:
        return field.name if field is not None else None
    below = _attribute_path(_struct_in(field.type), path[1:])
    return None if below is None else f"{field.name}.{below}"


def _struct_in(annotation: Any) -> Any:
    """The one Struct that a field may hold."""
    if isinstance(annotation, type):
        return annotation
    return next(
        (
            found
            for each in get_args(annotation)
            if isinstance(found := _struct_in(each), type) and issubclass(found, msgspec.Struct)
        ),
        None,
    )


def _text(value: Any) -> str:
    if value is UNSET or value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return sys.intern(str(value))


def _field_reader(struct: type[Any], path: list[str]) -> FieldReader:
    plain = _attribute_path(struct, path)
    if plain is not None:
        names = plain.split(".")

        def read_attribute(obj: Any) -> str:
            for name in names:
                obj = getattr(obj, name, UNSET)  # of what is not there, nothing is there
            return obj if type(obj) is str else _text(obj)

        return read_attribute

    def read_field(obj: Any) -> str:
        value = obj
        for name in path:
            if isinstance(value, msgspec.Struct):
                value = getattr(value, attributes(type(value)).get(name, ""), UNSET)
            elif isinstance(value, dict):
                value = value.get(name, UNSET)
            else:
                return ""
        return _text(value)

    return read_field


def no_status(struct: type[msgspec.Struct]) -> Any:
    """The status of an object that nobody has reported on yet: absent, or empty where the type always has one."""
    make = _status_default(struct)
    return UNSET if make is None else make()


@cache
def _status_default(struct: type[msgspec.Struct]) -> Callable[[], Any] | None:
    make = next(field.default_factory for field in msgspec.structs.fields(struct) if field.name == "status")
    return None if make is msgspec.NODEFAULT else make


@cache
def attributes(struct: type[msgspec.Struct]) -> dict[str, str]:
    """JSON names of a Struct's fields to the names of its attributes."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(struct)}


class Glance(msgspec.Struct, rename="camel", gc=False):
    """The few facts about a stored object that bookkeeping needs."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] = []
    generation: int = 0
    resource_version: str = ""


class _Shallow(msgspec.Struct, rename="camel", gc=False):
    metadata: Glance


_shallow = msgspec.json.Decoder(_Shallow)
_UID, _METADATA, _DELETION = b'"uid":"', b'"metadata":{', b'"deletionTimestamp":"'
_DEPTH = 2
"""Brackets before what is the object's own: the object's, and its metadata's."""


def identity(body: Body) -> tuple[str, str]:
    """Name and namespace in a body that a client wants to write."""
    if type(body) is dict and type(known := body.get("metadata")) is dict:
        name, namespace = known.get("name", ""), known.get("namespace", "")
        if type(name) is str and type(namespace) is str:
            return name, namespace
    try:
        meta = glance(body) if isinstance(body, bytes) else convert(body.get("metadata"), Glance)
    except (msgspec.MsgspecError, ValueError) as error:
        raise bad_request(f"the body has no readable metadata: {error}") from None
    return meta.name, meta.namespace


def uid_of(value: bytes) -> str:
    """As it stands in bytes that we have written ourselves, where only plain texts come before it; others are decoded."""
    at = value.find(_UID)
    if not 0 <= at < value.find(b"}") or value.count(b"{", 0, at) != _DEPTH or value.find(_METADATA, 0, at) < 0:
        return glance(value).uid
    at += len(_UID)
    return value[at : value.index(b'"', at)].decode()


def is_leaving(value: bytes) -> bool:
    """Whether the deletion of a stored object was asked for. Of its metadata, that comes before all that has brackets of its own."""
    at = value.find(_DELETION, 0, value.find(b"}"))
    return at >= 0 and value.count(b"{", 0, at) == _DEPTH


def glance(value: bytes) -> Glance:
    """Without decoding the rest."""
    return _shallow.decode(value).metadata
