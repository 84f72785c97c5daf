"""A node is killed (SIGKILL) at each step of an attempt's life: the next one finds the job run once, with its exit code, and leaves nothing."""

from __future__ import annotations

import json
import multiprocessing
import signal
from pathlib import Path

import pytest
from tests.integration import attempt_node
from tests.integration.engine_support import end_zygote, processes_of
from tests.integration.support import ROOT
from tests.integration.test_engine_kills import ENGINE_POINTS, SHIM_POINTS_OF_NO_RETURN, ZYGOTE_POINTS

PATIENCE_S = 40.0
WRITES = 14
"""More than there are from the submission of a job to the end of its Workload."""


class Lives:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.integration.attempt_node"])
        self.folder = folder
        self._engine = folder / "data" / "spaces" / "default" / "engine"

    def live(self, step: str = "") -> int | None:
        node = self._context.Process(target=attempt_node.run, args=(self.folder, step))
        node.start()
        node.join(PATIENCE_S)
        node.kill()
        node.join()
        return node.exitcode

    def ran(self, name: str) -> int:
        path = self.folder / f"ran-{name}"
        return len(path.read_text().split()) if path.exists() else 0

    @property
    def reached(self) -> bool:
        return (self.folder / "fault").exists()

    def end(self) -> None:
        left = processes_of(self._engine)
        end_zygote(self._engine)
        assert left == []
        log = (self.folder / "node.log").read_text()
        assert "Traceback" not in log, log


@pytest.fixture
def lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lives:
    return Lives(tmp_path, monkeypatch)


STEPS = [
    *(f"before-write:{number}" for number in range(1, WRITES, 2)),
    *(f"after-write:{number}" for number in range(2, WRITES, 2)),
    *ENGINE_POINTS,
]


@pytest.mark.parametrize("step", STEPS)
def test_a_queued_job_runs_once_wherever_its_node_is_killed(lives: Lives, step: str) -> None:
    assert lives.live(step) == -signal.SIGKILL
    assert lives.reached
    assert lives.live() == 0
    status = json.loads((lives.folder / "report.json").read_text())
    assert (status["failed"], lives.ran("short"), lives.ran("long")) == (1, 1, 1)
    lives.end()


@pytest.mark.parametrize("step", [*ZYGOTE_POINTS, *SHIM_POINTS_OF_NO_RETURN])
def test_a_queued_job_runs_at_most_once_when_what_starts_it_is_killed(lives: Lives, step: str) -> None:
    assert lives.live(step) == 0
    assert lives.reached
    status = json.loads((lives.folder / "report.json").read_text())
    assert status["failed"] == 1
    assert lives.ran("short") <= 1
    lives.end()
