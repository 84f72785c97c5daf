"""Protobuf bodies: written by a small encoder here, read by the real decoder; and bytes that nobody should have sent."""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairway.kinds import protobuf, schema
from fairway.kinds.k8s.apiextensions import CustomResourceDefinition
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.k8s.core.config import ConfigMap, Secret
from fairway.kinds.k8s.core.event import Event
from fairway.kinds.k8s.core.namespace import Namespace
from fairway.kinds.k8s.core.node import Node as ClusterNode
from fairway.kinds.k8s.core.pod import Pod
from fairway.kinds.k8s.core.service import Service
from fairway.kinds.k8s.meta import DeleteOptions
from fairway.kinds.k8s.policy import PodDisruptionBudget
from fairway.kinds.k8s.reviews.authentication import TokenReview
from fairway.kinds.k8s.reviews.authorization import SelfSubjectAccessReview
from fairway.kinds.kind import convert
from fairway.kinds.protobuf import ProtobufError
from fairway.kinds.schema import Node
from fairway.kinds.types import parse_time

ROOTS = [
    Pod,
    Job,
    Secret,
    ConfigMap,
    Event,
    Namespace,
    ClusterNode,
    Service,
    PodDisruptionBudget,
    TokenReview,
    SelfSubjectAccessReview,
    DeleteOptions,
]


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def chunk(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def field(number: int, node: Node, value: Any) -> bytes:
    if node.type in ("integer", "boolean"):
        return varint(number << 3) + varint(int(value))
    if node.type == "number":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if node.type == "list":
        return b"".join(field(number, node.item, item) for item in value)  # type: ignore[arg-type]
    if node.type == "map":
        return b"".join(
            chunk(number, chunk(1, key.encode()) + single(2, node.item, item))  # type: ignore[arg-type]
            for key, item in value.items()
        )
    return chunk(number, payload(node, value))


def single(number: int, node: Node, value: Any) -> bytes:
    if node.type == "list":
        return chunk(number, field(1, node, value))
    return field(number, node, value)


def payload(node: Node, value: Any) -> bytes:
    match node.type:
        case "object":
            assert node.struct is not None
            return message(node.struct, value)
        case "string":
            return str(value).encode()
        case "bytes":
            return base64.b64decode(value)
        case "quantity":
            return chunk(1, value.encode())
        case "int-or-string" if isinstance(value, str):
            return varint(1 << 3) + varint(1) + chunk(3, value.encode())
        case "int-or-string":
            return varint(1 << 3) + varint(0) + varint(2 << 3) + varint(value)
        case "time" | "microtime":
            moment = parse_time(value)
            return varint(1 << 3) + varint(int(moment.timestamp())) + varint(2 << 3) + varint(moment.microsecond * 1000)
        case "any":
            return chunk(1, msgspec.json.encode(value))
    raise AssertionError(node)


def message(kind: type[msgspec.Struct], value: dict[str, Any]) -> bytes:
    out, nodes = b"", schema.of(kind).fields
    inherited: set[str] = set()
    for number, parent in kind.__dict__.get("PROTO_INLINE", {}).items():
        names = {one.encode_name for one in msgspec.structs.fields(parent)}
        inherited |= names
        out += chunk(number, message(parent, {name: value[name] for name in names & value.keys()}))
    for name, item in value.items():
        if name not in inherited and nodes[name].proto:
            out += field(nodes[name].proto, nodes[name], item)
    return out


def body(kind: type[msgspec.Struct], value: dict[str, Any], api_version: str = "v1", name: str = "Thing") -> bytes:
    meta = chunk(1, api_version.encode()) + chunk(2, name.encode())
    return protobuf.MAGIC + chunk(1, meta) + chunk(2, message(kind, value)) + chunk(3, b"") + chunk(4, b"")


def decoded(kind: type[msgspec.Struct], value: dict[str, Any]) -> dict[str, Any]:
    found = protobuf.decode(body(kind, value), schema.of(kind))
    assert (found.pop("apiVersion"), found.pop("kind")) == ("v1", "Thing")
    return found


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
MOMENTS = st.integers(1, 2**32).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC).replace(microsecond=seconds % 10**6)
)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.integers(-(2**31), 2**31 - 1).filter(bool),
    "number": st.floats(allow_nan=False).filter(bool),
    "boolean": st.just(True),
    "bytes": st.binary(min_size=1, max_size=8).map(lambda data: base64.b64encode(data).decode()),
    "quantity": st.sampled_from(["0", "500m", "2", "128Gi", "1e3"]),
    "int-or-string": st.integers(-5, 70000) | TEXTS,
    "time": MOMENTS.map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "microtime": MOMENTS.map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    "any": st.dictionaries(TEXTS, st.integers(0, 9) | TEXTS | st.lists(st.booleans(), max_size=2), max_size=2),
}


