"""A reflector over HTTP, through everything that can go wrong with a connection: in the end it knows what the server knows."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.faults import HTTP_FAULTS, STREAM_FAULTS, Faults
from tests.integration.inprocess import PATIENCE_S, Running, configmap, listening, running

from fairway.api.client import Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.api.reflector import Pace, Reflector
from fairway.api.remote import RemoteClient
from fairway.runtime.http_transport import HttpTransport
from fairway.runtime.ids import SeededIds

CONFIGMAPS = Resource("", "v1", "configmaps")
HERE = Query("mirror")
HASTE = Pace(first_seconds=0.01, longest_seconds=0.05, page=3, watch_seconds=20)
SILENT_S = 0.3


@pytest.fixture(scope="module")
def node() -> Iterator[Running]:
    with running() as node:
        node.call("POST", "/api/v1/namespaces", {"metadata": {"name": "mirror"}}).ok
        yield node


class Mirror:
    """A handler that believes nothing: each object comes once, changes forward only, and goes once."""

    def __init__(self) -> None:
        self.state: dict[str, tuple[str, int]] = {}
        self.deleted_uids: list[str] = []

    def added(self, item: Item) -> None:
        name, uid, revision = _facts(item)
        assert name not in self.state, f"{name} came twice"
        assert uid not in self.deleted_uids, f"{name} came back from the dead"
        self.state[name] = (uid, revision)

    def modified(self, before: Item, item: Item) -> None:
        name, uid, revision = _facts(item)
        known = self.state[name]
        assert known == _facts(before)[1:]
        assert known[0] == uid
        assert revision > known[1], f"{name} went back"
        self.state[name] = (uid, revision)

    def deleted(self, item: Item) -> None:
        name, uid, _revision = _facts(item)
        assert self.state.pop(name)[0] == uid
        self.deleted_uids.append(uid)


def _facts(item: Item) -> tuple[str, str, int]:
    metadata = item.json()["metadata"]
    return metadata["name"], metadata["uid"], int(metadata["resourceVersion"])


class Writer:
    """Creates, changes, deletes and replaces at random, in process, where nothing goes wrong."""

    def __init__(self, node: Running, seed: int) -> None:
        self.chance = random.Random(seed)
        self.use(node)

    def use(self, node: Running) -> None:
        self.client = LocalClient(node.space, "writer")

    async def write(self) -> None:
        name = f"o{self.chance.randrange(8)}"
        body = configmap(name, n=str(self.chance.random()))
        body["metadata"]["namespace"] = "mirror"
        try:
            if self.chance.random() < 0.3:
                await self.client.delete(CONFIGMAPS, name, "mirror")
                if self.chance.random() < 0.5:  # the same name, another object
                    await self.client.create(CONFIGMAPS, body)
            else:
                await self.client.update(CONFIGMAPS, body)
        except ApiError as error:
            if error.code != 404:
                raise
            await self.client.create(CONFIGMAPS, body)

    async def state(self) -> dict[str, tuple[str, int]]:
        found = {}
        for item in (await self.client.list(CONFIGMAPS, HERE)).items:
            name, uid, revision = _facts(item)
            found[name] = (uid, revision)
        return found


class Follower:
    """A reflector over HTTP through the faults, as fast as it may."""

    def __init__(self, node: Running, port: int) -> None:
        self.tokens = [node.admin.token]
        transport = HttpTransport(f"http://127.0.0.1:{port}", silent_seconds=SILENT_S, total_seconds=5)
        self.client = RemoteClient(transport, lambda: self.tokens[-1], "mirror")
        self.mirror = Mirror()
        self.waits: list[float] = []
        self.troubles: list[int] = []
        self.reflector = Reflector(
            self.client,
            CONFIGMAPS,
            self.mirror,
            HERE,
            sleep=self._sleep,
            uniform=SeededIds(1).uniform,
            pace=HASTE,
            on_trouble=lambda error: self.troubles.append(-1 if error is None else error.code),
        )
        self._task = asyncio.ensure_future(self.reflector.run())

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(min(seconds, 0.02))

    async def knows(self, writer: Writer) -> None:
        """Until the mirror shows what the server holds."""
        async with asyncio.timeout(PATIENCE_S):
            while self.mirror.state != await writer.state():  # noqa: ASYNC110 - a mirror tells nobody when it is right
                if self._task.done():
                    self._task.result()
                await asyncio.sleep(0.01)
        assert {name: _facts(item)[1:] for (_ns, name), item in self.reflector.items.items()} == self.mirror.state

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()
        await self.client.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for is in a list that tells nobody
            await asyncio.sleep(0.005)


async def through(node: Running, plan: list[str], seed: int, **more: Any) -> tuple[Faults, Follower]:
    """Follow a changing server through a plan of faults, to the end."""
    faults, writer = Faults(node.app, lambda: node.space.store.revision), Writer(node, seed)
    for _ in range(5):
        await writer.write()
    async with listening(faults) as port:  # type: ignore[arg-type]
        follower = Follower(node, port)
        try:
            await follower.knows(writer)
            await faults.begin(plan)
            async with asyncio.timeout(PATIENCE_S):
                while faults.plan:
                    await writer.write()
                    await asyncio.sleep(0.005)
            for _ in range(12):
                await writer.write()
            await follower.knows(writer)
            await writer.write()
            await follower.knows(writer)
        finally:
            await follower.close()
    return faults, follower


@pytest.mark.parametrize("fault", [*STREAM_FAULTS, *HTTP_FAULTS, "no answer"])
def test_a_reflector_survives_each_fault_twice_in_a_row(node: Running, fault: str) -> None:
    faults, follower = node.run(through(node, [fault, fault], seed=len(fault)))
    assert faults.seen[fault] == 2
    if fault in ("401", "429", "500", "503"):
        assert follower.troubles.count(int(fault)) >= 1
        assert follower.troubles[-1] == -1, "it says when the trouble is over"
    wanted = {"429": 1.0, "503": 2.0}.get(fault)
    if wanted is not None:
        assert max(follower.waits) >= wanted, "Retry-After is kept to"


@pytest.mark.parametrize("seed", range(3))
def test_a_reflector_survives_a_storm_of_all_faults(node: Running, seed: int) -> None:
    chance = random.Random(seed)
    plan = [*STREAM_FAULTS, *HTTP_FAULTS, "no answer"] * 2
    chance.shuffle(plan)
    faults, _follower = node.run(through(node, plan, seed))
    assert not faults.plan


def test_a_watch_that_ends_well_is_resumed_and_not_listed_again(node: Running) -> None:
    async def body() -> None:
        faults, writer = Faults(node.app, lambda: node.space.store.revision), Writer(node, 7)
        await writer.write()
        async with listening(faults) as port:  # type: ignore[arg-type]
            follower = Follower(node, port)
            await follower.knows(writer)
            lists = sum(kind == "list" for kind, _query in faults.requests)
            for _ in range(3):
                watches = len(faults.requests)
                await faults.begin([])
                await until(lambda known=watches: len(faults.requests) > known)
            assert sum(kind == "list" for kind, _query in faults.requests) == lists
            await writer.write()
            await follower.knows(writer)
            await follower.close()

    node.run(body())


def test_a_renewed_token_is_used_at_the_next_try(node: Running) -> None:
    async def body() -> None:
        faults, writer = Faults(node.app, lambda: node.space.store.revision), Writer(node, 8)
        async with listening(faults) as port:  # type: ignore[arg-type]
            follower = Follower(node, port)
            await follower.knows(writer)
            follower.tokens.append("stale")
            await faults.begin([])
            await until(lambda: 401 in follower.troubles)
            await writer.write()
            follower.tokens.append(node.admin.token)
            await follower.knows(writer)
            assert follower.reflector.trouble is None
            await follower.close()

    node.run(body())


def test_a_restart_of_the_node_is_survived_with_all_that_happened_meanwhile(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        first.call("POST", "/api/v1/namespaces", {"metadata": {"name": "mirror"}}).ok

        async def body() -> None:
            faults, writer = Faults(first.app, lambda: first.space.store.revision), Writer(first, 9)
            for _ in range(10):
                await writer.write()
            async with listening(faults) as port:  # type: ignore[arg-type]
                follower = Follower(first, port)
                await follower.knows(writer)
                for _ in range(2):
                    faults.app = _unavailable
                    await first.restart()
                    writer.use(first)
                    for _ in range(5):  # while nobody can watch
                        await writer.write()
                    faults.app = first.app
                    await follower.knows(writer)
                assert 503 in follower.troubles or 0 in follower.troubles or not follower.troubles
                await follower.close()

        first.run(body())


async def _unavailable(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
