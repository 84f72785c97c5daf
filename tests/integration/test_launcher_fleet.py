"""A fleet's launchers as a person sees them: real launchers and signals, and nodes that start in no time."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.support import LIGHT_NODE, NODE_PRELUDE, Fairway, eventually

from fairway.runtime import process
from fairway.runtime.datadir import DataDir


@pytest.fixture
def fairway(tmp_path: Path) -> Iterator[Fairway]:
    script = tmp_path / "node.py"
    # It is told more than a node on its own, and does not care.
    script.write_text(NODE_PRELUDE.replace("parser.parse_args()", "parser.parse_known_args()[0]") + LIGHT_NODE)
    made = Fairway(tmp_path / "data", node=[sys.executable, "-I", "-S", str(script)])
    yield made
    made.clean_up()
    for folder in (made.data.path / "clusters").glob("*"):
        for state in filter(None, (DataDir(folder).running(), DataDir(folder).read_state())):
            process.send(state.pid, state.identity, signal.SIGKILL)
            process.send(state.node_pid, state.node_identity, signal.SIGKILL)


def clusters(fairway: Fairway) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in fairway.status()["clusters"]}


def test_a_fleet_from_up_to_down(fairway: Fairway) -> None:
    fairway.up("--clusters", "2")
    first = clusters(fairway)
    assert {name: (each["phase"], each["cpu"]) for name, each in first.items()} == {
        "cluster-1": ("serving", "2"),
        "cluster-2": ("serving", "4"),
    }
    assert len({each["address"] for each in first.values()} | {fairway.status()["address"]}) == 3
    _a_killed_launcher_is_started_again_and_the_others_notice_nothing(fairway, first)
    _clusters_outlive_the_hubs_launcher_and_are_taken_over(fairway)

    last = fairway.status()
    down = fairway.run("down")
    assert down.stdout == f"stopped (pid {last['pid']}, cluster-1, cluster-2, data in {fairway.data.path})\n"
    assert not any(each["running"] for each in clusters(fairway).values())
    fairway.up()
    again = clusters(fairway)
    assert [each["address"] for each in again.values()] == [each["address"] for each in first.values()]


def _a_killed_launcher_is_started_again_and_the_others_notice_nothing(
    fairway: Fairway, first: dict[str, dict[str, Any]]
) -> None:
    killed = first["cluster-2"]["pid"]
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: clusters(fairway)["cluster-2"]["pid"] not in (None, killed), "the launcher was started again")
    eventually(lambda: clusters(fairway)["cluster-2"]["phase"] == "serving", "the cluster served again")
    now = clusters(fairway)
    assert now["cluster-2"]["address"] == first["cluster-2"]["address"]
    assert now["cluster-1"] == first["cluster-1"]
    assert fairway.status()["restarts"] == 0


def _clusters_outlive_the_hubs_launcher_and_are_taken_over(fairway: Fairway) -> None:
    before = clusters(fairway)
    os.kill(fairway.state.pid, signal.SIGKILL)
    eventually(lambda: fairway.data.running() is None, "the hub's launcher was gone")
    status = fairway.run("status")
    assert status.returncode == 3
    assert "does not run, its clusters do" in status.stdout
    fairway.up()
    after = clusters(fairway)
    assert [each["pid"] for each in after.values()] == [each["pid"] for each in before.values()]


def test_without_its_hubs_launcher_a_cluster_is_stopped_by_down_all_the_same(fairway: Fairway) -> None:
    fairway.up("--clusters", "1")
    os.kill(fairway.state.pid, signal.SIGKILL)
    eventually(lambda: fairway.data.running() is None, "the hub's launcher was gone")
    assert fairway.run("down").stdout == f"stopped (cluster-1, data in {fairway.data.path})\n"
    assert not clusters(fairway)["cluster-1"]["running"]


def test_a_cluster_that_somebody_stopped_stays_stopped(fairway: Fairway) -> None:
    fairway.up("--clusters", "2")
    assert fairway.run("down", "--data", str(fairway.data.cluster("cluster-1").path)).returncode == 0
    eventually(lambda: "cluster-1 was stopped" in fairway.data.log_file.read_text(), "it was noticed")
    assert not clusters(fairway)["cluster-1"]["running"]
    assert clusters(fairway)["cluster-2"]["running"]


def test_a_cluster_that_cannot_start_does_not_keep_the_others(fairway: Fairway) -> None:
    broken = fairway.data.cluster("cluster-1").path
    broken.parent.mkdir(parents=True)
    broken.touch()
    done = fairway.run("up", "--detach", "--port", "0", "--clusters", "2")
    assert done.returncode == 0
    assert "cluster-1 did not start: cannot use" in done.stderr
    assert clusters(fairway)["cluster-2"]["phase"] == "serving"
    broken.unlink()
    eventually(lambda: clusters(fairway)["cluster-1"]["phase"] == "serving", "it was tried again")
