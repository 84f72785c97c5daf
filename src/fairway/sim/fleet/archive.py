"""What a simulated machine keeps of the output of what ran elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from fairway.sim.chance import Chance

Texts = dict[str, dict[str, bytes]]


class SimArchive:
    """One for each life of a node; a text that is not kept yet when the node dies is lost."""

    def __init__(self, texts: Texts, chance: Chance) -> None:
        self._texts = texts
        self._chance = chance

    async def open(self) -> None:
        await self._work()

    def owners(self) -> list[str]:
        return sorted(self._texts)

    def names(self, owner: str) -> frozenset[str]:
        return frozenset(self._texts.get(owner, ()))

    async def keep(self, owner: str, name: str, text: bytes) -> None:
        await self._work()
        self._texts.setdefault(owner, {})[name] = text

    async def read(self, owner: str, name: str) -> bytes:
        await self._work()
        return self._texts[owner][name]

    async def drop(self, owners: Iterable[str]) -> None:
        await self._work()
        for owner in owners:
            self._texts.pop(owner, None)

    async def close(self) -> None:
        return None

    async def _work(self) -> None:
        await asyncio.sleep(self._chance.between(0.0005, 0.006))
