"""Pods of a fleet that runs in memory: made on its clusters as controllers of jobs make them, with output that a test gives them."""

from __future__ import annotations

from tests.integration.fleet import Fleeting
from tests.integration.queueing import JOBS, Json

from fairway.fleet.resources import PODS


async def start_pod(made: Fleeting, cluster: str, job: str, suffix: str = "abcde", node: str = "node-7") -> Json:
    """A pod of the job runs there."""
    space = made.clusters[cluster]
    owner = await space.get(JOBS, job)
    template = owner["spec"]["template"]
    labels = {**template["metadata"]["labels"], "controller-uid": owner["metadata"]["uid"], "job-name": job}
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": owner["metadata"]["uid"]}
    metadata = {
        "name": f"{job}-{suffix}",
        "namespace": "default",
        "labels": labels,
        "annotations": template["metadata"]["annotations"],
        "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
    }
    spec = {**template["spec"], "nodeName": node}
    pod = (await space.client.create(PODS, {"metadata": metadata, "spec": spec})).json()
    return await set_phase(made, cluster, pod["metadata"]["name"], "Running", {"running": {}})


async def end_pod(made: Fleeting, cluster: str, pod: str, code: int = 0, output: bytes = b"") -> Json:
    made.wires[cluster].outputs[f"default/{pod}/c"] = output
    made.wires[cluster].over.add(f"default/{pod}/c")
    phase = "Failed" if code else "Succeeded"
    ended = {"exitCode": code, "finishedAt": "2025-11-13T02:13:20Z", "containerID": "fairway://1"}
    return await set_phase(made, cluster, pod, phase, {"terminated": ended})


async def set_phase(made: Fleeting, cluster: str, pod: str, phase: str, state: Json) -> Json:
    space = made.clusters[cluster]
    found = await space.get(PODS, pod)
    status = {
        **(found.get("status") or {}),
        "phase": phase,
        "containerStatuses": [
            {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        ],
    }
    body = (await space.client.update(PODS, {**found, "status": status}, subresource="status")).json()
    await made.settle()
    return body


async def pods_here(made: Fleeting) -> list[Json]:
    return await made.hub.all(PODS)
