"""A whole node without its HTTP face, to be killed: submits what is not there yet, and ends when all of it has ended.

`work` says what there is to do; `run` is one life of the node. What ran is told by the work itself, in files outside the node.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

from fairway.api.client import Query, Resource
from fairway.api.errors import ApiError
from fairway.api.local import LocalClient
from fairway.control.pods.machine import Declared
from fairway.control.resources import CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES, PODS, PRIORITY_CLASSES, WORKLOADS
from fairway.node import Node

Json = dict[str, Any]
JOBS = Resource("batch", "v1", "jobs")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
LOW = ("low-0", "low-1", "low-2", "low-3")
SMALL = tuple(f"small-{number}" for number in range(8))
QUOTA = "4"
_PAUSE_S = 0.08
_LOOK_S = 0.05
_END = {"Complete", "Failed", "Completed", "Finished"}


class Work:
    """Objects to be made, in this order. Those of low priority run until there is a file `go`, and are preempted meanwhile."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks
        self.setup: list[tuple[Resource, Json]] = [
            (FLAVORS, {"metadata": {"name": "machine"}}),
            (PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100}),
            (CLUSTER_QUEUES, _queue()),
            (LOCAL_QUEUES, {"metadata": {"name": "main"}, "spec": {"clusterQueue": "main"}}),
        ]
        wait = f"while ! test -e {marks}/go; do sleep 0.05; done"
        self.low = [self._job(name, "1", wait) for name in LOW]
        self.high = [
            *(self._job(f"urgent-{number}", "2", "sleep 0.3", high=True) for number in range(2)),
            self._job("doomed", "500m", "sleep 300", high=True),
            self._job("fails", "250m", "exit 3", high=True, backoffLimit=0),
            self._job("many", "250m", "", high=True, completions=5, parallelism=2, completionMode="Indexed"),
            self._job_set("set"),
            (PODS, self._pod("alone")),
            *((PODS, self._pod(f"gang-{number}", "gang")) for number in range(2)),
            *(self._job(name, "250m", "", high=True) for name in SMALL),
        ]

    def ran(self, name: str, what: str = "started") -> list[str]:
        """A line for each time that a pod of the job started or ended: the pod's uid."""
        path = self._marks / f"{what}-{name}"
        return path.read_text().split() if path.exists() else []

    def let_go(self) -> None:
        (self._marks / "go").touch()

    def _template(self, name: str, cpu: str, then: str, grace: int = 1) -> Json:
        mark = f"echo $POD >> {self._marks}"
        container = {
            "name": "c",
            "image": "any",
            "command": ["/bin/sh", "-c", f"{mark}/started-{name}; {then or 'true'} && {mark}/ended-{name}"],
            "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
            "resources": {"requests": {"cpu": cpu}},
        }
        return {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": grace, "containers": [container]}}

    def _job(self, name: str, cpu: str, then: str, *, high: bool = False, **spec: Any) -> tuple[Resource, Json]:
        body = {"metadata": _metadata(name, high), "spec": {"template": self._template(name, cpu, then), **spec}}
        return JOBS, body

    def _job_set(self, name: str) -> tuple[Resource, Json]:
        entries = []
        for entry, replicas, after in (("a", 2, []), ("b", 1, [{"name": "a", "status": "Complete"}])):
            job = {"completions": 1, "parallelism": 1, "template": self._template(f"{name}-{entry}", "250m", "")}
            entries.append({"name": entry, "replicas": replicas, "template": {"spec": job}, "dependsOn": after})
        return JOBSETS, {"metadata": _metadata(name, True), "spec": {"replicatedJobs": entries}}

    def _pod(self, name: str, group: str = "") -> Json:
        metadata = _metadata(name, True)
        if group:
            metadata["labels"]["kueue.x-k8s.io/pod-group-name"] = group
            metadata["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        return {"metadata": metadata, **self._template(name, "500m", "sleep 0.1")}


def _metadata(name: str, high: bool) -> Json:
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    if high:
        labels["kueue.x-k8s.io/priority-class"] = "high"
    return {"name": name, "namespace": "default", "labels": labels}


def _queue() -> Json:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "machine", "resources": [{"name": "cpu", "nominalQuota": QUOTA}]}],
    }
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [group],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    return {"metadata": {"name": "main"}, "spec": spec}


def run(folder: Path, marks: Path, last: bool) -> None:
    """One life. The last one lets the work of low priority end, and writes `report.json` when everything has ended."""
    logging.basicConfig(filename=folder / "node.log", level=logging.WARNING)
    asyncio.run(_Life(folder, Work(marks), last).live())


class _Life:
    def __init__(self, folder: Path, work: Work, last: bool) -> None:
        self._folder = folder
        self._last = last
        self._work = work
        self._node = Node(folder / "data", machine=Declared(cpu=QUOTA, memory="1Gi"), with_default_queue=False)
        self._client = LocalClient(self._node.spaces[0], "test")

    async def live(self) -> None:
        await self._node.start()
        for resource, body in (*self._work.setup, *self._work.low):
            await self._submit(resource, body)
        while not all(map(self._work.ran, LOW)):  # noqa: ASYNC110 - told by files that others write
            await asyncio.sleep(_LOOK_S)
        for resource, body in self._work.high:
            if body["metadata"]["name"] != "doomed" or not self._work.ran("doomed"):
                await self._submit(resource, body)
            await self._delete_doomed()
        while not await self._over():
            await self._delete_doomed()
            if self._last and self._work.ran("urgent-0"):
                self._work.let_go()
            await asyncio.sleep(_LOOK_S)
        await self._report()
        await self._node.stop()

    async def _submit(self, resource: Resource, body: Json) -> None:
        try:
            await self._client.create(resource, body, "default" if resource.namespaced else "")
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        else:
            await asyncio.sleep(_PAUSE_S)

    async def _delete_doomed(self) -> None:
        if self._work.ran("doomed"):
            try:
                await self._client.delete(JOBS, "doomed", "default")
            except ApiError as error:
                if error.code != 404:
                    raise

    async def _all(self, resource: Resource) -> list[Json]:
        return [item.json() for item in (await self._client.list(resource, Query())).items]

    async def _over(self) -> bool:
        jobs = [*await self._all(JOBS), *await self._all(JOBSETS)]
        workloads = await self._all(WORKLOADS)
        (queue,) = await self._all(CLUSTER_QUEUES)
        used = queue["status"]["flavorsReservation"][0]["resources"][0]["total"]
        return all(map(_ended, (*jobs, *workloads))) and used == "0"

    async def _report(self) -> None:
        report = {
            "jobs": {each["metadata"]["name"]: each["status"] for each in await self._all(JOBS)},
            "sets": {each["metadata"]["name"]: each["status"] for each in await self._all(JOBSETS)},
            "pods": {each["metadata"]["name"]: each["status"]["phase"] for each in await self._all(PODS)},
            "workloads": len(await self._all(WORKLOADS)),
            "queue": (await self._all(CLUSTER_QUEUES))[0]["status"],
            "ledger": len(self._node.queueing["default"].observer.state.ledger.by_key),
        }
        path = self._folder / "report.json"
        path.with_suffix(".new").write_text(json.dumps(report))
        os.replace(path.with_suffix(".new"), path)


def _ended(obj: Json) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one["type"] in _END and one["status"] == "True" for one in conditions)
