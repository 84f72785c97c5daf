"""Rules that hold for the metadata of every object."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from fairway.kinds import names
from fairway.kinds.errors import FieldError, forbidden, invalid, required
from fairway.kinds.kind import Kind
from fairway.kinds.meta import ObjectMeta

ANNOTATIONS_BYTES_MAX = 256 << 10


def validate(kind: Kind, meta: ObjectMeta, old: ObjectMeta | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if old is None:
        errors += _name_errors(kind, meta)
    if meta.labels and (old is None or meta.labels != old.labels):
        for key, value in meta.labels.items():
            if not names.is_qualified_name(key):
                errors += [invalid("metadata.labels", key, why) for why in names.qualified_name(key)]
            errors += [invalid("metadata.labels", value, why) for why in names.label_value(value)]
    if meta.annotations and (old is None or meta.annotations != old.annotations):
        errors += _annotation_errors(meta.annotations)
    if meta.owner_references and (old is None or meta.owner_references != old.owner_references):
        errors += _owner_errors(meta)
    if meta.finalizers and (old is None or meta.finalizers != old.finalizers):
        errors += _finalizer_errors(meta, old)
    return errors


def _name_errors(kind: Kind, meta: ObjectMeta) -> list[FieldError]:
    if not meta.name:
        return [required("metadata.name", "name or generateName is required")]
    return [invalid("metadata.name", meta.name, why) for why in kind.name_rule(meta.name)]


def _annotation_errors(annotations: dict[str, str]) -> list[FieldError]:
    errors = [
        invalid("metadata.annotations", key, why)
        for key in annotations
        if not names.is_qualified_name(key.lower())
        for why in names.qualified_name(key.lower())
    ]
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATIONS_BYTES_MAX:
        errors.append(invalid("metadata.annotations", "", f"must have at most {ANNOTATIONS_BYTES_MAX} bytes in all"))
    return errors


def _owner_errors(meta: ObjectMeta) -> list[FieldError]:
    errors: list[FieldError] = []
    owners: list[Any] = meta.owner_references or []
    for index, owner in enumerate(owners):
        for name in ("api_version", "kind", "name", "uid"):
            if not getattr(owner, name):
                shown = "apiVersion" if name == "api_version" else name
                errors.append(required(f"metadata.ownerReferences[{index}].{shown}", "must not be empty"))
    if sum(owner.controller is True for owner in owners) > 1:
        errors.append(invalid("metadata.ownerReferences", None, "only one reference can have controller set to true"))
    return errors


def _finalizer_errors(meta: ObjectMeta, old: ObjectMeta | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for finalizer in meta.finalizers or ():
        errors += [invalid("metadata.finalizers", finalizer, why) for why in names.qualified_name(finalizer)]
    if old is not None and old.deletion_timestamp:
        added = sorted(set(meta.finalizers or ()) - set(old.finalizers or ()))
        if added:
            errors.append(
                forbidden(
                    "metadata.finalizers",
                    f"no new finalizers can be added if the object is being deleted, found new finalizers {added}",
                )
            )
    return errors


def carry_over(new: ObjectMeta, old: ObjectMeta) -> None:
    """What no client may change comes from the object that is there."""
    new.name, new.namespace, new.generate_name = old.name, old.namespace, old.generate_name
    new.uid, new.creation_timestamp, new.generation = old.uid, old.creation_timestamp, old.generation
    new.deletion_timestamp, new.deletion_grace_period_seconds = (
        old.deletion_timestamp,
        old.deletion_grace_period_seconds,
    )
    new.self_link = UNSET
    new.resource_version = old.resource_version
    for name in ("labels", "annotations", "owner_references", "finalizers"):
        if not getattr(new, name):
            setattr(new, name, UNSET)
