"""Adoption: a Job that selects its pods by hand takes over those that nobody controls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairway.api.client import Item
from fairway.control.jobs.decide import ours
from fairway.control.jobs.view import FINALIZER, read
from fairway.kinds.k8s.batch.types import Job
from fairway.kinds.k8s.opt import flag, text
from fairway.kinds.k8s.rules import matches
from fairway.kinds.types import UNSET


def adoptions(job: Job, orphans: Iterable[Item]) -> list[dict[str, Any]]:
    """The pods as they are once the Job controls and counts them."""
    spec, meta = job.spec, job.metadata
    if not flag(spec.manual_selector) or spec.selector is UNSET or meta.deletion_timestamp or not ours(job):
        return []
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": text(meta.name),
        "uid": text(meta.uid),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    bodies = []
    for item in orphans:
        facts = read(item)
        if facts.metadata.deletion_timestamp is not None or not matches(spec.selector, facts.metadata.labels):
            continue
        body = item.json()
        metadata = body["metadata"]
        finalizers = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
        metadata["finalizers"] = [*finalizers, FINALIZER]
        metadata["ownerReferences"] = [*(metadata.get("ownerReferences") or ()), owner]
        bodies.append(body)
    return bodies
