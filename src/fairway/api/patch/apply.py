"""Server-side apply: who wrote which field, what an applied configuration changes, and with whom it conflicts.

Ownership lives in metadata.managedFields, one entry per writer. An applier owns exactly the fields of its last configuration; other
writers own what they changed last. Most objects are never applied to: for them only the names of writers are kept, and
`synthesize` makes entries of those when the first apply comes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from fairway.api.patch import fieldset, structure
from fairway.api.patch.entries import Entries, Entry, cap, checked, entries_of, metadata_of, read, render
from fairway.api.patch.errors import NESTED_TOO_DEEP, PatchError
from fairway.api.patch.fieldset import FieldSet
from fairway.kinds.schema import Node

Operation = Literal["Apply", "Update"]

BEFORE_FIRST_APPLY = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_CLIENT_SIDE_APPLY = "kubectl-client-side-apply"
_METADATA: FieldSet = {"f:metadata": {".": {}}}
"""Stays whatever anybody gives up: the object's identity is in it."""
_LAST_APPLIED_FIELD: FieldSet = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}


class Writer(NamedTuple):
    """Somebody who wrote an object whose fields are not tracked."""

    manager: str
    operation: Operation
    api_version: str
    time: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that somebody else owns."""

    manager: str
    api_version: str
    """Empty if the other one is an applier: it may change versions."""
    field: str
    subresource: str = ""

    @property
    def owner(self) -> str:
        owner = f'"{self.manager}"'
        if self.subresource:
            owner += f' with subresource "{self.subresource}"'
        return f"{owner} using {self.api_version}" if self.api_version else owner

    @property
    def message(self) -> str:
        return f"conflict with {self.owner}"


class Conflict(Exception):
    """The applied configuration changes fields of others."""

    def __init__(self, causes: Sequence[Cause]) -> None:
        self.causes = tuple(causes)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        if len(self.causes) == 1:
            return f"Apply failed with 1 conflict: {self.causes[0].message}: {self.causes[0].field}"
        lines: list[str] = []
        for owner in dict.fromkeys(cause.owner for cause in self.causes):
            lines.append(f"conflicts with {owner}:")
            lines.extend(f"- {cause.field}" for cause in self.causes if cause.owner == owner)
        return f"Apply failed with {len(self.causes)} conflicts: " + "\n".join(lines)


def apply(
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    manager: str,
    api_version: str,
    force: bool,
    time: str,
    node: Node,
    subresource: str | None = None,
    *,
    ignored: Collection[str] = (),
) -> tuple[dict[str, Any], Entries]:
    """The object after an apply (with its managedFields) and these managedFields; `live` itself if nothing changed.

    `ignored` names top-level fields that this endpoint does not write, as `status` for an object with that subresource.
    """
    try:
        return _Apply(live or {}, applied, manager, api_version, force, time, node, subresource or "", ignored).run()
    except RecursionError:
        raise PatchError(NESTED_TOO_DEEP) from None


class _Apply:
    def __init__(
        self,
        live: dict[str, Any],
        applied: dict[str, Any],
        manager: str,
        api_version: str,
        force: bool,
        time: str,
        node: Node,
        subresource: str,
        ignored: Collection[str],
    ) -> None:
        if not isinstance(applied, dict):
            raise PatchError("an apply patch is an object")
        if not isinstance(applied.get("metadata", {}), dict):
            raise PatchError("metadata must be an object")
        if metadata_of(applied).get("managedFields"):
            raise PatchError("metadata.managedFields must be nil in an apply patch: the server writes it")
        self.live = live
        self.applied = {name: each for name, each in applied.items() if name not in ignored} if ignored else applied
        self.force = force
        self.time = time
        self.node = node
        self.own = Entry(manager, "Apply", api_version, time, subresource, {})

    def run(self) -> tuple[dict[str, Any], Entries]:
        live = self.live
        given = entries_of(live)
        if live and not given:
            given = synthesize(live, (), self.node, self.own.api_version, self.time)
        entries = [read(entry) for entry in given]
        identity = self.own.identity
        last = next((entry for entry in entries if entry.identity == identity), None)
        others = [entry for entry in entries if entry.identity != identity]
        fields = structure.fields(self.applied, self.node, every=False)
        merged = structure.merge(live, self.applied, self.node)
        if last is not None and last.fields != fields:
            merged = self._prune(merged, last.fields, fields, others)
        written, removed = structure.diff(live, merged, self.node)
        if written:
            others = self._take(others, written)
        if removed:
            others = [entry.owning(fieldset.without(entry.fields, removed)) for entry in others]
        if self.own.manager == _KUBECTL:
            merged = _sync_last_applied(merged, self.applied)
        own = self.own.owning(fields)
        if last is not None and merged is live and last.fields == fields and last.api_version == own.api_version:
            own = last
        entries = [entry for entry in (*others, own) if entry.fields]
        return _with_entries(live, merged, render(entries))

    def _prune(self, merged: dict[str, Any], last: FieldSet, fields: FieldSet, others: list[Entry]) -> dict[str, Any]:
        """Take out what this manager applied before and no longer does, unless others own it too."""
        gone = fieldset.difference(last, fields)
        keep = [_METADATA, fields, *(entry.fields for entry in others)]
        result: dict[str, Any] = structure.remove(merged, gone, self.node, keep)
        return result

    def _take(self, others: list[Entry], written: FieldSet) -> list[Entry]:
        """Others without the fields that this apply changes; a conflict if it may not."""
        taken = [(entry, fieldset.intersection(entry.fields, written)) for entry in others]
        if not self.force:
            causes = [
                (entry, path)
                for entry, fields in sorted(taken, key=lambda pair: pair[0].identity)
                for path in fieldset.members(fields)
            ]
            if causes and self.own.manager == _KUBECTL:
                allowed = _client_side_applied(self.live, self.own.api_version, self.node)
                causes = [(entry, path) for entry, path in causes if not fieldset.contains(allowed, path)]
            if causes:
                raise Conflict([_cause(entry, path) for entry, path in causes])
        return [entry.owning(fieldset.difference(entry.fields, fields)) if fields else entry for entry, fields in taken]


def _cause(entry: Entry, path: fieldset.Path) -> Cause:
    version = "" if entry.operation == "Apply" else entry.api_version
    return Cause(entry.manager, version, fieldset.show(path), entry.subresource)


def update(
    old: dict[str, Any] | None,
    new: dict[str, Any],
    managed_fields: Entries,
    manager: str,
    api_version: str,
    time: str,
    node: Node,
    subresource: str | None = None,
) -> Entries:
    """The entries after any other write: what it added or changed is now this writer's alone, what it removed is nobody's.

    Objects without entries stay without, unless they are just being created (`old` is None). Entries other than those of `old` are
    what a client wrote in their stead; if they cannot be read, those of `old` count.
    """
    if old is not None and not managed_fields:
        return managed_fields
    managed_fields = checked(managed_fields, entries_of(old))
    try:
        written, removed = structure.diff(old or {}, new, node)
    except RecursionError:
        raise PatchError(NESTED_TOO_DEEP) from None
    if not written and not removed:
        return managed_fields
    entries = [read(entry) for entry in managed_fields]
    own = Entry(manager, "Update", api_version, time, subresource or "", {})
    identity = own.identity
    result: list[Entry] = []
    for entry in entries:
        fields = fieldset.without(entry.fields, removed) if removed else entry.fields
        if entry.identity == identity:
            own = own.owning(fields) if written else entry.owning(fields)
        else:
            result.append(entry.owning(fieldset.difference(fields, written) if written else fields))
    result.append(own.owning(fieldset.union(own.fields, written)) if written else own)
    return render(cap([entry for entry in result if entry.fields]))


def synthesize(
    obj: dict[str, Any], writers: Iterable[Writer], node: Node, api_version: str = "", time: str = ""
) -> Entries:
    """Entries for an object of which only the writers are known.

    Status goes to the last who wrote it by its subresource, the rest to the last who wrote the object itself. What has no known writer
    goes to `before-first-apply`, in the version and at the time given here. Of a client-side applier more is known: its configuration.
    It owns that and nothing else, or kubectl, which hands all it owned to the server-side applier, would take away what the server filled in.
    """
    main = status = Writer(BEFORE_FIRST_APPLY, "Update", api_version or obj.get("apiVersion", ""), time)
    client_side: Writer | None = None
    has_status_writer = False
    for writer in writers:
        if writer.subresource == "status":
            status, has_status_writer = writer, True
        else:
            main = writer
        if writer.manager == _CLIENT_SIDE_APPLY:
            client_side = writer
    fields = structure.fields(obj, node, every=True)
    shares = {main: fields}
    if has_status_writer and "f:status" in fields:
        shares = {main: {name: below for name, below in fields.items() if name != "f:status"}}
        shares[status] = {"f:status": fields["f:status"]}
    if client_side and (configured := _client_side_applied(obj, client_side.api_version, node)):
        configured = fieldset.union(configured, _LAST_APPLIED_FIELD)
        if client_side != main:
            shares[main] = fieldset.difference(shares[main], configured)
        shares[client_side] = configured
    return render([Entry(*writer, fields=share) for writer, share in shares.items() if share])


def _with_entries(live: dict[str, Any], merged: dict[str, Any], entries: Entries) -> tuple[dict[str, Any], Entries]:
    """The object with these entries in it; the live one itself if it has them already."""
    given = metadata_of(live).get("managedFields")
    if given == entries and given is not None:
        entries = given
        if merged is live:
            return live, entries
    metadata = dict(metadata_of(merged))
    metadata["managedFields"] = entries
    return {**merged, "metadata": metadata}, entries


def _client_side_applied(live: dict[str, Any], api_version: str, node: Node) -> FieldSet:
    """Fields that `kubectl apply` set and that still are as it set them: `kubectl apply --server-side` may take them over."""
    text = _annotations(live).get(LAST_APPLIED)
    if not isinstance(text, str):
        return {}
    try:
        applied = msgspec.json.decode(text)
        if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
            return {}
        fields = structure.fields(applied, node, every=False)
        written, removed = structure.diff(applied, live, node)
    except (msgspec.DecodeError, PatchError):
        return {}
    return fieldset.without(fieldset.difference(fields, written), removed)


_encode = msgspec.json.Encoder(order="sorted").encode


def _sync_last_applied(merged: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """Keep the annotation of `kubectl apply` true where an object has it, so that both ways of applying may be mixed."""
    annotations = _annotations(merged)
    if not annotations.get(LAST_APPLIED):
        return merged
    config = applied
    given = _annotations(applied)
    if LAST_APPLIED in given:
        rest = {name: value for name, value in given.items() if name != LAST_APPLIED}
        config = {**applied, "metadata": {**applied["metadata"], "annotations": rest}}
    text = _encode(config).decode() + "\n"
    if annotations[LAST_APPLIED] == text:
        return merged
    return {**merged, "metadata": {**merged["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}}


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    annotations = metadata_of(obj).get("annotations")
    return annotations if isinstance(annotations, dict) else {}
