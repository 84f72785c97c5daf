"""An event loop whose time passes only when nothing else is left to do, and a clock that shows it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
EPOCH = 1_767_225_600.0


class _Jump(selectors.SelectSelector):
    """Instead of waiting, moves time to the next thing that is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("everything waits for something that will never come")
        if not found and timeout is not None:
            self.now += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


class VirtualClock:
    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    @property
    def now(self) -> float:
        return EPOCH + self._loop.time()

    @property
    def monotonic(self) -> float:
        return self._loop.time()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario)


def clock() -> VirtualClock:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return VirtualClock(loop)
