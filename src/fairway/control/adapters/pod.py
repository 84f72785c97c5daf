"""Pods in queues: single ones, and groups of pods that are admitted as one. A gate holds them back from being scheduled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fairway.api.client import Resource
from fairway.control.adapters import names, templates
from fairway.control.adapters.adapter import (
    AdapterError,
    Change,
    Finished,
    Job,
    Json,
    PodSet,
    PodSetInfo,
    StopReason,
)
from fairway.control.adapters.roles import role, role_hash
from fairway.control.adapters.suspendable import dispatched
from fairway.control.times import parse_time
from fairway.core.model import SECOND
from fairway.engines import lease
from fairway.kinds.k8s.core.pod_defaults import GATED_MESSAGE, SCHEDULING_GATED

MAIN = "main"
TERMINATION_TARGET = "TerminationTarget"
POD_SETS_MAX = 8


class PodKind:
    resource = Resource("", "v1", "pods")
    kind = "Pod"
    framework = "pod"

    def skip(self, obj: Json) -> bool:
        """Only pods that were held back when they were created are ours."""
        return names.labels(obj).get(names.MANAGED) != "true"

    def group(self, obj: Json) -> str:
        return names.notes(obj).get(names.GROUP_NAME) or names.labels(obj).get(names.GROUP_NAME) or ""

    # --- what it asks for -------------------------------------------------------------------------------------------

    def queue_name(self, job: Job) -> str:
        return names.queue_name(job[0])

    def priority_class(self, job: Job) -> str:
        return names.labels(job[0]).get(names.PRIORITY_CLASS, "")

    def pod_priority_class(self, job: Job) -> str:
        return next((named for pod in job if (named := pod["spec"].get("priorityClassName"))), "")

    def max_exec_time(self, job: Job) -> int | None:
        return names.max_exec_time(job[0])

    def prebuilt_workload(self, job: Job) -> str:
        return names.prebuilt_workload(job[0])

    def managed_by(self, job: Job) -> str:
        return ""

    def problem(self, job: Job) -> str:
        group = self.group(job[0])
        if not group:
            return ""
        total = _total(job[0])
        if total is None:
            said = names.notes(job[0]).get(names.GROUP_TOTAL_COUNT)
            return f"incorrect annotation value '{names.GROUP_TOTAL_COUNT}={said}': it must be a number above zero"
        first, queue = job[0]["metadata"]["name"], self.queue_name(job)
        for pod in job:
            if _phase(pod) == "Failed":
                continue
            other = pod["metadata"]["name"]
            if names.queue_name(pod) != queue:
                return f"pods '{first}' and '{other}' has different queue names: {queue}!={names.queue_name(pod)}"
            if _total(pod) != total:
                what = names.GROUP_TOTAL_COUNT
                return f"pods '{first}' and '{other}' has different '{what}' values: {total}!={_total(pod)}"
        runnable = [pod for pod in job if _runnable(pod)]
        if len(runnable) < (1 if _fast(job[0]) else total):
            return f"'{group}' group has fewer runnable pods than expected"
        if len({role(pod) for pod in runnable}) > POD_SETS_MAX:
            return f"pod group can't include more than {POD_SETS_MAX} roles"
        return ""

    def pod_sets(self, job: Job) -> list[PodSet]:
        if not self.group(job[0]):
            return [_pod_set(MAIN, 1, job[0])]
        kept = self._kept(job)
        if _fast(job[0]):
            return [_pod_set(role(kept[0]), _total(job[0]) or 1, kept[0])] if kept else []
        by_role = _by_role(kept)
        return [_pod_set(name, len(pods), pods[0]) for name, pods in sorted(by_role.items())]

    def _kept(self, job: Job) -> list[Json]:
        """The pods that make up the group: no more than it says it has, those that have come furthest first."""
        runnable = sorted((pod for pod in job if _runnable(pod)), key=_keep_first)
        return runnable[: _total(job[0]) or len(runnable)]

    def reclaimable(self, job: Job) -> dict[str, int]:
        if not self.group(job[0]) or _serving(job[0]):
            return {}
        done = _by_role(pod for pod in job if _phase(pod) == "Succeeded")
        return {name: len(pods) for name, pods in done.items()}

    # --- how it is --------------------------------------------------------------------------------------------------

    def is_suspended(self, job: Job) -> bool:
        return any(_suspended(pod) for pod in job)

    def active(self, job: Job, now: float) -> bool:
        return any(_phase(pod) == "Running" and not _overdue(pod, now) for pod in job)

    def pods_ready(self, job: Job) -> bool:
        wanted = (_total(job[0]) or 1) if self.group(job[0]) else 1
        return len(job) >= wanted and all(_ready(pod) for pod in job)

    def finished(self, job: Job) -> Finished | None:
        if any(_expired(pod) for pod in job):
            return None  # it is about to be evicted
        if not self.group(job[0]):
            return _ended(job[0])
        if _serving(job[0]):
            return None
        total = _total(job[0])
        succeeded = sum(_phase(pod) == "Succeeded" for pod in job)
        over = all(_terminated(pod) for pod in job)
        if total is None or not (succeeded == total or (over and any(_unretriable(pod) for pod in job))):
            return None
        return Finished("Succeeded", f"Pods succeeded: {succeeded}/{total}.", True)

    def missing(self, job: Job, counts: Mapping[str, int]) -> int:
        """Pods of a group that the workload counts on and that must be replaced before it can run."""
        if not self.group(job[0]):
            return 0
        there = _by_role(pod for pod in job if _runnable(pod))
        if _fast(job[0]):
            return sum(1 for name, count in counts.items() if count and not there.get(name))
        return sum(max(0, count - len(there.get(name, ()))) for name, count in counts.items())

    # --- what is done to it -----------------------------------------------------------------------------------------

    def suspend(self, obj: Json) -> Json:
        """The gate, and what says that it is ours; the finalizer lets us see how the pod ended before it is gone."""
        metadata, spec = dict(obj["metadata"]), dict(obj["spec"])
        notes = names.notes(obj)
        metadata["annotations"] = {**notes, names.ROLE_HASH: notes.get(names.ROLE_HASH) or role_hash(spec)}
        metadata["labels"] = dict(names.labels(obj))
        if names.SUSPENDING_PARENT not in notes:
            metadata["labels"][names.MANAGED] = "true"
            others = [name for name in metadata.get("finalizers") or () if name != names.MANAGED]
            metadata["finalizers"] = [*others, names.MANAGED]
        index_from = notes.get(names.GROUP_POD_INDEX_LABEL)
        if index_from is not None:
            metadata["labels"][names.GROUP_POD_INDEX] = metadata["labels"].get(index_from, "")
        gates = [gate for gate in spec.get("schedulingGates") or () if gate["name"] != names.ADMISSION_GATE]
        spec["schedulingGates"] = [*gates, {"name": names.ADMISSION_GATE}]
        return {**obj, "metadata": metadata, "spec": spec}

    def start(self, job: Job, infos: Sequence[PodSetInfo]) -> list[Change]:
        by_name = {info.name: info for info in infos}
        single = not self.group(job[0])
        if single and len(infos) != 1:
            raise AdapterError(f"invalid podset infos: expecting 1 pod set got {len(infos)}")
        changes = []
        for pod in job:
            if not _gated(pod):
                continue
            info = infos[0] if single else by_name.get(role(pod))
            if info is None:
                raise AdapterError(f"invalid podset infos: podSetInfo with the name '{role(pod)}' is not found")
            changes.append(Change("update", self.resource, _started(pod, info)))
        return changes

    def stop(
        self, job: Job, original: Sequence[PodSetInfo], reason: StopReason, message: str, now: str
    ) -> list[Change]:
        """Pods cannot be held back once they run: they are told why and deleted. Gated and finished ones stay, unless all must go."""
        changes: list[Change] = []
        for pod in job:
            if pod["metadata"].get("deletionTimestamp"):
                continue
            if reason is not StopReason.WORKLOAD_DELETED and _suspended(pod):
                continue
            changes.append(Change("updateStatus", self.resource, _doomed(pod, reason, message, now)))
            changes.append(Change("delete", self.resource, pod))
        return changes

    def tidy(self, job: Job, counts: Mapping[str, int]) -> list[Change]:
        """Pods of a group beyond what its workload counts on go; failed ones that have been replaced are let go."""
        changes: list[Change] = []
        if not self.group(job[0]):
            return changes
        alive = _by_role(pod for pod in job if _runnable(pod))
        over = _by_role(pod for pod in job if not _runnable(pod))
        for name, count in counts.items():
            for pod in sorted(alive.get(name, ()), key=_keep_first)[count:]:
                changes += _let_go(self.resource, pod)
                if not pod["metadata"].get("deletionTimestamp"):
                    changes.append(Change("delete", self.resource, pod))
            replaced = len(over.get(name, ())) + len(alive.get(name, ())) - count
            if replaced > 0:
                for pod in sorted(over.get(name, ()), key=_oldest_first)[:replaced]:
                    changes += _let_go(self.resource, pod)
        return changes

    def finalize(self, job: Job) -> list[Change]:
        return [change for pod in job for change in _let_go(self.resource, pod)]

    # --- on another cluster -----------------------------------------------------------------------------------------

    def copy_for_dispatch(self, obj: Json, workload: str, origin: str) -> Json:
        """Kubernetes would mount the token of a service account into it, and Kueue then takes it for another pod than its workload's."""
        copy = dispatched(obj, workload, origin)
        copy["spec"].setdefault("automountServiceAccountToken", False)
        return copy

    def mirror_status(self, local: Json, remote: Json) -> Json | None:
        """A pod that is gated here says so until its copy is placed, lest a scheduler here take it for one that fits nowhere.
        How a copy ends that was told to end says nothing: the pod here may run again."""
        if local["metadata"].get("deletionTimestamp"):
            return None
        if remote["metadata"].get("deletionTimestamp") and _terminated(remote):
            return None
        status = dict(remote.get("status") or {})
        conditions = list(status.get("conditions") or ())
        placed = any(one["type"] == "PodScheduled" and one["status"] == "True" for one in conditions)
        own = [one for one in (local.get("status") or {}).get("conditions") or () if one["type"] == "PodScheduled"]
        if _gated(local) and own and not placed:
            status["conditions"] = [one for one in conditions if one["type"] != "PodScheduled"] + own
        return {**local, "status": status}

    def at_rest(self, obj: Json) -> Json:
        """Held back as at first. One that ended keeps how it did."""
        if _terminated(obj):
            return obj
        gated = {"type": "PodScheduled", "status": "False", "reason": SCHEDULING_GATED, "message": GATED_MESSAGE}
        kept = {key: value for key, value in (obj.get("status") or {}).items() if key == "qosClass"}
        return {**obj, "status": {**kept, "phase": "Pending", "conditions": [gated] if _gated(obj) else []}}


