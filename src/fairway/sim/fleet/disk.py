"""A disk that takes its time, and keeps through a crash exactly what was committed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fairway.runtime.virtual import VirtualLoop, outside
from fairway.sim.chance import Chance
from fairway.store.log import Batch, Row, State, StreamRow

T = TypeVar("T")


@dataclass(slots=True)
class Image:
    """What is on the disk of one space."""

    rows: dict[int, Row] = field(default_factory=dict)
    streams: dict[str, dict[int, bytes]] = field(default_factory=dict)
    trimmed: dict[str, int] = field(default_factory=dict)
    volatile: set[str] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Image:
        streams = {name: dict(items) for name, items in self.streams.items()}
        return Image(dict(self.rows), streams, dict(self.trimmed), set(self.volatile), dict(self.marks))


class ImageLog:
    """The store's log, on an image."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def open(self) -> State:
        image = self._image
        newest = max(image.rows, default=0)
        return State(
            revision=newest,
            mark=image.marks.get("mark", 0),
            ceiling=max(image.marks.get("ceiling", 1), newest + 1),
            number=image.marks.get("number", 0),
            volatile=sorted(image.volatile),
            trimmed=dict(image.trimmed),
        )

    def rows(self) -> Iterator[Row]:
        return iter([self._image.rows[revision] for revision in sorted(self._image.rows)])

    def streams(self) -> Iterable[StreamRow]:
        for name, items in sorted(self._image.streams.items()):
            for sequence, data in sorted(items.items()):
                yield StreamRow(name, sequence, data)

    def write(self, batch: Batch) -> None:
        image = self._image
        for row in batch.rows:
            image.rows[row.record.revision] = row
        for item in batch.appended:
            image.streams.setdefault(item.stream, {})[item.sequence] = item.data
        for name, upto in batch.trimmed:
            kept = {sequence: data for sequence, data in image.streams.get(name, {}).items() if sequence > upto}
            image.streams[name] = kept
            image.trimmed[name] = max(upto, image.trimmed.get(name, 0))
        image.volatile.update(batch.volatile)
        for revision in batch.garbage:
            image.rows.pop(revision, None)
        if batch.garbage:
            image.marks["mark"] = batch.mark
        if batch.ceiling:
            image.marks["ceiling"] = batch.ceiling
        if not batch.rows:
            image.marks["number"] = batch.number

    def tidy(self) -> None:
        return None

    def close(self) -> None:
        return None


class SlowDisk:
    """Work is done one after the other, each after a while. What was under way when the node was killed was done or not: chance decides."""

    def __init__(self, loop: VirtualLoop, chance: Chance) -> None:
        self._loop = loop
        self._chance = chance
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._crashed = False

    async def run(self, work: Callable[[], T]) -> T:
        done: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((work, done))
        if len(self._waiting) == 1:
            self._begin()
        return await done

    def close(self) -> None:
        return None

    def crash(self) -> None:
        if self._waiting and self._chance.below(2):
            with contextlib.suppress(Exception):
                self._waiting[0][0]()
        self._waiting.clear()
        self._crashed = True

    def _begin(self) -> None:
        self._loop.call_later(self._duration(), self._work, context=outside())

    def _duration(self) -> float:
        """Mostly an fsync of some milliseconds; now and then a disk that is busy with others."""
        return self._chance.between(0.2, 2.0) if self._chance.below(200) == 0 else self._chance.between(0.0005, 0.006)

    def _work(self) -> None:
        if self._crashed:
            return
        work, done = self._waiting.pop(0)
        try:
            result = work()
        except Exception as error:
            done.set_exception(error)
        else:
            if not done.done():
                done.set_result(result)
        if self._waiting:
            self._begin()
