"""Probes and hooks: what a container does once it runs, asked of it at its own pace.

    runs ─► postStart ─► startup probe until it passes ─► started ─► readiness probe: ready or not, for ever
                │              │                           └───────► liveness probe ──┐ failed too often
                └──────────────┴──────── failed ──────────────────────────────────────┴─► is to be ended

What is found out is the run's `Health`. It is kept in memory only: a node that starts anew takes readiness from the status, and asks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fairway.control.pods.containers import SCHEME, Health
from fairway.control.rounds import report_failure
from fairway.engines.engine import Check, RunState, RunStatus
from fairway.runtime.clock import Clock

Json = Mapping[str, Any]
Pod = dict[str, Any]
HERE = "127.0.0.1"
"""Where a container is asked that does not say where: containers are processes of this machine."""
HOOK_SECONDS = 30.0
"""For a hook before the end of which nothing else happens."""
_KINDS = ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle")
_NOT_RUN = "ProbeNotRun"


class Checking(Protocol):
    async def check(self, run_id: str, check: Check, seconds: float) -> str: ...


class Telling(Protocol):
    def note(self, about: dict[str, Any], type: str, reason: str, message: str, component: str) -> None: ...


@dataclass(slots=True)
class _Watched:
    pod: Pod
    container: Json
    run: RunStatus
    health: Health
    task: asyncio.Task[None] | None = None


class Probes:
    def __init__(
        self,
        engine: Checking,
        recorder: Telling,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
        changed: Callable[[str], None],
        component: str,
    ) -> None:
        """changed: called with the uid of a pod of which a container does better or worse."""
        self._engine = engine
        self._recorder = recorder
        self._clock = clock
        self._sleep = sleep
        self._changed = changed
        self._component = component
        self._watched: dict[str, _Watched] = {}

    def health(self, pod: Pod, runs: Mapping[str, RunStatus]) -> dict[str, Health]:
        """Of the runs of a pod that are asked how they do; those that are not known yet are asked from now on."""
        found: dict[str, Health] = {}
        for container in _asked(pod["spec"]):
            status = _status_of(pod, container["name"])
            run = runs.get(str(status.get("containerID", "")).removeprefix(SCHEME))
            if run is None or run.state is not RunState.RUNNING:
                continue
            watched = self._watched.get(run.id)
            if watched is None:
                watched = self._watched[run.id] = _Watched(pod, container, run, _first(container, status))
                watched.task = asyncio.get_running_loop().create_task(self._follow(watched), name=f"probes-{run.id}")
                watched.task.add_done_callback(report_failure)
            found[run.id] = watched.health
        return found

    def drop(self, run_id: str) -> None:
        """It has ended, or its pod is gone."""
        watched = self._watched.pop(run_id, None)
        if watched is not None and watched.task is not None:
            watched.task.cancel()

    async def stop(self) -> None:
        tasks = [watched.task for watched in self._watched.values() if watched.task is not None]
        self._watched.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def before_stop(self, pod: Pod, container: Json, run_id: str, seconds: float) -> None:
        """The hook of a container that is about to be told to stop. However it ends, the container is stopped then."""
        hook = (container.get("lifecycle") or {}).get("preStop")
        if not hook or seconds <= 0:
            return
        problem = await self._run_hook(container, hook, run_id, seconds)
        if problem:
            self._tell(pod, "FailedPreStopHook", f"PreStopHook failed: {problem}")

    # --- one run ------------------------------------------------------------------------------------------------------

    async def _follow(self, watched: _Watched) -> None:
        container, health = watched.container, watched.health
        if not health.started:
            hook = (container.get("lifecycle") or {}).get("postStart")
            problem = await self._run_hook(container, hook, watched.run.id, HOOK_SECONDS) if hook else ""
            if problem:
                self._tell(watched.pod, "FailedPostStartHook", f"PostStartHook failed: {problem}")
                self._fail(watched, "its postStart hook failed")
                return
            if "startupProbe" in container and not await self._passes(watched, "Startup"):
                return
            health.started = True
            health.ready = "readinessProbe" not in container
            self._changed(watched.pod["metadata"]["uid"])
        async with asyncio.TaskGroup() as group:
            if "readinessProbe" in container:
                group.create_task(self._keep_ready(watched))
            if "livenessProbe" in container:
                group.create_task(self._keep_alive(watched))

    async def _passes(self, watched: _Watched, kind: str) -> bool:
        async for verdict in self._verdicts(watched, kind):
            if not verdict:
                self._fail(watched, f"failed {kind.lower()} probe", watched.container[f"{kind.lower()}Probe"])
            return verdict
        return False

    async def _keep_alive(self, watched: _Watched) -> None:
        async for verdict in self._verdicts(watched, "Liveness"):
            if not verdict:
                self._fail(watched, "failed liveness probe", watched.container["livenessProbe"])
                return

    async def _keep_ready(self, watched: _Watched) -> None:
        async for verdict in self._verdicts(watched, "Readiness"):
            if watched.health.ready != verdict:
                watched.health.ready = verdict
                self._changed(watched.pod["metadata"]["uid"])

    async def _verdicts(self, watched: _Watched, kind: str) -> AsyncIterator[bool]:
        """True or false, each time it was so often enough in a row."""
        container, run = watched.container, watched.run
        probe = container[f"{kind.lower()}Probe"]
        check = _check(container, probe)
        if check is None:
            text = (
                f"{kind} probe of container {container['name']} is of a kind that is not run here, and counts as passed"
            )
            self._tell(watched.pod, _NOT_RUN, text)
            yield True
            return
        await self._sleep(run.started_at + int(probe.get("initialDelaySeconds") or 0) - self._clock.now)
        passed = failed = 0
        while True:
            problem = await self._engine.check(run.id, check, float(probe.get("timeoutSeconds") or 1))
            passed, failed = (0, failed + 1) if problem else (passed + 1, 0)
            if problem:
                self._tell(watched.pod, "Unhealthy", f"{kind} probe failed: {problem}")
            if passed >= int(probe.get("successThreshold") or 1):
                yield True
            elif failed >= int(probe.get("failureThreshold") or 3):
                yield False
            await self._sleep(float(probe.get("periodSeconds") or 10))

    async def _run_hook(self, container: Json, hook: Json, run_id: str, seconds: float) -> str:
        if "sleep" in hook:
            await self._sleep(min(float((hook["sleep"] or {}).get("seconds") or 0), seconds))
            return ""
        check = _check(container, hook)
        if check is None:
            return "it is of a kind that is not run here"
        return await self._engine.check(run_id, check, seconds)

    def _fail(self, watched: _Watched, why: str, probe: Json | None = None) -> None:
        watched.health.failed = why
        watched.health.ready = False
        grace = (probe or {}).get("terminationGracePeriodSeconds")
        watched.health.grace_seconds = None if grace is None else float(grace)
        name = watched.container["name"]
        self._recorder.note(watched.pod, "Normal", "Killing", f"Container {name}: {why}", self._component)
        self._changed(watched.pod["metadata"]["uid"])

    def _tell(self, pod: Pod, reason: str, message: str) -> None:
        self._recorder.note(pod, "Warning", reason, message, self._component)


def is_asked(container: Json) -> bool:
    return any(kind in container for kind in _KINDS)


def _asked(spec: Json) -> Iterator[Json]:
    """Containers that are asked how they do: init containers only where they stay up."""
    for container in spec["containers"]:
        if is_asked(container):
            yield container
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always" and is_asked(container):
            yield container


def _status_of(pod: Json, name: str) -> Json:
    status = pod.get("status") or {}
    for known in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        if known["name"] == name:
            found: Json = known
            return found
    return {}


def _first(container: Json, status: Json) -> Health:
    """What is known of a run when it is asked for the first time: what an earlier life of the node found out stands in its status."""
    if "running" in (status.get("state") or {}) and status.get("started"):
        return Health(started=True, ready=bool(status.get("ready")))
    quiet = "startupProbe" not in container and "postStart" not in (container.get("lifecycle") or {})
    return Health(started=quiet, ready=quiet and "readinessProbe" not in container)


def _check(container: Json, asked: Json) -> Check | None:
    if "exec" in asked:
        return Check(argv=tuple((asked["exec"] or {}).get("command") or ()))
    if "httpGet" in asked:
        http = asked["httpGet"]
        path = "/" + str(http.get("path") or "").lstrip("/")
        headers = tuple((each["name"], each.get("value", "")) for each in http.get("httpHeaders") or ())
        host, port, secure = http.get("host") or HERE, _port(container, http.get("port")), http.get("scheme") == "HTTPS"
        return Check(host=host, port=port, path=path, headers=headers, secure=secure)
    if "tcpSocket" in asked:
        tcp = asked["tcpSocket"]
        return Check(host=tcp.get("host") or HERE, port=_port(container, tcp.get("port")))
    return None


def _port(container: Json, port: int | str | None) -> int:
    """A number, or the name of one of the container's ports; 0 for a name that it does not have, where nobody answers."""
    for known in container.get("ports") or ():
        if known.get("name") == port:
            return int(known["containerPort"])
    return int(port) if port is not None and str(port).isdigit() else 0
