"""Patches of every type, as writes: read what is there, change it, and hand it to the same update that a PUT goes through."""

from __future__ import annotations

from typing import Any

from fairway.api import codec, managed
from fairway.api.errors import ApiError, bad_request, invalid, invalid_options, not_found, unsupported_media_type
from fairway.api.objects import Objects
from fairway.api.patch import apply, json, merge, strategic
from fairway.api.patch.errors import PatchError, PatchTooLarge
from fairway.api.request import Options, Target, Write
from fairway.kinds.errors import invalid as invalid_field
from fairway.kinds.errors import required
from fairway.store import Record

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def accepted(target: Target) -> tuple[str, ...]:
    native = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    return native if target.kind.native else (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def patch(objects: Objects, target: Target, media: str, change: Any, options: Options) -> Write:
    """change: the patch, read from JSON or YAML."""
    if media not in accepted(target):
        raise unsupported_media_type(accepted(target))
    if media == APPLY_PATCH:
        return _apply(objects, target, change, options)
    record = objects.latest(target)
    live = _live(target, record)
    try:
        if media == JSON_PATCH:
            patched = json.apply(live, change)
        elif media == MERGE_PATCH:
            patched = merge.apply(live, change)
        else:
            patched = strategic.apply(live, change, target.version.node)
    except PatchTooLarge as error:
        raise ApiError(413, "RequestEntityTooLarge", str(error)) from None
    except PatchError as error:
        if media == JSON_PATCH and isinstance(change, list):
            raise ApiError(422, "Invalid", f"the patch does not apply: {error}", details={}) from None
        raise bad_request(f"the patch does not apply: {error}") from None
    if not isinstance(patched, dict):
        raise bad_request("the patch would make the object something else than an object")
    obj, warnings = codec.read(target.kind, target.version, patched, options.strictness)
    return objects.replace(target, record, obj, options, warnings)


def _live(target: Target, record: Record) -> dict[str, Any]:
    value: dict[str, Any] = codec.parse(codec.served(target.kind, target.version, record.value))
    return value


def _apply(objects: Objects, target: Target, applied: Any, options: Options) -> Write:
    if not options.manager:
        raise invalid_options("PatchOptions", [required("fieldManager", "is required for apply patch")])
    if not isinstance(applied, dict):
        raise bad_request("an apply patch is an object: the fields that the manager wants, and no others")
    _check_applied(target, applied)
    record = objects.store.latest(target.kind.home.bucket, target.path)
    if record is None and target.subresource:
        raise not_found(target.kind, target.name)
    node = target.version.node
    shown = _live(target, record) if record is not None else None
    live = managed.with_known(shown, record.writers, node) if shown is not None and record is not None else None
    try:
        merged, entries = apply.apply(
            live,
            applied,
            options.manager,
            target.kind.api_version(target.version.name),
            options.force or (target.kind.bucket, target.name) in objects.unowned,
            objects.now(),
            node,
            target.subresource,
            ignored=_not_written(target),
        )
    except apply.Conflict as error:
        raise _conflict(error) from None
    except PatchError as error:
        raise bad_request(f"the configuration cannot be applied: {error}") from None
    metadata = {name: value for name, value in merged["metadata"].items() if name != "managedFields"}
    obj, warnings = codec.read(target.kind, target.version, {**merged, "metadata": metadata}, options.strictness)
    # Fields are tracked for the sake of appliers: one that owns nothing does not begin to.
    tracked = shown is not None and "managedFields" in shown["metadata"]
    applies = any(entry["operation"] == "Apply" for entry in entries)
    fields = managed.entries(entries) if tracked or applies else []
    if record is None:
        return objects.create_object(target, obj, options, warnings, fields)
    return objects.replace(target, record, obj, options, warnings, fields)


def _not_written(target: Target) -> tuple[str, ...]:
    """Top-level fields that this endpoint leaves alone, whatever is applied."""
    if target.subresource == "status":
        return target.kind.home.spec_fields
    return ("status",) if target.kind.has_status else ()


def _check_applied(target: Target, applied: dict[str, Any]) -> None:
    kind = target.kind
    wanted = kind.api_version(target.version.name)
    for name, right in (("apiVersion", wanted), ("kind", kind.name)):
        if applied.get(name) != right:
            raise bad_request(f"an apply patch must say {name}: {right}, not {applied.get(name)!r}")
    meta = applied.get("metadata")
    if not isinstance(meta, dict):
        raise bad_request("an apply patch must have metadata with the name of the object")
    if "managedFields" in meta:
        raise bad_request("metadata.managedFields must be nil in an apply patch")
    if meta.get("name") not in (None, target.name):
        why = f"must be the name in the URL, {target.name}"
        raise invalid(kind, target.name, [invalid_field("metadata.name", meta.get("name"), why)])


def _conflict(error: apply.Conflict) -> ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field} for cause in error.causes
    ]
    return ApiError(409, "Conflict", error.message, details={"causes": causes})