def values(node: Node, depth: int = 0) -> st.SearchStrategy[Any]:
    if node.type == "object":
        assert node.struct is not None
        return objects(node.struct, depth + 1)
    if node.type in ("list", "map"):
        assert node.item is not None
        items = values(node.item, depth)
        return (
            st.lists(items, min_size=1, max_size=2)
            if node.type == "list"
            else st.dictionaries(TEXTS, items, min_size=1, max_size=2)
        )
    return SCALARS[node.type]


def objects(kind: type[msgspec.Struct], depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """JSON of a type: a handful of its fields at a time, so that examples stay small and reach deep."""
    fields = {name: node for name, node in schema.of(kind).fields.items() if node.proto}
    names = sorted(fields)

    def pick(chosen: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({name: values(fields[name], depth) for name in chosen})

    most = 3 if depth < 6 else 1
    return st.lists(st.sampled_from(names), max_size=most, unique=True).flatmap(pick) if names else st.just({})


@given(st.sampled_from(ROOTS).flatmap(lambda kind: st.tuples(st.just(kind), objects(kind))))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_was_written_is_read_back(example: tuple[type[msgspec.Struct], dict[str, Any]]) -> None:
    kind, value = example
    assert decoded(kind, value) == value


def survives(data: bytes, kind: type[msgspec.Struct]) -> bool:
    """The bytes are read as JSON or refused with words; any other exception fails the test."""
    try:
        return bool(msgspec.json.encode(protobuf.decode(data, schema.of(kind))))
    except ProtobufError as error:
        return bool(str(error))


@given(st.sampled_from(ROOTS), st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_noise_is_refused_or_read_but_never_breaks(kind: type[msgspec.Struct], noise: bytes) -> None:
    assert survives(protobuf.MAGIC + chunk(2, noise), kind)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_damaged_body_is_refused_or_read_but_never_breaks(data: st.DataObject) -> None:
    good = body(Job, JOB)
    at = data.draw(st.integers(0, len(good) - 1))
    cut = data.draw(st.booleans())
    bad = good[:at] if cut else good[:at] + bytes([data.draw(st.integers(0, 255))]) + good[at + 1 :]
    assert survives(bad, Job)


JOB: dict[str, Any] = {
    "metadata": {"name": "j", "labels": {"a": "b"}, "creationTimestamp": "2026-01-31T12:00:00Z"},
    "spec": {
        "parallelism": 0,
        "suspend": False,
        "backoffLimit": 3,
        "activeDeadlineSeconds": -1,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                        "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 5},
                    }
                ],
                "volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": 0}}],
            }
        },
    },
}


def test_a_job_as_kubectl_writes_it_is_read_whole() -> None:
    found = decoded(Job, JOB)
    assert found == JOB
    assert convert(found, Job).spec.template.spec.containers[0].name == "c"


def test_zeros_of_plain_fields_mean_absent_and_zeros_of_optional_ones_stay() -> None:
    written = {"metadata": {"name": "", "generation": 0}, "spec": {"hostNetwork": False, "priority": 0, "hostname": ""}}
    assert decoded(Pod, written) == {"metadata": {}, "spec": {"priority": 0}}


def test_a_zero_time_means_absent() -> None:
    raw = chunk(1, chunk(1, b"ns") + chunk(8, b""))  # metadata with name and an empty creationTimestamp
    found = protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(Namespace))
    assert found == {"metadata": {"name": "ns"}}


def test_an_empty_value_in_a_map_is_the_zero_of_its_type() -> None:
    raw = chunk(2, chunk(1, b"key"))  # data: {key: ""}
    assert protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(ConfigMap)) == {"data": {"key": ""}}


def test_packed_and_unpacked_numbers_read_the_same() -> None:
    rule = {"onExitCodes": {"operator": "In", "values": [1, 42]}}
    spec: dict[str, Any] = {"podFailurePolicy": {"rules": [rule]}}
    unpacked = decoded(Job, {"spec": spec})
    packed_rule = chunk(2, chunk(2, b"In") + chunk(3, varint(1) + varint(42)))
    raw = chunk(2, chunk(11, chunk(1, packed_rule)))
    packed = protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(Job))
    assert packed == unpacked == {"spec": spec}