def _pod_set(name: str, count: int, pod: Json) -> PodSet:
    request = templates.topology_request(pod, names.GROUP_POD_INDEX)
    return PodSet(name, count, {"spec": pod["spec"]}, None, request)


def _started(pod: Json, info: PodSetInfo) -> Json:
    merged = templates.merged(pod, info)
    wanted = {gate["name"] for gate in info.scheduling_gates}
    lifted = {names.ADMISSION_GATE} | ({names.TOPOLOGY_GATE} - wanted)
    gates = [gate for gate in merged["spec"].get("schedulingGates") or () if gate["name"] not in lifted]
    return {**merged, "spec": {**merged["spec"], "schedulingGates": gates}}


def _doomed(pod: Json, reason: StopReason, message: str, now: str) -> Json:
    status = pod.get("status") or {}
    others = [one for one in status.get("conditions") or () if one["type"] != TERMINATION_TARGET]
    said = {"type": TERMINATION_TARGET, "status": "True", "reason": str(reason), "message": message}
    return {**pod, "status": {**status, "conditions": [*others, {**said, "lastTransitionTime": now}]}}


def _let_go(resource: Resource, pod: Json) -> list[Change]:
    finalizers = pod["metadata"].get("finalizers") or ()
    if names.MANAGED not in finalizers:
        return []
    left = [name for name in finalizers if name != names.MANAGED]
    return [Change("update", resource, {**pod, "metadata": {**pod["metadata"], "finalizers": left}})]


