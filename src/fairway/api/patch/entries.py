"""metadata.managedFields: who owns which fields of an object, one entry per writer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from fairway.api.patch import fieldset
from fairway.api.patch.errors import PatchError
from fairway.api.patch.fieldset import FieldSet

Entries: TypeAlias = list[dict[str, Any]]

ANCIENT_CHANGES = "ancient-changes"
UPDATERS_MAX = 10


@dataclass(slots=True, eq=False)
class Entry:
    """One writer and its fields. Never changed once made: frozen would say so, and cost as much as all the rest of reading one."""

    manager: str
    operation: str
    api_version: str
    time: str
    subresource: str
    fields: FieldSet
    source: dict[str, Any] | None = None
    """The entry as it was read, for as long as it is unchanged."""

    @property
    def identity(self) -> tuple[str, ...]:
        """An applier is the same in every version; other writers are told apart by it."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.manager, self.operation, self.subresource, version)

    def owning(self, fields: FieldSet) -> Entry:
        if fields is self.fields:
            return self
        return Entry(self.manager, self.operation, self.api_version, self.time, self.subresource, fields)

    def render(self) -> dict[str, Any]:
        if self.source is not None:
            return self.source
        entry: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fieldset.render(self.fields),
            "subresource": self.subresource,
        }
        return {name: value for name, value in entry.items() if value != ""}


def requested(live: dict[str, Any] | None, new: dict[str, Any], subresource: str | None = None) -> Entries:
    """The entries that a write starts from. Clients may rewrite them, and an empty list (or one empty entry) resets them;
    one that leaves them out leaves them as they are."""
    kept = entries_of(live)
    given = metadata_of(new).get("managedFields")
    if subresource or not isinstance(given, list):
        return kept
    return [] if given in ([], [{}]) else checked(given, kept)


def checked(given: Entries, kept: Entries) -> Entries:
    """Entries that a client may have written, in the form that we compare; if they cannot be read, those that were there."""
    if given is kept or given == kept:
        return kept
    try:
        return render([read_strictly(entry) for entry in given])
    except PatchError:
        return kept


def entries_of(obj: dict[str, Any] | None) -> Entries:
    return metadata_of(obj or {}).get("managedFields") or []


def metadata_of(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def read(entry: dict[str, Any]) -> Entry:
    """An entry that we wrote or checked."""
    return Entry(
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("time", ""),
        entry.get("subresource", ""),
        entry.get("fieldsV1") or {},
        entry,
    )


def read_strictly(entry: Any) -> Entry:
    """An entry that a client wrote."""
    if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
        raise PatchError("operation must be `Apply` or `Update`")
    if entry.get("fieldsType") != "FieldsV1" or not entry.get("apiVersion"):
        raise PatchError("an entry needs fieldsType FieldsV1 and an apiVersion")
    if not all(isinstance(entry.get(name, ""), str) for name in ("manager", "apiVersion", "time", "subresource")):
        raise PatchError("manager, apiVersion, time and subresource must be strings")
    return read(entry).owning(fieldset.parse(entry.get("fieldsV1") or {}))


def render(entries: list[Entry]) -> Entries:
    """Appliers first, then the others, each by time."""
    return [entry.render() for entry in sorted(entries, key=_order)]


def _order(entry: Entry) -> tuple[str, ...]:
    return (entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource)


def cap(entries: list[Entry]) -> list[Entry]:
    """Fold the oldest updaters of a version into one, so that controllers with changing names do not pile up."""
    updaters = sorted((entry for entry in entries if entry.operation == "Update"), key=_order)
    excess = len(updaters) - UPDATERS_MAX
    if excess <= 0:
        return entries
    buckets: dict[str, list[Entry]] = {}
    for entry in updaters:
        bucket = buckets.setdefault(entry.api_version, [])
        if excess > 0 or not bucket:
            excess -= bool(bucket)
            bucket.append(entry)
    folded = {id(entry) for bucket in buckets.values() if len(bucket) > 1 for entry in bucket}
    result = [entry for entry in entries if id(entry) not in folded]
    for version, bucket in buckets.items():
        if len(bucket) > 1:
            fields: FieldSet = {}
            for entry in bucket:
                fields = fieldset.union(fields, entry.fields)
            result.append(Entry(ANCIENT_CHANGES, "Update", version, bucket[-1].time, "", fields))
    return result
