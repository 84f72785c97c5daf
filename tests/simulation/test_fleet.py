"""A hub and its clusters under a seed: kills, stops, lost power, a bad network, clocks that are set, and people who change their minds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.sim.fleet.plan import drawn
from fairway.sim.fleet.story import tell

SOURCE = Path(__file__).resolve().parents[2] / "src"
HISTORIES, GROUPS = 40, 8


@pytest.mark.parametrize("group", range(GROUPS))
def test_all_promises_hold_whatever_goes_wrong(group: int) -> None:
    for seed in range(1 + group, 1 + HISTORIES, GROUPS):
        told = tell(seed, drawn(seed))
        assert not told.broken, f"seed {seed}: {told.broken}\n" + "\n".join(told.lines[-80:])


def test_a_seed_tells_the_same_history_again_in_any_process() -> None:
    """Nothing may depend on the order of a set, or on what ran before in the same process."""
    said = {_in_a_process_of_its_own("7", hashes) for hashes in ("1", "2")}
    assert len(said) == 1, said
    told = tell(7, drawn(7))
    assert f"[{told.digest}]" in said.pop()


def _in_a_process_of_its_own(seed: str, hashes: str) -> str:
    told = subprocess.run(
        [sys.executable, "-m", "fairway.sim.fleet", "--seed", seed],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.splitlines()[-1]
