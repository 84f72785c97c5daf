"""Virtual time: an event loop that never waits and touches nothing outside, and the processes that live in it.

When nothing is left to do, time moves to the next timer; and by a hair when very much happens at one moment, as a real clock would: whoever
sleeps until a moment, and finds that rounding lets it fall short of it, gets there. What runs belongs to a *process*, found through the context of its callbacks: a
process that is stopped (SIGSTOP) keeps its callbacks until it goes on; one that is killed never runs again, not even to clean up after
itself. The same program and the same seed run the same way, step by step.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import heapq
import sys
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
EPOCH = 1_767_225_600.0
_STEPS_AT_ONCE_MAX = 200_000
_CROWD = 1_000
_HAIR_S = 1e-6
_PRUNED_EVERY = 256

_process: ContextVar[Process | None] = ContextVar("process", default=None)


class Stuck(Exception):
    """Nothing can ever happen any more, or things happen without end while no time passes."""


class Process:
    """What a kill ends at once and a stop holds still."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self.stopped = False
        self.steps = 0
        """How many of its callbacks ran."""
        self._loop = loop
        self._held: list[_Handle | _Timer] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._prune_at = _PRUNED_EVERY
        self._context = copy_context()
        self._context.run(_process.set, self)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self._loop.create_task(work, context=self._context.copy())

    def kill(self) -> None:
        """Its tasks stay where they are: letting go of them would run what they do on their way out."""
        self.alive = False
        self._held.clear()
        self._loop.bury(self._tasks)

    def stop(self) -> None:
        self.stopped = True

    def go_on(self) -> None:
        self.stopped = False
        self._loop.again(self._held)
        self._held = []

    def hold(self, handle: _Handle | _Timer) -> None:
        self._held.append(handle)

    def own(self, task: asyncio.Task[Any]) -> None:
        self._tasks.append(task)
        if len(self._tasks) >= self._prune_at:
            self._tasks = [task for task in self._tasks if not task.done()]
            self._prune_at = 2 * len(self._tasks) + _PRUNED_EVERY


def current() -> Process | None:
    """The process whose code runs now; None: nobody's, the simulated world's own."""
    return _process.get()


def outside() -> Context:
    """A context that belongs to no process."""
    context = copy_context()
    context.run(_process.set, None)
    return context


def _owner(context: Context | None) -> Process | None:
    return _process.get() if context is None else context.get(_process)


class _Handle(asyncio.Handle):
    __slots__ = ("process",)

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: VirtualLoop, context: Context | None
    ) -> None:
        super().__init__(callback, args, loop, context)
        self.process = _owner(context)


class _Timer(asyncio.TimerHandle):
    __slots__ = ("process",)

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: VirtualLoop,
        context: Context | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self.process = _owner(context)


class VirtualLoop(asyncio.AbstractEventLoop):
    """What asyncio asks of a loop, without descriptors and threads: asking for those is an error."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[_Handle | _Timer] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._sequence = 0
        self._crowd = 0
        """Steps since time moved by more than a hair."""
        self._buried: list[list[asyncio.Task[Any]]] = []
        self._others: list[asyncio.Task[Any]] = []
        self._closed = False
        self._running = False
        self.steps = 0
        self.troubles: Callable[[str, BaseException | None], None] = _ignore
        """Told of errors that nobody took care of."""
        self.after_step: Callable[[], None] = _nothing

    # --- time and callbacks ---------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        if not self._closed:
            self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        if not self._closed:
            self._sequence += 1
            heapq.heappush(self._timers, (when, self._sequence, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        return None

    def again(self, handles: list[_Handle | _Timer]) -> None:
        self._ready.extend(handles)

    def bury(self, tasks: list[asyncio.Task[Any]]) -> None:
        self._buried.append(tasks)

    # --- futures and tasks ----------------------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=name, context=context)
        owner = _owner(context)
        if owner is not None:
            owner.own(task)
        else:
            self._others.append(task)
        return task

    # --- running --------------------------------------------------------------------------------------------------

    def run_until_complete(self, future: Coroutine[Any, Any, T]) -> T:  # type: ignore[override]
        asyncio._set_running_loop(self)
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._finish_generator)
        self._running = True
        try:
            task = self.create_task(future)
            while not task.done():
                self._turn()
            return task.result()
        finally:
            self._running = False
            sys.set_asyncgen_hooks(*before)
            asyncio._set_running_loop(None)

    def _turn(self) -> None:
        if not self._ready:
            self._advance()
        ready, steps = self._ready, 0
        while ready:
            handle = ready.popleft()
            if handle.cancelled():
                continue
            process = handle.process
            if process is not None:
                if process.stopped or not process.alive:
                    if process.alive:
                        process.hold(handle)
                    continue
                process.steps += 1
            handle._run()
            self.after_step()
            steps += 1
            self._crowd += 1
            if self._crowd % _CROWD == 0:
                self._now += _HAIR_S
            if steps > _STEPS_AT_ONCE_MAX:
                raise Stuck(f"{steps} steps at one moment, and no end: the last is of {_task_of(handle)}")
        self.steps += steps

    def _advance(self) -> None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise Stuck("everything waits for something that will never come")
        if timers[0][0] - self._now > _HAIR_S:
            self._crowd = 0
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(timers)[2])

    def _finish_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._closed:
            self.create_task(generator.aclose())

    # --- the rest of what asyncio asks ----------------------------------------------------------------------------

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._closed:
            self.troubles(str(context.get("message", "")), context.get("exception"))

    def close(self) -> None:
        """From now on nothing is scheduled any more: whatever the tasks that are left do when they are let go."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self._buried.clear()
        self._others.clear()


def _task_of(handle: asyncio.Handle) -> object:
    """Whose step it is, for people: the task, or the callback itself."""
    callback = handle._callback  # type: ignore[attr-defined]
    return getattr(callback, "__self__", None) or callback


def _nothing() -> None:
    return None


def _ignore(_message: str, _error: BaseException | None) -> None:
    return None


class VirtualClock:
    """What a machine's clocks show: its wall clock may be off, its boot clock starts when it does, and both may run at a rate of their own."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, skew: float = 0.0, booted: float = 0.0, rate: float = 1.0
    ) -> None:
        self._loop = loop
        self.skew = skew
        self._booted = booted
        self._rate = rate

    @property
    def now(self) -> float:
        return EPOCH + self._loop.time() * self._rate + self.skew

    @property
    def monotonic(self) -> float:
        return self._loop.time() * self._rate

    @property
    def boot(self) -> float:
        """Seconds since the machine started."""
        return (self._loop.time() - self._booted) * self._rate


def run(story: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """The story's result, told in a loop of its own.

    The collector of garbage is off meanwhile: it would close what is out of reach at moments that depend on what ran before."""
    with quietly():
        return _run(story)


def _run(story: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    loop = VirtualLoop()  # type: ignore[abstract]  # the rest is what nothing in a simulation may ask for
    try:
        return loop.run_until_complete(story(loop))
    finally:
        loop.close()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Tasks of killed processes protest when they are let go; nobody wants to hear of it. They are, at the end of the block."""
    if not gc.isenabled():
        yield  # the block around this one does it
        return
    hook, sys.unraisablehook = sys.unraisablehook, lambda _unraisable: None
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                yield
            finally:
                gc.collect()
    finally:
        sys.unraisablehook = hook
        gc.enable()
