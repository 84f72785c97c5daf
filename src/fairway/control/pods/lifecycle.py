"""The life of a pod on its node, decided from the outside: pod, runs and time in; status and actions out. No I/O.

    waiting ──► each init container in order ──► all containers ──► ended ──► Succeeded / Failed
       │            (sidecars stay up)            ▲   │ restart policy, back-off
       │                                          └───┘
       └── deleted, deadline passed, init failed: what lives is stopped; when nothing lives, the pod is over

`decide` may be called at any time and as often as one likes: equal input gives equal output, and what is already as it should be is left
alone. A run is only started after a status that names it is durable: so the caller writes `status` first and starts `starts` afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairway.control.pods import conditions, containers
from fairway.control.pods.containers import Health, Problem, Progress, seconds, stamp
from fairway.engines.engine import RunStatus

Json = Mapping[str, Any]
Status = dict[str, Any]
DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Start:
    container: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Stop:
    run_id: str
    grace_seconds: float


@dataclass(frozen=True, slots=True)
class Note:
    """An event to record about the pod."""

    reason: str
    message: str
    warning: bool = False


@dataclass(slots=True)
class Plan:
    status: Status
    starts: list[Start] = field(default_factory=list)
    """Once the status is durable."""
    stops: list[Stop] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """To be recorded if the status changes."""
    remove: bool = False
    """Nothing of the pod lives any more and it is to be deleted: write the status, then take the object out."""
    wake_at: float | None = None
    """When to decide again, if nothing happens before."""
    streaks: dict[str, int] = field(default_factory=dict)
    """Restarts in a row by container: give it back the next time."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision is made from, beside the pod itself."""

    runs: Mapping[str, RunStatus]
    """Of this pod: all that the engine knows or was asked for."""
    now: float
    address: str = ""
    """Of the machine; pods share it."""
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """By container: why it cannot be started now."""
    streaks: Mapping[str, int] = field(default_factory=dict)
    health: Mapping[str, Health] = field(default_factory=dict)
    """Of runs that are asked how they do; a run that is not asked does fine."""


def decide(pod: Json, facts: Facts) -> Plan:
    return _Decision(pod, facts).plan()


def rejected(pod: Json, lacking: Mapping[str, tuple[int, int, int]], now: float) -> Status | None:
    """The status of a pod that somebody put on a node without asking, and that the node has no room for; None if it has.

    lacking: by resource, what is requested, used and there.
    """
    for name, (requested, used, capacity) in sorted(lacking.items()):
        numbers = f"{name}, requested: {requested}, used: {used}, capacity: {capacity}"
        message = f"Pod was rejected: Node didn't have enough resource: {numbers}"
        old = pod.get("status") or {}
        return {**old, "phase": "Failed", "reason": f"OutOf{name}", "message": message, "startTime": stamp(now)}
    return None


