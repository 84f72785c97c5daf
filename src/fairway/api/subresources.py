"""What is sent to a subresource and is no part of the object itself: the binding of a pod to a node, and its eviction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from fairway.api import codec
from fairway.api.codec import Body
from fairway.api.errors import bad_request, conflict, method_not_allowed
from fairway.api.objects import Objects
from fairway.api.request import DeleteOptions, Options, Target, Write
from fairway.kinds import schema
from fairway.kinds.k8s.core.pod import Binding
from fairway.kinds.k8s.core.podstatus import PodCondition
from fairway.kinds.k8s.opt import items
from fairway.kinds.k8s.reviews.subresources import Eviction
from fairway.kinds.kind import Kind, Version
from fairway.kinds.schema import Node
from fairway.kinds.types import Time

Post = Callable[[Objects, Target, Any, Options], Write]
_BINDING = Kind("", "Binding", "bindings", (Version("v1", Binding),), native=True)
_EVICTION = Kind("policy", "Eviction", "evictions", (Version("v1", Eviction),), native=True)


def post(objects: Objects, target: Target, body: Body, options: Options) -> Write:
    """The write that a body sent to the target's subresource means. Raises 405 where nothing can be sent."""
    kind, act = _find(target)
    sent, _warnings = codec.read(kind, kind.versions[0], body, options.strictness)
    if sent.metadata.name and sent.metadata.name != target.name:
        raise bad_request(f"name in URL does not match name in {kind.name} object")
    return act(objects, target, sent, options)


def body_schema(target: Target) -> Node:
    return schema.of(_find(target)[0].versions[0].type)


def _find(target: Target) -> tuple[Kind, Post]:
    found = _POSTS.get((target.kind.bucket, target.subresource))
    if found is None or not target.name:
        raise method_not_allowed()
    return found


def _bind(objects: Objects, target: Target, binding: Binding, options: Options) -> Write:
    """Give a pod its node, once. This is the only way in which the node of a pod that exists is ever set."""
    node = binding.target.name or ""
    if not node:
        raise bad_request("target.name is required: name the node that the pod goes to")
    if binding.target.kind and binding.target.kind not in ("Node", "Minion"):
        raise bad_request(f'target.kind: Unsupported value: "{binding.target.kind}": supported values: "Node"')
    record = objects.latest(target)
    pod = codec.stored(target.kind, record.value)
    if binding.metadata.uid and binding.metadata.uid != pod.metadata.uid:
        why = (
            f"Precondition failed: UID in precondition: {binding.metadata.uid}, UID in object meta: {pod.metadata.uid}"
        )
        raise conflict(target.kind, target.name, why)
    if pod.metadata.deletion_timestamp:
        raise conflict(target.kind, target.name, f"pod {target.name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise conflict(
            target.kind, target.name, f"pod {target.name} is already assigned to node {pod.spec.node_name!r}"
        )
    if items(pod.spec.scheduling_gates):
        raise conflict(target.kind, target.name, f"pod {target.name} has non-empty .spec.schedulingGates")
    pod.spec.node_name = node
    for key, value in (binding.metadata.annotations or {}).items():
        pod.metadata.annotations = {**(pod.metadata.annotations or {}), key: value}
    scheduled(pod, objects.now())
    return objects.rewrite(target, record, pod, options)


def scheduled(pod: Any, now: Time) -> None:
    """It has its node."""
    kept = [condition for condition in items(pod.status.conditions) if condition.type != "PodScheduled"]
    pod.status.conditions = [*kept, PodCondition(type="PodScheduled", status="True", last_transition_time=now)]


def _evict(objects: Objects, target: Target, eviction: Eviction, options: Options) -> Write:
    """Disruption budgets are kept as written and hold nothing up: an eviction is a deletion."""
    how = eviction.delete_options
    if how is UNSET:
        return objects.delete(_whole(target), DeleteOptions(), options)
    before = how.preconditions
    given = DeleteOptions(
        grace_seconds=None if how.grace_period_seconds is UNSET else how.grace_period_seconds,
        uid="" if before is UNSET else before.uid or "",
        resource_version="" if before is UNSET else before.resource_version or "",
    )
    return objects.delete(_whole(target), given, options)


def _whole(target: Target) -> Target:
    return Target(target.kind, target.version, target.namespace, target.name)


_POSTS: dict[tuple[str, str], tuple[Kind, Post]] = {
    ("pods", "binding"): (_BINDING, _bind),
    ("pods", "eviction"): (_EVICTION, _evict),
}
