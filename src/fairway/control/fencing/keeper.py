"""Looks after the leases of hubs: hands terms on to the shims, and evicts the work of a hub that did not renew.

Such work stays inactive until the hub deletes it: the hub may have started it elsewhere, and only the hub knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fairway.api.client import BulkItem, Client, Item, Query
from fairway.api.errors import ApiError
from fairway.control import render
from fairway.control.conditions import find_condition, is_true, with_own_status
from fairway.control.events import Recorder
from fairway.control.fencing import names
from fairway.control.fencing.book import Book
from fairway.control.fencing.files import LeaseFiles
from fairway.control.resources import WORKLOADS
from fairway.control.times import render_time
from fairway.core.model import SECOND
from fairway.engines.lease import Lease
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
RETRY_SECONDS = 0.2
COMPONENT = "fairway-fencing"
Json = dict[str, Any]


class Keeper:
    def __init__(
        self,
        client: Client,
        book: Book,
        files: LeaseFiles,
        clock: Clock,
        recorder: Recorder,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._book = book
        self._files = files
        self._clock = clock
        self._recorder = recorder
        self._sleep = sleep
        self._wake = asyncio.Event()
        self._heard: dict[str, None] = {}
        self._written: dict[str, Lease] = {}
        self._clearing: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._spawn(self._run(), "fencing")

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def heard(self, origin: str) -> None:
        """A hub wrote its Lease."""
        self._heard[origin] = None
        self._wake.set()

    def _spawn(self, work: Any, name: str) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the loop -----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        """First of all: work whose hub has no valid lease when the node starts lost it while nobody looked."""
        await self._persist(self._find_origins)
        while True:
            for origin in self._book.lapsing():
                self._book.lapse(origin)
                self._clear(origin)
            for origin in list(self._heard):
                del self._heard[origin]
                if self._book.asked(origin) is not None:
                    self._clear(origin)
                self._spawn(self._hand_on(origin), f"lease-{origin}")
            try:
                async with asyncio.timeout(self._book.seconds_to_next()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    async def _find_origins(self) -> bool:
        found = await self._client.list(WORKLOADS, Query(labels=names.ORIGIN))
        for origin in sorted({names.marks(item.json())[0] for item in found.items}):
            if origin and self._book.term(origin) is None:
                self._clear(origin)
        return True

    async def _hand_on(self, origin: str) -> None:
        """The file follows the term. Never is there more in it than the hub knows of: terms only grow by what it renewed."""
        term = self._book.term(origin)
        if term is None or self._written.get(origin) == term:
            return
        self._written[origin] = term
        try:
            await self._files.write(origin, term)
        except OSError as error:
            self._written.pop(origin, None)
            log.warning("the lease of hub %s could not be handed on to what runs here: %s", origin, error)

    # --- eviction -----------------------------------------------------------------------------------------------------

    def _clear(self, origin: str) -> None:
        if origin not in self._clearing:
            self._clearing.add(origin)
            self._spawn(self._clear_and_begin(origin), f"evict-{origin}")

    async def _clear_and_begin(self, origin: str) -> None:
        """Everything from before is evicted, durably; then the term begins that was asked for before the eviction did."""
        asked = self._book.asked(origin)
        try:
            await self._persist(lambda: self._evict_all(origin))
            if asked is not None:
                await self._begin(origin, asked.since)
        finally:
            self._clearing.discard(origin)
        pending = self._book.asked(origin)
        if pending is not None and (asked is None or pending.since != asked.since):
            self._clear(origin)

    async def _begin(self, origin: str, since: float) -> None:
        """The file first, so that no run of the new term finds the old one in it."""
        asked = self._book.asked(origin)
        if asked is None or asked.since != since:
            return
        try:
            await self._files.write(origin, asked)
        except OSError as error:
            log.warning("the lease of hub %s cannot begin, since its file cannot be written: %s", origin, error)
            return
        self._written[origin] = asked
        self._book.begin(origin, since)
        self.heard(origin)

    async def _persist(self, step: Callable[[], Awaitable[bool]]) -> None:
        """Until it says that it is done."""
        while True:
            try:
                if await step():
                    return
            except ApiError as error:
                log.warning("fencing: %s; trying again", error.message)
            except Exception:
                log.exception("fencing: a step failed; trying again")
            await self._sleep(RETRY_SECONDS)

    async def _evict_all(self, origin: str) -> bool:
        """One round; whether nothing is left of what was there. What changed under our hands is seen in the next."""
        found = await self._client.list(WORKLOADS, Query(labels=f"{names.ORIGIN}={origin}"))
        victims = [obj for obj in (item.json() for item in found.items) if must_go(obj)]
        evicted = [obj for obj in victims if _marked(obj)]
        fresh = [obj for obj in victims if not _marked(obj)]
        if fresh:
            evicted += await self._mark(fresh, origin)
        bodies = [{**obj, "spec": {**obj["spec"], "active": False}} for obj in evicted]
        results = await self._client.bulk([BulkItem("update", WORKLOADS, body) for body in bodies]) if bodies else []
        return sum(isinstance(result, Item) for result in results) == len(victims)

    async def _mark(self, victims: list[Json], origin: str) -> list[Json]:
        text = self._why(origin)
        now = int(self._clock.now * SECOND)
        bodies = []
        for obj in victims:
            body = with_own_status(obj)
            render.set_evicted(body, names.LEASE_EXPIRED, text, now)
            bodies.append(body)
        marked = []
        for result in await self._client.bulk([BulkItem("updateStatus", WORKLOADS, body) for body in bodies]):
            if isinstance(result, Item):
                obj = result.json()
                marked.append(obj)
                self._recorder.note(obj, "Warning", f"EvictedDueTo{names.LEASE_EXPIRED}", text, COMPONENT)
        return marked

    def _why(self, origin: str) -> str:
        silent_s = self._book.silent_s(origin)
        if silent_s is None:
            since = "since before this node started"
        else:
            since = f"since {render_time(int((self._clock.now - silent_s) * SECOND))}"
        return (
            f'Hub "{origin}" did not renew its lease on this cluster {since}. The hub may start the workload elsewhere; '
            "it stays inactive here until the hub deletes it"
        )


def must_go(workload: Json) -> bool:
    """Sent by a hub, and not over; admitted now or ever, so that the hub may have sent its job. What only waits has nothing to start."""
    if not names.marks(workload)[1] or is_true(workload, "Finished"):
        return False
    if workload["spec"].get("active", True) is False or workload["metadata"].get("deletionTimestamp"):
        return False
    admitted = (workload.get("status") or {}).get("admission") or workload["metadata"].get("ownerReferences")
    return bool(admitted) or find_condition(workload, "Evicted") is not None


def _marked(workload: Json) -> bool:
    evicted = find_condition(workload, "Evicted") or {}
    return evicted.get("status") == "True" and evicted.get("reason") == names.LEASE_EXPIRED
