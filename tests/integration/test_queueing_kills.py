"""A real node is killed (SIGKILL) at random moments while jobs of all kinds are admitted, preempted, deleted and finish."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.integration import queue_node
from tests.integration.engine_support import end_zygote, processes_of
from tests.integration.support import ROOT

KILLS = 16
PATIENCE_S = 60.0
ONCE = {"urgent-0": 1, "urgent-1": 1, "many": 5, "set-a": 2, "set-b": 1, "alone": 1, "gang-0": 1, "gang-1": 1}
ONCE |= dict.fromkeys(queue_node.SMALL, 1)


def lives(folder: Path, marks: Path, seed: int) -> Counter[str]:
    """Start the node, kill it, again and again; then let it live. How its lives ended."""
    os.environ["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.queue_node"])
    chance, ends = random.Random(seed), Counter[str]()
    for life in range(KILLS + 1):
        last = life == KILLS
        node = context.Process(target=queue_node.run, args=(folder, marks, last))
        node.start()
        node.join(PATIENCE_S if last else chance.uniform(0.2, 1.4))
        node.kill()
        node.join()
        ends["killed" if node.exitcode == -signal.SIGKILL else str(node.exitcode)] += 1
    return ends


@pytest.mark.parametrize("seed", [1])
def test_a_node_killed_again_and_again_loses_nothing_and_runs_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    marks = tmp_path / "marks"
    marks.mkdir()
    engine = tmp_path / "data" / "spaces" / "default" / "engine"
    try:
        ends = lives(tmp_path, marks, seed)
        log = (tmp_path / "node.log").read_text()
        assert ends == {"killed": KILLS, "0": 1}, log
        assert "Traceback" not in log, log
        left = processes_of(engine)
    finally:
        end_zygote(engine)
    report = json.loads((tmp_path / "report.json").read_text())
    nothing_runs_twice(queue_node.Work(marks), marks)
    nothing_is_lost(report)
    nothing_is_left(report)
    assert left == []


def nothing_runs_twice(work: queue_node.Work, marks: Path) -> None:
    for path in marks.glob("started-*"):
        pods = path.read_text().split()
        assert len(pods) == len(set(pods)), f"a pod of {path.name} started twice"
    for name, times in ONCE.items():
        assert len(work.ran(name)) == times, name
        assert sorted(work.ran(name, "ended")) == sorted(work.ran(name)), name
    assert len(work.ran("fails")) == 1
    assert len(work.ran("doomed")) == 1
    assert work.ran("doomed", "ended") == []
    lows = [work.ran(name) for name in queue_node.LOW]
    assert sum(map(len, lows)) > len(lows), "nothing was preempted"
    # One that was told to go may come to its end all the same while no node is there to stop it; that does not count.
    assert all(work.ran(name, "ended") for name in queue_node.LOW)


def nothing_is_lost(report: dict[str, dict[str, dict[str, object]]]) -> None:
    succeeded = {name: status.get("succeeded", 0) for name, status in report["jobs"].items()}
    children = {"set-a-0": 1, "set-a-1": 1, "set-b-0": 1}
    wanted = {name: times for name, times in ONCE.items() if not name.startswith(("set", "alone", "gang"))}
    assert succeeded == wanted | children | dict.fromkeys(queue_node.LOW, 1) | {"fails": 0}
    assert report["jobs"]["fails"]["failed"] == 1
    assert report["sets"]["set"]["terminalState"] == "Completed"
    assert {report["pods"][name] for name in ("alone", "gang-0", "gang-1")} == {"Succeeded"}  # type: ignore[arg-type]
    assert "Running" not in report["pods"].values()


def nothing_is_left(report: dict[str, object]) -> None:
    queue = report["queue"]
    assert isinstance(queue, dict)
    for field in ("flavorsReservation", "flavorsUsage"):
        assert [each["total"] for each in queue[field][0]["resources"]] == ["0"]
    assert (queue["pendingWorkloads"], queue["reservingWorkloads"], queue["admittedWorkloads"]) == (0, 0, 0)
    assert report["ledger"] == 0
