"""Bodies as real clients write them, through the reader that the API uses: nulls, repeated names, protobuf, the wrong types."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api import codec
from fairway.api.errors import ApiError
from fairway.kinds import protobuf
from fairway.kinds.k8s.batch.kinds import JOB
from fairway.kinds.k8s.core.kinds import NAMESPACE, POD
from fairway.kinds.kind import Kind
from fairway.kinds.types import to_json


def read(kind: Kind, body: dict[str, Any]) -> tuple[Any, list[str]]:
    return codec.read(kind, kind.versions[0], msgspec.json.encode(body))


def test_what_a_go_client_leaves_empty_is_absent() -> None:
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "creationTimestamp": None},
        "spec": {
            "template": {
                "metadata": {"creationTimestamp": None},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}], "restartPolicy": "Never"},
            }
        },
        "status": {},
    }
    found, warnings = read(JOB, body)
    assert warnings == []
    assert "creationTimestamp" not in to_json(found)["metadata"]


def test_a_variable_may_be_set_twice_in_a_body_that_needs_care() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    body = {"metadata": {"name": "p", "creationTimestamp": None}, "spec": {"containers": [{"name": "c", "env": env}]}}
    found, _ = read(POD, body)
    assert [one.value for one in found.spec.containers[0].env] == ["1", "2"]


def test_unknown_fields_are_named_where_they_are() -> None:
    body = {"metadata": {"nope": 1}, "spec": {"paralelism": 1, "template": {"spec": {"containers": [{"imag": "x"}]}}}}
    _, warnings = read(JOB, body)
    assert warnings == [
        'unknown field "metadata.nope"',
        'unknown field "spec.paralelism"',
        'unknown field "spec.template.spec.containers[0].imag"',
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"parallelism": "three"}},
        {"spec": {"template": {"spec": {"containers": {}}}}},
        {"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]}}}},
        {"spec": {"parallelism": 2**31}},
        {"metadata": {"labels": {"a": 1}}},
        {"status": {"startTime": "yesterday"}},
    ],
)
def test_the_wrong_type_never_reaches_the_store(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError):
        read(JOB, body)


def test_protobuf_is_read_like_json() -> None:
    meta = b"\x0a\x02v1\x12\x09Namespace"
    raw = b"\x0a\x04\x0a\x02ns"  # metadata: {name: ns}
    wire = protobuf.MAGIC + b"\x0a" + bytes([len(meta)]) + meta + b"\x12" + bytes([len(raw)]) + raw
    found, warnings = codec.read(NAMESPACE, NAMESPACE.versions[0], protobuf.decode(wire, NAMESPACE.versions[0].node))
    assert (found.metadata.name, warnings) == ("ns", [])
