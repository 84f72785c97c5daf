"""Keeps Jobs going: watches Jobs and pods, decides, and carries plans out in few, large writes.

A round takes all Jobs that changed since the last one. Their statuses and new pods go out together; once that is durable, pods that the
statuses account for are released, and those that must go are deleted. The answers to our own writes are news like any other, so the next
decision rests on them even where the watch lags; and a pod's name is that of its attempt, so creating it again finds it there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from fairway.api.client import BulkItem, Client, Deletion, Item, Resource
from fairway.api.errors import ApiError
from fairway.api.reflector import Reflector
from fairway.control.jobs.adopt import adoptions
from fairway.control.jobs.decide import decide
from fairway.control.jobs.plan import Plan
from fairway.control.jobs.pods import PodMaker, free_name
from fairway.control.jobs.state import State, Tracked, head_of
from fairway.control.jobs.view import FINALIZER, NO_INDEX
from fairway.control.rounds import Rounds, report_failure
from fairway.kinds.types import to_json
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
Json = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
COMPONENT = "job-controller"
ROUND_JOBS = 200
BULK_MAX = 250
"""Writes handed over at once: the API prepares them without a pause, and others want their turn."""
LAZY_SECONDS = 0.2
RETRY_SECONDS, RETRY_MAX_SECONDS = 0.2, 60.0


class Recorder(Protocol):
    """Takes note of events; nothing waits for them."""

    def note(self, about: Json, type: str, reason: str, message: str, component: str) -> None: ...


@dataclass(slots=True)
class _Work:
    """A plan under way."""

    tracked: Tracked
    plan: Plan
    ok: bool = True
    """Whether the status that the rest of the plan depends on was written."""
    whole: bool = True
    """Whether nothing of it has to be tried again."""
    held: set[str] = field(default_factory=set)
    """Pods that could not be released now. To delete them all the same would make them count as failed."""


class Jobs:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        uniform: Callable[[], float],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self.state = State(lambda name, namespace: self._jobs.get(name, namespace))
        self.rounds = Rounds("jobs", clock, self._round, ROUND_JOBS)
        self._jobs = Reflector(client, JOBS, _JobNews(self), sleep=sleep, uniform=uniform)
        self._pods = Reflector(client, PODS, _PodNews(self), sleep=sleep, uniform=uniform)
        self._task: asyncio.Task[None] | None = None

    @property
    def synced(self) -> bool:
        """Whether what is told now happens now, and was not only found."""
        return self._jobs.synced.is_set()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._follow(), name="jobs-watch")
        self._task.add_done_callback(report_failure)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.rounds.stop()

    async def _follow(self) -> None:
        """Nothing is decided before both are known; pods come second, so that their Jobs are there."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._jobs.run())
            await self._jobs.synced.wait()
            group.create_task(self._pods.run())
            await self._pods.synced.wait()
            self.rounds.start()

    # --- a round --------------------------------------------------------------------------------------------------

    async def _round(self, uids: list[str]) -> None:
        try:
            for uid in uids:
                await self._adopt(uid)
            await self._carry_out([work for uid in uids if (work := self._try_to_decide(uid)) is not None])
        except ApiError as error:
            log.warning("jobs: %s; trying again", error.message)
            for uid in uids:
                self._retry(uid)
        except Exception:
            log.exception("jobs: a round failed; trying again")
            for uid in uids:
                self._retry(uid)

    def _try_to_decide(self, uid: str) -> _Work | None:
        """One Job that the rules cannot deal with must not hold up the others."""
        try:
            return self._decide(uid)
        except Exception:
            log.exception("job %s/%s: no decision; trying again", *self.state.jobs[uid].key)
            self._retry(uid)
            return None

    def _decide(self, uid: str) -> _Work | None:
        tracked = self.state.jobs.get(uid)
        if tracked is None or (tracked.at_rest and tracked.item is not None and not tracked.pods):
            return None
        job = tracked.job
        if job is None:  # the Job is gone; nobody counts its pods any more
            held = tuple(pod.uid for pod in tracked.views() if pod.tracked)
            return _Work(tracked, Plan(release=held)) if held else None
        now = self._clock.now
        plan = decide(job, tracked.views(), now, tracked.past)
        if plan.wake_at:
            self.rounds.look_at(uid, plan.wake_at)
        if plan.status is not None and not plan.urgent and self._may_wait(tracked, plan, now):
            return None
        tracked.lazy_at = 0.0
        return _Work(tracked, plan)

    def _may_wait(self, tracked: Tracked, plan: Plan, now: float) -> bool:
        if plan.create or plan.claim or plan.release or plan.delete or plan.delete_job:
            return False
        if not tracked.lazy_at:
            tracked.lazy_at = now + LAZY_SECONDS
        if tracked.lazy_at <= now:
            return False
        self.rounds.look_at(tracked.uid, tracked.lazy_at)
        return True

    async def _carry_out(self, works: list[_Work]) -> None:
        await self._write_and_create(works)
        await self._claim([work for work in works if work.ok and work.plan.claim])
        await self._release([work for work in works if work.ok and work.plan.release])
        await asyncio.gather(*(self._delete(work) for work in works if work.ok and work.plan.delete))
        for work in works:
            if work.ok and work.plan.delete_job:
                await self._delete_job(work)
            if work.whole:
                work.tracked.failures = 0
            else:
                self._retry(work.tracked.uid)

    async def _bulk(self, items: list[BulkItem]) -> list[Item | ApiError]:
        results: list[Item | ApiError] = []
        for start in range(0, len(items), BULK_MAX):
            results += await self._client.bulk(items[start : start + BULK_MAX])
        return results

    # --- status and new pods --------------------------------------------------------------------------------------

    async def _write_and_create(self, works: list[_Work]) -> None:
        items: list[BulkItem] = []
        then: list[Callable[[Item | ApiError], Awaitable[None]]] = []
        for work in works:
            if work.plan.status is not None:
                items.append(BulkItem("updateStatus", JOBS, _with_status(work)))
                then.append(partial(self._status_written, work))
            for body in _new_pods(work):
                items.append(BulkItem("create", PODS, body))
                then.append(partial(self._created, work, body["metadata"]["name"]))
        for result, handle in zip(await self._bulk(items), then, strict=True):
            await handle(result)

    async def _status_written(self, work: _Work, result: Item | ApiError) -> None:
        tracked = work.tracked
        if isinstance(result, Item):
            for note in work.plan.notes:
                self._tell(tracked, note.reason, note.message, warning=note.type == "Warning")
            self.rounds.look((self.state.see_job(result),))
            return
        work.ok = False
        if result.code == 409:  # someone else changed it; the watch will say, and then we look again
            self.rounds.look_at(tracked.uid, self._clock.now + RETRY_SECONDS)
        elif result.code != 404:
            log.warning("job %s/%s: status not written: %s", *tracked.key, result.message)
            work.whole = False

    async def _created(self, work: _Work, name: str, result: Item | ApiError) -> None:
        tracked = work.tracked
        if isinstance(result, Item):
            self.rounds.look(self.state.see_pod(result))
            self._tell(tracked, "SuccessfulCreate", f"Created pod: {name}")
        elif result.reason == "AlreadyExists":
            await self._found(tracked, name)
        elif result.code != 404 and not _namespace_ends(result):
            self._tell(tracked, "FailedCreate", f"Error creating: {result.message}", warning=True)
            work.whole = False

    async def _found(self, tracked: Tracked, name: str) -> None:
        """A pod of that name is there: ours, from an attempt whose answer we never saw, or a stranger's."""
        try:
            item = await self._client.get(PODS, name, tracked.key[0])
        except ApiError:
            self._retry(tracked.uid)
            return
        self.state.see_pod(item)
        tracked.names.add(name)
        self.rounds.look((tracked.uid,))

    # --- release and delete ---------------------------------------------------------------------------------------

    async def _claim(self, works: list[_Work]) -> None:
        claims = [(work.tracked, uid, item) for work in works for uid, item in _held(work, work.plan.claim)]
        items = [BulkItem("update", PODS, _finalized(item, tracked=True)) for _, _, item in claims]
        for (tracked, uid, _), result in zip(claims, await self._bulk(items), strict=True):
            if isinstance(result, Item):
                tracked.released.discard(uid)
                self.state.see_pod(result)
            self.rounds.look((tracked.uid,))

    async def _release(self, works: list[_Work]) -> None:
        items: list[BulkItem] = []
        whose: list[tuple[_Work, str]] = []
        for work in works:
            for uid, item in _held(work, work.plan.release):
                items.append(BulkItem("update", PODS, _finalized(item, tracked=False)))
                whose.append((work, uid))
        for (work, uid), result in zip(whose, await self._bulk(items), strict=True):
            tracked = work.tracked
            if isinstance(result, Item):
                self._released(tracked, uid, result)
            elif result.code == 404:
                self.state.drop_pod(tracked.uid, uid)
            else:  # it changed meanwhile; the watch will say how
                work.held.add(uid)
                self.rounds.look_at(tracked.uid, self._clock.now + RETRY_SECONDS)
            self.rounds.look((tracked.uid,))

    def _released(self, tracked: Tracked, uid: str, item: Item) -> None:
        pod = tracked.pods.get(uid)
        if pod is not None:
            tracked.released.add(uid)
            if pod.terminal:
                tracked.settle(pod)
                if tracked.item is None and not tracked.pods:
                    self.state.jobs.pop(tracked.uid, None)
                return
        self.state.see_pod(item)

    async def _delete(self, work: _Work) -> None:
        tracked = work.tracked
        for uid in work.plan.delete:
            pod = tracked.pods.get(uid)
            if pod is None or uid in work.held:
                continue
            try:
                await self._client.delete(PODS, pod.name, tracked.key[0], Deletion(uid=uid))
            except ApiError as error:
                if error.code not in (404, 409):
                    self._tell(tracked, "FailedDelete", f"Error deleting: {error.message}", warning=True)
                    work.whole = False
                    continue
                self.state.drop_pod(tracked.uid, uid)
            else:
                if uid in tracked.pods:
                    tracked.deleted.add(uid)
                self._tell(tracked, "SuccessfulDelete", f"Deleted pod: {pod.name}")
        self.rounds.look((tracked.uid,))

    async def _delete_job(self, work: _Work) -> None:
        namespace, name = work.tracked.key
        try:
            await self._client.delete(JOBS, name, namespace, Deletion("Foreground", uid=work.tracked.uid))
        except ApiError as error:
            work.whole = error.code in (404, 409)

    async def _adopt(self, uid: str) -> None:
        """Pods that nobody controls and that a Job selects by hand become its own, before anything is decided about it."""
        orphans = self.state.adoptable(uid)
        job = self.state.jobs[uid].job if orphans else None
        if job is None:
            return
        bodies = adoptions(job, orphans)
        for result in await self._bulk([BulkItem("update", PODS, body) for body in bodies]):
            if isinstance(result, Item):
                self.rounds.look(self.state.see_pod(result))

    # --- shared ---------------------------------------------------------------------------------------------------

    def _retry(self, uid: str) -> None:
        tracked = self.state.jobs.get(uid)
        if tracked is not None:
            delay = min(RETRY_MAX_SECONDS, RETRY_SECONDS * 2.0 ** min(tracked.failures, 16))
            tracked.failures += 1
            self.rounds.look_at(uid, self._clock.now + delay)

    def _tell(self, tracked: Tracked, reason: str, message: str, *, warning: bool = False) -> None:
        namespace, name = tracked.key
        metadata = {"namespace": namespace, "name": name, "uid": tracked.uid, "resourceVersion": tracked.version}
        about = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
        self._recorder.note(about, "Warning" if warning else "Normal", reason, message, COMPONENT)


