"""The loop of queueing in one space: observe, look after jobs and workloads, decide, apply; then tell what queues hold.

Everything is derived from the objects. A node that dies anywhere goes on from them, and ends where it would have.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from fairway.api.client import Client, Known
from fairway.api.errors import ApiError
from fairway.api.worker import give_way
from fairway.control.adapters import ADAPTERS, JobAdapter
from fairway.control.admission.decider import Decider
from fairway.control.admission.lifecycle import Lifecycle, Verdict
from fairway.control.admission.measures import Measures
from fairway.control.admission.observer import Observer
from fairway.control.admission.queue_status import QueueStatus
from fairway.control.admission.telling import Telling
from fairway.control.admission.visibility import QueueViews
from fairway.control.apply import Applier, Note, Write
from fairway.control.configuration import Configuration
from fairway.control.events import Recorder
from fairway.control.explanations import explanation
from fairway.control.mirror import Mirror
from fairway.control.resources import (
    CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    NAMESPACES,
    POD_PRIORITY_CLASSES,
    PODS,
    PRIORITY_CLASSES,
    TOPOLOGIES,
    WORKLOADS,
)
from fairway.control.workloads.jobs import FOUND_MAX, Jobs
from fairway.core.model import SECOND, Time
from fairway.runtime.clock import Clock
from fairway.runtime.ids import Ids

log = logging.getLogger("fairway.control")
COMPONENT = "kueue-workload-controller"
_STATUS_RESTS = 9
"""Between two rounds of queue statuses, so many times what the last took: a thousand queues take no more than their share from the work."""
_LOOKS_MAX = 2000
_AHEAD = 4
"""Decisions one after the other, before whatever else there is to do has its turn."""
_RETRY_SECONDS = 1.0
_LONGEST_NAP = 300.0
_QUEUES_FIRST = (NAMESPACES, TOPOLOGIES, CHECKS, FLAVORS, COHORTS, CLUSTER_QUEUES, LOCAL_QUEUES, LIMIT_RANGES)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long what can wait is kept waiting while there is other work."""

    status_seconds: float = 0.25
    """Between two rounds of queue statuses."""
    quiet_seconds: float = 1.0
    """Those who wait are told why once nothing was decided for so long …"""
    flowing_seconds: float = 5.0
    """… and while work flows some of them every so often."""


IN_TIME, AT_ONCE = Pace(), Pace(0.0, 0.0, 0.0)


