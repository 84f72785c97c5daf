"""The Workload that a job needs: its name, its pod sets, its priority; and whether one that is there still says the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from fairway.control.adapters import Job, JobAdapter, Json, PodSet, PodSetInfo, names, original
from fairway.control.fencing import names as fencing
from fairway.control.mirror import Table
from fairway.core.quantity import canonical
from fairway.kinds.k8s.core.pod import PodSpec
from fairway.kinds.k8s.core.pod_defaults import default_pod_spec
from fairway.kinds.kind import convert
from fairway.kinds.kueue.constants import POD_PRIORITY_CLASS, RESOURCE_IN_USE, WORKLOAD_PRIORITY_CLASS
from fairway.kinds.types import to_json

PREFIX = "kueue.x-k8s.io/"
JOB_UID = PREFIX + "job-uid"
NAME_MAX = 253
_HASH = 5
_STEERED = ("nodeSelector", "tolerations", "schedulingGates", "affinity", "nodeName")


class Priorities:
    """Named priorities: a workload's own class counts before that of its pods."""

    def __init__(self, classes: Table, pod_classes: Table) -> None:
        self._classes = classes
        self._pod_classes = pod_classes

    def of(self, adapter: JobAdapter, job: Job) -> Json:
        """The fields of a Workload's spec. A class that is not there counts as none, until it comes."""
        named = adapter.priority_class(job)
        found = self._classes.get(f"/{named}") if named else None
        if found is not None:
            return _fields(WORKLOAD_PRIORITY_CLASS, named, found)
        pods = adapter.pod_priority_class(job)
        found = self._pod_classes.get(f"/{pods}") if pods else None
        if found is not None:
            return _fields(POD_PRIORITY_CLASS, pods, found)
        for key in self._pod_classes:
            found = self._pod_classes.get(key)
            if found is not None and found.get("globalDefault"):
                return _fields(POD_PRIORITY_CLASS, key[1:], found)
        return {"priority": 0}


def _fields(what: tuple[str, str], name: str, found: Json) -> Json:
    ref = {"group": what[0], "kind": what[1], "name": name}
    return {"priorityClassRef": ref, "priority": int(found.get("value") or 0)}


def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    digest = hashlib.sha1(f"{kind}\n{group}\n{name}\n{uid}".encode(), usedforsecurity=False).hexdigest()[:_HASH]
    return f"{kind.lower()}-{name}"[: NAME_MAX - _HASH - 1] + f"-{digest}"


def name_for(adapter: JobAdapter, job: Job) -> str:
    group = adapter.group(job[0])
    if group:
        return group
    metadata = job[0]["metadata"]
    return workload_name(adapter.kind, adapter.resource.group, metadata["name"], metadata["uid"])


def owners(adapter: JobAdapter, job: Job) -> list[Json]:
    """One job owns its workload alone; the pods of a group own it together."""
    alone = not adapter.group(job[0])
    found = []
    for obj in job:
        owner: Json = {
            "apiVersion": adapter.resource.api_version,
            "kind": adapter.kind,
            "name": obj["metadata"]["name"],
            "uid": obj["metadata"]["uid"],
        }
        if alone:
            owner |= {"controller": True, "blockOwnerDeletion": True}
        found.append(owner)
    return found


def make(adapter: JobAdapter, job: Job, priority: Json) -> Json:
    metadata = job[0]["metadata"]
    result: Json = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name_for(adapter, job),
            "namespace": metadata.get("namespace", ""),
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": owners(adapter, job),
        },
        "spec": {
            "active": True,
            **({"queueName": queue} if (queue := adapter.queue_name(job)) else {}),
            "podSets": [pod_set_json(pod_set) for pod_set in adapter.pod_sets(job)],
            **priority,
        },
    }
    if not adapter.group(job[0]):
        result["metadata"]["labels"] = {JOB_UID: metadata["uid"]}
    seconds = adapter.max_exec_time(job)
    if seconds is not None:
        result["spec"]["maximumExecutionTimeSeconds"] = seconds
    return result


def pod_set_json(pod_set: PodSet) -> Json:
    result: Json = {"name": pod_set.name, "count": pod_set.count, "template": pod_set.template}
    if pod_set.min_count is not None:
        result["minCount"] = pod_set.min_count
    if pod_set.topology:
        result["topologyRequest"] = pod_set.topology
    return result


def matches(adapter: JobAdapter, job: Job, workload: Json) -> bool:
    """Whether a Workload is about the job as it is now. What an admission put into a running job is no difference."""
    if adapter.group(job[0]):
        # A role's name tells its pods apart; how many there are comes and goes with replacements.
        known = {each["name"] for each in (workload.get("spec") or {}).get("podSets") or ()}
        return {pod_set.name for pod_set in adapter.pod_sets(job)} <= known
    if adapter.prebuilt_workload(job):
        return _fits(adapter, job, workload)
    running = not adapter.is_suspended(job) or adapter.kind == "Pod"
    wanted, given = adapter.pod_sets(job), (workload.get("spec") or {}).get("podSets") or []
    if len(wanted) != len(given):
        return False
    admitted = {each["name"]: each.get("count") for each in _assignments(workload)} if running else {}
    for ours, theirs in zip(wanted, given, strict=True):
        count = theirs.get("count", 1)
        counts = {count, admitted.get(theirs["name"], count)} if running else {count}
        if ours.name != theirs["name"] or ours.count not in counts:
            return False
        if not running and ours.min_count != theirs.get("minCount"):
            return False
        if _comparable(ours.template, running) != _comparable(theirs["template"], running):
            return False
    return True


