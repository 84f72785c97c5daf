"""The Jobs of a set: what the rules see of them, and how they are made."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from fairway.control.jobs.decide import finished
from fairway.kinds.jobset.naming import coordinator_address, job_name, subdomain
from fairway.kinds.jobset.types import JobSet, ReplicatedJob
from fairway.kinds.k8s.batch.defaults import NAME_LABELS, UID_LABELS
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.k8s.opt import flag, items, number, pairs, text
from fairway.kinds.types import UNSET, to_json

Json = dict[str, Any]
_OWN = "jobset.sigs.k8s.io/"
_ALPHA = "alpha.jobset.sigs.k8s.io/"
NAME, UID = _OWN + "jobset-name", _OWN + "jobset-uid"
ENTRY, JOB_INDEX = _OWN + "replicatedjob-name", _OWN + "job-index"
RESTARTS = _OWN + "restart-attempt"
EXCLUSIVE, NODE_SELECTOR = _ALPHA + "exclusive-topology", _ALPHA + "node-selector"
NAMESPACED_JOB, NO_SCHEDULE = _ALPHA + "namespaced-job", _ALPHA + "no-schedule"
API_VERSION = "jobset.x-k8s.io/v1alpha2"


@dataclass(frozen=True, slots=True)
class Child:
    """What counts of a Job of a set."""

    name: str
    uid: str
    entry: str
    restarts: int
    version: str = ""
    ended: str = ""
    """Complete, Failed or nothing."""
    reason: str = ""
    message: str = ""
    ended_at: str = ""
    suspended: bool = False
    started: bool = False
    """Has a start time, which keeps its template from changing."""
    active: int = 0
    """Pods that run, those that are still ending too."""
    ready: int = 0
    """Pods that are ready or done."""
    pods: int = 1
    deleting: bool = False


def child(job: Job) -> Child:
    end = finished(job)
    labels, spec, status = pairs(job.metadata.labels), job.spec, job.status
    parallelism = 1 if spec.parallelism is UNSET else spec.parallelism
    restarts = labels.get(RESTARTS, "")
    return Child(
        name=text(job.metadata.name),
        uid=text(job.metadata.uid),
        version=text(job.metadata.resource_version),
        entry=labels.get(ENTRY, ""),
        restarts=int(restarts) if restarts.isascii() and restarts.isdecimal() else -1,
        ended=end.type if end is not None else "",
        reason=text(end.reason) if end is not None else "",
        message=text(end.message) if end is not None else "",
        ended_at=text(end.last_transition_time) if end is not None else "",
        suspended=flag(spec.suspend),
        started=status.start_time is not UNSET,
        active=number(status.active) + number(status.terminating),
        ready=number(status.ready) + number(status.succeeded),
        pods=parallelism if spec.completions is UNSET else min(parallelism, spec.completions),
        deleting=bool(job.metadata.deletion_timestamp),
    )


def make_job(jobset: JobSet, entry: ReplicatedJob, index: int) -> Json:
    """One Job of an entry, as the set wants it now."""
    name, namespace = text(jobset.metadata.name), text(jobset.metadata.namespace)
    body: Json = to_json(entry.template)
    metadata, spec = body.get("metadata") or {}, body["spec"]
    marks = _marks(jobset, entry, index)
    notes = {**marks, **_placement(jobset, entry)}
    template = spec["template"]
    template["metadata"] = _marked(template.get("metadata") or {}, marks, notes)
    network = jobset.spec.network
    if network is not UNSET and flag(network.enable_dns_hostnames):
        template["spec"]["subdomain"] = subdomain(jobset, name)
    job = job_name(name, entry.name, index)
    if EXCLUSIVE in notes and NODE_SELECTOR in notes:
        _steer_to_own_nodes(template["spec"], f"{namespace}_{job}")
    spec["suspend"] = flag(jobset.spec.suspend)
    owner = {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "name": name,
        "uid": text(jobset.metadata.uid),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    marked = _marked(
        {key: metadata[key] for key in ("labels", "annotations") if key in metadata},
        marks,
        notes,
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job, "namespace": namespace, **marked, "ownerReferences": [owner]},
        "spec": spec,
    }


def resumed(job: Json, wanted: Json) -> Json:
    """A suspended Job as it starts: with where its pods may run as the set says it now, which may have changed meanwhile."""
    template, new = job["spec"]["template"], wanted["spec"]["template"]
    old_labels = (template.get("metadata") or {}).get("labels") or {}
    kept = {key: value for key, value in old_labels.items() if key in (*UID_LABELS, *NAME_LABELS)}
    metadata = {
        **(template.get("metadata") or {}),
        "labels": {**new["metadata"]["labels"], **kept},
        "annotations": new["metadata"]["annotations"],
    }
    spec = dict(template["spec"])
    for part in ("nodeSelector", "tolerations", "schedulingGates"):
        if new["spec"].get(part):
            spec[part] = new["spec"][part]
        else:
            spec.pop(part, None)
    return {**job, "spec": {**job["spec"], "suspend": False, "template": {"metadata": metadata, "spec": spec}}}


def make_service(jobset: JobSet) -> Json | None:
    """The headless service behind the host names of a set's pods."""
    network, meta = jobset.spec.network, jobset.metadata
    if network is UNSET or not flag(network.enable_dns_hostnames):
        return None
    name = text(meta.name)
    owner = {"apiVersion": API_VERSION, "kind": "JobSet", "name": name, "uid": text(meta.uid)}
    published = True if network.publish_not_ready_addresses is UNSET else network.publish_not_ready_addresses
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": subdomain(jobset, name),
            "namespace": text(meta.namespace),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {"clusterIP": "None", "selector": {NAME: name}, "publishNotReadyAddresses": published},
    }