class Queueing:
    """`start` it; it stops when asked. `idle` is set while there is nothing to do but wait."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        ids: Ids,
        config: Configuration | None = None,
        adapters: Sequence[JobAdapter] = ADAPTERS,
        pace: Pace = IN_TIME,
    ) -> None:
        self.config = config or Configuration()
        self._clock = clock
        self._pace = pace
        enabled = [adapter for adapter in adapters if adapter.framework in self.config.integrations.frameworks]
        classes = (PRIORITY_CLASSES, POD_PRIORITY_CLASSES)
        kinds = list(dict.fromkeys([*(adapter.resource for adapter in enabled), PODS]))
        self.mirror = Mirror(client, [*_QUEUES_FIRST, *classes, *kinds, WORKLOADS], ids.uniform)
        self.recorder = Recorder(client, clock)
        self.observer = Observer(self.config, self.mirror, self.now)
        self.jobs = Jobs(self.config, enabled, self.mirror, self._look_again)
        self.life = Lifecycle(self.config, _World(self.observer, self.jobs))
        self._telling = Telling(self.config, self.observer, self.mirror[WORKLOADS])
        self.decider = Decider(self.config, self.observer, self.mirror)
        self._status = QueueStatus(self.config, self.observer, self.mirror)
        self.measures = Measures(self.config, self.observer, self.mirror)
        self.views = QueueViews(self.observer, self.mirror[WORKLOADS], self.measures)
        self.applier = Applier(client, self.mirror, self._record)
        self._due: list[tuple[Time, str]] = []
        decay = self.observer.state.settings.usage_decay
        self._sampling = max(decay.sampling, SECOND) if decay is not None else None
        self._sample_at: Time = 0
        self._status_from = self._decided_at = float("-inf")
        self._told_at = clock.monotonic
        self._wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.known = asyncio.Event()
        """Set once all objects have been read: from then on the mirror is true."""
        self._task: asyncio.Task[None] | None = None

    def now(self) -> Time:
        return int(self._clock.now * SECOND)

    def explain(self, key: str, visible: Set[str]) -> dict[str, Any]:
        """Why a workload does not run yet; visible: namespaces whose workloads may be named."""
        return explanation(self.observer.state, key, self.now(), visible)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="queueing")
        self.recorder.start()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.mirror.stop()
        await self.recorder.stop()

    @property
    def died(self) -> BaseException | None:
        """What ended the loop, if anything but `stop` did."""
        ended = self._task is not None and self._task.done() and not self._task.cancelled()
        return self._task.exception() if ended and self._task is not None else None

    def wake(self) -> None:
        self.idle.clear()
        self._wake.set()

    # --- the loop ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self.jobs.agenda.starting = self.observer.looks.starting = True
        await self.mirror.start(_QUEUES_FIRST)
        for table in self.mirror:
            table.on_change(lambda _key, _before, _after: self.wake())
        self.observer.looks.starting = False
        self.jobs.begin()
        self.known.set()
        self._wake.set()
        while True:
            try:
                async with asyncio.timeout(self._nap()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            # What happened at the same time is looked at together.
            await asyncio.sleep(0)
            self._wake.clear()
            try:
                if await self.step():
                    if self.jobs.only_found and not self._wake.is_set():
                        await give_way()
                    self._wake.set()
                elif not self._wake.is_set() and not self._telling.busy and not self._status.due:
                    self.idle.set()
            except ApiError as error:
                log.warning("queueing: %s; trying again", error.message)
                await asyncio.sleep(_RETRY_SECONDS)
                self.look_at_everything()
            except Exception:
                log.exception("queueing: a pass failed; trying again")
                await asyncio.sleep(_RETRY_SECONDS)
                self.look_at_everything()

    async def step(self) -> bool:
        """One pass. Says whether there is more to do at once."""
        now = self.now()
        self._collect_due(now)
        await self._apply(self.jobs.reconcile(now))
        await self._apply(self._look(now))
        if self.decider.busy:
            await self._decide()
        busy = self.jobs.busy or bool(self.observer.looks) or self.decider.busy
        if self._status.due and self._status_rested():
            await self._tell_statuses(now)
        if not busy and self._telling.busy and self._telling_in() <= 0:
            self._told_at = self._clock.monotonic
            await self._apply(self._telling.writes(now))
        more_to_tell = self._telling.busy and self._telling_in() <= 0
        return busy or more_to_tell or (self._status.due and self._status_rested())

    async def _decide(self) -> None:
        """While one decision is on its way to the disk, the next is made; it is written when the one before, on which it rests, is durable."""
        writing: asyncio.Task[None] | None = None
        try:
            for _ in range(_AHEAD):
                writes = self._attempt(self.now())
                if writing is not None:
                    await writing
                    writing = None
                if not writes:
                    break
                self._decided_at = self._clock.monotonic
                writing = asyncio.get_running_loop().create_task(self._apply(writes, self.decider.given))
                if not self.decider.busy:
                    break
                await asyncio.sleep(0)
            if writing is not None:
                await writing
        finally:
            if writing is not None:
                writing.cancel()

    def _attempt(self, now: Time) -> list[Write]:
        began = self._clock.monotonic
        writes = self.decider.decide(now)
        self.measures.attempted(self.decider.plan, self._clock.monotonic - began)
        return writes

    async def _apply(self, writes: list[Write], given: Sequence[Known] = ()) -> None:
        if writes:
            await self.applier.apply(writes, given)
            if self.applier.trouble is not None:
                raise self.applier.trouble

    async def _tell_statuses(self, now: Time) -> None:
        began = self._clock.monotonic
        await self._apply(self._status.writes(now))
        ended = self._clock.monotonic
        self._status_from = max(began + self._pace.status_seconds, ended + _STATUS_RESTS * (ended - began))

    def _status_rested(self) -> bool:
        return self._clock.monotonic >= self._status_from

    def _telling_in(self) -> float:
        """Seconds until those who wait may be told why."""
        quiet_at, at_last = self._decided_at + self._pace.quiet_seconds, self._told_at + self._pace.flowing_seconds
        return min(quiet_at, at_last) - self._clock.monotonic

    def _nap(self) -> float:
        naps = [_LONGEST_NAP]
        if self._due:
            naps.append(max(0.0, (self._due[0][0] - self.now()) / SECOND) + 0.001)
        if self._sampling is not None:
            naps.append(max(0.0, (self._sample_at - self.now()) / SECOND) + 0.001)
        if self._status.due:
            naps.append(max(0.0, self._status_from - self._clock.monotonic) + 0.001)
        if self._telling.busy:
            naps.append(max(0.0, self._telling_in()) + 0.001)
        return min(naps)

    # --- workloads --------------------------------------------------------------------------------------------------

    def _collect_due(self, now: Time) -> None:
        if self._sampling is not None and not 0 < self._sample_at - now <= self._sampling:
            self._sample_at = now + self._sampling
            self.observer.tenants_touched.update(dict.fromkeys(self.observer.state.lines.tenants))
        while self._due and self._due[0][0] <= now:
            key = heapq.heappop(self._due)[1]
            self._look_again(key)
            self.jobs.look_at(key)

    def _look_again(self, key: str) -> None:
        if key in self.mirror[WORKLOADS]:
            self.observer.looks.add(key)
            self.wake()

    def look_at_everything(self) -> None:
        """After a failure: whatever was decided and not stored is forgotten, and all is looked at again."""
        for key in self.mirror[WORKLOADS]:
            self.observer.enter(key)
            self.observer.looks.add(key)
        self.jobs.look_at_everything()
        self.observer.state.wake(list(self.observer.state.queues))
        self._wake.set()

    def _look(self, now: Time) -> list[Write]:
        writes: list[Write] = []
        for key in self.observer.looks.take(_LOOKS_MAX, FOUND_MAX):
            obj = self.mirror[WORKLOADS].view(key)
            if obj is None:
                continue
            try:
                verdict = self.life.look(obj, now)
            except Exception:  # one workload that nobody understands must not hold up all others
                log.exception("queueing: workload %s cannot be looked at; it stays as it is", key)
                continue
            if verdict.due is not None:
                heapq.heappush(self._due, (verdict.due, key))
            for write in _writes(verdict, obj, self.jobs):
                write.failed = lambda error, key=key: self._failed(key, error.code)
                writes.append(write)
        return writes

    def _failed(self, key: str, code: int) -> None:
        if code == 409:
            self._look_again(key)

    def _record(self, note: Note) -> None:
        self.measures.heard(note, self.now())
        self.recorder.note(note.about, note.type, note.reason, note.message, note.component)


class _World:
    """What the rules of a Workload's life may know, from those who know it."""

    def __init__(self, observer: Observer, jobs: Jobs) -> None:
        self.tenant = observer.tenant
        self.queue = observer.queue
        self.is_active = observer.is_active
        self.is_terminating = observer.is_terminating
        self.has_job = jobs.has_job


def _writes(verdict: Verdict, obj: dict[str, object], jobs: Jobs) -> list[Write]:
    about = verdict.status or verdict.spec or obj
    notes = [Note(about, said.type, said.reason, said.message, COMPONENT) for said in verdict.said]
    if verdict.remove_job:
        found = jobs.job_of(obj)
        if found is not None:
            return [Write("delete", found[0].resource, found[1], notes)]
    if verdict.remove:
        return [Write("delete", WORKLOADS, obj, notes)]
    if verdict.spec is not None:
        return [Write("update", WORKLOADS, verdict.spec, notes)]
    if verdict.status is not None:
        return [Write("updateStatus", WORKLOADS, verdict.status, notes)]
    return []
