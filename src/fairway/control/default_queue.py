"""The queue that a fresh space has, so that the first job a newcomer submits runs.

Made once, and never again once somebody removed it. While nobody changed it, it follows what the machine offers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.resources import CLUSTER_QUEUES
from fairway.core.quantity import parse

NAME = "default"
FLAVOR = "machine"
UNLIMITED = {"cpu": "1000000", "memory": "1Pi", "nvidia.com/gpu": "1000000"}
"""Where nobody says what the node has: more than any machine."""
NOTHING = dict.fromkeys(UNLIMITED, "0")
"""What a hub begins with: its quota comes with its clusters."""
_MARK = "fairway-default-queue"
_MAPS = Resource("", "v1", "configmaps")
_VERSION = "kueue.x-k8s.io/v1beta2"
Json = dict[str, Any]


FLEET = "fleet"
"""The check of a hub's default queue, and the list of clusters that it names."""
FOLLOWS = "fairway.dev/follows-pool"
"""Annotation: what carries it follows the clusters of that pool."""


async def ensure(space: Space, capacity: Mapping[str, str] | None = None, *, hub: bool = False) -> None:
    """At every start. capacity: what the node can run, per resource. hub: the queue hands its work to clusters."""
    wanted = dict(NOTHING if hub else capacity or UNLIMITED)
    mark = space.store.latest("configmaps", f"kube-system/{_MARK}")
    if mark is None:
        kind = space.registry.of(_VERSION, "ClusterQueue")
        has_queues = kind is not None and bool(space.store.records(kind.home.bucket))
        made = [] if has_queues else objects(wanted, hub=hub)
        await bootstrap.ensure(space, [*made, _mark({} if has_queues else wanted)])
        return
    known: Json = json.loads(msgspec.json.decode(mark.value).get("data", {}).get("capacity", "{}"))
    if known and known != wanted:
        await _resize(space, known, wanted)


async def _resize(space: Space, known: Json, wanted: dict[str, str]) -> None:
    client = LocalClient(space, "fairway")
    record = space.store.latest(f"{CLUSTER_QUEUES.plural}.{CLUSTER_QUEUES.group}", f"/{NAME}")
    if record is None:
        return
    queue: Json = msgspec.json.decode(record.value)
    if not _untouched(queue["spec"].get("resourceGroups") or [], known):
        return
    queue["spec"]["resourceGroups"] = [_group(wanted)]
    await client.update(CLUSTER_QUEUES, queue)
    mark = (await client.get(_MAPS, _MARK, "kube-system")).json()
    await client.update(_MAPS, {**mark, "data": {"capacity": json.dumps(wanted)}})


def _untouched(groups: list[Json], known: Json) -> bool:
    """Whether the queue offers what it was made with."""
    if len(groups) != 1 or [flavor["name"] for flavor in groups[0]["flavors"]] != [FLAVOR]:
        return False
    offers = groups[0]["flavors"][0]["resources"]
    amounts = {each["name"]: parse(str(each["nominalQuota"])).nanos for each in offers}
    plain = all(set(each) == {"name", "nominalQuota"} for each in offers)
    return plain and amounts == {name: parse(text).nanos for name, text in known.items()}


def _mark(capacity: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _MARK, "namespace": "kube-system"},
        "data": {"capacity": json.dumps(capacity)},
    }


def _group(capacity: Mapping[str, str]) -> Json:
    resources = [{"name": name, "nominalQuota": quota} for name, quota in capacity.items()]
    return {"coveredResources": list(capacity), "flavors": [{"name": FLAVOR, "resources": resources}]}


def objects(capacity: Mapping[str, str], *, hub: bool = False) -> list[Json]:
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": FLEET}]}} if hub else {}
    return [
        *([_check()] if hub else []),
        {"apiVersion": _VERSION, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}, "spec": {}},
        {
            "apiVersion": _VERSION,
            "kind": "ClusterQueue",
            "metadata": {"name": NAME, **({"annotations": {FOLLOWS: "default"}} if hub else {})},
            "spec": {"namespaceSelector": {}, "resourceGroups": [_group(capacity)], **checks},
        },
        {
            "apiVersion": _VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {"clusterQueue": NAME},
        },
    ]


def _check() -> Json:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": FLEET}
    return {
        "apiVersion": _VERSION,
        "kind": "AdmissionCheck",
        "metadata": {"name": FLEET},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
    }