class _Decision:
    def __init__(self, pod: Json, facts: Facts) -> None:
        self._pod = pod
        self._facts = facts
        self._now = facts.now
        self._spec: Json = pod["spec"]
        self._old: Json = pod.get("status") or {}
        self._uid: str = pod["metadata"]["uid"]
        self._policy: str = self._spec.get("restartPolicy") or "Always"
        self._plan = Plan(dict(self._old), streaks=dict(facts.streaks))
        self._late = False
        inits = self._spec.get("initContainers") or ()
        self._sidecars = frozenset(one["name"] for one in inits if one.get("restartPolicy") == "Always")
        first = containers.INITIALIZING if inits else containers.CREATING
        self._inits = self._read(inits, self._old.get("initContainerStatuses"), containers.INITIALIZING)
        self._mains = self._read(self._spec["containers"], self._old.get("containerStatuses"), first)

    def _read(self, specs: Any, known: Any, waiting: str) -> list[Progress]:
        statuses = {status["name"]: status for status in known or ()}
        facts = self._facts
        return [
            containers.read(spec, statuses.get(spec["name"]), facts.runs, waiting, facts.now, facts.health)
            for spec in specs
        ]

    # --- what happens -------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        self._begin()
        self._late = self._overdue()
        ending, grace = self._ending()
        if ending:
            self._stop_all(grace)
        else:
            self._go_on()
        self._conclude(ending)
        self._tell()
        return self._plan

    def _begin(self) -> None:
        status = self._plan.status
        status.setdefault("startTime", stamp(self._now))
        if self._facts.address:
            address = self._facts.address
            status.update(hostIP=address, hostIPs=[{"ip": address}], podIP=address, podIPs=[{"ip": address}])

    def _ending(self) -> tuple[bool, float]:
        """Whether nothing is to be started any more, and how long what lives may take to end."""
        grace = float(self._spec.get("terminationGracePeriodSeconds", GRACE_SECONDS))
        meta = self._pod["metadata"]
        if meta.get("deletionTimestamp"):
            left = seconds(meta["deletionTimestamp"]) - self._now
            return True, min(max(0.0, left), float(meta.get("deletionGracePeriodSeconds", 0)))
        if self._old.get("phase") in conditions.TERMINAL or self._late or self._init_failed():
            return True, grace
        return False, grace

    def _overdue(self) -> bool:
        """Whether its time is up. Put down in the status at once: how its containers end then does not matter any more."""
        if self._old.get("reason") == DEADLINE_REASON:
            return True
        limit = self._spec.get("activeDeadlineSeconds")
        if limit is None or self._done() or self._old.get("phase") in conditions.TERMINAL:
            return False
        deadline = seconds(self._plan.status["startTime"]) + limit
        if self._now < deadline:
            self._wake(deadline)
            return False
        self._plan.status.update(reason=DEADLINE_REASON, message=DEADLINE_MESSAGE)
        self._plan.notes.append(Note(DEADLINE_REASON, DEADLINE_MESSAGE, warning=True))
        return True

    def _init_failed(self) -> bool:
        return self._policy == "Never" and any(
            one.ended is not None and one.code != 0 for one in self._inits if one.name not in self._sidecars
        )

    def _done(self) -> bool:
        """All containers have ended for good."""
        return all(one.ended is not None and not self._again(one) for one in self._mains)

    def _again(self, one: Progress) -> bool:
        if one.name in self._sidecars or self._policy == "Always":
            return True
        return self._policy == "OnFailure" and one.code != 0

    def _stop_all(self, grace: float) -> None:
        for one in (*self._inits, *self._mains):
            if one.live:
                self._stop(one, grace)

    def _stop(self, one: Progress, grace: float) -> None:
        self._plan.stops.append(Stop(one.run_id, grace))

    def _go_on(self) -> None:
        if self._done():
            grace = float(self._spec.get("terminationGracePeriodSeconds", GRACE_SECONDS))
            for one in self._inits:
                if one.live:
                    self._stop(one, grace)
            return
        self._end_the_unwell()
        if self._initialise():
            for one in self._mains:
                if one.ended is None or self._again(one):
                    self._keep_up(one)
                waiting = one.status["state"].get("waiting")
                if waiting is not None and waiting.get("reason") == containers.INITIALIZING:
                    waiting["reason"] = containers.CREATING

    def _end_the_unwell(self) -> None:
        """What a probe or a hook gave up on. Its end is an end like any other: the restart policy says what then."""
        for one in (*self._inits, *self._mains):
            health = self._facts.health.get(one.run_id)
            if health is not None and health.failed and one.live:
                grace = health.grace_seconds
                default = float(self._spec.get("terminationGracePeriodSeconds", GRACE_SECONDS))
                self._stop(one, default if grace is None else grace)

    def _initialise(self) -> bool:
        """One init container after the other; whether all have done their part. Those after the first that has not, wait."""
        begun = any(one.run_id for one in self._mains)
        complete = True
        for one in self._inits:
            if one.name in self._sidecars:
                if complete or one.run_id:
                    self._keep_up(one)
                complete = complete and ((one.running and one.status["started"]) or begun)
            elif complete and one.code != 0 and not begun:
                if one.ended is None or self._policy != "Never":
                    self._keep_up(one)
                complete = False
        return complete

    def _keep_up(self, one: Progress) -> None:
        """See to it that a container runs: start it, start it again when its time has come, or start what a crash left unstarted."""
        if one.meant and one.run is not None:
            return
        ended = one.ended
        if ended is not None and not self._may_restart(one, ended):
            return
        problem = self._facts.problems.get(one.name)
        if problem is None:
            run = one.run_id if one.meant else containers.mean(one, self._uid)
            self._plan.starts.append(Start(one.name, run))
            return
        self._plan.notes.append(Note(problem.note or "Failed", f"Error: {problem.message}", warning=True))
        if not problem.final:
            containers.wait_for(one, problem)
            self._wake(self._now + problem.retry_s)
            return
        containers.fail_to_start(one, self._uid, problem, self._now)
        if self._again(one):
            self._keep_up(one)

    def _may_restart(self, one: Progress, ended: Json) -> bool:
        finished = seconds(ended.get("finishedAt"))
        streak = self._plan.streaks.get(one.name, one.attempt)
        if finished - seconds(ended.get("startedAt")) >= containers.STABLE_SECONDS:
            streak = 0
        delay = containers.delay_seconds(streak)
        if (
            self._now >= finished + delay or self._now < finished - 1
        ):  # a clock that was set back must not hold it up for long
            self._plan.streaks[one.name] = streak + 1
            return True
        containers.back_off(one, self._pod, delay)
        if one.run_id not in self._backing_off():
            message = f"Back-off restarting failed container {one.name} in pod {self._pod['metadata']['name']}"
            self._plan.notes.append(Note("BackOff", message, warning=True))
        self._wake(finished + delay)
        return False

    def _backing_off(self) -> frozenset[str]:
        """Runs whose back-off the status already shows."""
        return frozenset(
            str(status.get("containerID", "")).removeprefix(containers.SCHEME)
            for status in self._shown()
            if ((status.get("state") or {}).get("waiting") or {}).get("reason") == containers.BACK_OFF
        )

    def _wake(self, at: float) -> None:
        self._plan.wake_at = at if self._plan.wake_at is None else min(at, self._plan.wake_at)

    # --- how it stands ------------------------------------------------------------------------------------------------

    def _conclude(self, ending: bool) -> None:
        status, everyone = self._plan.status, (*self._inits, *self._mains)
        living = any(one.live for one in everyone)
        status["phase"] = self._phase(ending, living)
        if self._inits:
            status["initContainerStatuses"] = [one.status for one in self._inits]
        status["containerStatuses"] = [one.status for one in self._mains]
        status["conditions"] = conditions.conditions(
            self._old.get("conditions") or (),
            status["phase"],
            self._inits,
            self._mains,
            self._sidecars,
            stamp(self._now),
        )
        self._plan.remove = bool(self._pod["metadata"].get("deletionTimestamp")) and not living

    def _phase(self, ending: bool, living: bool) -> str:
        before = self._old.get("phase")
        if before in conditions.TERMINAL:
            return str(before)
        if living and (ending or self._done()):
            return str(before or "Pending")  # what lives is being stopped; the pod is over when it has ended
        if self._late:
            return "Failed"
        return conditions.phase(self._policy, self._inits, self._mains, self._sidecars, over=ending)

    def _shown(self) -> list[Json]:
        return [*(self._old.get("initContainerStatuses") or ()), *(self._old.get("containerStatuses") or ())]

    def _tell(self) -> None:
        """Events of what changed since the status was last written."""
        ran = {
            status["name"]: status.get("containerID")
            for status in self._shown()
            if "running" in (status.get("state") or {})
        }
        for one in (*self._inits, *self._mains):
            if one.running and ran.get(one.name) != one.status["containerID"]:
                self._plan.notes.append(Note("Started", f"Started container {one.name}"))
