"""core/v1 Pod: what the API fills in and the words of its row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fairway.kinds.k8s.core.kinds import POD
from fairway.kinds.k8s.core.pod import Pod
from fairway.kinds.k8s.core.pod_defaults import pull_policy
from fairway.kinds.kind import convert
from fairway.kinds.types import to_json

NOW = SimpleNamespace(now=1_767_225_600.0)  # 2026-01-01T00:00:00Z


def created(spec: dict[str, Any]) -> dict[str, Any]:
    new = convert({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}, Pod)
    POD.default(new, None)
    POD.prepare(new, None)
    got: dict[str, Any] = to_json(new)
    return got


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("registry:5000/busybox", "Always"),
        ("registry:5000/busybox:v1", "IfNotPresent"),
        ("busybox@sha256:abc", "IfNotPresent"),
        ("busybox:latest@sha256:abc", "Always"),
        ("", "IfNotPresent"),
    ],
)
def test_images_that_may_change_are_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_a_pod_gets_what_its_writer_left_open() -> None:
    got = created({})
    assert got["spec"]["restartPolicy"] == "Always"
    assert got["spec"]["enableServiceLinks"] is True
    assert "serviceAccountName" not in got["spec"]
    assert got["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_what_the_writer_chose_is_kept() -> None:
    chosen = {
        "restartPolicy": "Never",
        "dnsPolicy": "None",
        "schedulerName": "mine",
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
        "securityContext": {"runAsUser": 0},
    }
    got = created(chosen)["spec"]
    assert {name: got[name] for name in chosen} == chosen


def test_the_old_and_the_new_name_of_the_service_account_say_the_same() -> None:
    assert created({"serviceAccount": "old"})["spec"]["serviceAccountName"] == "old"
    both = created({"serviceAccount": "old", "serviceAccountName": "new"})["spec"]
    assert (both["serviceAccount"], both["serviceAccountName"]) == ("new", "new")


def test_a_limit_without_a_request_is_the_request() -> None:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
    }
    got = created({"containers": [container], "initContainers": [{**container, "name": "i"}]})["spec"]
    for one in (got["containers"][0], got["initContainers"][0]):
        assert one["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"requests": {"example.com/gpu": "1"}}, "BestEffort"),
    ],
)
def test_the_quality_class_follows_from_requests_and_limits(resources: dict[str, Any], quality: str) -> None:
    got = created({"containers": [{"name": "c", "image": "i", "resources": resources}]})
    assert got["status"]["qosClass"] == quality


def test_a_gated_pod_says_so_in_its_status() -> None:
    got = created({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    condition = got["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert cells(got)["Status"] == "SchedulingGated"


def test_volumes_get_a_source_and_modes() -> None:
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "configMap": {"name": "m"}},
        {"name": "d", "hostPath": {"path": "/x"}},
        {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "f", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]
    got = {volume.pop("name"): volume for volume in created({"volumes": volumes})["spec"]["volumes"]}
    assert got["a"] == {"emptyDir": {}}
    assert got["b"] == {"secret": {"secretName": "s", "defaultMode": 420}}
    assert got["c"] == {"configMap": {"name": "m", "defaultMode": 420}}
    assert got["d"] == {"hostPath": {"path": "/x", "type": ""}}
    token = got["e"]["projected"]
    assert (token["defaultMode"], token["sources"][0]["serviceAccountToken"]["expirationSeconds"]) == (420, 3600)
    assert got["f"]["downwardAPI"]["items"][0]["fieldRef"] == {"apiVersion": "v1", "fieldPath": "metadata.labels"}


def test_containers_get_probe_port_and_environment_defaults() -> None:
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80}],
        "env": [
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
        "livenessProbe": {"httpGet": {"port": 80}},
        "lifecycle": {"preStop": {"httpGet": {"port": "web"}}},
    }
    got = created({"containers": [container]})["spec"]["containers"][0]
    assert got["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert got["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert got["env"][1]["valueFrom"]["resourceFieldRef"]["divisor"] == "0"
    assert got["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert got["lifecycle"]["preStop"]["httpGet"] == {"port": "web", "path": "/", "scheme": "HTTP"}


def test_host_network_ports_are_host_ports() -> None:
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    got = created({"hostNetwork": True, "containers": [container]})["spec"]["containers"][0]
    assert got["ports"][0]["hostPort"] == 80


def test_one_address_and_the_list_of_addresses_agree() -> None:
    pod = convert({"spec": {}, "status": {"podIP": "10.0.0.1"}}, Pod)
    POD.default(pod, pod)
    assert to_json(pod.status)["podIPs"] == [{"ip": "10.0.0.1"}]


def cells(pod: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.value(pod, NOW) for column in POD.storage_version.columns}


def status(*containers: dict[str, Any], phase: str = "Running", **more: Any) -> dict[str, Any]:
    names = [{"name": f"c{index}"} for index, _ in enumerate(containers)]
    statuses = [{"name": f"c{index}", **one} for index, one in enumerate(containers)]
    return {"spec": {"containers": names}, "status": {"phase": phase, "containerStatuses": statuses, **more}}


RUNNING = {"ready": True, "state": {"running": {}}}
DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
READY = [{"type": "Ready", "status": "True"}]


def ended(code: int, **more: Any) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, **more}}}


@pytest.mark.parametrize(
    ("pod", "ready", "word"),
    [
        (status(RUNNING, RUNNING), "2/2", "Running"),
        (status({"state": {"waiting": {"reason": "CrashLoopBackOff"}}}), "0/1", "CrashLoopBackOff"),
        (status({"state": {"waiting": {"reason": "ContainerCreating"}}}, phase="Pending"), "0/1", "ContainerCreating"),
        (status(DONE, phase="Succeeded"), "0/1", "Completed"),
        (status(ended(1, reason="Error"), phase="Failed"), "0/1", "Error"),
        (status(ended(137), phase="Failed"), "0/1", "ExitCode:137"),
        (status(ended(137, signal=9), phase="Failed"), "0/1", "Signal:9"),
        (status(DONE, RUNNING, conditions=READY), "1/2", "Running"),
        (status(DONE, RUNNING), "1/2", "NotReady"),
        (status(DONE, ended(2, reason="Error")), "0/2", "Error"),
        (status(phase="Failed", reason="Evicted"), "0/0", "Evicted"),
    ],
)
def test_the_status_word_comes_from_the_containers(pod: dict[str, Any], ready: str, word: str) -> None:
    assert (cells(pod)["Ready"], cells(pod)["Status"]) == (ready, word)


@pytest.mark.parametrize(
    ("statuses", "word"),
    [
        ([{"state": {"running": {}}}], "Init:0/2"),
        ([DONE, {"state": {"running": {}}}], "Init:1/2"),
        ([DONE, {"state": {"waiting": {"reason": "PodInitializing"}}}], "Init:1/2"),
        ([{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}], "Init:CrashLoopBackOff"),
        ([ended(3)], "Init:ExitCode:3"),
        ([ended(3, signal=2)], "Init:Signal:2"),
        ([ended(3, reason="Error")], "Init:Error"),
        ([DONE, DONE], "Pending"),
    ],
)
def test_initialisation_shows_how_far_it_is(statuses: list[dict[str, Any]], word: str) -> None:
    init = [{"name": "a"}, {"name": "b"}]
    named = [{**one, "name": name["name"]} for name, one in zip(init, statuses)]
    pod = {
        "spec": {"initContainers": init, "containers": [{"name": "c"}]},
        "status": {"phase": "Pending", "initContainerStatuses": named},
    }
    assert cells(pod)["Status"] == word


def test_a_sidecar_counts_as_a_container() -> None:
    pod = {
        "spec": {"initContainers": [{"name": "s", "restartPolicy": "Always"}], "containers": [{"name": "c"}]},
        "status": {
            "phase": "Running",
            "initContainerStatuses": [{"name": "s", "started": True, "restartCount": 1, **RUNNING}],
            "containerStatuses": [{"name": "c", "restartCount": 2, **RUNNING}],
        },
    }
    assert (cells(pod)["Ready"], cells(pod)["Status"], cells(pod)["Restarts"]) == ("2/2", "Running", "3")


def test_restarts_tell_when_the_last_one_was() -> None:
    last = {"lastState": {"terminated": {"finishedAt": "2025-12-31T23:59:00Z"}}, "restartCount": 4}
    assert cells(status({**RUNNING, **last}))["Restarts"] == "4 (60s ago)"


def test_a_pod_that_is_being_deleted_says_so_until_it_has_ended() -> None:
    pod = status(RUNNING)
    pod["metadata"] = {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert cells(pod)["Status"] == "Terminating"
    pod["status"]["phase"], pod["status"]["containerStatuses"] = "Succeeded", [DONE]
    assert cells(pod)["Status"] == "Completed"


def test_wide_cells_stand_in_for_what_is_unknown() -> None:
    got = cells(status(RUNNING))
    assert [got[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == ["<none>"] * 4
    pod = status(RUNNING, podIPs=[{"ip": "10.1.2.3"}], conditions=[{"type": "g/a", "status": "True"}])
    pod["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": "g/a"}, {"conditionType": "g/b"}]}
    assert (cells(pod)["IP"], cells(pod)["Node"], cells(pod)["Readiness Gates"]) == ("10.1.2.3", "n1", "1/2")
