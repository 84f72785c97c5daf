"""A cluster of ours as a worker of a manager that is not: everything that MultiKueue's manager asks of a worker, with the kubeconfig that we print.

The manager's part is played by kubectl, request by request as Kueue 0.19 was seen to make them; docs/interop.md says what the real one did.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import Kubectl, Node, eventually, find_kubectl

pytestmark = pytest.mark.skipif(find_kubectl() is None, reason="kubectl is not on the PATH")
ORIGIN = "kueue.x-k8s.io/multikueue-origin"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
QUEUE = "kueue.x-k8s.io/queue-name"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node(tmp_path_factory.mktemp("worker")).start()
    try:
        yield made
        log = (made.data / "node.log").read_text()
        assert "Traceback" not in log, log
    finally:
        made.stop()


@pytest.fixture(scope="module")
def manager(worker: Node) -> Kubectl:
    """Somebody with nothing but what `fairway cluster kubeconfig` printed."""
    file = worker.folder / "manager.kubeconfig"
    file.write_text(worker.fairway("cluster", "kubeconfig", "manager", "--expires", "1h").out)
    kubectl = find_kubectl()
    assert kubectl is not None
    return Kubectl(kubectl, file, worker.folder / "manager")


def template(command: str) -> Json:
    requests = {"requests": {"cpu": "100m"}}
    container = {"name": "c", "image": "busybox", "command": ["/bin/sh", "-c", command], "resources": requests}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def workload(name: str, command: str) -> Json:
    """As a manager copies it: no owner, no finalizer, no status."""
    pod_set = {"name": "main", "count": 1, "template": template(command)}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default", "labels": {ORIGIN: "multikueue"}},
        "spec": {"active": True, "queueName": "default", "priority": 0, "podSets": [pod_set]},
    }


def job(name: str, of: str, command: str) -> Json:
    labels = {QUEUE: "default", PREBUILT: of, ORIGIN: "multikueue"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"suspend": True, "backoffLimit": 0, "parallelism": 1, "completions": 1, "template": template(command)},
    }


def condition(manager: Kubectl, name: str, of: str) -> str:
    return manager.path(f".status.conditions[?(@.type=='{of}')].status", "get", "workload", name)


def test_the_kubeconfig_lets_a_manager_dispatch_and_do_nothing_else(manager: Kubectl) -> None:
    kinds = ("jobs.batch", "pods", "workloads.kueue.x-k8s.io", "jobsets.jobset.x-k8s.io")
    for kind in kinds:
        for verb in ("create", "get", "list", "watch", "delete"):
            assert manager("auth", "can-i", verb, kind, "-A").out.strip() == "yes", (verb, kind)
    assert (
        manager("auth", "can-i", "update", "workloads.kueue.x-k8s.io", "--subresource", "status", "-A").out == "yes\n"
    )
    for kind in ("secrets", "tokens.fairway.dev", "clusterroles.rbac.authorization.k8s.io"):
        assert "no" in manager.run("auth", "can-i", "list", kind, "-A").out
    assert "forbidden" in manager.fails("get", "secrets", "-A")


def test_a_job_of_a_manager_runs_and_is_cleared_away(manager: Kubectl) -> None:
    manager.apply(workload("job-a-1", "exit 0"))
    eventually(lambda: condition(manager, "job-a-1", "Admitted") == "True", "the copy of the workload is admitted")
    manager.apply(job("a", "job-a-1", "exit 0"))
    manager("wait", "--for=condition=Complete", "job/a", "--timeout=30s")
    eventually(lambda: condition(manager, "job-a-1", "Finished") == "True", "the workload is finished")
    manager("delete", "job", "a", "--cascade=background", "--wait=false", "--ignore-not-found")
    manager("delete", "workload", "job-a-1", "--wait=false", "--ignore-not-found")
    eventually(lambda: not manager("get", "jobs,workloads", "-o", "name").lines, "nothing is left of it")


def test_what_a_manager_evicts_ends_and_a_finalizer_that_it_takes_off_lets_the_copy_go(
    manager: Kubectl, tmp_path: Path
) -> None:
    command = f"echo $$ >> {tmp_path}/started; sleep 600"
    manager.apply(workload("job-b-1", command))
    eventually(lambda: condition(manager, "job-b-1", "Admitted") == "True", "the copy of the workload is admitted")
    manager.apply(job("b", "job-b-1", command))
    eventually(lambda: (tmp_path / "started").exists(), "it runs")
    said = {
        "type": "DeactivationTarget",
        "status": "True",
        "reason": "EvictedOnManagerCluster",
        "message": "Evicted on manager: preempted",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    change = json.dumps([{"op": "add", "path": "/status/conditions/-", "value": said}])
    manager("patch", "workload", "job-b-1", "--subresource=status", "--type=json", "-p", change)
    eventually(lambda: condition(manager, "job-b-1", "Evicted") == "True", "it is evicted")
    eventually(lambda: manager.path(".spec.suspend", "get", "job", "b") == "true", "the job is suspended")
    finalizers = '{"metadata":{"finalizers":null}}'
    manager("patch", "workload", "job-b-1", "--type=merge", "-p", finalizers)
    manager("delete", "job", "b", "--cascade=background", "--wait=false", "--ignore-not-found")
    manager("delete", "workload", "job-b-1", "--wait=false", "--ignore-not-found")
    eventually(lambda: not manager("get", "jobs,workloads", "-o", "name").lines, "nothing is left of it")
    assert len((tmp_path / "started").read_text().split()) == 1


def test_a_watch_by_origin_shows_a_managers_own_work_only(manager: Kubectl) -> None:
    with manager.follow("get", "workloads", "-A", "-l", f"{ORIGIN}=multikueue", "-w", "-o", "name") as seen:
        other = workload("job-other-1", "exit 0")
        other["metadata"]["labels"] = {}
        manager.apply(other, workload("job-c-1", "exit 0"))
        assert seen.has("job-c-1") == "workload.kueue.x-k8s.io/job-c-1"
        assert not any("job-other-1" in line for line in seen.seen)
    manager("delete", "workload", "job-c-1", "job-other-1", "--wait=false", "--ignore-not-found")


def test_a_revoked_kubeconfig_is_worth_nothing(worker: Node, manager: Kubectl) -> None:
    file = worker.folder / "another.kubeconfig"
    printed = worker.fairway("cluster", "kubeconfig", "another")
    file.write_text(printed.out)
    another = Kubectl(manager.program, file, worker.folder / "another")
    another("get", "workloads")
    name = next(word.rstrip(";") for word in printed.err.split() if word.startswith("fairway-hub-"))
    worker.fairway("token", "revoke", name)
    assert "Unauthorized" in another.fails("get", "workloads") or "logged in" in another.fails("get", "workloads")
    manager("get", "workloads")
