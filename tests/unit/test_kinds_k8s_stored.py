"""Every built-in kind through the object API: created, read back, changed, reported on, listed, deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Query, Resource
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS as ALL_KINDS
from fairway.kinds.k8s import KINDS
from fairway.kinds.kind import Kind
from fairway.runtime.ids import SeededIds
from fairway.store import Store

POD = {"containers": [{"name": "c", "image": "i:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": POD}
WORKLOAD = {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}}
JOB = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
ROLE = {"roleRef": {"kind": "ClusterRole", "name": "r"}}
NAMES = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
BODIES: dict[str, dict[str, Any]] = {
    "Pod": {"spec": POD},
    "PodTemplate": {"template": TEMPLATE},
    "Job": {"spec": JOB},
    "CronJob": {"spec": {"schedule": "@daily", "jobTemplate": {"spec": JOB}}},
    "Deployment": WORKLOAD,
    "StatefulSet": WORKLOAD,
    "DaemonSet": WORKLOAD,
    "ReplicaSet": WORKLOAD,
    "ReplicationController": {"spec": {"template": TEMPLATE}},
    "Event": {"involvedObject": {"namespace": "default"}},
    "RoleBinding": ROLE,
    "ClusterRoleBinding": ROLE,
    "StorageClass": {"provisioner": "p"},
    "RuntimeClass": {"handler": "runc"},
    "CustomResourceDefinition": {"spec": {"group": "g.io", "names": NAMES, "scope": "Cluster", "versions": [VERSION]}},
}
NEWER_EVENT = {
    "regarding": {"namespace": "default"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "q",
    "reportingInstance": "q-1",
    "action": "a",
    "reason": "r",
}


class StoppedClock:
    now = 1_767_225_600.0
    monotonic = 0.0


def body(kind: Kind) -> dict[str, Any]:
    name = "widgets.g.io" if kind.name == "CustomResourceDefinition" else "x"
    metadata = {"name": name, "namespace": "default"} if kind.namespaced else {"name": name}
    rest = NEWER_EVENT if kind.view_of is not None else BODIES.get(kind.name, {})
    status = {"status": {}} if kind.has_status else {}
    return {
        "apiVersion": kind.api_version(kind.versions[0].name),
        "kind": kind.name,
        "metadata": metadata,
        **rest,
        **status,
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.bucket)
def test_a_kind_lives_through_the_object_api(kind: Kind) -> None:
    async def live() -> None:
        space = Space("test", Store(), ALL_KINDS, StoppedClock(), SeededIds(1))
        client = LocalClient(space, "tester")
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        resource = Resource(kind.group, kind.versions[0].name, kind.plural, namespaced=kind.namespaced)
        wanted = body(kind)
        name, namespace = wanted["metadata"]["name"], wanted["metadata"].get("namespace", "")

        made = (await client.create(resource, wanted)).json()
        assert made["metadata"]["uid"]
        labelled = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
        changed = (await client.update(resource, labelled)).json()
        assert changed["metadata"]["labels"]["a"] == "b"
        assert changed["metadata"].get("generation") == made["metadata"].get("generation")
        listed = await client.list(resource, Query(namespace, labels="a=b"))
        assert [item.meta.name for item in listed.items] == [name]
        for column in kind.versions[0].columns:
            column.value(changed, StoppedClock())
        await space.store.close()

    asyncio.run(live())
