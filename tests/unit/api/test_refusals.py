"""A refusal rests on what is durable: an object that is said to exist, or to have changed, is there after a crash too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from fairway.api.client import BulkItem, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.kinds.builtin import KINDS
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SeededIds
from fairway.sim.fleet.disk import Image, ImageLog
from fairway.store import Store

T = TypeVar("T")
NAMESPACES = Resource("", "v1", "namespaces", namespaced=False)
BODY: dict[str, Any] = {"metadata": {"name": "team"}}


class HeldDisk:
    """Does nothing until it is let."""

    def __init__(self) -> None:
        self.free = asyncio.Event()

    async def run(self, work: Callable[[], T]) -> T:
        await self.free.wait()
        return work()

    def close(self) -> None:
        return None


async def _create(client: LocalClient) -> object:
    return await client.create(NAMESPACES, BODY)


async def _create_in_bulk(client: LocalClient) -> object:
    (result,) = await client.bulk([BulkItem("create", NAMESPACES, BODY)])
    if isinstance(result, ApiError):
        raise result
    return result


@pytest.mark.parametrize("again", [_create, _create_in_bulk])
def test_nobody_is_told_that_an_object_exists_before_it_is_durable(
    again: Callable[[LocalClient], Awaitable[object]],
) -> None:
    async def go() -> None:
        disk = HeldDisk()
        disk.free.set()
        store = Store(ImageLog(Image()), disk)
        await store.open()
        client = LocalClient(Space("test", store, KINDS, SystemClock(), SeededIds(1)), "test")
        disk.free.clear()
        first = asyncio.ensure_future(client.create(NAMESPACES, BODY))
        second = asyncio.ensure_future(again(client))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not first.done()
        assert not second.done()
        disk.free.set()
        await first
        with pytest.raises(ApiError, match="already exists"):
            await second

    asyncio.run(go())


def test_a_write_that_changes_nothing_is_acknowledged_once_what_it_found_is_durable() -> None:
    async def go() -> None:
        disk = HeldDisk()
        disk.free.set()
        store = Store(ImageLog(Image()), disk)
        await store.open()
        client = LocalClient(Space("test", store, KINDS, SystemClock(), SeededIds(1)), "test")
        made = (await client.create(NAMESPACES, BODY)).json()
        made["metadata"].pop("resourceVersion")
        made["metadata"]["labels"] = {"team": "a"}
        disk.free.clear()
        first = asyncio.ensure_future(client.update(NAMESPACES, made))
        second = asyncio.ensure_future(client.update(NAMESPACES, made))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not second.done()
        disk.free.set()
        assert (await first).meta.resource_version == (await second).meta.resource_version

    asyncio.run(go())
