"""One container of a pod: what its status says about its current run, and what its status is next.

A container's current run is named in its status (containerID) before the engine hears of it. So after any crash the status says which run
was meant, and the engine says what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from fairway.engines.engine import RunState, RunStatus
from fairway.kinds.types import format_time, parse_time

Json = Mapping[str, Any]
Status = dict[str, Any]

SCHEME = "fairway://"
CREATING = "ContainerCreating"
INITIALIZING = "PodInitializing"
BACK_OFF = "CrashLoopBackOff"
START_ERROR = "StartError"
BACK_OFF_FIRST_SECONDS = 10.0
BACK_OFF_MAX_SECONDS = 300.0
STABLE_SECONDS = 600.0
"""A run that lasted this long starts the back-off anew."""
LOST_CODE = 137
NEVER_RAN_CODE = 128


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a container cannot be started now. final: trying again is of no use, it counts as a run that failed."""

    reason: str
    message: str
    final: bool = False
    note: str = ""
    """Reason of the event that tells of it; that of the problem if empty."""
    retry_s: float = 10.0
    """When to look again whether it has gone away."""


@dataclass(slots=True)
class Health:
    """How a run does, as far as it was asked."""

    started: bool = False
    ready: bool = False
    failed: str = ""
    """Why it is to be ended."""
    grace_seconds: float | None = None
    """What it gets to end then, if its probe says so."""


FINE = Health(started=True, ready=True)
"""A run that nobody asks."""


def stamp(seconds: float) -> str:
    return _stamp(int(seconds))


@lru_cache(maxsize=1024)
def _stamp(second: int) -> str:
    return format_time(datetime.fromtimestamp(second, UTC))


def seconds(text: str | None) -> float:
    return parse_time(text).timestamp() if text else 0.0


def run_id(uid: str, container: str, attempt: int) -> str:
    return f"{uid}.{container}.{attempt}"


def parts(run: str) -> tuple[str, str, int] | None:
    """Pod uid, container and attempt of a run's id; None if it is none of ours."""
    uid, _dot, rest = run.partition(".")
    container, _dot, attempt = rest.rpartition(".")
    return (uid, container, int(attempt)) if uid and container and attempt.isdecimal() else None


@dataclass(slots=True)
class Progress:
    """How far a container is, read from its status and from what the engine says about its run."""

    name: str
    image: str
    status: Status
    """Changed in place."""
    run: RunStatus | None = None
    """What the engine knows of the current run."""

    @property
    def run_id(self) -> str:
        """The run that is or was meant; empty if none ever was."""
        return str(self.status.get("containerID", "")).removeprefix(SCHEME)

    @property
    def attempt(self) -> int:
        return int(self.status.get("restartCount", 0))

    @property
    def ended(self) -> Json | None:
        """How the current run ended, if it has."""
        state = self.status["state"]
        if "terminated" in state:
            found: Json = state["terminated"]
            return found
        last: Json | None = (self.status.get("lastState") or {}).get("terminated")
        if last is not None and self.run_id and last.get("containerID") == self.status.get("containerID"):
            return last
        return None

    @property
    def running(self) -> bool:
        return "running" in self.status["state"]

    @property
    def meant(self) -> bool:
        """A run is meant that has not ended, whether or not it has begun."""
        return bool(self.run_id) and self.ended is None

    @property
    def live(self) -> bool:
        """The engine has, or was given, a run that is not over."""
        return self.meant and self.run is not None and not self.run.final

    @property
    def code(self) -> int:
        ended = self.ended
        return int(ended.get("exitCode", 0)) if ended is not None else -1


def fresh(name: str, image: str, waiting: str) -> Status:
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "state": {"waiting": {"reason": waiting}},
        "lastState": {},
        "ready": False,
        "started": False,
        "restartCount": 0,
    }


def read(
    container: Json,
    known: Status | None,
    runs: Mapping[str, RunStatus],
    waiting: str,
    now: float,
    health: Mapping[str, Health],
) -> Progress:
    """A container's progress, with what the engine and its probes say applied to its status."""
    status = fresh(container["name"], container.get("image", ""), waiting) if known is None else _copy(known)
    status.setdefault("state", {"waiting": {"reason": waiting}})
    progress = Progress(container["name"], container.get("image", ""), status)
    progress.run = runs.get(progress.run_id)
    if progress.running and progress.run is None:
        # It ran, and the engine has no trace of it: it must not be started under the same name.
        progress.run = RunStatus(progress.run_id, RunState.LOST, started_at=_since(status), finished_at=now)
    if progress.meant and progress.run is not None:
        _observe(progress, progress.run, health.get(progress.run_id, FINE))
    return progress


