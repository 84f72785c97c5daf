"""What people see of a fleet from its hub: real processes, real kubectl, clusters and hubs that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.runtime.datadir import DataDir
from tests.acceptance.support import PATIENCE_S, Kubectl, eventually, find_kubectl
from tests.acceptance.test_fleet import Fleet

pytestmark = pytest.mark.skipif(find_kubectl() is None, reason="kubectl is not on the PATH")
TICKS = "for i in $(seq 1 {count}); do echo tick $i; sleep 0.1; done"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("people")).start()
    try:
        eventually(
            lambda: {made.health(name) for name in ("cluster-1", "cluster-2")} == {"Healthy"}, "both are healthy"
        )
        yield made
        for log in (made.data / "node.log", *made.data.glob("clusters/*/node.log")):
            assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        made.stop()


def job(name: str, *command: str, cpu: str = "2", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": list(command), "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**spec, "template": template}}


def run(fleet: Fleet, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`fairway run`, with what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "fairway", "run", *arguments],
        env=fleet.env,
        timeout=PATIENCE_S * 2,
        check=False,
        capture_output=True,
        text=True,
    )


def complete(kubectl: Kubectl, name: str) -> None:
    kubectl("wait", f"job/{name}", "--for=condition=Complete", f"--timeout={PATIENCE_S}s")


def test_a_command_prints_its_output_and_ends_with_its_code_though_a_cluster_ran_it(fleet: Fleet) -> None:
    done = run(fleet, "--name", "says", "--cpu", "2", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (done.returncode, done.stdout) == (5, "out\nerr\n")
    assert fleet.fairway("logs", "says").out == "out\nerr\n"
    kubectl = fleet.kubectl()
    assert kubectl("logs", "job/says").out == "out\nerr\n"
    (row,) = [row for row in fleet.fairway("ls", "--all").rows if row[0] == "says"]
    assert (row[1], row[6]) == ("failed", "cluster-2")
    assert "Cluster    cluster-2" in fleet.fairway("show", "says").out
    (seen,) = [each for each in fleet.fairway("ls", "--all", "-o", "json").json() if each["name"] == "says"]
    assert (seen["cluster"], seen["exit_code"]) == ("cluster-2", 5)
    table = kubectl("get", "workloads", "-o", "wide")
    assert table.headings[-1] == "CLUSTER"
    assert any(row[0].startswith("job-says-") and row[-1] == "cluster-2" for row in table.rows)
    assert kubectl("get", "pods", "-l", "job-name=says,fairway.dev/cluster=cluster-2", "-o", "name").lines


def test_pods_of_clusters_are_for_looking_at(fleet: Fleet) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("looked-at", "true"))
    complete(kubectl, "looked-at")
    (name,) = kubectl("get", "pods", "-l", "job-name=looked-at", "-o", "name").lines
    refusal = kubectl.fails("delete", name)
    assert "it is of cluster cluster-2" in refusal
    assert "delete Job looked-at" in refusal
    assert "looked-at" in kubectl("describe", name).out
    kubectl("delete", "job/looked-at")
    eventually(
        lambda: kubectl("get", "pods", "-l", "job-name=looked-at", "-o", "name").lines == [], "its pods are gone"
    )


def test_what_is_followed_survives_its_cluster_being_killed(fleet: Fleet) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("followed", "sh", "-c", TICKS.format(count=60)))
    eventually(lambda: "Running" in kubectl("get", "pods", "-l", "job-name=followed").out, "it runs")
    with kubectl.follow("logs", "-f", "job/followed") as lines:
        lines.has("tick 5")
        state = DataDir(fleet.data).cluster("cluster-2").running()
        assert state is not None
        os.kill(state.node_pid, signal.SIGKILL)
        lines.has("tick 60")
        assert lines.seen == [f"tick {number}" for number in range(1, 61)]


def test_output_is_whole_though_the_hub_is_killed_while_it_runs_and_while_it_ends(fleet: Fleet) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("kept", "sh", "-c", TICKS.format(count=20)))
    watched = subprocess.Popen(
        [sys.executable, "-m", "fairway", "logs", "-f", "kept"], env=fleet.env, stdout=subprocess.PIPE, text=True
    )
    for _ in range(2):
        # Never for so long that the lease of what runs is over.
        eventually(lambda: kubectl.run("logs", "job/kept", "--tail=1").code == 0, "the hub has its cluster")
        state = DataDir(fleet.data).running()
        assert state is not None
        os.kill(state.node_pid, signal.SIGKILL)
        eventually(lambda before=state: serves_anew(fleet, before.node_pid), "the hub is back")  # type: ignore[misc]
    complete(kubectl, "kept")
    wanted = "".join(f"tick {number}\n" for number in range(1, 21))
    try:
        assert watched.communicate(timeout=PATIENCE_S)[0] == wanted
    finally:
        watched.kill()
    eventually(lambda: no_copies(fleet), "the copy is gone")
    assert kubectl("logs", "job/kept").out == wanted
    assert kubectl("logs", "job/kept", "--tail=1").out == "tick 20\n"


def serves_anew(fleet: Fleet, before: int) -> bool:
    state = DataDir(fleet.data).running()
    return state is not None and state.phase == "serving" and state.node_pid != before


def no_copies(fleet: Fleet) -> bool:
    return fleet.kubectl()("--context", "cluster-2", "get", "jobs", "-o", "name").lines == []


def test_a_cluster_that_does_not_answer_is_named(fleet: Fleet) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("far", "sleep", "60"))
    eventually(lambda: "Running" in kubectl("get", "pods", "-l", "job-name=far").out, "it runs")
    state = DataDir(fleet.data).cluster("cluster-2").running()
    assert state is not None
    os.kill(state.node_pid, signal.SIGSTOP)
    try:
        eventually(lambda: "cannot be reached since" in kubectl.run("logs", "job/far").err, "it is out of reach")
        assert "on cluster cluster-2" in kubectl.fails("logs", "job/far")
        said = fleet.fairway("why", "far").out
        assert "cluster-2 unreachable since" in said
        assert "its run there is over by" in said
    finally:
        os.kill(state.node_pid, signal.SIGCONT)
    fleet.fairway("cancel", "far")
    eventually(lambda: no_copies(fleet), "nothing of it is left there")


def test_why_looks_through_to_the_clusters(fleet: Fleet) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("holds", "sleep", "300", cpu="4"))
    eventually(lambda: "Running" in kubectl("get", "pods", "-l", "job-name=holds").out, "it runs")
    kubectl.apply(job("waits", "true", cpu="2"))

    def missing() -> bool:
        return "cluster-2 short of 2 cpu" in fleet.fairway("why", "waits").out

    eventually(missing, "the cluster's answer is known")
    assert "cluster-1 has 1 cpu of flavor machine in all, 2 are asked for" in fleet.fairway("why", "waits").out
    fleet.fairway("cancel", "holds", "waits")


def test_a_job_is_held_and_released_wherever_it_runs(fleet: Fleet, tmp_path: Path) -> None:
    kubectl = fleet.kubectl()
    kubectl.apply(job("stopped", "sh", "-c", f"echo start >> {tmp_path}/starts; sleep 60"))

    def starts() -> int:
        return len((tmp_path / "starts").read_text().splitlines()) if (tmp_path / "starts").exists() else 0

    eventually(lambda: starts() == 1, "it runs")
    fleet.fairway("hold", "stopped")
    eventually(lambda: no_copies(fleet), "it is stopped there")
    eventually(lambda: kubectl("get", "pods", "-l", "job-name=stopped", "-o", "name").lines == [], "and not seen here")
    fleet.fairway("release", "stopped")
    eventually(lambda: starts() == 2, "it runs again")
    fleet.fairway("cancel", "stopped")
    eventually(lambda: no_copies(fleet), "nothing of it is left")
