"""Request bodies: JSON, YAML and protobuf, as JSON text or as a JSON value."""

from __future__ import annotations

from typing import Any

import yaml

from fairway.api.codec import Body, parse
from fairway.api.errors import ApiError, bad_request, unsupported_media_type
from fairway.kinds.protobuf import ProtobufError
from fairway.kinds.protobuf import decode as decode_protobuf
from fairway.kinds.schema import Node
from fairway.server.negotiate import JSON, PROTOBUF, YAML, YAML_NAMES


def read_body(content_type: str, data: bytes, node: Node, *, native: bool) -> Body:
    """A body of a kind whose schema is node. JSON stays text: it is decoded once, straight into its type."""
    media = media_type(content_type)
    if media in (JSON, "text/json", ""):
        if not data.strip():
            raise bad_request("the request has no body: send the object as JSON")
        return data
    if media == PROTOBUF and native:
        try:
            return decode_protobuf(data, node)
        except ProtobufError as error:
            raise bad_request(f"the body is not valid protobuf: {error}") from None
    if media in YAML_NAMES:
        value = read_yaml(data)
        if not isinstance(value, dict):
            raise bad_request("the body must be one YAML document with an object in it")
        return value
    raise unsupported_media_type((JSON, YAML, PROTOBUF) if native else (JSON, YAML))


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_yaml(data: bytes) -> Any:
    """YAML without aliases: they can make a small text a huge object. JSON is YAML, and much faster to read as JSON."""
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return parse(data)
        except ApiError:
            pass  # a YAML flow mapping looks like JSON
    try:
        for event in yaml.parse(data, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise bad_request("YAML anchors and aliases are not accepted here: write the values out")
        return _plain(yaml.load(data, Loader=_Loader))
    except RecursionError:
        raise bad_request("the body is nested too deeply to be an object") from None
    except (yaml.YAMLError, ValueError) as error:
        raise bad_request(f"the body is not valid YAML: {' '.join(str(error).split())}") from None


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: times are text, and a key is given once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            names = [key.value for key, _value in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((name for index, name in enumerate(names) if name in names[:index]), "")
            if twice:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {twice!r} is given twice in one mapping", node.start_mark
                )
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise bad_request(f"the body has a YAML value of type {type(value).__name__} that JSON does not know")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (str, int, float)):
        return str(key)
    raise bad_request("the body has a mapping whose key is not a string")
