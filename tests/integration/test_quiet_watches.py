"""A watch that selects little is heard of all the same, however much happens around what it selects."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.inprocess import CONFIGMAPS, Running, running

from fairway.server import watching

CHANGES = 30


def test_a_watch_gets_bookmarks_while_only_others_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.05)

    async def changes(node: Running) -> None:
        for index in range(CHANGES):
            (await node.admin.request("POST", CONFIGMAPS, {"metadata": {"name": f"other-{index}"}})).ok  # noqa: B018
            await asyncio.sleep(0.02)

    async def watches(node: Running) -> list[dict[str, object]]:
        url = f"{CONFIGMAPS}?watch=true&allowWatchBookmarks=true&labelSelector=ours%3Dyes"
        async with node.admin.stream(url) as stream:
            busy = asyncio.ensure_future(changes(node))
            heard = [await stream.next() for _ in range(3)]
            assert not busy.done()
            await busy
            return heard

    with running() as node:
        heard = node.run(watches(node))
    assert [event["type"] for event in heard] == ["BOOKMARK"] * 3