def _by_role(pods: Iterable[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = defaultdict(list)
    for pod in pods:
        found[role(pod)].append(pod)
    return found


def _phase(pod: Json) -> str:
    return (pod.get("status") or {}).get("phase") or "Pending"


def _terminated(pod: Json) -> bool:
    return _phase(pod) in ("Succeeded", "Failed")


def _ended(pod: Json) -> Finished | None:
    if not _terminated(pod):
        return None
    success = _phase(pod) == "Succeeded"
    return Finished("Succeeded" if success else "Failed", (pod.get("status") or {}).get("message", ""), success)


def _expired(pod: Json) -> bool:
    """Whether its lease was not renewed in time: no end of its own."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(((one.get("state") or {}).get("terminated") or {}).get("reason") == lease.EXPIRED for one in statuses)


def _gated(pod: Json) -> bool:
    return any(gate["name"] == names.ADMISSION_GATE for gate in pod["spec"].get("schedulingGates") or ())


def _suspended(pod: Json) -> bool:
    return _terminated(pod) or _gated(pod)


def _runnable(pod: Json) -> bool:
    """Whether it can still run, runs, or has succeeded."""
    if pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName"):
        return False
    return _phase(pod) != "Failed"


def _ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _overdue(pod: Json, now: float) -> bool:
    """Whether it should be gone by now: one that is stuck must not hold its quota for ever."""
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp"):
        return False
    grace: int = metadata.get("deletionGracePeriodSeconds") or 0
    return now > parse_time(metadata["deletionTimestamp"]) / SECOND + grace


def _total(pod: Json) -> int | None:
    text = names.notes(pod).get(names.GROUP_TOTAL_COUNT, "")
    count = int(text) if text.isascii() and text.isdecimal() else 0
    return count if count > 0 else None


def _fast(pod: Json) -> bool:
    return names.notes(pod).get(names.GROUP_FAST_ADMISSION) == "true"


def _serving(pod: Json) -> bool:
    return names.notes(pod).get(names.GROUP_SERVING) == "true"


def _unretriable(pod: Json) -> bool:
    return names.notes(pod).get(names.RETRIABLE_IN_GROUP) == "false"


def _keep_first(pod: Json) -> tuple[bool, bool, str, str]:
    metadata = pod["metadata"]
    ours = names.MANAGED in (metadata.get("finalizers") or ())
    return (not ours, _gated(pod), metadata.get("creationTimestamp", ""), metadata["name"])


def _oldest_first(pod: Json) -> tuple[str, str]:
    return (pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"])