def test_lists_in_maps_are_wrapped_in_a_message() -> None:
    value = {"status": {"user": {"username": "u", "extra": {"scopes": ["a", "b"]}}}}
    assert decoded(TokenReview, value) == value


def test_fields_of_newer_clients_are_passed_over() -> None:
    extra = chunk(999, b"new") + varint(998 << 3 | 5) + b"abcd" + varint(997 << 3 | 1) + b"abcdefgh"
    raw = message(Namespace, {"metadata": {"name": "n"}}) + extra
    assert protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(Namespace)) == {"metadata": {"name": "n"}}


def test_a_message_written_in_parts_is_put_together() -> None:
    raw = message(Namespace, {"metadata": {"name": "n"}}) + message(Namespace, {"metadata": {"labels": {"a": "b"}}})
    found = protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(Namespace))
    assert found == {"metadata": {"name": "n", "labels": {"a": "b"}}}


def test_json_inside_the_envelope_is_taken_as_it_is() -> None:
    wrapped = protobuf.MAGIC + chunk(2, b'{"metadata":{"name":"n"}}') + chunk(4, b"application/json")
    assert protobuf.decode(wrapped, schema.of(Namespace)) == {"metadata": {"name": "n"}}


def test_the_envelope_names_the_kind_before_the_object_is_read() -> None:
    envelope = protobuf.unwrap(body(Job, JOB, "batch/v1", "Job"))
    assert (envelope.api_version, envelope.kind) == ("batch/v1", "Job")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "four bytes"),
        (b"{}", "four bytes"),
        (protobuf.MAGIC + b"\x12", "cut off"),
        (protobuf.MAGIC + b"\x12\x05ab", "ends before its 5 bytes"),
        (protobuf.MAGIC + b"\x13", "wire type 3"),
        (protobuf.MAGIC + b"\x02\x00", "field number 0"),
        (protobuf.MAGIC + b"\x10\x01", "expected length-delimited"),
        (protobuf.MAGIC + b"\xff" * 11, "longer than 64 bits"),
        (protobuf.MAGIC + chunk(3, b"gzip"), "unencoded"),
        (protobuf.MAGIC + chunk(2, chunk(1, chunk(1, b"\xff"))), "metadata.name: not UTF-8"),
        (protobuf.MAGIC + chunk(2, chunk(1, varint(1 << 3) + b"\x01")), "metadata.name: written as a varint"),
        (protobuf.MAGIC + chunk(2, chunk(1, chunk(8, varint(1 << 3) + varint(2**62)))), "no time of this era"),
        (protobuf.MAGIC + chunk(2, b"[]") + chunk(4, b"application/json"), "not an object"),
        (protobuf.MAGIC + chunk(2, b"{") + chunk(4, b"application/json"), "not JSON"),
    ],
)
def test_a_broken_body_is_refused_with_the_place_and_the_reason(data: bytes, says: str) -> None:
    with pytest.raises(ProtobufError, match=says):
        protobuf.decode(data, schema.of(Namespace))


def test_a_kind_without_field_numbers_asks_for_json() -> None:
    with pytest.raises(ProtobufError, match="send JSON"):
        protobuf.decode(protobuf.MAGIC + chunk(2, b""), Node("object"))


def test_the_schema_of_a_crd_is_read_keyword_by_keyword() -> None:
    count = chunk(5, b"integer") + varint(11 << 3 | 1) + struct.pack("<d", 0.0)  # type, minimum
    tags = chunk(5, b"array") + chunk(24, chunk(1, chunk(5, b"string")))  # items: a single schema
    extra = chunk(5, b"object") + chunk(30, varint(1 << 3) + b"\x00")  # additionalProperties: false
    properties = b"".join(
        chunk(29, chunk(1, name) + chunk(2, one))
        for name, one in ((b"count", count), (b"tags", tags), (b"extra", extra))
    )
    rule = chunk(44, chunk(1, b"self.count > 0"))
    version = chunk(1, b"v1") + chunk(4, chunk(1, chunk(5, b"object") + properties + rule))
    raw = chunk(2, chunk(7, version))
    found = protobuf.decode(protobuf.MAGIC + chunk(2, raw), schema.of(CustomResourceDefinition))
    assert found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 0.0},
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {"type": "object", "additionalProperties": False},
        },
        "x-kubernetes-validations": [{"rule": "self.count > 0"}],
    }
