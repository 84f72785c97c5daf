"""The scale subresource: the one number of a kind that has replicas, in the same shape for all kinds."""

from __future__ import annotations

from typing import Any

from fairway.api import codec, selectors
from fairway.api.errors import bad_request, invalid, unsupported_media_type
from fairway.api.objects import Objects
from fairway.api.patch import json, merge
from fairway.api.patch.errors import PatchError
from fairway.api.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from fairway.api.request import Options, Target, Write
from fairway.kinds import jsonpath, schema
from fairway.kinds.k8s.autoscaling import SCALE, Scale
from fairway.kinds.k8s.rules import not_negative
from fairway.kinds.kind import Scale as Paths
from fairway.kinds.schema import Node

SUBRESOURCE = "scale"
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
_NATIVE = Paths(".spec.replicas", ".status.replicas", ".spec.selector")


def body_schema() -> Node:
    return schema.of(Scale)


def show(target: Target, value: bytes) -> dict[str, Any]:
    """The scale of a stored object."""
    obj = codec.parse(codec.served(target.kind, target.version, value))
    paths, meta = _paths(target), obj["metadata"]
    status = {"replicas": jsonpath.find(obj, paths.status_replicas) or 0}
    if selector := _selector(jsonpath.find(obj, paths.selector) if paths.selector else None):
        status["selector"] = selector
    known = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": SCALE.name,
        "apiVersion": SCALE.api_version(SCALE.versions[0].name),
        "metadata": {name: meta[name] for name in known if name in meta},
        "spec": {"replicas": jsonpath.find(obj, paths.spec_replicas) or 0},
        "status": status,
    }


def update(objects: Objects, target: Target, body: codec.Body, options: Options) -> Write:
    """Write an object's number of replicas. The rest of a scale is only shown."""
    sent, warnings = codec.read(SCALE, SCALE.versions[0], body, options.strictness)
    assert isinstance(sent, Scale)
    if errors := not_negative("spec.replicas", sent.spec.replicas):
        raise invalid(SCALE, target.name, errors)
    whole = Target(target.kind, target.version, target.namespace, target.name)
    record = objects.latest(whole)
    obj = codec.parse(codec.served(target.kind, target.version, record.value))
    if sent.metadata.resource_version:
        obj["metadata"]["resourceVersion"] = sent.metadata.resource_version
    *parents, last = _paths(target).spec_replicas.lstrip(".").split(".")
    place = obj
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = sent.spec.replicas or 0
    new, more = codec.read(target.kind, target.version, obj, options.strictness)
    return objects.replace(whole, record, new, options, [*warnings, *more])


def patch(objects: Objects, target: Target, media: str, change: Any, options: Options) -> Write:
    if media not in PATCHES:
        raise unsupported_media_type(PATCHES)
    live = show(target, objects.latest(target).value)
    try:
        # There is no list in a scale, so a strategic merge patch is a merge patch.
        patched = json.apply(live, change) if media == JSON_PATCH else merge.apply(live, change)
    except PatchError as error:
        raise bad_request(f"the patch does not apply: {error}") from None
    if not isinstance(patched, dict):
        raise bad_request("the patch would make the scale something else than an object")
    if not isinstance(change, dict) or "resourceVersion" not in (change.get("metadata") or {}):
        patched = {**patched, "metadata": {**patched["metadata"], "resourceVersion": ""}}
    return update(objects, target, patched, options)


def _paths(target: Target) -> Paths:
    return target.version.scale or _NATIVE


def _selector(found: Any) -> str:
    """A user's kind keeps it as text, a ReplicationController as labels, the others as a selector."""
    if not isinstance(found, dict):
        return str(found or "")
    labels = found if not found.keys() & {"matchLabels", "matchExpressions"} else None
    return str(selectors.of({"matchLabels": labels} if labels else found))
