"""A pod, its runs and a clock: events in, instructions out."""

from __future__ import annotations

import copy
from typing import Any

from fairway.control.pods.containers import Problem
from fairway.control.pods.lifecycle import Facts, Plan, decide
from fairway.engines.engine import RunState, RunStatus

UID = "u1"
NOON = 1_767_268_800.0


def container(name: str = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox", "command": ["run", name], **more}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": UID},
        "spec": {"containers": list(containers) or [container()], "restartPolicy": "Never", **spec},
        "status": {"phase": "Pending"},
    }


class PodTime:
    """Decides, takes the status as written and the starts as done, like a node that never fails."""

    def __init__(self, pod: dict[str, Any]) -> None:
        self.pod = pod
        self.now = NOON
        self.runs: dict[str, RunStatus] = {}
        self.problems: dict[str, Problem] = {}
        self.streaks: dict[str, int] = {}
        self.plan: Plan | None = None

    def decide(self) -> Plan:
        before = copy.deepcopy(self.pod)
        plan = decide(self.pod, Facts(self.runs, self.now, "10.0.0.1", self.problems, self.streaks))
        assert self.pod == before, "a decision changes nothing"
        return plan

    def step(self) -> Plan:
        plan = self.plan = self.decide()
        self.pod = {**self.pod, "status": plan.status}
        self.streaks = plan.streaks
        for start in plan.starts:
            assert start.run_id not in self.runs, "started twice"
            self.runs[start.run_id] = RunStatus(start.run_id, RunState.STARTING)
        return plan

    def started(self) -> list[str]:
        """Ids of the runs that a step starts, without the pod's uid."""
        return [start.run_id.removeprefix(f"{UID}.") for start in self.step().starts]

    def stopped(self) -> list[tuple[str, float]]:
        return [(stop.run_id.removeprefix(f"{UID}."), stop.grace_seconds) for stop in self.step().stops]

    def runs_now(self, *names: str) -> None:
        for name in names:
            self.runs[f"{UID}.{name}"] = RunStatus(f"{UID}.{name}", RunState.RUNNING, 1, self.now)

    def ends(self, name: str, code: int = 0, **more: Any) -> None:
        run_id = f"{UID}.{name}"
        begun = self.runs[run_id].started_at or self.now
        self.runs[run_id] = RunStatus(run_id, RunState.EXITED, 1, begun, self.now, exit_code=code, **more)

    def delete(self, grace: int = 30) -> None:
        from fairway.control.pods.containers import stamp

        self.pod["metadata"] = {
            **self.pod["metadata"],
            "deletionTimestamp": stamp(self.now + grace),
            "deletionGracePeriodSeconds": grace,
        }

    # --- how it stands ------------------------------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        return str(self.pod["status"]["phase"])

    def status(self, name: str = "main") -> dict[str, Any]:
        status = self.pod["status"]
        both = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
        found: dict[str, Any] = next(one for one in both if one["name"] == name)
        return found

    def waiting(self, name: str = "main") -> str:
        return str(self.status(name)["state"]["waiting"]["reason"])

    def condition(self, kind: str) -> tuple[str, str]:
        found = next(one for one in self.pod["status"]["conditions"] if one["type"] == kind)
        return found["status"], found.get("reason", "")
