"""A world of one Job: plans are carried out on values in memory, and can be cut short where a crash would."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

from msgspec.structs import replace

from fairway.control.jobs.backoff import NOTHING, Past
from fairway.control.jobs.decide import decide, finished
from fairway.control.jobs.plan import Plan
from fairway.control.jobs.view import PodView
from fairway.kinds.k8s.batch.defaults import default_job, prepare_job
from fairway.kinds.k8s.batch.status_rules import validate_job_status
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.kind import convert

NOW = 1_767_225_600.0
STEPS = ("status", "create", "claim", "release", "delete")


def make_job(**spec: Any) -> Job:
    template = {
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": spec.pop("restartPolicy", "Never")}
    }
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "job-uid"},
        "spec": {"template": template, **spec},
    }
    job: Job = convert(body, Job)
    default_job(job, None)
    prepare_job(job, None)
    return job


class World:
    """graceful: deleted pods stay until their containers have ended, as with a real kubelet."""

    def __init__(self, job: Job, *, graceful: bool = True) -> None:
        self.job = job
        self.graceful = graceful
        self.now = NOW
        self.pods: dict[str, PodView] = {}
        self.made = 0
        self.writes = 0
        self.ever: dict[str, PodView] = {}
        """The last that was seen of every pod that ever was."""
        self.notes: list[str] = []
        self.plan = Plan()
        self.contended = False

    # --- the controller -------------------------------------------------------------------------------------------

    def sync(self, steps: int = len(STEPS), *, contended: bool = False) -> Plan:
        """Decide once and carry out the first steps of the plan. contended: pods change under our hands and stay tracked."""
        self.contended = contended
        live = [pod for pod in self.pods.values() if pod.tracked or not pod.terminal]
        plan = self.plan = decide(self.job, live, self.now, self.past)
        for step in STEPS[:steps]:
            getattr(self, f"_{step}")(plan)
        return plan

    def settle(self, limit: int = 20) -> None:
        """Decide until nothing is left to do."""
        for _ in range(limit):
            plan = self.sync()
            if plan.status is None and not (plan.create or plan.claim or plan.release or plan.delete):
                return
        raise AssertionError(f"no rest after {limit} rounds: {plan}")

    @property
    def past(self) -> Past:
        over = [pod for pod in self.pods.values() if pod.terminal and not pod.tracked]
        good = [pod.finished_at for pod in over if pod.phase == "Succeeded"]
        return NOTHING.plus(good, [pod.finished_at for pod in over if pod.phase == "Failed"])

    def _status(self, plan: Plan) -> None:
        if plan.status is None:
            return
        new = replace(self.job, status=plan.status)
        errors = validate_job_status(new, self.job)
        assert not errors, errors
        self.job = new
        self.writes += 1
        self.notes += [note.reason for note in plan.notes]

    def _create(self, plan: Plan) -> None:
        for wanted in plan.create:
            self.made += 1
            pod = PodView(
                name=f"pod-{self.made}",
                uid=f"uid-{self.made}",
                index=wanted.index,
                failures=wanted.failures,
                ignored=wanted.ignored,
                created_at=self.now,
                finished_at=self.now,
            )
            self.put(pod)

    def _claim(self, plan: Plan) -> None:
        for uid in plan.claim:
            if uid in self.pods and not self.contended:
                self.put(changed(self.pods[uid], tracked=True))

    def _release(self, plan: Plan) -> None:
        for uid in plan.release:
            if uid in self.pods and not self.contended:
                self.put(changed(self.pods[uid], tracked=False))

    def _delete(self, plan: Plan) -> None:
        for uid in plan.delete:
            if uid in self.pods and not (self.contended and uid in plan.release):
                self.put(changed(self.pods[uid], deleting=True))

    # --- the rest of the world ------------------------------------------------------------------------------------

    def put(self, pod: PodView) -> None:
        self.ever[pod.uid] = pod
        gone = pod.deleting and not pod.tracked and (pod.terminal or not self.graceful)
        if gone:
            self.pods.pop(pod.uid, None)
        else:
            self.pods[pod.uid] = pod

    def run(self, uid: str) -> None:
        self.put(changed(self.pods[uid], phase="Running", ready=True, scheduled=True))

    def end(self, uid: str, code: int = 0) -> None:
        phase = "Failed" if code else "Succeeded"
        exits = (("c", code),) if code else ()
        self.put(changed(self.pods[uid], phase=phase, ready=False, exits=exits, finished_at=self.now))

    def alive(self) -> list[PodView]:
        return [pod for pod in self.pods.values() if not pod.terminal]

    def active(self) -> list[PodView]:
        return [pod for pod in self.pods.values() if pod.active]

    def end_all(self, code: int = 0) -> None:
        for pod in self.alive():
            self.end(pod.uid, code)

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> tuple[str, str] | None:
        end = finished(self.job)
        return None if end is None else (end.type, str(end.reason))

    def true(self) -> list[str]:
        return [one.type for one in self.job.status.conditions or () if one.status == "True"]
