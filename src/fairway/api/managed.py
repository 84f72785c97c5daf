"""Who set which field. Kept lazily: until an object is first server-side-applied, only the names of its writers are remembered.

Bookkeeping of every field on every write costs more than the rest of a write together, and nobody looks at it before the first apply. So the
store's header holds the writers of an object in one short shared string, and the full record is made from it when it is needed.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET

from fairway.api import codec
from fairway.api.patch import apply
from fairway.api.patch.apply import Writer
from fairway.api.request import Target
from fairway.kinds.kind import convert
from fairway.kinds.meta import ManagedFieldsEntry
from fairway.kinds.schema import Node
from fairway.kinds.types import Time

_ENTRIES = list[ManagedFieldsEntry]
_WRITERS_MAX = 16


@lru_cache(maxsize=1024)  # the same few write the same things over and over
def add_writer(writers: str, manager: str, api_version: str, subresource: str) -> str:
    """The remembered writers with this one as the latest."""
    entry = f"{manager}\t{api_version}\t{subresource}"
    if writers == entry or not writers:
        return sys.intern(entry)
    others = [line for line in writers.split("\n") if line != entry]
    return sys.intern("\n".join([*others[-_WRITERS_MAX + 1 :], entry]))


def with_known(obj: dict[str, Any], writers: str, node: Node) -> dict[str, Any]:
    """An object with its managed fields: its own, or made from what is remembered of its writers."""
    metadata = obj["metadata"]
    if metadata.get("managedFields"):
        return obj
    time = metadata.get("creationTimestamp", "")
    known = [_writer(line, time) for line in writers.split("\n") if line]
    entries = apply.synthesize(obj, known, node, obj.get("apiVersion", ""), time)
    return {**obj, "metadata": {**metadata, "managedFields": entries}}


def _writer(line: str, time: str) -> Writer:
    manager, api_version, subresource = line.split("\t")
    return Writer(manager, "Update", api_version, time, subresource)


def entries(value: list[dict[str, Any]]) -> _ENTRIES:
    result: _ENTRIES = convert(value, _ENTRIES)
    return result


def settled(old: Any, new: Any, applied: _ENTRIES) -> Any:
    """What an apply leaves behind: the entries that were there if nothing but their times would change."""
    known = old.metadata.managed_fields or []
    if len(known) != len(applied) or any(
        msgspec.structs.replace(a, time=b.time) != b for a, b in zip(applied, known, strict=True)
    ):
        return applied or UNSET
    new.metadata.managed_fields = old.metadata.managed_fields
    return old.metadata.managed_fields if new == old else applied or UNSET


def track(target: Target, old: Any, new: Any, sent: Any, manager: str, now: Time) -> None:
    """Bookkeeping of an ordinary update, for an object that has managed fields. An empty list sent by the client resets them."""
    if sent is not UNSET and not any(entry.manager for entry in sent):
        new.metadata.managed_fields = UNSET
        return
    base = old.metadata.managed_fields if target.subresource or sent is UNSET else sent
    new.metadata.managed_fields = UNSET
    updated = apply.update(
        codec.as_json(old),
        codec.as_json(new),
        codec.as_json_list(base if base is not UNSET else []),
        manager=manager,
        api_version=target.kind.api_version(target.kind.storage_version.name),
        time=now,
        node=target.kind.storage_version.node,
        subresource=target.subresource or None,
    )
    new.metadata.managed_fields = entries(updated) if updated else UNSET
