"""A user's kind behind the object API, through the client that everybody uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.kinds.crd import complete, kind_of
from fairway.kinds.crd_check import crd_errors
from fairway.runtime.ids import SeededIds
from fairway.store import Store

V1 = Resource("sea.example.com", "v1", "ships")
BETA = Resource("sea.example.com", "v1beta1", "ships")


class StoppedClock:
    now = 1_767_225_600.0
    monotonic = 0.0


def _schema(extra: str) -> dict[str, Any]:
    spec = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.sails >= oldSelf.sails", "message": "sails are never taken down"}],
        "required": ["sails"],
        "properties": {
            "sails": {"type": "integer"},
            "rig": {"type": "string", "default": "sloop"},
            extra: {"type": "string"},
        },
    }
    status = {"type": "object", "properties": {"knots": {"type": "integer"}}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}


def _crd() -> dict[str, Any]:
    crd: dict[str, Any] = {
        "metadata": {"name": "ships.sea.example.com"},
        "spec": {
            "group": "sea.example.com",
            "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": _schema("flag"), "subresources": {"status": {}}},
                {"name": "v1beta1", "served": True, "storage": False, "schema": _schema("ensign"), "subresources": {"status": {}}},
            ],
        },
    }  # fmt: skip
    complete(crd)
    assert crd_errors(crd) == []
    return crd


def run(body: Callable[[LocalClient], Awaitable[None]]) -> None:
    async def main() -> None:
        space = Space("test", Store(), KINDS, StoppedClock(), SeededIds(1))
        space.registry.add(kind_of(_crd()))
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        try:
            async with asyncio.timeout(20):
                await body(LocalClient(space, "tester"))
        finally:
            await space.store.close()

    asyncio.run(main())


def ship(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"sea.example.com/{version}",
        "kind": "Ship",
        "metadata": {"name": "argo", "namespace": "default"},
        "spec": spec,
    }


def test_an_object_of_a_users_kind_is_created_with_defaults_and_read_back() -> None:
    async def body(client: LocalClient) -> None:
        await client.create(V1, ship(sails=2, flag="blue"), "default")
        found = (await client.get(V1, "argo", "default")).json()
        assert found["spec"] == {"sails": 2, "rig": "sloop", "flag": "blue"}
        assert found["metadata"]["generation"] == 1

    run(body)


def test_a_rule_about_the_old_value_refuses_an_update() -> None:
    async def body(client: LocalClient) -> None:
        made = (await client.create(V1, ship(sails=2), "default")).json()
        with pytest.raises(ApiError, match="sails are never taken down"):
            await client.update(V1, {**made, "spec": {"sails": 1}})
        grown = (await client.update(V1, {**made, "spec": {"sails": 3}})).json()
        assert grown["spec"] == {"sails": 3, "rig": "sloop"}
        assert grown["metadata"]["generation"] == 2

    run(body)


def test_a_mistyped_object_is_refused_by_field() -> None:
    async def body(client: LocalClient) -> None:
        with pytest.raises(ApiError, match=r"spec\.sails"):
            await client.create(V1, ship(sails="two"), "default")

    run(body)


def test_status_is_written_on_its_own_and_leaves_the_generation_alone() -> None:
    async def body(client: LocalClient) -> None:
        made = (await client.create(V1, {**ship(sails=2), "status": {"knots": 9}}, "default")).json()
        assert "status" not in made
        moved = (await client.update(V1, {**made, "status": {"knots": 7}}, subresource="status")).json()
        assert moved["status"] == {"knots": 7}
        assert moved["metadata"]["generation"] == 1
        with pytest.raises(ApiError, match=r"status\.knots"):
            await client.update(V1, {**moved, "status": {"knots": "fast"}}, subresource="status")

    run(body)


def test_another_version_shows_and_takes_what_both_know() -> None:
    async def body(client: LocalClient) -> None:
        await client.create(BETA, ship("v1beta1", sails=2, ensign="red"), "default")
        stored = (await client.get(V1, "argo", "default")).json()
        assert stored["spec"] == {"sails": 2, "rig": "sloop"}
        shown = (await client.get(BETA, "argo", "default")).json()
        assert (shown["apiVersion"], shown["spec"]) == ("sea.example.com/v1beta1", {"sails": 2, "rig": "sloop"})

    run(body)
