"""Random walks through the life of a pod, with a node that dies between any two steps: what must never happen, never does."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from tests.unit.control.podtime import NOON, UID, container, pod

from fairway.control.pods.lifecycle import Facts, Plan, decide
from fairway.engines.engine import RunState, RunStatus

WALKS = 60
STEPS = 120


class Walk:
    """A pod as it is written, an engine that remembers, and a node that may die at any moment."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.policy = self.chance.choice(["Never", "OnFailure", "Always"])
        self.sidecar = self.chance.random() < 0.4
        inits = [container("side", restartPolicy="Always")] if self.sidecar else []
        inits += [container(f"i{number}") for number in range(self.chance.randint(0, 2))]
        mains = [container(f"m{number}") for number in range(self.chance.randint(1, 3))]
        spec: dict[str, Any] = {"initContainers": inits, "restartPolicy": self.policy}
        if self.chance.random() < 0.3:
            spec["activeDeadlineSeconds"] = self.chance.randint(1, 100)
        self.pod = pod(*mains, **spec)
        self.inits = [one["name"] for one in inits if one["name"] != "side"]
        self.mains = [one["name"] for one in mains]
        self.now = NOON
        self.engine: dict[str, RunStatus] = {}
        self.streaks: dict[str, int] = {}
        self.story: list[str] = []
        self.removed = False

    def node_steps(self) -> None:
        plan = decide(self.pod, Facts(dict(self.engine), self.now, "10.0.0.1", {}, self.streaks))
        self.check(plan)
        if self.dies("before the write"):
            return
        self.pod = {**self.pod, "status": copy.deepcopy(plan.status)}
        self.streaks = plan.streaks
        for start in plan.starts:
            if self.dies(f"before it starts {start.run_id}"):
                return
            self.start(start.run_id)
        for stop in plan.stops:
            self.story.append(f"stop {stop.run_id}")
            run = self.engine[stop.run_id]
            assert not run.final
            if self.chance.random() < 0.5:
                self.end(stop.run_id, self.chance.choice([0, 137, 143]))
        self.removed = plan.remove

    def dies(self, where: str) -> bool:
        if self.chance.random() > 0.1:
            return False
        self.story.append(f"node dies {where}")
        self.streaks = {}
        return True

    def start(self, run_id: str) -> None:
        status = self.pod["status"]
        named = {
            one.get("containerID") for one in (*status.get("initContainerStatuses", ()), *status["containerStatuses"])
        }
        assert f"fairway://{run_id}" in named, "only what is written as meant is started"
        assert run_id not in self.engine, "what the engine remembers is not started again"
        name = run_id.split(".")[1]
        if name in self.mains:
            for init in self.inits:
                assert self.codes(init)[-1:] == [0], f"{name} starts before {init} has done its part"
        self.story.append(f"start {run_id}")
        self.engine[run_id] = RunStatus(run_id, RunState.STARTING)

    def codes(self, name: str) -> list[int | None]:
        runs = [run for run in self.engine.values() if run.id.split(".")[1] == name]
        return [run.exit_code for run in sorted(runs, key=lambda run: int(run.id.rsplit(".", 1)[1]))]

    def end(self, run_id: str, code: int) -> None:
        self.story.append(f"{run_id} ends with {code}")
        begun = self.engine[run_id].started_at or self.now
        self.engine[run_id] = RunStatus(run_id, RunState.EXITED, 1, begun, self.now, exit_code=code)

    def world_steps(self) -> None:
        self.now += self.chance.choice([0, 0, 1, 5, 30, 400, 700])
        for run_id, run in list(self.engine.items()):
            if run.final or self.chance.random() < 0.5:
                continue
            if run.state is RunState.STARTING and self.chance.random() < 0.7:
                self.engine[run_id] = RunStatus(run_id, RunState.RUNNING, 1, self.now)
            else:
                self.end(run_id, self.chance.choice([0, 0, 1, 137]))

    def delete(self) -> None:
        self.story.append("delete")
        self.pod["metadata"] = {
            **self.pod["metadata"],
            "deletionTimestamp": "2026-01-02T00:00:00Z",
            "deletionGracePeriodSeconds": 30,
        }

    def check(self, plan: Plan) -> None:
        before, after = self.pod["status"]["phase"], plan.status["phase"]
        if before in ("Succeeded", "Failed"):
            assert after == before, "what is over stays over"
            assert plan.starts == []
        if after in ("Succeeded", "Failed") or plan.remove:
            assert all(run.final for run in self.engine.values()), "nothing lives when the pod is over"
            assert plan.starts == []
        if after == "Succeeded":
            assert all(self.codes(name)[-1] == 0 for name in self.mains)
        if self.policy == "Never":
            assert all(len(self.codes(name)) <= 1 for name in (*self.inits, *self.mains)), "nothing is run again"
        for status in plan.status["containerStatuses"]:
            assert len(status["state"]) == 1
            assert status["ready"] == ("running" in status["state"])


@pytest.mark.parametrize("seed", range(WALKS))
def test_whatever_happens_a_pod_is_run_as_its_policy_says_and_ends(seed: int) -> None:
    walk = Walk(seed)
    deletion = walk.chance.randint(0, STEPS)
    try:
        for number in range(STEPS):
            walk.world_steps()
            if number == deletion:
                walk.delete()
            walk.node_steps()
            if walk.removed:
                break
        if not walk.pod["metadata"].get("deletionTimestamp"):
            walk.delete()
        for _ in range(STEPS):
            walk.world_steps()
            walk.node_steps()
        assert walk.removed
        assert all(run.final for run in walk.engine.values())
        assert all(run_id.startswith(f"{UID}.") for run_id in walk.engine)
    except AssertionError as error:
        raise AssertionError(f"{error}\n" + "\n".join(walk.story)) from error