class _JobNews:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def added(self, item: Item) -> None:
        head = head_of(item)
        if self._jobs.synced or not head.at_rest:
            self._jobs.rounds.look((self._jobs.state.see_job(item, head),))

    def modified(self, _before: Item, item: Item) -> None:
        self._jobs.rounds.look((self._jobs.state.see_job(item),))

    def deleted(self, item: Item) -> None:
        self._jobs.rounds.look((self._jobs.state.forget_job(item),))


class _PodNews:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def added(self, item: Item) -> None:
        # Whatever has pods has something going on, so it does not wait behind all that only waits.
        self._jobs.rounds.look(self._jobs.state.see_pod(item), urgent=True)

    def modified(self, _before: Item, item: Item) -> None:
        self.added(item)

    def deleted(self, item: Item) -> None:
        self._jobs.rounds.look(self._jobs.state.forget_pod(item))


def _with_status(work: _Work) -> Json:
    tracked = work.tracked
    namespace, name = tracked.key
    metadata = {"namespace": namespace, "name": name, "uid": tracked.uid, "resourceVersion": tracked.version}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": to_json(work.plan.status)}


def _new_pods(work: _Work) -> list[Json]:
    if not work.plan.create:
        return []
    tracked = work.tracked
    assert tracked.item is not None
    maker = PodMaker(tracked.item.json())
    taken = set(tracked.names)
    bodies = []
    for new in work.plan.create:
        first = len(taken) if new.index == NO_INDEX else 0
        name = free_name(tracked.key[1], tracked.uid, new.index, taken, first)
        taken.add(name)
        bodies.append(maker.make(name, new))
    return bodies


def _held(work: _Work, uids: Iterable[str]) -> Iterator[tuple[str, Item]]:
    for uid in uids:
        item = work.tracked.items.get(uid)
        if item is not None:
            yield uid, item


def _finalized(item: Item, *, tracked: bool) -> Json:
    body = item.json()
    metadata = body["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
    if tracked:
        finalizers.append(FINALIZER)
    return {**body, "metadata": {**metadata, "finalizers": finalizers}}


def _namespace_ends(error: ApiError) -> bool:
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.details.get("causes") or ())