def _since(status: Json) -> float:
    return seconds(status["state"]["running"].get("startedAt"))


def _copy(status: Json) -> Status:
    return {**status, "state": dict(status.get("state") or {}), "lastState": dict(status.get("lastState") or {})}


def _observe(progress: Progress, run: RunStatus, health: Health) -> None:
    if run.state is RunState.RUNNING:
        state = {"running": {"startedAt": stamp(run.started_at)}}
        progress.status.update(state=state, ready=health.ready, started=health.started)
    elif run.final:
        end(progress, _terminated(run, progress.status["containerID"]))


def end(progress: Progress, terminated: Json) -> None:
    progress.status.update(state={"terminated": terminated}, ready=False, started=False)


def _terminated(run: RunStatus, container_id: str) -> Json:
    started = run.started_at or run.finished_at
    times = {"startedAt": stamp(started), "finishedAt": stamp(run.finished_at or started), "containerID": container_id}
    if run.state is RunState.LOST:
        why = "The container could not be located when the pod was terminated"
        message = (
            run.message or f"{why}: the machine or the program that watched over it died; it may have run to its end"
        )
        return {"exitCode": LOST_CODE, "reason": "ContainerStatusUnknown", "message": message, **times}
    code = run.exit_code
    if code is None:
        code = 128 + run.signal if run.signal else NEVER_RAN_CODE
    if run.state is RunState.FAILED:
        reason = run.reason or START_ERROR
        code = code or NEVER_RAN_CODE
    else:
        reason = run.reason or ("Error" if code else "Completed")
    result: Status = {"exitCode": code, "reason": reason, **times}
    if run.message:
        result["message"] = run.message
    return result


def mean(progress: Progress, uid: str) -> str:
    """Put down the next run as meant, and return its id. It may be started once this is durable."""
    ended = progress.ended
    attempt = progress.attempt + 1 if progress.run_id else 0
    if ended is not None:
        progress.status["lastState"] = {"terminated": ended}
    run = run_id(uid, progress.name, attempt)
    progress.status.update(
        state={"waiting": {"reason": CREATING}},
        restartCount=attempt,
        containerID=SCHEME + run,
        ready=False,
        started=False,
    )
    progress.run = None
    return run


def fail_to_start(progress: Progress, uid: str, problem: Problem, now: float) -> None:
    """A run that is known to be impossible: it counts as tried and failed, and the engine never hears of it."""
    if not progress.meant:
        mean(progress, uid)
    moment = stamp(now)
    end(
        progress,
        {
            "exitCode": NEVER_RAN_CODE,
            "reason": problem.reason,
            "message": problem.message,
            "startedAt": moment,
            "finishedAt": moment,
            "containerID": progress.status["containerID"],
        },
    )


def wait_for(progress: Progress, problem: Problem) -> None:
    """Not started for a reason that may go away. What ended before stays to be seen."""
    ended = progress.ended
    if ended is not None:
        progress.status["lastState"] = {"terminated": ended}
    waiting = {"reason": problem.reason}
    if problem.message:
        waiting["message"] = problem.message
    progress.status.update(state={"waiting": waiting}, ready=False, started=False)


def back_off(progress: Progress, pod: Json, delay: float) -> None:
    meta = pod["metadata"]
    whose = f"{meta['name']}_{meta.get('namespace', '')}({meta['uid']})"
    message = f"back-off {duration(delay)} restarting failed container={progress.name} pod={whose}"
    wait_for(progress, Problem(BACK_OFF, message))


def delay_seconds(streak: int) -> float:
    """Before the next restart, after so many in a row: none, 10 s, 20 s … 5 min."""
    if streak == 0:
        return 0.0
    return float(min(BACK_OFF_MAX_SECONDS, BACK_OFF_FIRST_SECONDS * 2 ** min(streak - 1, 16)))


def duration(delay: float) -> str:
    minutes, rest = divmod(int(delay), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
