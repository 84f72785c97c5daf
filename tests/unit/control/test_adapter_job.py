"""Jobs in queues: what they ask for, and how they are started, stopped and restored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairway.api import bootstrap
from fairway.api.client import Resource
from fairway.api.local import LocalClient
from fairway.api.space import Space
from fairway.control.adapters import AdapterError, PodSetInfo, StopReason, original
from fairway.control.adapters.job import JobKind
from fairway.kinds.builtin import KINDS
from fairway.runtime.clock import SystemClock
from fairway.runtime.ids import SystemIds
from fairway.store import Store

JOBS = Resource("batch", "v1", "jobs")
KIND = JobKind()
QUEUE = "kueue.x-k8s.io/queue-name"


def job(
    *, annotations: dict[str, str] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "default",
            "labels": {QUEUE: "user"},
            "annotations": annotations or {},
        },
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "suspend": True,
            "template": {
                "metadata": {"labels": {"app": "x"}},
                "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
            },
            **spec,
        },
        "status": status or {},
    }


INFO = PodSetInfo(
    "main",
    3,
    node_selector={"zone": "a"},
    tolerations=[{"key": "spot", "operator": "Exists"}],
    labels={"podset": "main"},
)


@pytest.mark.parametrize(
    ("parallelism", "completions", "pods"), [(3, 3, 3), (3, 2, 2), (2, 5, 2), (4, None, 4)], ids=str
)
def test_a_job_asks_for_the_pods_it_can_run_at_once(parallelism: int, completions: int | None, pods: int) -> None:
    spec = (
        {"parallelism": parallelism}
        if completions is None
        else {"parallelism": parallelism, "completions": completions}
    )
    obj = job(**spec)
    if completions is None:
        del obj["spec"]["completions"]
    assert KIND.pod_sets([obj])[0].count == pods


def test_the_pod_set_hides_labels_that_differ_for_each_job_but_keeps_its_name() -> None:
    obj = job()
    obj["spec"]["template"]["metadata"]["labels"].update(
        {
            "controller-uid": "u",
            "batch.kubernetes.io/controller-uid": "u",
            "job-name": "j",
            "batch.kubernetes.io/job-name": "j",
        }
    )
    seen = KIND.pod_sets([obj])[0]
    assert seen.template["metadata"]["labels"] == {"app": "x", "batch.kubernetes.io/job-name": "j"}
    assert seen.topology == {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}
    assert "controller-uid" in obj["spec"]["template"]["metadata"]["labels"]


def test_starting_adds_the_flavors_directives_and_lifts_the_suspension() -> None:
    (change,) = KIND.start([job()], [INFO])
    spec = change.body["spec"]
    assert (change.verb, spec["suspend"]) == ("update", False)
    assert spec["template"]["spec"]["nodeSelector"] == {"zone": "a"}
    assert spec["template"]["spec"]["tolerations"] == [{"key": "spot", "operator": "Exists"}]
    assert spec["template"]["metadata"]["labels"] == {"app": "x", "podset": "main"}


def test_an_admission_that_contradicts_the_job_is_refused() -> None:
    obj = job()
    obj["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "b"}
    with pytest.raises(AdapterError, match="conflict for zone"):
        KIND.start([obj], [INFO])
    with pytest.raises(AdapterError, match="expecting 1 podset, got 2"):
        KIND.start([job()], [INFO, INFO])


def test_a_partial_admission_changes_parallelism_and_stopping_restores_it() -> None:
    obj = job(annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    before = original("main", 3, obj["spec"]["template"])
    assert KIND.pod_sets([obj])[0].min_count == 1
    (change,) = KIND.start([obj], [PodSetInfo("main", 2)])
    assert (change.body["spec"]["parallelism"], change.body["spec"]["completions"]) == (2, 3)
    suspended = {**change.body, "spec": {**change.body["spec"], "suspend": True}}
    assert KIND.restore(suspended, [before])["spec"]["parallelism"] == 3


@pytest.mark.parametrize(
    ("spec", "status", "reclaimable"),
    [
        ({}, {}, {}),
        ({}, {"succeeded": 1}, {"main": 1}),
        ({"completions": 5}, {"succeeded": 2}, {}),
        ({"completions": 5}, {"succeeded": 4}, {"main": 2}),
        ({"parallelism": 1, "completions": 2}, {"succeeded": 1}, {}),
        ({"completionMode": "Indexed"}, {"completedIndexes": "0", "failedIndexes": "2"}, {"main": 2}),
        ({"completionMode": "Indexed"}, {"completedIndexes": "0,7-9"}, {"main": 1}),
    ],
    ids=str,
)
def test_slots_that_will_never_be_filled_again_are_reclaimed(
    spec: dict[str, Any], status: dict[str, Any], reclaimable: dict[str, int]
) -> None:
    assert KIND.reclaimable([job(status=status, **spec)]) == reclaimable


def test_a_copy_for_another_cluster_is_new_there_and_tied_to_its_workload() -> None:
    obj = job(managedBy="kueue.x-k8s.io/multikueue", selector={"matchLabels": {"a": "b"}})
    obj["metadata"] |= {"uid": "u", "resourceVersion": "7", "ownerReferences": [{"uid": "p"}]}
    copy = KIND.copy_for_dispatch(obj, "wl", "hub")
    assert set(copy["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert copy["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] == "wl"
    assert copy["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == "hub"
    assert not {"managedBy", "selector"} & set(copy["spec"])


def test_a_job_that_is_suspended_here_takes_over_no_start_time_from_its_running_copy() -> None:
    running = job(suspend=False, status={"startTime": "2026-01-01T00:00:00Z", "active": 1})
    assert KIND.mirror_status(job(), running) is None
    done = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 3}
    mirrored = KIND.mirror_status(job(), job(suspend=False, status=done))
    assert mirrored is not None
    assert mirrored["status"] == done


def test_a_later_attempt_never_counts_back_and_keeps_the_first_start() -> None:
    before = job(suspend=False, status={"startTime": "2026-01-01T00:00:30Z", "failed": 2, "succeeded": 1, "active": 1})
    met = {"type": "SuccessCriteriaMet", "status": "True"}
    later = {"startTime": "2026-01-01T00:00:09Z", "active": 1, "conditions": [met]}
    mirrored = KIND.mirror_status(before, job(suspend=False, status=later))
    assert mirrored is not None
    assert mirrored["status"] == {"startTime": "2026-01-01T00:00:30Z", "failed": 2, "succeeded": 1, "active": 1}
    stopped = KIND.mirror_status(before, job(status={"failed": 3}))
    assert stopped is not None
    assert stopped["status"] == {"startTime": "2026-01-01T00:00:30Z", "failed": 3, "succeeded": 1}
    ended = {**later, "active": 0, "succeeded": 3, "completionTime": "2026-01-01T00:00:12Z"}
    ended["conditions"] = [met, {"type": "Complete", "status": "True"}]
    mirrored = KIND.mirror_status(before, job(suspend=False, status=ended))
    assert mirrored is not None
    assert mirrored["status"]["succeeded"] == 3
    assert mirrored["status"]["completionTime"] == "2026-01-01T00:00:30Z"
    assert mirrored["status"]["conditions"] == ended["conditions"]


def test_a_job_that_runs_here_keeps_its_start_though_its_copy_is_suspended_already() -> None:
    before = {"startTime": "2026-01-01T00:00:30Z", "active": 1}
    mirrored = KIND.mirror_status(job(suspend=False, status=before), job(status={"terminating": 1}))
    assert mirrored is not None
    assert mirrored["status"] == {"startTime": "2026-01-01T00:00:30Z", "terminating": 1}
    mirrored = KIND.mirror_status(job(status=before), job(status={"terminating": 1}))
    assert mirrored is not None
    assert mirrored["status"] == {"terminating": 1}


def test_the_api_accepts_every_step_of_start_and_stop_and_the_job_is_as_before() -> None:
    async def scenario() -> None:
        space = Space("default", Store(), KINDS, SystemClock(), SystemIds())
        await space.store.open()
        await bootstrap.ensure(space, bootstrap.namespaces())
        client = LocalClient(space)
        body = {key: value for key, value in job().items() if key != "status"}
        first = (await client.create(JOBS, body, "default")).json()
        pod_set = KIND.pod_sets([first])[0]
        (start,) = KIND.start([first], [INFO])
        await client.update(JOBS, start.body)
        current = (await client.get(JOBS, "j", "default")).json()
        current["status"] = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
        current = (await client.update(JOBS, current, subresource="status")).json()
        verbs = []
        before = [original(pod_set.name, pod_set.count, pod_set.template)]
        while changes := KIND.stop([current], before, StopReason.WORKLOAD_EVICTED, "", ""):
            for change in changes:
                verbs.append(change.verb)
                subresource = "status" if change.verb == "updateStatus" else ""
                current = (await client.update(JOBS, change.body, subresource=subresource)).json()
        assert verbs == ["update", "updateStatus", "update"]
        assert KIND.is_suspended([current])
        assert current["spec"] == first["spec"]
        await space.store.close()

    asyncio.run(scenario())
