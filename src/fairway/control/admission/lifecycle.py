"""The rules about one Workload beside quota: checks, queues that stop, deactivation, backoff, timeouts, retention. Pure.

A look at a Workload gives a verdict: what its status or spec should be, what to tell people, and when to look again. Every rule is
derived from the object and the queues alone, so that looking again, or after a restart, comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fairway.control import compile as compiler
from fairway.control import render
from fairway.control.adapters import Json
from fairway.control.conditions import find_condition, is_true, set_condition, with_own_status
from fairway.control.configuration import Configuration
from fairway.control.fencing.names import LEASE_EXPIRED
from fairway.control.times import parse_time, render_time
from fairway.core.model import SECOND, Queue, StopPolicy, TenantQueue, Time
from fairway.kinds.kueue.constants import RESOURCE_IN_USE

DEACTIVATED = "The workload is deactivated"
_STOPPED = {"LocalQueueStopped": "The LocalQueue is stopped", "ClusterQueueStopped": "The ClusterQueue is stopped"}
_NOT_READY = "Not all pods are ready or succeeded"
_RECOVERING = "At least one pod has failed, waiting for recovery"
_READY = "All pods reached readiness and the workload is running"
_ASK_AGAIN = 30 * SECOND
"""What keeps a workload that must go tells when it ends; unless it never does."""


class Said(NamedTuple):
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class Verdict:
    """At most one of status, spec and gone is asked for; whoever applies it looks again afterwards."""

    status: Json | None = None
    spec: Json | None = None
    remove: bool = False
    remove_job: bool = False
    said: list[Said] = field(default_factory=list)
    due: Time | None = None


class World(Protocol):
    """What the rules may know beside the Workload."""

    def tenant(self, key: str) -> TenantQueue | None: ...

    def queue(self, name: str) -> Queue | None: ...

    def is_active(self, queue: str) -> bool: ...

    def is_terminating(self, queue: str) -> bool: ...

    def has_job(self, workload: Json, now: Time) -> bool:
        """Whether something runs on behalf of the Workload, or may yet."""
        ...


class Lifecycle:
    def __init__(self, config: Configuration, world: World) -> None:
        self._config = config
        self._world = world

    def look(self, stored: Json, now: Time) -> Verdict:
        verdict = Verdict()
        if (stored.get("metadata") or {}).get("deletionTimestamp"):
            if self._world.has_job(stored, now):
                verdict.due = now + _ASK_AGAIN
            else:
                verdict.spec = without_finalizer(stored)
            return verdict
        if is_true(stored, "Finished"):
            self._retain(stored, verdict, now)
            return verdict
        obj = with_own_status(stored)
        obj.setdefault("spec", {})  # a workload of no pods at all may be written
        if obj["spec"].get("active", True):
            if is_true(obj, "DeactivationTarget"):
                verdict.spec = {**stored, "spec": {**stored["spec"], "active": False}}
                return verdict
            self._active(obj, verdict, now)
        else:
            self._inactive(obj, verdict, now)
        if is_true(obj, "Evicted") and obj["status"].get("admission"):
            if self._world.has_job(obj, now):
                verdict.due = now + _ASK_AGAIN
            else:
                release(obj, now, self._config.observable)
        if obj["status"] != (stored.get("status") or {}):
            begin_pods_ready(obj, self._config, now)
            verdict.status = obj
        return verdict

    # --- the two sides of spec.active -----------------------------------------------------------------------------

    def _inactive(self, obj: Json, verdict: Verdict, now: Time) -> None:
        target = find_condition(obj, "DeactivationTarget")
        evicted = find_condition(obj, "Evicted")
        known = (
            evicted is not None
            and evicted.get("status") == "True"
            and str(evicted.get("reason", "")).startswith(("Deactivated", LEASE_EXPIRED))
        )
        if not known:
            cause = str(target.get("reason", "")) if target is not None else ""
            text = f"{DEACTIVATED} due to {target.get('message', '')}" if target is not None else DEACTIVATED
            had_quota = bool(obj["status"].get("admission"))
            render.set_evicted(obj, "Deactivated", text, now, cause)
            if had_quota:
                reason = f"DeactivatedDueTo{cause}" if cause else "Deactivated"
                verdict.said.append(Said("Normal", f"EvictedDueTo{reason}", text))
        if target is not None:
            obj["status"]["conditions"] = [c for c in obj["status"]["conditions"] if c["type"] != "DeactivationTarget"]
        obj["status"].pop("requeueState", None)
        if not obj["status"].get("admission"):
            text = str((find_condition(obj, "Evicted") or {}).get("message", DEACTIVATED))
            render.set_pending(obj, "Deactivated", text, (), now, self._config.observable)
            self._retain_deactivated(obj, verdict, now)

    def _active(self, obj: Json, verdict: Verdict, now: Time) -> None:
        self._requeue(obj, verdict, now)
        tenant = self._world.tenant(f"{obj['metadata'].get('namespace', '')}/{obj['spec'].get('queueName', '')}")
        reserved = is_true(obj, "QuotaReserved") and bool(obj["status"].get("admission"))
        name = obj["status"]["admission"]["clusterQueue"] if reserved else (tenant.queue if tenant else "")
        queue = self._world.queue(name)
        if queue is not None and not is_true(obj, "Evicted"):
            sync_checks(obj, queue, now)
        if not reserved:
            self._waiting(obj, tenant, name, now)
            return
        was_admitted = is_true(obj, "Admitted")
        render.sync_admitted(obj, now, self._config.observable)
        if is_true(obj, "Admitted") and not was_admitted:
            since = parse_time((find_condition(obj, "QuotaReserved") or {}).get("lastTransitionTime"))
            waited = max(0, now - since) // SECOND
            text = f"Admitted by ClusterQueue {name}, wait time since reservation was {waited}s"
            verdict.said.append(Said("Normal", "Admitted", text))
        if is_true(obj, "Evicted"):
            return
        _ = (
            self._on_checks(obj, verdict, now)
            or self._on_stop(obj, verdict, "LocalQueueStopped", tenant.stop if tenant else StopPolicy.NONE, now)
            or self._on_stop(obj, verdict, "ClusterQueueStopped", self._stop_of(queue, name), now)
            or self._on_pods_not_ready(obj, verdict, now)
            or self._on_execution_time(obj, verdict, now)
        )

    # --- waiting ----------------------------------------------------------------------------------------------------

    def _requeue(self, obj: Json, verdict: Verdict, now: Time) -> None:
        """Let a workload that was put back wait in line again once the reason is gone."""
        requeued = find_condition(obj, "Requeued")
        if requeued is None or requeued.get("status") != "False":
            return
        reason = str(requeued.get("reason", ""))
        if reason.startswith("Deactivated"):
            _set_requeued(obj, "Reactivated", "The workload was reactivated", now)
        elif reason in ("PodsReadyTimeout", "AdmissionCheck"):
            at = parse_time((obj["status"].get("requeueState") or {}).get("requeueAt"))
            if at > now:
                verdict.due = at
                return
            (obj["status"].get("requeueState") or {}).pop("requeueAt", None)
            _set_requeued(obj, "BackoffFinished", "The workload backoff was finished", now)
        elif reason == "LocalQueueStopped":
            tenant = self._world.tenant(f"{obj['metadata'].get('namespace', '')}/{obj['spec'].get('queueName', '')}")
            if tenant is not None and tenant.stop is StopPolicy.NONE:
                text = "The LocalQueue was restarted after being stopped"
                _set_requeued(obj, "LocalQueueRestarted", text, now)
        elif reason == "ClusterQueueStopped":
            tenant = self._world.tenant(f"{obj['metadata'].get('namespace', '')}/{obj['spec'].get('queueName', '')}")
            queue = self._world.queue(tenant.queue) if tenant is not None else None
            if queue is not None and queue.stop is StopPolicy.NONE:
                text = "The ClusterQueue was restarted after being stopped"
                _set_requeued(obj, "ClusterQueueRestarted", text, now)

    def _waiting(self, obj: Json, tenant: TenantQueue | None, queue: str, now: Time) -> None:
        """Why it cannot even be considered, if so."""
        gated = (obj["metadata"].get("annotations") or {}).get(compiler.ADMISSION_GATED)
        name = obj["spec"].get("queueName", "")
        if gated:
            reason, text = "AdmissionGated", f"The workload is gated by: {gated}"
        elif tenant is None:
            reason = "Misconfigured"
            text = f"LocalQueue {name} doesn't exist" if name else "The workload names no LocalQueue"
        elif tenant.stop is not StopPolicy.NONE:
            reason, text = "Suspended", f"LocalQueue {name} is inactive"
        elif self._world.queue(queue) is None:
            reason, text = "Misconfigured", f"ClusterQueue {queue} doesn't exist"
        elif not self._world.is_active(queue):
            reason, text = "Suspended", f"ClusterQueue {queue} is inactive"
        else:
            return
        render.set_pending(obj, reason, text, (), now, self._config.observable)

    # --- holding quota ----------------------------------------------------------------------------------------------

    def _on_checks(self, obj: Json, verdict: Verdict, now: Time) -> bool:
        checks = obj["status"].get("admissionChecks") or ()
        rejected = [check for check in checks if check.get("state") == "Rejected"]
        retried = [check for check in checks if check.get("state") == "Retry"]
        if rejected:
            text = _in_state(rejected, "Rejected")
            self._deactivate(obj, "AdmissionCheck", text, now)
            verdict.said.append(Said("Warning", "AdmissionCheckRejected", f"Deactivated due to {text}"))
            return True
        if not retried:
            return False
        delay = max(int(check.get("requeueAfterSeconds") or 0) for check in retried)
        if delay:
            obj["status"].setdefault("requeueState", {})["requeueAt"] = render_time(now + delay * SECOND)
        self._evict(obj, verdict, "AdmissionCheck", f"Evicted due to {_in_state(retried, 'Retry')}", now)
        return True

    def _stop_of(self, queue: Queue | None, name: str) -> StopPolicy:
        if queue is None or self._world.is_terminating(name):
            return StopPolicy.HOLD
        return queue.stop

    def _on_stop(self, obj: Json, verdict: Verdict, reason: str, stop: StopPolicy, now: Time) -> bool:
        if stop is StopPolicy.NONE:
            return False
        if stop is StopPolicy.HOLD_AND_DRAIN:
            self._evict(obj, verdict, reason, _STOPPED[reason], now)
            return True
        if is_true(obj, "Admitted"):
            return False
        render.set_pending(obj, "Suspended", _STOPPED[reason], (), now, self._config.observable)
        return True

    def _on_pods_not_ready(self, obj: Json, verdict: Verdict, now: Time) -> bool:
        ready = find_condition(obj, "PodsReady")
        if not self._config.waits_for_pods or not is_true(obj, "Admitted"):
            return False
        if ready is None or ready.get("status") == "True":
            return False
        if ready.get("reason") == "WaitForRecovery":
            allowed, since = self._config.recovery_timeout, parse_time(ready.get("lastTransitionTime"))
            if allowed == 0:
                return False
        else:
            admitted = find_condition(obj, "Admitted") or {}
            allowed, since = self._config.pods_ready_timeout, parse_time(admitted.get("lastTransitionTime"))
        if since + allowed > now:
            verdict.due = since + allowed
            return False
        self._back_off(obj, verdict, now)
        return True

    def _back_off(self, obj: Json, verdict: Verdict, now: Time) -> None:
        state = obj["status"].setdefault("requeueState", {})
        count = int(state.get("count") or 0) + 1
        limit = self._config.wait_for_pods_ready.requeuing_strategy.backoff_limit_count
        if limit is not None and count > limit:
            text = "exceeding the maximum number of re-queuing retries"
            self._deactivate(obj, "RequeuingLimitExceeded", text, now)
            return
        state |= {"count": count, "requeueAt": render_time(now + self._config.backoff(count))}
        self._evict(obj, verdict, "PodsReadyTimeout", f"Exceeded the PodsReady timeout {compiler.key_of(obj)}", now)

    def _on_execution_time(self, obj: Json, verdict: Verdict, now: Time) -> bool:
        limit = obj["spec"].get("maximumExecutionTimeSeconds")
        if not limit or not is_true(obj, "Admitted"):
            return False
        since = parse_time((find_condition(obj, "Admitted") or {}).get("lastTransitionTime"))
        spent = int(obj["status"].get("accumulatedPastExecutionTimeSeconds") or 0)
        end = since + (int(limit) - spent) * SECOND
        if end > now:
            verdict.due = end if verdict.due is None else min(verdict.due, end)
            return False
        self._deactivate(obj, "MaximumExecutionTimeExceeded", "exceeding the maximum execution time", now)
        text = f"The maximum execution time ({limit}s) exceeded"
        verdict.said.append(Said("Warning", "MaximumExecutionTimeExceeded", text))
        return True

    def _evict(self, obj: Json, verdict: Verdict, reason: str, text: str, now: Time) -> None:
        render.set_evicted(obj, reason, text, now)
        verdict.said.append(Said("Normal", f"EvictedDueTo{reason}", text))

    def _deactivate(self, obj: Json, reason: str, text: str, now: Time) -> None:
        set_condition(obj, "DeactivationTarget", "True", reason, text, render_time(now), generation(obj))

    # --- the end ----------------------------------------------------------------------------------------------------

    def _retain(self, obj: Json, verdict: Verdict, now: Time) -> None:
        after = self._config.retention("after_finished")
        if after is None:
            return
        end = parse_time((find_condition(obj, "Finished") or {}).get("lastTransitionTime")) + after
        if end > now:
            verdict.due = end
        else:
            verdict.remove = True

    def _retain_deactivated(self, obj: Json, verdict: Verdict, now: Time) -> None:
        evicted = find_condition(obj, "Evicted") or {}
        after = self._config.retention("after_deactivated_by_kueue")
        if after is None or not str(evicted.get("reason", "")).startswith("DeactivatedDueTo"):
            return
        end = parse_time(evicted.get("lastTransitionTime")) + after
        if end > now:
            verdict.due = end
        else:
            verdict.remove = verdict.remove_job = True


def _in_state(checks: Sequence[Json], state: str) -> str:
    """As Kueue says it: which checks, and what each of them gives as its reason."""
    said = (f'"{each["name"]}" ({each["message"]})' if each.get("message") else f'"{each["name"]}"' for each in checks)
    noun = "AdmissionChecks" if len(checks) > 1 else "AdmissionCheck"
    return f"{noun} in {state} state: {'; '.join(said)}"


def generation(obj: Json) -> int:
    return int((obj.get("metadata") or {}).get("generation") or 0)


def without_finalizer(obj: Json) -> Json | None:
    finalizers = obj["metadata"].get("finalizers") or []
    if RESOURCE_IN_USE not in finalizers:
        return None
    left = [name for name in finalizers if name != RESOURCE_IN_USE]
    return {**obj, "metadata": {**obj["metadata"], "finalizers": left}}


def release(obj: Json, now: Time, observable: bool = True) -> None:
    """An evicted workload has stopped: its quota is free, and it waits again or until somebody says so."""
    evicted = find_condition(obj, "Evicted") or {}
    reason, text = str(evicted.get("reason", "")), str(evicted.get("message", ""))
    again = "True" if reason in ("Preempted", "NodeFailures", "FlavorMigration") else "False"
    set_condition(obj, "Requeued", again, reason, text, render_time(now), generation(obj))
    render.set_pending(obj, "PendingEvaluation", text, (), now, observable)


def sync_checks(obj: Json, queue: Queue, now: Time) -> None:
    """The checks that apply, each with the state it has; a new one starts as Pending."""
    reserved = compiler.reservation(obj)
    if reserved is not None:
        wanted = render.required_checks(queue, reserved.pod_sets)
    elif any(ref.flavors for ref in queue.checks):
        return
    else:
        wanted = {ref.name for ref in queue.checks}
    status = obj["status"]
    known = {check["name"]: check for check in status.get("admissionChecks") or ()}
    if set(known) == wanted:
        return
    fresh = {"state": "Pending", "message": "", "lastTransitionTime": render_time(now)}
    checks = [known.get(ref.name) or {"name": ref.name, **fresh} for ref in queue.checks if ref.name in wanted]
    if checks:
        status["admissionChecks"] = checks
    else:
        status.pop("admissionChecks", None)


def begin_pods_ready(obj: Json, config: Configuration, now: Time) -> None:
    """A first 'not ready' costs no write of its own: it comes with whatever else is said first."""
    if config.waits_for_pods and obj["metadata"].get("ownerReferences") and find_condition(obj, "PodsReady") is None:
        sync_pods_ready(obj, False, now)


def sync_pods_ready(obj: Json, ready: bool, now: Time) -> None:
    """The PodsReady condition after what the job says."""
    said = pods_ready_after(obj, ready)
    if said is not None:
        set_condition(obj, "PodsReady", *said, render_time(now), generation(obj))


def pods_ready_after(obj: Json, ready: bool) -> tuple[str, str, str] | None:
    """Status, reason and message that the PodsReady condition should have; None if it has them."""
    old = find_condition(obj, "PodsReady")
    was = old is not None and old.get("status") == "True"
    reason_before = str(old.get("reason", "")) if old is not None else ""
    if not is_true(obj, "Admitted"):
        status, reason, text = "False", "WaitForStart", _NOT_READY
    elif ready:
        recovered = reason_before in ("WaitForRecovery", "Recovered")
        status, reason, text = "True", "Recovered" if recovered else "Started", _READY
    elif was or reason_before == "WaitForRecovery":
        status, reason, text = "False", "WaitForRecovery", _RECOVERING
    else:
        status, reason, text = "False", "WaitForStart", _NOT_READY
    if old is not None and (old.get("status"), old.get("reason"), old.get("message")) == (status, reason, text):
        return None
    return status, reason, text


def _set_requeued(obj: Json, reason: str, text: str, now: Time) -> None:
    set_condition(obj, "Requeued", "True", reason, text, render_time(now), generation(obj))
