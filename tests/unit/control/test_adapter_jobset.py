"""JobSets in queues."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.control.cluster import cluster
from tests.unit.control.virtual import run

from fairway.control.adapters import ADAPTERS, PodSetInfo, StopReason, original
from fairway.control.adapters.jobset import JobSetKind
from fairway.control.jobsets.controller import JOBSETS

KIND = JobSetKind()
POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}


def jobset(**status: Any) -> dict[str, Any]:
    def entry(name: str, replicas: int, parallelism: int, completions: int) -> dict[str, Any]:
        job = {"parallelism": parallelism, "completions": completions, "template": {"spec": POD}}
        return {"name": name, "replicas": replicas, "template": {"spec": job}}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"suspend": True, "replicatedJobs": [entry("Driver", 1, 1, 1), entry("w", 3, 4, 2)]},
        "status": {"replicatedJobsStatus": [{"name": name, **count} for name, count in status.items()]},
    }


def test_each_entry_is_a_pod_set_of_all_its_jobs_pods() -> None:
    first, second = KIND.pod_sets([jobset()])
    assert [(one.name, one.count) for one in (first, second)] == [("driver", 1), ("w", 6)]
    assert second.topology == {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
        "subGroupCount": 3,
    }


@pytest.mark.parametrize(
    ("status", "active", "ready", "free"),
    [
        ({}, False, False, {}),
        ({"Driver": {"active": 1}, "w": {"ready": 2}}, True, False, {}),
        ({"Driver": {"ready": 1}, "w": {"ready": 2, "succeeded": 1}}, False, True, {"w": 2}),
    ],
    ids=str,
)
def test_what_a_set_says_of_its_jobs(status: dict[str, Any], active: bool, ready: bool, free: dict[str, int]) -> None:
    job = [jobset(**status)]
    assert (KIND.active(job, 0), KIND.pods_ready(job), KIND.reclaimable(job)) == (active, ready, free)


def test_the_end_of_a_set_is_that_of_its_workload() -> None:
    job = jobset()
    assert KIND.finished([job]) is None
    job["status"]["conditions"] = [{"type": "Failed", "status": "True", "message": "no"}]
    assert KIND.finished([job]) == ("Failed", "no", False)
    job["status"]["conditions"] = [{"type": "Completed", "status": "True", "message": "yes"}]
    assert KIND.finished([job]) == ("Succeeded", "yes", True)


def test_the_api_accepts_start_and_stop_and_the_set_is_as_before() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False, kubelet=False) as c:
            body = jobset()
            del body["status"]
            body["spec"]["replicatedJobs"][0]["name"] = "driver"
            first = (await c.client.create(JOBSETS, body, "default")).json()
            sets = KIND.pod_sets([first])
            infos = [PodSetInfo(one.name, one.count, node_selector={"zone": one.name}) for one in sets]
            (start,) = KIND.start([first], infos)
            started = (await c.client.update(JOBSETS, start.body)).json()
            assert started["spec"]["suspend"] is False
            selectors = [
                entry["template"]["spec"]["template"]["spec"]["nodeSelector"]["zone"]
                for entry in started["spec"]["replicatedJobs"]
            ]
            assert selectors == ["driver", "w"]
            before = [original(one.name, one.count, one.template) for one in sets]
            (stop,) = KIND.stop([started], before, StopReason.WORKLOAD_EVICTED, "", "")
            stopped = (await c.client.update(JOBSETS, stop.body)).json()
            assert stopped["spec"] == first["spec"]
            assert KIND.stop([stopped], before, StopReason.WORKLOAD_EVICTED, "", "") == []

    run(scenario())


def test_no_two_adapters_are_for_the_same_objects() -> None:
    assert len({adapter.resource for adapter in ADAPTERS}) == len(ADAPTERS)
    assert len({adapter.framework for adapter in ADAPTERS}) == len(ADAPTERS)
