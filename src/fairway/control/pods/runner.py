"""Makes the engine and the pods of one node agree: watches both, decides by `lifecycle`, writes the status, then acts.

One pod is dealt with by one task at a time, and many pods at once. What happens to a pod meanwhile makes it be looked at again. The order is
always: status durable, then engine. So a crash at any point leaves a status that names the run, and an engine that knows what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fairway.api.client import Client, Deletion, Item, Query, Resource
from fairway.api.errors import ApiError
from fairway.api.reflector import Reflector
from fairway.control.events import Recorder
from fairway.control.pods import containers
from fairway.control.pods.conditions import TERMINAL
from fairway.control.pods.devices import GPU, VARIABLE, Devices, shown, wanted
from fairway.control.pods.environment import Unprepared
from fairway.control.pods.lifecycle import Facts, Plan, Start, Stop, decide, rejected
from fairway.control.pods.preparing import Preparer
from fairway.control.pods.probes import Probes
from fairway.control.pods.requests import pod_requests
from fairway.core.quantity import MILLI, NANO, parse
from fairway.engines.engine import Engine, RunSpec, RunState, RunStatus
from fairway.runtime.clock import Clock

log = logging.getLogger("fairway.control")
PODS = Resource("", "v1", "pods")
KUBELET = "kubelet"
RETRY_SECONDS = 1.0
LAST_GRACE_SECONDS = 2.0
"""What is left to a container whose hook took all of its grace."""
_LEAVING = b'"deletionTimestamp":"'
AT_ONCE = 64
"""Pods dealt with at the same time."""


@dataclass(slots=True)
class _Pod:
    """What is known about a pod of this node."""

    item: Item
    version: int
    runs: dict[str, RunStatus] = field(default_factory=dict)
    streaks: dict[str, int] = field(default_factory=dict)
    stops: dict[str, float] = field(default_factory=dict)
    """Runs that were told to stop, and until when they were given."""
    gone: bool = False
    over: bool = False
    """It has ended and so have all its runs: until it is to be deleted, nothing that is written to it matters."""
    timer: asyncio.TimerHandle | None = None


class Runner:
    def __init__(
        self,
        client: Client,
        engine: Engine,
        node: str,
        preparer: Preparer,
        recorder: Recorder,
        clock: Clock,
        *,
        address: str,
        sleep: Callable[[float], Awaitable[None]],
        uniform: Callable[[], float],
    ) -> None:
        self._client = client
        self._engine = engine
        self._preparer = preparer
        self._recorder = recorder
        self._clock = clock
        self._address = address
        self._sleep = sleep
        self._pods: dict[str, _Pod] = {}
        self._orphans: dict[str, dict[str, RunStatus]] = {}
        """Runs of pods that are not, or not yet, known: by pod, by run."""
        self._dirty: dict[str, None] = {}
        self._busy: set[str] = set()
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        query = Query(fields=f"spec.nodeName={node}")
        self._reflector = Reflector(client, PODS, self, query, sleep=sleep, uniform=uniform)
        self._ready = False
        self._probes = Probes(engine, recorder, clock, sleep, self._mark, KUBELET)
        self._devices = Devices(parse(preparer.allocatable.get(GPU, "0")).units)

    def start(self) -> None:
        self._spawn(self._run())

    async def stop(self) -> None:
        for pod in self._pods.values():
            if pod.timer is not None:
                pod.timer.cancel()
        await self._probes.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run_of(self, uid: str, run_id: str) -> RunStatus | None:
        pod = self._pods.get(uid)
        return pod.runs.get(run_id) if pod is not None else None

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- observe ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        """The engine is asked first what it remembers: without that, nothing is decided."""
        for run in await self._engine.list():
            self._orphans.setdefault(pod_uid(run), {})[run.id] = run
        self._spawn(self._reflector.run())
        await self._reflector.synced.wait()
        self._sweep_folders()
        self._ready = True
        self._spawn(self._follow_engine())
        for run in [run for runs in self._orphans.values() for run in runs.values()]:
            self._spawn(self._end_orphan(run))
        self._orphans.clear()
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            for uid in [uid for uid in self._dirty if uid not in self._busy][: AT_ONCE - len(self._busy)]:
                del self._dirty[uid]
                self._busy.add(uid)
                self._spawn(self._deal_with(uid))

    async def _follow_engine(self) -> None:
        while True:
            try:
                async for run in self._engine.watch():
                    self._on_run(run)
            except Exception:
                log.exception("watching the engine failed; trying again")
            await self._sleep(RETRY_SECONDS)

    def _on_run(self, run: RunStatus) -> None:
        named = containers.parts(run.id)
        pod = self._pods.get(named[0]) if named is not None else None
        if pod is None or pod.gone:
            self._spawn(self._end_orphan(run))
            return
        known = pod.runs.get(run.id)
        if known is not None and known.final:
            return
        pod.runs[run.id] = run
        if run.final:
            self._probes.drop(run.id)
        if run.state is not RunState.STARTING:
            self._mark(pod_uid(run))

    def added(self, item: Item) -> None:
        uid = item.uid
        known = self._pods.get(uid)
        if known is None:
            known = self._pods[uid] = _Pod(item, 0)
            obj = item.json()
            if (obj.get("status") or {}).get("phase") not in TERMINAL:
                self._devices.learn(obj)
            known.runs.update(self._orphans.pop(uid, {}))
        if self._learn(known, item) and not (known.over and _LEAVING not in item.value):
            self._mark(uid)

    def modified(self, _before: Item, item: Item) -> None:
        self.added(item)

    def deleted(self, item: Item) -> None:
        pod = self._pods.get(item.meta.uid)
        if pod is not None:
            pod.gone = True
            self._mark(item.meta.uid)

    def _learn(self, pod: _Pod, item: Item) -> bool:
        """Whether it is news: our own write is known before the watch tells of it, and of the one before."""
        version = item.revision or int(item.meta.resource_version or 0)
        if version <= pod.version:
            return False
        pod.item, pod.version = item, version
        return True

    def _mark(self, uid: str) -> None:
        self._dirty[uid] = None
        if self._ready:
            self._wake.set()

    # --- one pod ------------------------------------------------------------------------------------------------------

    async def _deal_with(self, uid: str) -> None:
        try:
            if (pod := self._pods.get(uid)) is not None:  # None: there was news of it while it was cleared away.
                await self._try(uid, pod)
        finally:
            self._busy.discard(uid)
            if self._dirty:
                self._wake.set()

    async def _try(self, uid: str, pod: _Pod) -> None:
        try:
            await (self._clear(uid, pod) if pod.gone else self._step(uid, pod))
        except ApiError as error:
            if error.code == 409:
                await self._refresh(uid, pod)
            elif error.code != 404:
                log.warning("pod %s: %s; trying again", uid, error.message)
                self._later(uid, pod, RETRY_SECONDS)
        except Exception:
            log.exception("pod %s: a step failed; trying again", uid)
            self._later(uid, pod, RETRY_SECONDS)

    async def _step(self, uid: str, pod: _Pod) -> None:
        obj = pod.item.json()
        if self._is_uninvited(obj) and await self._turn_away(pod, obj):
            return
        plan = decide(obj, self._facts(obj, pod))
        specs: dict[str, RunSpec] = {}
        if plan.starts:
            specs, problems = await self._prepare(obj, plan.starts)
            if problems:
                plan = decide(obj, self._facts(obj, pod, problems))
            self._show_devices(uid, plan)
        pod.streaks = plan.streaks
        if plan.status != obj.get("status"):
            await self._write(pod, {**obj, "status": plan.status})
            for note in plan.notes:
                self._recorder.note(obj, "Warning" if note.warning else "Normal", note.reason, note.message, KUBELET)
        await self._act(obj, pod, plan, specs)
        if plan.status["phase"] in TERMINAL:
            self._devices.release(uid)
            pod.over = all(run.final for run in pod.runs.values()) and plan.wake_at is None
        if plan.remove:
            how = Deletion(uid=uid, grace_seconds=0)
            await self._client.delete(PODS, obj["metadata"]["name"], obj["metadata"].get("namespace", ""), how)
        elif plan.wake_at is not None:
            self._later(uid, pod, plan.wake_at - self._clock.now)

    def _is_uninvited(self, obj: dict[str, Any]) -> bool:
        """Not yet begun, and on this node without having been bound to it: its creator named the node."""
        status = obj.get("status") or {}
        scheduled = any(condition.get("type") == "PodScheduled" for condition in status.get("conditions") or ())
        return not scheduled and "startTime" not in status and not obj["metadata"].get("deletionTimestamp")

    async def _turn_away(self, pod: _Pod, obj: dict[str, Any]) -> bool:
        """Whether there is no room for it. Only for such pods is everything on the node added up."""
        used: dict[str, int] = {}
        for other in self._pods.values():
            known = other.item.json()
            status = known.get("status") or {}
            if other is not pod and "startTime" in status and status.get("phase") not in TERMINAL:
                for name, amount in pod_requests(known["spec"]).items():
                    used[name] = used.get(name, 0) + amount
        lacking = {}
        for name, amount in pod_requests(obj["spec"]).items():
            capacity = parse(self._preparer.allocatable.get(name, "0")).nanos
            if amount and amount + used.get(name, 0) > capacity:
                unit = MILLI if name == "cpu" else NANO
                lacking[name] = (amount // unit, used.get(name, 0) // unit, capacity // unit)
        status = rejected(obj, lacking, self._clock.now)
        if status is None:
            return False
        await self._write(pod, {**obj, "status": status})
        self._recorder.note(obj, "Warning", status["reason"], status["message"], KUBELET)
        return True

    def _facts(self, obj: dict[str, Any], pod: _Pod, problems: dict[str, containers.Problem] | None = None) -> Facts:
        health = self._probes.health(obj, pod.runs)
        return Facts(pod.runs, self._clock.now, self._address, problems or {}, pod.streaks, health)

    async def _prepare(
        self, obj: dict[str, Any], starts: list[Start]
    ) -> tuple[dict[str, RunSpec], dict[str, containers.Problem]]:
        specs: dict[str, RunSpec] = {}
        problems: dict[str, containers.Problem] = {}
        named = everyone(obj)
        for start in starts:
            try:
                spec = await self._preparer.prepare(obj, named[start.container], start.run_id)
                specs[start.run_id] = self._with_devices(obj["metadata"]["uid"], named[start.container], spec)
            except Unprepared as error:
                problems[start.container] = error.problem
        return specs, problems

    def _with_devices(self, uid: str, container: dict[str, Any], spec: RunSpec) -> RunSpec:
        count = wanted(container)
        if not count or VARIABLE in spec.env:
            return spec
        ids = self._devices.take(uid, container["name"], count)
        if ids is None:
            why = f"{count} {GPU} requested and not that many are free yet"
            raise Unprepared(containers.Problem(containers.CREATING, why))
        return replace(spec, env={**spec.env, VARIABLE: ",".join(ids)})

    def _show_devices(self, uid: str, plan: Plan) -> None:
        """What a container was given stands in its status, so that the next life of the node knows."""
        for start in plan.starts:
            ids = self._devices.given(uid, start.container)
            statuses = (*plan.status.get("initContainerStatuses", ()), *plan.status["containerStatuses"])
            for status in statuses if ids else ():
                if status["name"] == start.container:
                    status["allocatedResourcesStatus"] = shown(ids)

    async def _write(self, pod: _Pod, obj: dict[str, Any]) -> None:
        self._learn(pod, await self._client.update(PODS, obj, subresource="status"))

    async def _act(self, obj: dict[str, Any], pod: _Pod, plan: Plan, specs: dict[str, RunSpec]) -> None:
        for start in plan.starts:
            if start.run_id in specs and not pod.gone:
                pod.runs[start.run_id] = RunStatus(start.run_id, RunState.STARTING)
                try:
                    await self._engine.start(specs[start.run_id])
                except BaseException:
                    if pod.runs[start.run_id].state is RunState.STARTING:
                        del pod.runs[
                            start.run_id
                        ]  # not known whether it was taken: it is given again, under the same id
                    raise
            await self._forget_older(pod, start.run_id)
        for stop in plan.stops:
            await self._stop(obj, pod, stop)

    async def _forget_older(self, pod: _Pod, run_id: str) -> None:
        """The run before is kept for its log (kubectl logs --previous); the one before that is not."""
        named = containers.parts(run_id)
        if named is None or named[2] < 2:
            return
        older = containers.run_id(named[0], named[1], named[2] - 2)
        run = pod.runs.get(older)
        if run is not None and run.final:
            await self._engine.forget(older)
            del pod.runs[older]

    async def _stop(self, obj: dict[str, Any], pod: _Pod, stop: Stop) -> None:
        until = self._clock.now + stop.grace_seconds
        told = pod.stops.get(stop.run_id)
        if told is not None and told <= until + 1:
            return
        named = containers.parts(stop.run_id)
        container = everyone(obj).get(named[1], {}) if named is not None else {}
        if told is None and container.get("lifecycle"):
            self._spawn(self._stop_in_good_order(obj, container, stop, until))
        else:
            await self._engine.stop(stop.run_id, stop.grace_seconds)
        pod.stops[stop.run_id] = until
        if told is None and named is not None:
            self._recorder.note(obj, "Normal", "Killing", f"Stopping container {named[1]}", KUBELET)

    async def _stop_in_good_order(
        self, obj: dict[str, Any], container: dict[str, Any], stop: Stop, until: float
    ) -> None:
        """Its hook first, which uses up some of its grace. Nothing remembers the hook: after a crash it runs again."""
        try:
            await self._probes.before_stop(obj, container, stop.run_id, stop.grace_seconds)
        except Exception:
            log.exception("the preStop hook of run %s failed", stop.run_id)
        while True:
            left = max(min(stop.grace_seconds, LAST_GRACE_SECONDS), until - self._clock.now)
            try:
                return await self._engine.stop(stop.run_id, left)
            except OSError:
                log.exception("run %s could not be told to stop; trying again", stop.run_id)
            await self._sleep(RETRY_SECONDS)

    async def _refresh(self, uid: str, pod: _Pod) -> None:
        """Somebody else wrote to the pod: look at what it is now."""
        meta = pod.item.meta
        try:
            item = await self._client.get(PODS, meta.name, meta.namespace)
        except ApiError as error:
            if error.code != 404:
                self._later(uid, pod, RETRY_SECONDS)
            return  # its deletion is about to be told
        if item.meta.uid == uid:
            self._learn(pod, item)
            self._mark(uid)

    def _later(self, uid: str, pod: _Pod, seconds: float) -> None:
        if pod.timer is not None:
            pod.timer.cancel()
        pod.timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self._mark, uid)

    # --- what is left -------------------------------------------------------------------------------------------------

    async def _clear(self, uid: str, pod: _Pod) -> None:
        """The object is gone: end what still lives, and forget the rest."""
        if pod.timer is not None:
            pod.timer.cancel()
        del self._pods[uid]
        self._devices.release(uid)
        for run in pod.runs.values():
            self._probes.drop(run.id)
            await self._end_orphan(run)
        self._preparer.folders.remove(uid)

    async def _end_orphan(self, run: RunStatus, after_s: float = 0.0) -> None:
        """A run whose pod is not there. It is stopped at once; when it has ended, the watch tells and it is forgotten."""
        if containers.parts(run.id) is None:
            return
        if after_s:
            await self._sleep(after_s)
        try:
            if not run.final:
                await self._engine.stop(run.id, 0)
                return
            await self._engine.forget(run.id)
        except Exception:
            log.exception("run %s, whose pod is gone, could not be ended or forgotten; trying again", run.id)
            self._spawn(self._end_orphan(run, RETRY_SECONDS))
            return
        # Until now it may have written there.
        if pod_uid(run) not in self._pods:
            self._preparer.folders.remove(pod_uid(run))

    def _sweep_folders(self) -> None:
        for uid in self._preparer.folders.known():
            if uid not in self._pods:
                self._preparer.folders.remove(uid)


def everyone(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The containers of a pod by name."""
    spec = pod["spec"]
    return {one["name"]: one for one in (*(spec.get("initContainers") or ()), *spec["containers"])}


def pod_uid(run: RunStatus) -> str:
    return run.id.partition(".")[0]
