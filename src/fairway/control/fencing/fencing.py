"""The parts of fencing put together, for one cluster space."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairway.api.client import Client
from fairway.api.objects import Hook
from fairway.api.space import Space
from fairway.control.events import Recorder
from fairway.control.fencing.book import Book
from fairway.control.fencing.boot import Boot, MachineBoot
from fairway.control.fencing.files import LeaseFiles
from fairway.control.fencing.grants import Grants
from fairway.control.fencing.hooks import EpochHook, LeaseHook
from fairway.control.fencing.keeper import Keeper
from fairway.control.pods.preparing import Grant
from fairway.runtime.clock import Clock


class Fencing:
    """Its hooks belong into the space before the first request; `start` when the space is served; `grant` before a pod starts."""

    def __init__(
        self,
        space: Space,
        client: Client,
        files: LeaseFiles,
        clock: Clock,
        *,
        boot: Boot | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._files = files
        self.book = Book(boot or MachineBoot(), files.known())
        self._recorder = Recorder(client, clock)
        self._keeper = Keeper(client, self.book, files, clock, self._recorder, sleep)
        self._grants = Grants(client, self.book, files)
        self.hooks: tuple[Hook, ...] = (EpochHook(space, self.book), LeaseHook(self.book, self._keeper.heard))

    def start(self) -> None:
        self._recorder.start()
        self._keeper.start()

    async def stop(self) -> None:
        await self._keeper.stop()
        await self._recorder.stop()
        self._files.close()

    async def grant(self, pod: Mapping[str, Any]) -> Grant | None:
        return await self._grants.grant(pod)
