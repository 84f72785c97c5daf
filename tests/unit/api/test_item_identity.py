"""An item from this process knows whose it is without being read."""

from __future__ import annotations

import msgspec
import pytest

from fairway.api import codec
from fairway.api.client import Item
from fairway.kinds.meta import Object, ObjectMeta
from fairway.kinds.types import Time, encode


@pytest.mark.parametrize(
    "metadata",
    [
        {"resourceVersion": "1", "name": "a", "namespace": "b", "uid": "own", "labels": {"uid": "other"}},
        {"labels": {"uid": "other"}, "name": "a", "uid": "own"},
        {"ownerReferences": [{"uid": "other"}], "name": "a", "uid": "own"},
        {"name": 'a "uid": {', "uid": "own"},
        {"annotations": {"x": '"uid":"other"'}, "uid": "own"},
        {"uid": "own"},
    ],
)
def test_the_uid_is_the_objects_own_wherever_it_stands(metadata: dict[str, object]) -> None:
    value = msgspec.json.encode({"apiVersion": "v1", "kind": "Thing", "metadata": metadata, "spec": {"uid": "spec"}})
    assert codec.uid_of(value) == "own"


def test_a_uid_of_the_spec_is_not_the_objects() -> None:
    assert codec.uid_of(b'{"spec":{"uid":"spec"},"metadata":{"uid":"own"}}') == "own"


def test_an_object_without_a_uid_has_none() -> None:
    assert codec.uid_of(b'{"metadata":{"name":"a"},"spec":{"uid":"spec"}}') == ""


def test_items_are_equal_by_what_they_hold() -> None:
    assert Item(b"{}", "a/b", "u", 3) == Item(b"{}")
    assert Item(b"{}") != Item(b"[]")


def test_an_item_whose_uid_nobody_has_read_yet_reads_it_when_asked() -> None:
    value = b'{"metadata":{"name":"b","namespace":"a","uid":"own"}}'
    listed = Item(value, "a/b", revision=3)
    assert (listed.uid, listed.version) == ("own", "3")
    assert Item(value, "a/b", "given", 3).uid == "given"


@pytest.mark.parametrize(
    "metadata",
    [
        ObjectMeta(name="a"),
        ObjectMeta(name="a", labels={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        ObjectMeta(name="a", annotations={"x": '"deletionTimestamp":"2026-01-01T00:00:00Z"'}),
    ],
)
def test_what_leaves_is_told_from_what_only_says_so_in_its_labels(metadata: ObjectMeta) -> None:
    assert not codec.is_leaving(encode(Object(api_version="v1", kind="Thing", metadata=metadata)))
    metadata.deletion_timestamp = Time("2026-01-01T00:00:00Z")
    assert codec.is_leaving(encode(Object(api_version="v1", kind="Thing", metadata=metadata)))
