"""A fleet of real processes: started by one command, dispatched over, killed, joined by another, and taken apart again."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.runtime.datadir import DataDir
from tests.acceptance.support import PATIENCE_S, Node, eventually, find_kubectl

pytestmark = pytest.mark.skipif(find_kubectl() is None, reason="kubectl is not on the PATH")


class Fleet(Node):
    """`fairway up --clusters 2`."""

    def start(self) -> Fleet:
        self.fairway("up", "--detach", "--port", "0", "--clusters", "2", "--cluster-sizes", "1:1Gi,4:4Gi:1")
        return self

    def clusters(self) -> dict[str, dict[str, Any]]:
        listed = self.kubectl(None, "--context", "hub").json("get", "clusters")["items"]
        return {each["metadata"]["name"]: each for each in listed}

    def health(self, name: str) -> str:
        return str((self.clusters().get(name, {}).get("status") or {}).get("health", ""))

    def run(self, folder: Path, *arguments: str) -> int:
        """`fairway run` as somebody types it in a folder."""
        return subprocess.run(
            [sys.executable, "-m", "fairway", "run", *arguments],
            cwd=folder,
            env=self.env,
            timeout=PATIENCE_S * 2,
            check=False,
        ).returncode


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("fleet")).start()
    try:
        yield made
        for log in (made.data / "node.log", *made.data.glob("clusters/*/node.log")):
            assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        made.stop()


def test_each_cluster_has_its_own_context_and_our_commands_go_to_the_hub_whichever_is_chosen(
    fleet: Fleet, tmp_path: Path
) -> None:
    kubectl = fleet.kubectl()
    assert set(kubectl("config", "get-contexts", "-o", "name").lines) == {"fairway", "hub", "cluster-1", "cluster-2"}
    kubectl("config", "use-context", "cluster-1")
    assert kubectl("get", "nodes", "-o", "name").lines == ["node/cluster-1"]
    assert kubectl("--context", "hub", "get", "nodes", "-o", "name").lines == []
    eventually(lambda: {fleet.health(name) for name in ("cluster-1", "cluster-2")} == {"Healthy"}, "both are healthy")
    assert fleet.clusters()["cluster-2"]["status"]["capacity"]["nvidia.com/gpu"] == "1"

    (tmp_path / "hello.py").write_text("import os, sys\nopen(sys.argv[1], 'a').write(os.getcwd() + '\\n')\n")
    assert (
        fleet.run(tmp_path, "--name", "hello", "--cpu", "2", "--", sys.executable, "hello.py", f"{tmp_path}/out") == 0
    )
    (where,) = (tmp_path / "out").read_text().splitlines()
    assert where.startswith(str(fleet.data / "clusters" / "cluster-2")), "the one cluster that is large enough ran it"
    kubectl("config", "use-context", "fairway")
    path = ".items[0].status.clusterName"
    assert kubectl("get", "workloads", "-o", f"jsonpath={{{path}}}").out == "cluster-2"


def test_a_cluster_that_is_killed_comes_back_and_the_other_goes_on(fleet: Fleet) -> None:
    states = {name: DataDir(fleet.data).cluster(name).running() for name in ("cluster-1", "cluster-2")}
    killed, other = states["cluster-1"], states["cluster-2"]
    assert killed is not None
    assert other is not None
    for pid in (killed.pid, killed.node_pid):
        os.kill(pid, signal.SIGKILL)

    def back() -> bool:
        now = DataDir(fleet.data).cluster("cluster-1").running()
        return now is not None and now.pid != killed.pid and now.phase == "serving"

    eventually(back, "its launcher was started again")
    eventually(lambda: fleet.health("cluster-1") == "Healthy", "the hub has it back")
    assert DataDir(fleet.data).cluster("cluster-2").running() == other
    assert fleet.state.restarts == 0


def test_a_cluster_elsewhere_joins_by_invitation_and_is_taken_out_again(fleet: Fleet, tmp_path: Path) -> None:
    elsewhere = Node(tmp_path)
    try:
        elsewhere.fairway("up", "--detach", "--port", "0", "--cpu", "16")
        invited = fleet.fairway("cluster", "invite", "big", "--label", "zone=far").out.strip()
        assert "joined" in elsewhere.fairway(*shlex.split(invited)[1:]).out
        found = fleet.clusters()["big"]
        assert (found["metadata"]["labels"]["zone"], found["status"]["health"]) == ("far", "Healthy")
        assert fleet.run(tmp_path, "--name", "wide", "--cpu", "12", "--", "true") == 0
        listed = fleet.kubectl()("get", "workloads", "-o", "jsonpath={.items[*].status.clusterName}").out.split()
        assert "big" in listed

        fleet.fairway("cluster", "drain", "big")
        assert "Healthy,Draining" in fleet.fairway("clusters").out
        assert "no longer part" in fleet.fairway("cluster", "rm", "big").out
        assert "big" not in fleet.clusters()
        assert elsewhere.state.phase == "serving", "the cluster itself goes on"
    finally:
        elsewhere.stop()


def test_a_hubs_own_machine_is_one_of_its_clusters(tmp_path: Path) -> None:
    node = Node(tmp_path)
    try:
        node.fairway("up", "--detach", "--port", "0", "--hub", "--cpu", "2", "--memory", "1Gi")
        done = subprocess.run(
            [sys.executable, "-m", "fairway", "run", "--", "touch", f"{tmp_path}/ran"],
            env=node.env,
            timeout=PATIENCE_S * 2,
            check=False,
        )
        assert done.returncode == 0
        assert (tmp_path / "ran").exists()
        kubectl = node.kubectl()
        assert kubectl("get", "workloads", "-o", "jsonpath={.items[*].status.clusterName}").out == "local"
        assert kubectl("--context", "local", "get", "nodes", "-o", "name").lines
        assert "Traceback" not in node.log(), node.log()
    finally:
        node.stop()
