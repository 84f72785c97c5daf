"""Many jobs in bad weather: every one completes, once, in one place at a time; and when it is over nothing is left.

FAIRWAY_STORM_SECONDS makes it last longer, FAIRWAY_STORM_SEED makes it another one (what comes is the same, when it comes is up to the machine).
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.chaos.conftest import HASTY
from tests.chaos.stage import Stage
from tests.chaos.storm import Storm

SECONDS = float(os.environ.get("FAIRWAY_STORM_SECONDS", "15"))
SEED = int(os.environ.get("FAIRWAY_STORM_SEED", "1"))


def test_every_job_completes_once_whatever_breaks(tmp_path_factory: pytest.TempPathFactory) -> None:
    stage = Stage(tmp_path_factory.mktemp("storm"), HASTY, cpus=(3, 3))
    storm = Storm(stage, SEED)
    try:
        stage.run(stage.open())
        stage.run(storm.blow(SECONDS, jobs=max(20, int(SECONDS / 2))), SECONDS + 120)
        stage.run(stage.check(*storm.jobs, patience_s=180 + SECONDS), 600 + SECONDS)
        words = Counter(entry.word for entry in stage.diary())
        faults = ", ".join(f"{count} {name}" for name, count in sorted(storm.counts.items()))
        print(f"{len(storm.jobs)} jobs, {dict(words)}; {faults}")
    finally:
        stage.close()
