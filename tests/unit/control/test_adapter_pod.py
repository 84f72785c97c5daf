"""Pods and groups of pods in queues."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.control.cluster import PODS, cluster
from tests.unit.control.virtual import run

from fairway.api.client import Deletion
from fairway.control.adapters import AdapterError, Change, PodSetInfo, StopReason
from fairway.control.adapters.pod import PodKind
from fairway.control.adapters.roles import role, role_hash

KIND = PodKind()
K = "kueue.x-k8s.io/"
Json = dict[str, Any]


def pod(
    name: str = "p",
    *,
    cpu: str = "1",
    phase: str = "Pending",
    labels: Json | None = None,
    notes: Json | None = None,
    **more: Any,
) -> Json:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    made: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {K + "queue-name": "q", **(labels or {})}},
        "spec": spec,
        "status": {"phase": phase},
    }
    made["metadata"]["annotations"] = notes or {}
    held = KIND.suspend(made)
    held["metadata"].update(more.pop("meta", {}))
    if more.pop("running", False):
        held["spec"]["schedulingGates"] = []
        held["spec"]["nodeName"] = "n"
    held["status"].update(more)
    return held


def grouped(name: str, total: int = 2, notes: Json | None = None, **more: Any) -> Json:
    return pod(
        name,
        labels={K + "pod-group-name": "g"},
        notes={K + "pod-group-total-count": str(total), **(notes or {})},
        **more,
    )


def test_a_pod_is_held_back_by_a_gate_and_marked_as_ours() -> None:
    held = pod()
    assert held["spec"]["schedulingGates"] == [{"name": K + "admission"}]
    assert held["metadata"]["labels"][K + "managed"] == "true"
    assert held["metadata"]["finalizers"] == [K + "managed"]
    assert held["metadata"]["annotations"][K + "role-hash"] == role_hash(held["spec"])
    assert KIND.is_suspended([held])
    assert not KIND.skip(held)
    assert KIND.suspend(held) == held


def test_a_pod_that_nobody_held_back_is_none_of_our_business() -> None:
    assert KIND.skip({"metadata": {"name": "p", "labels": {K + "queue-name": "q"}}, "spec": {}})


def test_a_single_pod_is_one_pod_set_of_its_spec() -> None:
    (pods,) = KIND.pod_sets([pod()])
    assert (pods.name, pods.count) == ("main", 1)
    assert set(pods.template) == {"spec"}


def test_pods_of_a_group_that_need_the_same_are_one_pod_set() -> None:
    job = [grouped("a", 3), grouped("b", 3, cpu="2"), grouped("c", 3)]
    assert KIND.group(job[0]) == "g"
    sets = KIND.pod_sets(job)
    assert sorted(one.count for one in sets) == [1, 2]
    assert [one.name for one in sets] == sorted({role(one) for one in job})


def test_a_group_is_not_composed_before_its_pods_are_there() -> None:
    assert KIND.problem([grouped("a"), grouped("b")]) == ""
    assert KIND.problem([grouped("a")]) == "'g' group has fewer runnable pods than expected"
    assert (
        KIND.problem([grouped("a"), grouped("b", phase="Failed")]) == "'g' group has fewer runnable pods than expected"
    )
    assert KIND.problem([grouped("a", notes={K + "pod-group-fast-admission": "true"})]) == ""


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (grouped("b", 3), "different 'kueue.x-k8s.io/pod-group-total-count' values: 2!=3"),
        (
            grouped("b") | {"metadata": {**grouped("b")["metadata"], "labels": {K + "queue-name": "z"}}},
            "queue names: q!=z",
        ),
    ],
    ids=["count", "queue"],
)
def test_a_group_whose_pods_contradict_each_other_says_which(other: Json, said: str) -> None:
    assert said in KIND.problem([grouped("a"), other])


def test_a_group_admitted_fast_asks_for_all_its_pods_with_the_first() -> None:
    (pods,) = KIND.pod_sets([grouped("a", 5, notes={K + "pod-group-fast-admission": "true"})])
    assert pods.count == 5


def test_pods_beyond_the_total_are_not_counted_and_go() -> None:
    job = [grouped("a", meta={"creationTimestamp": "1"}), grouped("b", meta={"creationTimestamp": "2"}), grouped("c")]
    job[2]["metadata"]["creationTimestamp"] = "3"
    (pods,) = KIND.pod_sets(job)
    assert pods.count == 2
    changes = KIND.tidy(job, {pods.name: 2})
    assert [(change.verb, change.body["metadata"]["name"]) for change in changes] == [("update", "c"), ("delete", "c")]


def test_a_failed_pod_is_let_go_when_its_replacement_is_there_and_missed_until_then() -> None:
    failed, other = grouped("a", phase="Failed"), grouped("b", running=True, phase="Running")
    counts = {role(failed): 2}
    assert KIND.missing([failed, other], counts) == 1
    assert KIND.tidy([failed, other], counts) == []
    replaced = [failed, other, grouped("c")]
    assert KIND.missing(replaced, counts) == 0
    (change,) = KIND.tidy(replaced, counts)
    assert (change.verb, change.body["metadata"]["name"], change.body["metadata"]["finalizers"]) == ("update", "a", [])


@pytest.mark.parametrize(
    ("job", "ended"),
    [
        ([pod(phase="Succeeded", running=True)], ("Succeeded", "", True)),
        ([pod(phase="Failed", running=True, message="no")], ("Failed", "no", False)),
        ([pod(phase="Running", running=True)], None),
        (
            [grouped("a", phase="Succeeded"), grouped("b", phase="Succeeded")],
            ("Succeeded", "Pods succeeded: 2/2.", True),
        ),
        ([grouped("a", phase="Succeeded"), grouped("b", phase="Failed")], None),
        (
            [grouped("a", phase="Succeeded"), grouped("b", phase="Failed", notes={K + "retriable-in-group": "false"})],
            ("Succeeded", "Pods succeeded: 1/2.", True),
        ),
        (
            [grouped("a", notes={K + "pod-group-serving": "true"}, phase="Succeeded"), grouped("b", phase="Succeeded")],
            None,
        ),
    ],
    ids=["succeeded", "failed", "running", "group", "group may retry", "group may not retry", "serving"],
)
def test_how_pods_and_groups_end(job: list[Json], ended: tuple[str, str, bool] | None) -> None:
    assert KIND.finished(job) == ended


def test_succeeded_pods_of_a_group_give_their_quota_back() -> None:
    job = [grouped("a", phase="Succeeded"), grouped("b", phase="Running", running=True)]
    assert KIND.reclaimable(job) == {role(job[0]): 1}
    assert KIND.reclaimable([pod(phase="Succeeded")]) == {}


def test_a_pod_that_is_stuck_in_deletion_no_longer_counts_as_active() -> None:
    leaving = pod(
        phase="Running",
        running=True,
        meta={"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30},
    )
    assert KIND.active([leaving], 1_767_225_600.0 + 30)
    assert not KIND.active([leaving], 1_767_225_600.0 + 31)


def test_each_pod_of_a_group_starts_where_its_role_was_admitted() -> None:
    job = [grouped("a"), grouped("b", cpu="2")]
    infos = [PodSetInfo(role(one), 1, node_selector={"zone": one["metadata"]["name"]}) for one in job]
    changes = KIND.start(job, infos)
    assert [change.body["spec"]["nodeSelector"]["zone"] for change in changes] == ["a", "b"]
    assert not any(change.body["spec"]["schedulingGates"] for change in changes)
    with pytest.raises(AdapterError, match="is not found"):
        KIND.start(job, infos[:1])


def test_a_stopped_group_loses_what_runs_and_keeps_what_waits_unless_its_workload_is_gone() -> None:
    job = [grouped("a", running=True, phase="Running"), grouped("b")]

    def touched(changes: list[Change]) -> list[tuple[str, str]]:
        return [(change.verb, change.body["metadata"]["name"]) for change in changes]

    stopped = KIND.stop(job, [], StopReason.WORKLOAD_EVICTED, "preempted", "2026-01-01T00:00:00Z")
    assert touched(stopped) == [("updateStatus", "a"), ("delete", "a")]
    (said,) = stopped[0].body["status"]["conditions"]
    assert (said["type"], said["reason"], said["message"]) == ("TerminationTarget", "WorkloadEvicted", "preempted")
    gone = KIND.stop(job, [], StopReason.WORKLOAD_DELETED, "", "2026-01-01T00:00:00Z")
    assert [name for verb, name in touched(gone) if verb == "delete"] == ["a", "b"]


def test_a_gated_pod_does_not_take_over_that_its_copy_fits_nowhere() -> None:
    local = pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}])
    remote = pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}])
    mirrored = KIND.mirror_status(local, remote)
    assert mirrored is not None
    assert mirrored["status"]["conditions"][0]["reason"] == "SchedulingGated"
    remote["status"] = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    mirrored = KIND.mirror_status(local, remote)
    assert mirrored is not None
    assert mirrored["status"] == remote["status"]


def test_the_api_accepts_what_is_done_to_a_pod_from_gate_to_end() -> None:
    async def scenario() -> None:
        async with cluster(jobs=False, kubelet=False) as c:
            body = {key: value for key, value in pod().items() if key != "status"}
            held = (await c.client.create(PODS, body, "default")).json()
            (start,) = KIND.start([held], [PodSetInfo("main", 1, node_selector={"zone": "a"}, labels={"x": "y"})])
            running = (await c.client.update(PODS, start.body)).json()
            assert not KIND.is_suspended([running])
            for change in KIND.stop([running], [], StopReason.WORKLOAD_EVICTED, "why", "2026-01-01T00:00:00Z"):
                if change.verb == "updateStatus":
                    running = (await c.client.update(PODS, change.body, subresource="status")).json()
                else:
                    await c.client.delete(PODS, "p", "default", Deletion(uid=running["metadata"]["uid"]))
            (left,) = await c.pods()
            assert left["metadata"]["deletionTimestamp"]
            (last,) = KIND.finalize([left])
            await c.client.update(PODS, last.body)
            assert await c.pods() == []

    run(scenario())


def test_a_pod_that_lost_its_lease_has_not_finished_its_job() -> None:
    ended = [{"name": "c", "state": {"terminated": {"exitCode": 137, "reason": "LeaseExpired"}}}]
    failed = pod(phase="Failed", running=True)
    assert KIND.finished([failed]) is not None
    failed["status"]["containerStatuses"] = ended
    assert KIND.finished([failed]) is None
    final = {K + "retriable-in-group": "false"}
    group = [grouped("a", notes=final, phase="Failed"), grouped("b", notes=final, phase="Failed")]
    assert KIND.finished(group) is not None
    group[0]["status"]["containerStatuses"] = ended
    assert KIND.finished(group) is None
