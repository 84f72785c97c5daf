"""Actions to writes: on the hub, where they are durable first, and then on clusters. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairway.api.client import Resource
from fairway.control import render
from fairway.control.adapters import Json, names
from fairway.control.apply import Note, Write
from fairway.control.conditions import find_condition, is_true, set_condition, with_own_status
from fairway.control.resources import WORKLOADS
from fairway.control.times import render_time
from fairway.control.workloads.making import JOB_UID
from fairway.core.admit.readiness import MULTIKUEUE
from fairway.core.dispatch.model import (
    Action,
    Bind,
    CheckState,
    DeleteRemote,
    EvictRemote,
    Finish,
    ForgetRun,
    OpenGate,
    SetCheck,
    SyncJob,
    UpdatePriority,
)
from fairway.core.model import Time
from fairway.fleet.dispatch.facts import Scene, state_of
from fairway.fleet.resources import EPOCH, LOCAL_UID
from fairway.kinds.kueue.constants import RESOURCE_IN_USE

COMPONENT = "multikueue-controller"
EVENT = "MultiKueue"
Verb = Literal["create", "update", "updateStatus", "delete"]


@dataclass(slots=True)
class Op:
    """A write on a cluster. Creates are stamped with an epoch when they are sent."""

    cluster: str
    verb: Verb
    resource: Resource
    body: Json
    fenced: bool = False
    """Whether it takes the epoch of the moment; jobs carry that of their workload."""
    clears: bool = False
    """Takes away what has ended, holds nothing and is waited for by nobody: it need not go out at once."""


@dataclass(slots=True)
class Outcome:
    """What one look at a workload leads to. The operations go out only after the writes are durable."""

    writes: list[Write] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)


class Scribe:
    """Collects the writes of one look: the status of the workload is written once, whatever happened to it."""

    def __init__(self, scene: Scene, origin: str, now: Time, *, gated: bool = False) -> None:
        self._scene = scene
        self._origin = origin
        self._now = now
        self._gated = gated
        self._obj: Json | None = None
        self._notes: list[Note] = []
        self._outcome = Outcome()

    def outcome(self) -> Outcome:
        if self._obj is not None and self._obj["status"] != (self._scene.workload.get("status") or {}):
            self._outcome.writes.append(Write("updateStatus", WORKLOADS, self._obj, self._notes))
        elif self._notes:
            self._outcome.writes.append(Write("updateStatus", WORKLOADS, dict(self._scene.workload), self._notes))
        return self._outcome

    def act(self, action: Action) -> None:
        match action:
            case SetCheck():
                self._set_check(action)
            case Bind():
                self._bind(action.cluster)
            case SyncJob():
                self._sync_job(action.cluster, action.create)
            case Finish():
                render.set_finished(self._status(), action.end.reason, action.end.message, self._now)
            case DeleteRemote():
                self.delete(action.cluster)
            case UpdatePriority():
                self._update_priority(action.cluster)
            case EvictRemote():
                self._evict(action.cluster)
            case OpenGate():
                self._open_gate(action.cluster)
            case ForgetRun():
                self._forget_run()
            case _:
                raise AssertionError(f"{action} is for the dispatcher")

    # --- on the hub -------------------------------------------------------------------------------------------------

    def _status(self) -> Json:
        if self._obj is None:
            self._obj = with_own_status(self._scene.workload)
        return self._obj

    def _set_check(self, action: SetCheck) -> None:
        before = state_of(self._scene.workload, self._scene.check)
        old = before.get("state", "Pending")
        joint = ". Previously" if "resetting for re-admission" in action.message else ", Previously"
        text = f'{action.message}{joint}: "{old}"'
        state = self._state()
        state |= {"state": action.state.value, "message": text, "lastTransitionTime": render_time(self._now)}
        if action.again_after:
            state["requeueAfterSeconds"] = action.again_after
        if action.tell:
            self._tell(action.tell, text)

    def _state(self) -> Json:
        return state_of(self._status(), self._scene.check)

    def _tell(self, type: str, text: str) -> None:
        self._notes.append(Note(self._scene.workload, type, EVENT, text, COMPONENT))

    def _bind(self, cluster: str) -> None:
        text = f'The workload was admitted on "{cluster}"'
        state, status = self._state(), self._status()["status"]
        if state.get("state") != CheckState.READY or state.get("message") != text:
            state |= {"state": "Ready", "message": text, "lastTransitionTime": render_time(self._now)}
        state.pop("requeueAfterSeconds", None)
        status["clusterName"] = cluster
        status.pop("nominatedClusterNames", None)
        self._tell("Normal", text)

    def nominate(self, clusters: Sequence[str]) -> None:
        status = self._status()["status"]
        if set(status.get("nominatedClusterNames") or ()) != set(clusters):
            status["nominatedClusterNames"] = list(clusters)

    def say(self, text: str) -> None:
        """What is being waited for, on the check that waits."""
        state = self._state()
        if state.get("message", "") != text:
            state["message"] = text

    def _forget_run(self) -> None:
        adapter = self._scene.adapter
        for job in self._scene.jobs:
            rests = adapter.at_rest(job) if adapter is not None else job
            if adapter is not None and rests != job:
                self._outcome.writes.append(Write("updateStatus", adapter.resource, rests))

    # --- on clusters ------------------------------------------------------------------------------------------------

    def _op(
        self, cluster: str, verb: Verb, resource: Resource, body: Json, fenced: bool = False, clears: bool = False
    ) -> None:
        self._outcome.ops.append(Op(cluster, verb, resource, body, fenced, clears))

    def create(self, cluster: str) -> None:
        """A copy of the workload: who it is and what it asks for, nothing of what has become of it."""
        metadata = self._scene.workload["metadata"]
        labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != JOB_UID}
        fresh: Json = {
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "labels": {**labels, names.MULTIKUEUE_ORIGIN: self._origin},
            "annotations": {**(metadata.get("annotations") or {}), LOCAL_UID: metadata.get("uid", "")},
        }
        spec = {**self._scene.workload["spec"]}
        if self._gated:
            spec["preemptionGates"] = [*(spec.get("preemptionGates") or ()), {"name": MULTIKUEUE}]
        body = {"apiVersion": WORKLOADS.api_version, "kind": "Workload", "metadata": fresh, "spec": spec}
        self._op(cluster, "create", WORKLOADS, body, fenced=True)

    def _sync_job(self, cluster: str, create: bool) -> None:
        """Create what is not there yet, if that is wanted; what is there tells how it goes."""
        scene = self._scene
        if scene.adapter is None:
            return
        there = {job["metadata"]["name"]: job for job in scene.remote_jobs.get(cluster) or ()}
        epoch = names.notes(scene.remotes.get(cluster) or {}).get(EPOCH, "")
        starts = self._starts(scene.remotes.get(cluster))
        for job in scene.jobs:
            copy = there.get(job["metadata"]["name"])
            if copy is None and not create:
                continue
            if copy is None:
                body = scene.adapter.copy_for_dispatch(job, scene.workload["metadata"]["name"], self._origin)
                if epoch:
                    body["metadata"].setdefault("annotations", {})[EPOCH] = epoch
                self._op(cluster, "create", scene.adapter.resource, body)
                continue
            if starts and (job.get("spec") or {}).get("suspend") is True:
                continue
            mirrored = scene.adapter.mirror_status(job, copy)
            if mirrored is not None and (mirrored.get("status") or {}) != (job.get("status") or {}):
                self._outcome.writes.append(Write("updateStatus", scene.adapter.resource, mirrored))

    def _starts(self, remote: Json | None) -> bool:
        """While a job is still suspended here because it is just being admitted, what its copy says of itself is of no interest yet."""
        workload = self._scene.workload
        ending = is_true(workload, "Evicted") or (remote is not None and is_true(remote, "Finished"))
        return is_true(workload, "QuotaReserved") and not is_true(workload, "Admitted") and not ending

    def delete(self, cluster: str) -> None:
        """The job first, then the workload. What is on its way out and held by nothing but queueing's own finalizer is let go."""
        if cluster in self._scene.leaving:
            return
        remote = self._scene.remotes.get(cluster)
        jobs = self._scene.remote_jobs.get(cluster) or ()
        adapter = self._scene.adapter
        clears = remote is not None and is_true(remote, "Finished") and is_true(self._scene.workload, "Finished")
        for job in jobs:
            if adapter is not None and not job["metadata"].get("deletionTimestamp"):
                self._op(cluster, "delete", adapter.resource, job, clears=clears)
        if remote is None:
            return
        finalizers = remote["metadata"].get("finalizers") or []
        if not remote["metadata"].get("deletionTimestamp"):
            self._op(cluster, "delete", WORKLOADS, remote, clears=clears)
        elif not jobs and RESOURCE_IN_USE in finalizers:
            left = [each for each in finalizers if each != RESOURCE_IN_USE]
            self._op(cluster, "update", WORKLOADS, {**remote, "metadata": {**remote["metadata"], "finalizers": left}})

    def _update_priority(self, cluster: str) -> None:
        remote, spec = self._scene.remotes[cluster], self._scene.workload["spec"]
        changed = {key: value for key, value in remote["spec"].items() if key not in ("priority", "priorityClassRef")}
        changed |= {key: spec[key] for key in ("priority", "priorityClassRef") if key in spec}
        self._op(cluster, "update", WORKLOADS, {**remote, "spec": changed})

    def _evict(self, cluster: str) -> None:
        remote = with_own_status(self._scene.remotes[cluster])
        evicted = find_condition(self._scene.workload, "Evicted") or {}
        text = f"Evicted on manager: {evicted.get('message', '')}"
        set_condition(remote, "DeactivationTarget", "True", "EvictedOnManagerCluster", text, render_time(self._now))
        self._op(cluster, "updateStatus", WORKLOADS, remote)

    def _open_gate(self, cluster: str) -> None:
        remote = with_own_status(self._scene.remotes[cluster])
        gates = remote["status"].setdefault("preemptionGates", [])
        gate = next((each for each in gates if each.get("name") == MULTIKUEUE), None)
        if gate is None:
            gate = {"name": MULTIKUEUE}
            gates.append(gate)
        gate |= {"position": "Open", "lastTransitionTime": render_time(self._now)}
        self._op(cluster, "updateStatus", WORKLOADS, remote)