def _fits(adapter: JobAdapter, job: Job, workload: Json) -> bool:
    """Whether a job may be that of a Workload that somebody else made, a manager of other clusters say: compared as Kueue does it, with
    whatever each side's API fills in filled in."""
    wanted, given = adapter.pod_sets(job), (workload.get("spec") or {}).get("podSets") or []
    admitted = [each.get("count") for each in _assignments(workload)]
    if len(wanted) != len(given):
        return False
    for index, (ours, theirs) in enumerate(zip(wanted, given, strict=True)):
        count = theirs.get("count", 1)
        counts = {count, admitted[index] if theirs.get("minCount") and index < len(admitted) else count}
        if ours.count not in counts or ours.min_count != theirs.get("minCount"):
            return False
        if _essence(ours.template, not admitted) != _essence(theirs["template"], not admitted):
            return False
    return True


def _essence(template: Json, tolerations: bool) -> Json:
    spec = template.get("spec") or {}
    try:
        typed = convert(spec, PodSpec)
    except msgspec.ValidationError:
        return spec
    default_pod_spec(typed)
    plain = to_json(typed)
    for container in (*plain.get("containers", ()), *plain.get("initContainers", ())):
        resources = container.get("resources") or {}
        for name in ("requests", "limits"):
            if name in resources:
                resources[name] = {key: canonical(str(value)) for key, value in resources[name].items()}
    kept = ("containers", "initContainers", "tolerations") if tolerations else ("containers", "initContainers")
    return {name: plain[name] for name in kept if plain.get(name)}


def _comparable(template: Json, running: bool) -> Any:
    spec = template.get("spec") or {}
    return {key: value for key, value in spec.items() if key not in _STEERED} if running else spec


def originals(workload: Json) -> list[PodSetInfo]:
    """What the job was before it was admitted, as its workload remembers it."""
    return [
        original(each["name"], int(each.get("count", 1)), each.get("template") or {})
        for each in (workload.get("spec") or {}).get("podSets") or ()
    ]


def infos(workload: Json, flavors: Table, labels_for_pods: bool = True) -> list[PodSetInfo]:
    """What the admission adds to each pod set: where its flavors are, what checks ask for, and whose pods they are."""
    metadata, status = workload["metadata"], workload.get("status") or {}
    queue = (status.get("admission") or {}).get("clusterQueue", "")
    full = {each["name"]: int(each.get("count", 1)) for each in workload["spec"].get("podSets") or ()}
    found = []
    for assignment in _assignments(workload):
        name = assignment["name"]
        node_selector: dict[str, str] = {}
        tolerations: list[Json] = []
        for flavor_name in dict.fromkeys((assignment.get("flavors") or {}).values()):
            spec = (flavors.get(f"/{flavor_name}") or {}).get("spec") or {}
            node_selector |= spec.get("nodeLabels") or {}
            tolerations += [each for each in spec.get("tolerations") or () if each not in tolerations]
        labels = {PREFIX + "podset": name}
        if labels_for_pods:
            labels |= {
                PREFIX + "cluster-queue-name": queue,
                PREFIX + "local-queue-name": workload["spec"].get("queueName", ""),
            }
        annotations = {names.WORKLOAD: metadata["name"], **_leased(workload)}
        for update in _updates(status, name):
            labels |= update.get("labels") or {}
            annotations |= update.get("annotations") or {}
            node_selector |= update.get("nodeSelector") or {}
            tolerations += [each for each in update.get("tolerations") or () if each not in tolerations]
        count = int(assignment.get("count", full.get(name, 0)))
        found.append(PodSetInfo(name, count, labels, annotations, node_selector, tolerations))
    return found


def _leased(workload: Json) -> dict[str, str]:
    """The pods of what a hub sent run only while the hub renews its lease."""
    origin, _epoch = fencing.marks(workload)
    return {fencing.LEASE: origin, fencing.ADMITTED_AS: workload["metadata"]["uid"]} if origin else {}


def _updates(status: Json, name: str) -> list[Json]:
    return [
        update
        for check in status.get("admissionChecks") or ()
        for update in check.get("podSetUpdates") or ()
        if update.get("name") == name
    ]


def _assignments(workload: Json) -> Sequence[Json]:
    admission = (workload.get("status") or {}).get("admission") or {}
    found: Sequence[Json] = admission.get("podSetAssignments") or ()
    return found