def _marks(jobset: JobSet, entry: ReplicatedJob, index: int) -> dict[str, str]:
    """Labels, repeated as annotations, by which Jobs and pods know their place in the set."""
    name, namespace = text(jobset.metadata.name), text(jobset.metadata.namespace)
    entries = items(jobset.spec.replicated_jobs)
    status = jobset.status
    group = text(entry.group_name)
    before = entries[: next(at for at, one in enumerate(entries) if one.name == entry.name)]
    same = [one for one in entries if text(one.group_name) == group]
    full = f"{namespace}/{job_name(name, entry.name, index)}"
    marks = {
        NAME: name,
        UID: text(jobset.metadata.uid),
        ENTRY: entry.name,
        RESTARTS: str(status.restarts if status is not UNSET else 0),
        _OWN + "replicatedjob-replicas": str(number(entry.replicas)),
        _OWN + "global-replicas": str(_total(entries)),
        JOB_INDEX: str(index),
        _OWN + "job-key": hashlib.sha1(full.encode(), usedforsecurity=False).hexdigest(),
        _OWN + "job-global-index": str(_total(before) + index),
        _OWN + "group-name": group,
        _OWN + "group-replicas": str(_total(same)),
        _OWN + "job-group-index": str(_total(one for one in before if text(one.group_name) == group) + index),
    }
    address = coordinator_address(jobset, name)
    if address:
        marks[_OWN + "coordinator"] = address
    return marks


def _total(entries: Any) -> int:
    return sum(number(entry.replicas) for entry in entries)


def _placement(jobset: JobSet, entry: ReplicatedJob) -> dict[str, str]:
    """Wishes for exclusive placement, of the set or of the entry, are passed on."""
    found: dict[str, str] = {}
    for source in (pairs(jobset.metadata.annotations), pairs(entry.template.metadata.annotations)):
        if EXCLUSIVE in source:
            found[EXCLUSIVE] = source[EXCLUSIVE]
            if NODE_SELECTOR in source:
                found[NODE_SELECTOR] = source[NODE_SELECTOR]
    return found


def _marked(metadata: Json, labels: dict[str, str], annotations: dict[str, str]) -> Json:
    return {
        **deepcopy(metadata),
        "labels": {**(metadata.get("labels") or {}), **labels},
        "annotations": {**(metadata.get("annotations") or {}), **annotations},
    }


def _steer_to_own_nodes(spec: Json, job: str) -> None:
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), NAMESPACED_JOB: job}
    toleration = {"key": NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
    spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]
