"""Keeps JobSets going: watches sets and their Jobs, decides, and carries plans out.

Jobs are named by their place in the set, so creating one again finds it there; a restart is first written down, then done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace as changed
from typing import Any

from fairway.api.client import BulkItem, Client, Deletion, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.reflector import Reflector
from fairway.control.jobs.controller import JOBS, Recorder
from fairway.control.jobsets.child import API_VERSION, NAME, make_job, make_service, resumed
from fairway.control.jobsets.decide import Plan, decide
from fairway.control.jobsets.state import State, Tracked
from fairway.control.rounds import Rounds, report_failure
from fairway.kinds.jobset.types import JobSet, ReplicatedJob
from fairway.kinds.k8s.opt import items, text
from fairway.kinds.types import to_json
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
Json = dict[str, Any]
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
SERVICES = Resource("", "v1", "services")
COMPONENT = "jobset-controller"
ROUND_SETS = 50
RETRY_SECONDS, RETRY_MAX_SECONDS = 0.2, 60.0


class JobSets:
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
        self.state = State()
        self.rounds = Rounds("jobsets", clock, self._round, ROUND_SETS)
        self._sets = Reflector(client, JOBSETS, _SetNews(self), sleep=sleep, uniform=uniform)
        ours = Query(labels=NAME)
        self._jobs = Reflector(client, JOBS, _JobNews(self), ours, sleep=sleep, uniform=uniform)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._follow(), name="jobsets-watch")
        self._task.add_done_callback(report_failure)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.rounds.stop()

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sets.run())
            group.create_task(self._jobs.run())
            await self._sets.synced.wait()
            await self._jobs.synced.wait()
            self.rounds.start()

    async def _round(self, uids: list[str]) -> None:
        for uid in uids:
            tracked = self.state.sets.get(uid)
            if tracked is None or tracked.jobset is None:
                continue
            try:
                await self._look(tracked, tracked.jobset)
                tracked.failures = 0
            except ApiError as error:
                self._trouble(tracked, error)
            except Exception:  # one set that cannot be dealt with must not hold up the others
                log.exception("jobset %s: a look failed; trying again", text(tracked.jobset.metadata.name))
                self._retry(tracked)

    async def _look(self, tracked: Tracked, jobset: JobSet) -> None:
        children = [
            changed(one, deleting=True) if one.uid in tracked.deleted else one for one in tracked.children.values()
        ]
        plan = decide(jobset, children, self._clock.now)
        if plan.wake_at:
            self.rounds.look_at(tracked.uid, plan.wake_at)
        await self._carry_out(tracked, jobset, plan)

    async def _carry_out(self, tracked: Tracked, jobset: JobSet, plan: Plan) -> None:
        if plan.status is not None:
            body = {**_identity(tracked, jobset), "status": to_json(plan.status)}
            item = await self._client.update(JOBSETS, body, subresource="status")
            for note in plan.notes:
                self._tell(tracked, jobset, note.reason, note.message, warning=note.type == "Warning")
            self.rounds.look((self.state.see_set(item),))
        if plan.service and not tracked.service:
            await self._serve(tracked, jobset)
        await self._create(tracked, jobset, plan)
        await self._change(tracked, jobset, plan)
        for uid in plan.delete:
            await self._delete(tracked, jobset, uid)
        if plan.delete_set:
            meta = jobset.metadata
            how = Deletion("Foreground", uid=tracked.uid)
            await self._client.delete(JOBSETS, text(meta.name), text(meta.namespace), how)

    async def _serve(self, tracked: Tracked, jobset: JobSet) -> None:
        service = make_service(jobset)
        if service is not None:
            try:
                await self._client.create(SERVICES, service, text(jobset.metadata.namespace))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    self._tell(tracked, jobset, "HeadlessServiceCreationFailed", error.message, warning=True)
                    raise
        tracked.service = True

    async def _create(self, tracked: Tracked, jobset: JobSet, plan: Plan) -> None:
        entries = {entry.name: entry for entry in items(jobset.spec.replicated_jobs)}
        bodies = [make_job(jobset, entries[new.entry], new.number) for new in plan.create]
        if not bodies:
            return
        trouble: ApiError | None = None
        results = await self._client.bulk([BulkItem("create", JOBS, body) for body in bodies])
        for body, result in zip(bodies, results, strict=True):
            if isinstance(result, Item):
                self.rounds.look((self.state.see_job(result),))
            elif result.reason == "AlreadyExists" and await self._known(body):
                continue
            else:
                trouble = result
                message = f'job "{body["metadata"]["name"]}" creation failed with error: {result.message}'
                self._tell(tracked, jobset, "JobCreationFailed", message, warning=True)
        if trouble is not None:
            raise trouble

    async def _known(self, body: Json) -> bool:
        """Whether a Job that is there already is ours, from a try whose answer we never saw."""
        meta = body["metadata"]
        item = await self._client.get(JOBS, meta["name"], meta["namespace"])
        owners = item.json()["metadata"].get("ownerReferences") or ()
        if not any(owner["uid"] == meta["ownerReferences"][0]["uid"] for owner in owners):
            return False
        self.rounds.look((self.state.see_job(item),))
        return True

    async def _change(self, tracked: Tracked, jobset: JobSet, plan: Plan) -> None:
        """Suspend and resume. A Job that changed meanwhile is looked at again when the watch says how."""
        writes: list[BulkItem] = []
        for uid in plan.suspend:
            body = tracked.items[uid].json()
            writes.append(BulkItem("update", JOBS, {**body, "spec": {**body["spec"], "suspend": True}}))
        for uid in plan.reset:
            body = tracked.items[uid].json()
            status = {key: value for key, value in body["status"].items() if key != "startTime"}
            writes.append(BulkItem("updateStatus", JOBS, {**body, "status": status}))
        for uid in plan.resume:
            writes.append(BulkItem("update", JOBS, self._resumed(tracked, jobset, uid)))
        if not writes:
            return
        for result in await self._client.bulk(writes):
            if isinstance(result, Item):
                self.rounds.look((self.state.see_job(result),))
            elif result.code not in (404, 409):
                raise result
            else:
                self.rounds.look_at(tracked.uid, self._clock.now + RETRY_SECONDS)

    def _resumed(self, tracked: Tracked, jobset: JobSet, uid: str) -> Json:
        one = tracked.children[uid]
        entry: ReplicatedJob = next(e for e in items(jobset.spec.replicated_jobs) if e.name == one.entry)
        return resumed(tracked.items[uid].json(), make_job(jobset, entry, int(one.name.rpartition("-")[2])))

    async def _delete(self, tracked: Tracked, jobset: JobSet, uid: str) -> None:
        one = tracked.children.get(uid)
        if one is None:
            return
        try:
            how = Deletion("Foreground", uid=uid)
            await self._client.delete(JOBS, one.name, text(jobset.metadata.namespace), how)
            tracked.deleted.add(uid)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            self.state.drop_job(tracked.uid, uid)
        self.rounds.look((tracked.uid,))

    def _trouble(self, tracked: Tracked, error: ApiError) -> None:
        if error.code == 404:
            return
        if error.code != 409:
            log.warning("jobset %s: %s; trying again", tracked.uid, error.message)
        self._retry(tracked)

    def _retry(self, tracked: Tracked) -> None:
        delay = min(RETRY_MAX_SECONDS, RETRY_SECONDS * 2.0 ** min(tracked.failures, 16))
        tracked.failures += 1
        self.rounds.look_at(tracked.uid, self._clock.now + delay)

    def _tell(self, tracked: Tracked, jobset: JobSet, reason: str, message: str, *, warning: bool = False) -> None:
        kind = "Warning" if warning else "Normal"
        self._recorder.note(_identity(tracked, jobset), kind, reason, message, COMPONENT)


class _SetNews:
    def __init__(self, sets: JobSets) -> None:
        self._sets = sets

    def added(self, item: Item) -> None:
        self._sets.rounds.look((self._sets.state.see_set(item),))

    def modified(self, _before: Item, item: Item) -> None:
        self.added(item)

    def deleted(self, item: Item) -> None:
        self._sets.state.forget_set(item)


class _JobNews:
    def __init__(self, sets: JobSets) -> None:
        self._sets = sets

    def added(self, item: Item) -> None:
        self._sets.rounds.look((self._sets.state.see_job(item),))

    def modified(self, _before: Item, item: Item) -> None:
        self.added(item)

    def deleted(self, item: Item) -> None:
        self._sets.rounds.look((self._sets.state.forget_job(item),))


def _identity(tracked: Tracked, jobset: JobSet) -> Json:
    meta = jobset.metadata
    identity = {"name": text(meta.name), "namespace": text(meta.namespace), "uid": tracked.uid}
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": {**identity, "resourceVersion": tracked.version},
    }
