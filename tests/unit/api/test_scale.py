"""Scale: one number of an object, shown and written in a shape of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.api.test_objects import StoppedClock

from fairway.api import bootstrap, patching, scale
from fairway.api.errors import ApiError
from fairway.api.request import Options, Target
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.kinds.types import encode
from fairway.runtime.ids import SeededIds
from fairway.store import Store

DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]},
        "template": {
            "metadata": {"labels": {"app": "web", "x": "y"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


async def _space() -> tuple[Space, Target]:
    space = Space("test", Store(), KINDS, StoppedClock(), SeededIds(1))
    await space.store.open()
    await bootstrap.ensure(space, bootstrap.namespaces())
    route = space.registry.route("apps", "v1", "deployments")
    assert route is not None
    kind, version = route
    await space.objects.commit(space.objects.create(Target(kind, version, "default"), encode(DEPLOYMENT), Options()))
    return space, Target(kind, version, "default", "web", "scale")


def _run(body: Any) -> None:
    async def whole() -> None:
        space, target = await _space()
        await body(space, target)
        await space.store.close()

    asyncio.run(whole())


def test_a_scale_shows_the_number_and_whom_it_counts() -> None:
    async def body(space: Space, target: Target) -> None:
        shown = scale.show(target, space.objects.latest(target).value)
        assert shown["spec"] == {"replicas": 2}
        assert shown["status"] == {"replicas": 0, "selector": "app=web,x"}
        assert (shown["kind"], shown["apiVersion"]) == ("Scale", "autoscaling/v1")

    _run(body)


def test_a_patch_or_update_of_a_scale_changes_the_number_and_nothing_else() -> None:
    async def body(space: Space, target: Target) -> None:
        before = scale.show(target, space.objects.latest(target).value)
        change = {"spec": {"replicas": 5}, "status": {"replicas": 9}}
        write = scale.patch(space.objects, target, patching.MERGE_PATCH, change, Options())
        await space.objects.commit(write)
        after = scale.show(target, write.value)
        assert (after["spec"]["replicas"], after["status"]["replicas"]) == (5, 0)
        with pytest.raises(ApiError, match="the object has been modified"):
            scale.update(space.objects, target, before, Options())
        with pytest.raises(ApiError, match="spec.replicas: Invalid value: -1"):
            scale.update(space.objects, target, {"spec": {"replicas": -1}}, Options())

    _run(body)
