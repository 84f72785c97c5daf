"""One cluster without a hub, under a seed: kills, stops, lost power, a bad network; every job runs to its end exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.sim.fleet.plan import alone
from fairway.sim.fleet.story import tell

SOURCE = Path(__file__).resolve().parents[2] / "src"
HISTORIES, GROUPS = 100, 5


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_job_of_a_cluster_finishes_exactly_once_whatever_goes_wrong(group: int) -> None:
    for seed in range(1 + group, 1 + HISTORIES, GROUPS):
        told = tell(seed, alone())
        assert not told.broken, f"seed {seed}: {told.broken}\n" + "\n".join(told.lines[-60:])


def test_a_seed_tells_the_same_history_again() -> None:
    first, second = tell(3, alone()), tell(3, alone())
    assert first.lines == second.lines
    assert first.digest == second.digest


def test_a_seed_tells_the_same_history_in_another_process_with_other_hashes() -> None:
    """Nothing may depend on the order of a set, or on what ran before in the same process."""
    said = {_in_a_process_of_its_own("5", hashes) for hashes in ("1", "2")}
    assert len(said) == 1, said


def _in_a_process_of_its_own(seed: str, hashes: str) -> str:
    told = subprocess.run(
        [sys.executable, "-m", "fairway.sim.fleet", "--seed", seed, "--alone"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.splitlines()[-1]
